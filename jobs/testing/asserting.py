"""Whether a job was enqueued, and if not, how what was enqueued differs."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from ..core.model import Run
from ..registry import JobDefinition
from ..registry.queue import RunOptions, check_options, in_seconds

_SHOWN = 10
"""So many runs of the job are shown where none is as wanted."""
_MISSING = object()
_JSON: TypeAdapter[Any] = TypeAdapter(Any)


def defaults_of(definition: JobDefinition | None) -> Mapping[str, Any]:
    """What the arguments of a job are unless they are given, as JSON; they are not stored with a run."""
    properties: Mapping[str, Any] = {} if definition is None else definition.args_schema.get("properties", {})
    return {name: schema["default"] for name, schema in properties.items() if "default" in schema}


def find_enqueued(
    runs: Sequence[Run], args: Mapping[str, object] | None, options: RunOptions, defaults: Mapping[str, Any]
) -> Run | None:
    """The first of these runs with these arguments and options, see ``Queue.assert_enqueued``; None = there is none."""
    wanted = _wanted(args, options)
    return next((run for run in runs if not _differences(run, wanted, defaults)), None)


def _wanted(args: Mapping[str, object] | None, options: RunOptions) -> dict[str, Any]:
    """What a run must have, by ``args.NAME`` or by the name of the option.

    Raises:
        TypeError: there is no such option; an argument was given as one.
    """
    try:
        check_options(options)
    except TypeError as error:
        raise TypeError(f"{error}; arguments of the job are given as a mapping, e.g. {{'source': 'app'}}") from None
    given: dict[str, Any] = {
        f"args.{name}": _JSON.dump_python(value, mode="json", by_alias=True) for name, value in (args or {}).items()
    }
    stored = {"run_at": "available_at"}
    for name, value in in_seconds(options).items():
        given[stored.get(name, name)] = value.lower() if name == "priority" and isinstance(value, str) else value
    return given


def _differences(run: Run, wanted: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
    differences: list[str] = []
    args = {**defaults, **run.args}
    for name, value in wanted.items():
        is_argument = name.startswith("args.")
        found = args.get(name.removeprefix("args."), _MISSING) if is_argument else getattr(run, name)
        if found != value:
            shown = "nothing" if found is _MISSING else repr(found)
            differences.append(f"{name}: wanted {value!r}, got {shown}")
    return differences


def explanation(
    job: str,
    runs: Sequence[Run],
    everything: Sequence[Run],
    args: Mapping[str, object] | None,
    options: RunOptions,
    defaults: Mapping[str, Any],
) -> str:
    """Why none of a job's runs is as wanted."""
    wanted = _wanted(args, options)
    asked = f" with {', '.join(f'{name}={value!r}' for name, value in wanted.items())}" if wanted else ""
    lines = [f"no run of job '{job}' was enqueued{asked}"]
    if not runs:
        others = sorted({run.job_name for run in everything})
        lines.append(f"  there are runs of {', '.join(others)}" if others else "  nothing was enqueued at all")
    for run in runs[:_SHOWN]:
        lines.append(f"  run {run.id}, args {run.args!r}:")
        lines += [f"    {difference}" for difference in _differences(run, wanted, defaults)]
    if len(runs) > _SHOWN:
        lines.append(f"  and {len(runs) - _SHOWN} more")
    return "\n".join(lines)
