"""``cronograph tasks``: the actions of the dashboard on tasks."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

import typer

from ....graphql.client.command_line import (
    CREATE_TASK,
    DELETE_TASK,
    ONE_TASK,
    PAUSE_TASK,
    RESUME_TASK,
    TRY_CREATE_TASK,
    TRY_UPDATE_TASK,
    UPDATE_TASK,
)
from ....jobs.core.base.errors import ConfigurationError
from ....jobs.core.base.times import counted
from ..base.application import CommandLine
from ..base.output import Refused
from .api import Api, DryRun, ResumeAt, at_server, changes_server, show_preview
from .lists import TASK_LIST, add_list, details
from .names import job_names, task_names
from .values import arguments_of, fields_of, rate_of, seconds_of

tasks = CommandLine(
    help="Look at tasks, make, change, pause and resume them, on a running server.", no_args_is_help=True
)
Name = Annotated[str, typer.Argument(help="Name of the task.", autocompletion=task_names)]
Fields = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FIELD=VALUE]...",
        help="Fields as the API names them: retries=5 group=mail rate=100/1m timeout=5m description='Sends mail'.",
    ),
]
Syntax = Annotated[
    str | None, typer.Option("--syntax", help="cron, calendar, interval or timestamp; cron unless given.")
]
Zone = Annotated[str | None, typer.Option("--timezone", help="An IANA zone for the schedule; UTC unless given.")]
_WORDS: Final = ("priority", "overlap", "misfire")
_READ: Final[Mapping[str, Callable[[str, str], object]]] = {
    **dict.fromkeys(("misfireGrace", "tolerance", "timeout", "maxDuration", "retryDelay", "jitter"), seconds_of),
    "rate": lambda _, text: rate_of(text),
}
"""Reads fields that are written as text for people."""
Arguments = Annotated[str | None, typer.Option("--args", metavar="JSON", help="Arguments of its runs, a JSON object.")]
add_list(tasks, TASK_LIST, "List tasks, e.g. those that should have started and did not: --filter isStalled=true.")


def _found(api: Api, name: str, count: int = 5) -> dict[str, Any]:
    found: dict[str, Any] | None = api.ask(ONE_TASK, name=name, count=count)["task"]
    if found is None:
        raise Refused(f"task '{name}' does not exist; `cronograph tasks list` shows those that do")
    return found


@tasks.command(name="show")
@at_server
def show_(api: Api, name: Name) -> None:
    """Show a task."""
    task = _found(api, name)
    shown = {key: value for key, value in task.items() if key not in {"explain", "next", "schedule"}}
    schedule = {"schedule": f"{task['schedule']['value']} ({task['schedule']['humanized']})"}
    api.result({"task": task}, details({**shown, **schedule}))


@tasks.command()
@at_server
def explain(api: Api, name: Name) -> None:
    """Say why a task is or is not running now, and what happens next."""
    explanation = _found(api, name)["explain"]
    api.result({"explain": explanation}, "\n".join([explanation["sentence"], *explanation["details"]]))


@tasks.command(name="next")
@at_server
def next_(
    api: Api, name: Name, count: Annotated[int, typer.Option("--count", min=1, max=100, help="How many.")] = 5
) -> None:
    """Show the next times of a task's schedule."""
    times = _found(api, name, count)["next"]["nextExecutions"]
    api.result({"nextExecutions": times}, "\n".join(times) or "no occurrence is left")


@tasks.command()
@changes_server(dry_run=False)
def create(
    api: Api,
    name: Name,
    job: Annotated[str, typer.Argument(help="Name of the job it runs.", autocompletion=job_names)],
    schedule: Annotated[str, typer.Argument(help="When; `cronograph schedule` explains one.")],
    fields: Fields = None,
    syntax: Syntax = None,
    timezone: Zone = None,
    args: Arguments = None,
    dry_run: DryRun = False,
) -> None:
    """Make a task, e.g. tasks create nightly report '0 0 3 * * *' retries=5."""
    given = {"name": name, "jobName": job, **_given(api, fields, args, schedule, syntax, timezone)}
    if dry_run:
        _preview(api, TRY_CREATE_TASK, given)
        return
    task = api.change(CREATE_TASK, **given)["task"]
    api.result({"task": task}, f"Task {name} made; next: {task['nextExecutionAt'] or 'no occurrence is left'}")


@tasks.command()
@changes_server(dry_run=False, version=True)
def update(
    api: Api,
    name: Name,
    fields: Fields = None,
    schedule: Annotated[str | None, typer.Option("--schedule", help="Another schedule.")] = None,
    syntax: Syntax = None,
    timezone: Zone = None,
    args: Arguments = None,
    dry_run: DryRun = False,
) -> None:
    """Change fields of a task; the others stay, and FIELD=null asks for the default."""
    given = _given(api, fields, args, schedule, syntax, timezone)
    if not given:
        raise ConfigurationError("nothing to change; name fields, e.g. retries=5, or --schedule or --args")
    if dry_run:
        _preview(api, TRY_UPDATE_TASK, {"name": name, **given})
        return
    task = api.change(UPDATE_TASK, name=name, **given)["task"]
    api.result({"task": task}, f"Task {name} changed; next: {task['nextExecutionAt'] or 'no occurrence is left'}")


def _preview(api: Api, document: str, given: dict[str, Any]) -> None:
    would = api.change(document, **given, dryRun=True)
    show_preview(api, would, task=would["task"])


def _given(
    api: Api, fields: list[str] | None, args: str | None, schedule: str | None, syntax: str | None, timezone: str | None
) -> dict[str, Any]:
    given = fields_of(fields or ())
    # The API has them as words in capital letters.
    given |= {key: str(given[key]).upper() for key in _WORDS if given.get(key) is not None}
    given |= {key: _READ[key](key, value) for key, value in given.items() if key in _READ and isinstance(value, str)}
    given |= {key: api.instant(key, given[key]) for key in ("startAt", "endAt") if isinstance(given.get(key), str)}
    if args is not None:
        given["args"] = arguments_of(args)
    if schedule is not None:
        given["schedule"] = {"syntax": (syntax or "cron").upper(), "value": schedule, "timezone": timezone or "UTC"}
    elif syntax is not None or timezone is not None:
        raise ConfigurationError("--syntax and --timezone say how --schedule is read; give it too")
    return given


@tasks.command()
@changes_server(version=True)
def pause(
    api: Api,
    name: Name,
    reason: Annotated[str | None, typer.Option("--reason", help="Why; shown to others.")] = None,
    resume_at: ResumeAt = None,
) -> None:
    """Pause a task; its occurrences are recorded as skipped until it is resumed."""
    paused = api.change(PAUSE_TASK, name=name, reason=reason, resumeAt=api.instant("--resume-at", resume_at))["task"]
    api.result({"task": paused}, f"Task {name} paused")


@tasks.command()
@changes_server(version=True)
def resume(api: Api, name: Name) -> None:
    """Resume a paused task from its next occurrence on."""
    api.result({"task": api.change(RESUME_TASK, name=name)["task"]}, f"Task {name} resumed")


@tasks.command()
@changes_server(version=True)
def delete(api: Api, name: Name) -> None:
    """Delete a task: waiting runs of it are cancelled, running ones asked to stop; its history stays."""
    gone = api.change(DELETE_TASK, name=name)
    data = {"deletedName": gone["deletedName"], "cancelledCount": gone["cancelledCount"]}
    api.result(data, f"Task {name} deleted; {counted(gone['cancelledCount'], 'unfinished run')} cancelled")
