"""What was found, as a file of tasks or as a module of jobs."""

import keyword
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, cast

import yaml

from ...jobs.core.model import ScheduleSpec
from ...jobs.core.schedule import Syntax
from ..task_files.writing import escaped
from .base.model import Call, Carried, Import
from .naming import names_of

_KEYS: Final = {Syntax.CRON: "cron", Syntax.CALENDAR: "calendar", Syntax.INTERVAL: "interval", Syntax.TIMESTAMP: "at"}
_SHORT: Final = {Syntax.CRON: "cron", Syntax.CALENDAR: "calendar", Syntax.INTERVAL: "every", Syntax.TIMESTAMP: "once"}
_OF_TASKS: Final = frozenset({"jitter", "start_at", "end_at", "description"})
"""Fields of tasks that a job does not declare."""
_SECONDS: Final = frozenset({"timeout", "retry_delay"})


def tasks_file(found: Import, set_name: str) -> str:
    """The form that ``cronograph apply`` reads."""
    tasks: dict[str, Any] = {}
    for one in found.carried:
        for name, spec in zip(names_of(one.name, len(one.schedules)), one.schedules, strict=True):
            tasks[name] = {"job": one.job, "schedule": _schedule(spec)}
            if one.args:
                tasks[name]["args"] = escaped(_plain(one.args))
            tasks[name] |= {key: escaped(_plain(value)) for key, value in one.settings.items()}
    head = f"# Made by `cronograph import {found.program}`; its report says what each line meant there.\n"
    return head + yaml.safe_dump({"set": set_name, "tasks": tasks}, sort_keys=False, allow_unicode=True, width=120)


def _schedule(spec: ScheduleSpec) -> dict[str, str]:
    zone = {} if spec.timezone == "UTC" else {"timezone": spec.timezone}
    return {_KEYS[spec.syntax]: escaped(spec.value), **zone}


def _plain(value: Any) -> Any:  # noqa: ANN401 - a document
    """A value as YAML and JSON have it."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in cast("Iterable[Any]", value)]
    return value


def jobs_module(found: Import) -> str:
    """A module with a job for each schedule, which calls the function as the other program did."""
    calls = [(one, one.call) for one in found.carried if one.call is not None]
    modules = sorted({call.function.rpartition(".")[0] for _, call in calls} - {""})
    shorts = sorted({_SHORT[spec.syntax] for one, _ in calls for spec in one.schedules})
    lines = [
        f'"""Made by `cronograph import {found.program}`; its report says what each line meant there."""',
        "",
        *(f"import {module}" for module in modules),
        *([""] if modules else []),
        f"from cronograph.jobs import {', '.join([*shorts, 'job'])}",
        "",
    ]
    taken: set[str] = set()
    for one, call in calls:
        for name, spec in zip(names_of(one.name, len(one.schedules)), one.schedules, strict=True):
            lines += ["", *_job(name, _function_name(name, taken), one, spec, call), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _job(name: str, function: str, one: Carried, spec: ScheduleSpec, call: Call) -> Iterable[str]:
    zone = "" if spec.timezone == "UTC" else f", timezone={spec.timezone!r}"
    options = "".join(f", {key}={value!r}" for key, value in one.settings.items() if key not in _OF_TASKS)
    yield f"@job({name!r}, schedule={_SHORT[spec.syntax]}({spec.value!r}{zone}){options})"
    yield f"def {function}() -> None:"
    yield f'    """{one.text[:90].replace(chr(92), "/").replace(chr(34), chr(39))}"""'
    for key in sorted(_OF_TASKS & {*one.settings}):
        yield f"    # {key}={_plain(one.settings[key])!r}: set it at the task."
    values = [*map(repr, call.args), *(f"{key}={value!r}" for key, value in call.kwargs.items())]
    yield f"    {call.function}{f'.{call.method}' if call.method else ''}({', '.join(values)})"


def _function_name(name: str, taken: set[str]) -> str:
    """A name that Python takes, and that no other function has."""
    plain = re.sub(r"\W", "_", name)
    plain = f"job_{plain}" if keyword.iskeyword(plain) or not plain.isidentifier() or plain == "job" else plain
    while plain in taken | {"cron", "every", "calendar", "once"}:
        plain += "_"
    taken.add(plain)
    return plain
