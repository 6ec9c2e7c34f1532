"""Writes the schedules as a file of tasks, as a module of jobs, and as a module for the start of a node."""

import keyword
import re
from collections.abc import Iterable
from datetime import datetime
from pprint import pformat
from textwrap import indent
from typing import Any, Final

from ...jobs.core.model import ScheduleSpec
from ...jobs.core.schedule import Syntax
from ..task_files.writing import escaped, written
from .model import Call, Carried, Import

_KEYS: Final = {Syntax.CRON: "cron", Syntax.CALENDAR: "calendar", Syntax.INTERVAL: "interval", Syntax.TIMESTAMP: "at"}
_SHORT: Final = {Syntax.CRON: "cron", Syntax.CALENDAR: "calendar", Syntax.INTERVAL: "every", Syntax.TIMESTAMP: "once"}
_OF_TASKS: Final = frozenset({"jitter", "start_at", "end_at", "description", "enabled"})
"""Fields of tasks that a job does not declare."""
START_NOTES: Final = (
    "Put this module on the nodes (`--jobs start_of_node`) and set CRONOGRAPH_DATABASE_URL, by which it enqueues.",
    "Each start of a node enqueues these lines, also after an update. There they run once a boot of the machine.",
    "A line whose run is unfinished is not enqueued again. Any node with the setting `shell = true` may run it.",
)
_START: Final = """\
\"\"\"Made by `cronograph import {program}`: commands that began with the machine there begin with a node here.\"\"\"

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

from cronograph.jobs import JobContext, RunSpec, job, resource

COMMANDS = [
{commands}
]


@job(unique_key=())
async def start_of_node(ctx: JobContext) -> int:
    \"\"\"Enqueue a run of the job shell for each line, unless its last one is unfinished.\"\"\"
    runs: list[RunSpec] = []
    for place, delay, arguments in COMMANDS:
        at = datetime.now(UTC) + timedelta(seconds=delay)
        runs.append(RunSpec("shell", arguments, run_at=at, unique_key=f"start {{place}}", retries=0))
    return len(await ctx.enqueue_many(runs))


@resource
async def start() -> AsyncIterator[None]:
    \"\"\"Run when a node starts, before it takes runs.\"\"\"
    await start_of_node.enqueue()
    yield
"""


def tasks_file(found: Import, set_name: str) -> str:
    """Return the file that ``cronograph apply`` reads."""
    tasks: dict[str, Any] = {}
    for one in found.carried:
        for name, spec in one.tasks:
            tasks[name] = {"job": one.job, "schedule": _schedule(spec)}
            if one.args:
                tasks[name]["args"] = escaped(one.args)
            tasks[name] |= {key: escaped(_plain(value)) for key, value in one.settings.items()}
    head = f"# Made by `cronograph import {found.program}`; its report says what each line meant there.\n"
    return head + written([{"set": set_name, "tasks": tasks}])


def _schedule(spec: ScheduleSpec) -> dict[str, str]:
    zone = {} if spec.timezone == "UTC" else {"timezone": spec.timezone}
    return {_KEYS[spec.syntax]: escaped(spec.value), **zone}


def _plain(value: Any) -> Any:  # noqa: ANN401 - a setting
    return value.isoformat() if isinstance(value, datetime) else value


def jobs_module(found: Import) -> str:
    """Return a module with a job for each schedule, which calls the function as the other program did."""
    calls = [(one, one.call) for one in found.carried if one.call is not None]
    modules = sorted({call.module for _, call in calls} - {""})
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
        for name, spec in one.tasks:
            lines += ["", *_job(name, _function_name(name, taken), one, spec, call), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _job(name: str, function: str, one: Carried, spec: ScheduleSpec, call: Call) -> Iterable[str]:
    zone = "" if spec.timezone == "UTC" else f", timezone={spec.timezone!r}"
    options = "".join(f", {key}={value!r}" for key, value in one.settings.items() if key not in _OF_TASKS)
    yield f"@job({name!r}, schedule={_SHORT[spec.syntax]}({spec.value!r}{zone}){options})"
    yield f"{'async ' if call.is_coroutine else ''}def {function}() -> None:"
    yield f'    """{one.text[:90].replace(chr(92), "/").replace(chr(34), chr(39))}"""'
    for key in sorted(_OF_TASKS & {*one.settings}):
        yield f"    # {key}={_plain(one.settings[key])!r}: set it at the task."
    named = {key: value for key, value in call.kwargs.items() if key.isidentifier() and not keyword.iskeyword(key)}
    others = {key: value for key, value in call.kwargs.items() if key not in named}
    values = [*map(repr, call.args), *(f"{key}={value!r}" for key, value in named.items())]
    values += [f"**{others!r}"] if others else []
    awaited, method = "await " if call.is_coroutine else "", f".{call.method}" if call.method else ""
    yield f"    {awaited}{call.function}{method}({', '.join(values)})"


def _function_name(name: str, taken: set[str]) -> str:
    """Return a name that Python takes, and that no other function has."""
    plain = re.sub(r"\W", "_", name)
    plain = f"job_{plain}" if keyword.iskeyword(plain) or not plain.isidentifier() or plain == "job" else plain
    while plain in taken | {"cron", "every", "calendar", "once"}:
        plain += "_"
    taken.add(plain)
    return plain


def start_module(found: Import) -> str:
    """Return a module with a job that enqueues commands of the machine's start whenever a node starts, or ``""``."""
    if not found.at_start:
        return ""
    commands = ((one.place.rpartition("/")[2], one.delay, dict(one.args)) for one in found.at_start)
    shown = "\n".join(indent(f"{pformat(one, width=110, sort_dicts=False)},", "    ") for one in commands)
    return _START.format(program=found.program, commands=shown)
