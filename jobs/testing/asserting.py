"""Whether a job was enqueued, and if not, how what was enqueued differs."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from ..core.model import Run
from ..registry.queue import RunOptions, in_seconds

_SHOWN = 10
"""So many runs of the job are shown where none is as wanted."""
_MISSING = object()
_JSON: TypeAdapter[Any] = TypeAdapter(Any)


def find_enqueued(runs: Sequence[Run], args: Mapping[str, object] | None, options: RunOptions) -> Run | None:
    """The first of these runs with these arguments and options, see ``Queue.assert_enqueued``; None = there is none."""
    wanted = _wanted(args, options)
    return next((run for run in runs if not _differences(run, wanted)), None)


def _wanted(args: Mapping[str, object] | None, options: RunOptions) -> dict[str, Any]:
    """What a run must have, by ``args.NAME`` or by the name of the option."""
    given: dict[str, Any] = {
        f"args.{name}": _JSON.dump_python(value, mode="json", by_alias=True) for name, value in (args or {}).items()
    }
    stored = {"run_at": "available_at"}
    for name, value in in_seconds(options).items():
        given[stored.get(name, name)] = value.lower() if name == "priority" and isinstance(value, str) else value
    return given


def _differences(run: Run, wanted: Mapping[str, Any]) -> list[str]:
    differences: list[str] = []
    for name, value in wanted.items():
        is_argument = name.startswith("args.")
        found = run.args.get(name.removeprefix("args."), _MISSING) if is_argument else getattr(run, name)
        if found != value:
            shown = "nothing" if found is _MISSING else repr(found)
            differences.append(f"{name}: wanted {value!r}, got {shown}")
    return differences


def explanation(
    job: str, runs: Sequence[Run], everything: Sequence[Run], args: Mapping[str, object] | None, options: RunOptions
) -> str:
    """Why none of a job's runs is as wanted.

    Args:
        job: The job's name.
        runs: Its runs.
        everything: The runs of all jobs.
        args: The arguments that were wanted.
        options: What else was wanted.
    """
    wanted = _wanted(args, options)
    asked = f" with {', '.join(f'{name}={value!r}' for name, value in wanted.items())}" if wanted else ""
    lines = [f"no run of job '{job}' was enqueued{asked}"]
    if not runs:
        others = sorted({run.job_name for run in everything})
        lines.append(f"  there are runs of {', '.join(others)}" if others else "  nothing was enqueued at all")
    for run in runs[:_SHOWN]:
        lines.append(f"  run {run.id}, args {run.args!r}:")
        lines += [f"    {difference}" for difference in _differences(run, wanted)]
    if len(runs) > _SHOWN:
        lines.append(f"  and {len(runs) - _SHOWN} more")
    return "\n".join(lines)
