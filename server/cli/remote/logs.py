"""``cronograph logs``: the log lines of jobs."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from enum import Enum
from importlib import import_module
from itertools import islice
from json import loads
from typing import Annotated, Any, Final

import typer

from ....graphql.client.command_line import ONE_RUN, SEARCH_LOGS
from ....jobs.core.base.errors import ConfigurationError
from ....jobs.core.base.times import time_text
from ..base.output import Refused
from .api import Api, Limit, at_server
from .lists import (
    EXECUTION_LIST,
    JOB_LIST,
    TASK_LIST,
    Columns,
    Filter,
    Listing,
    Sort,
    Watch,
    check_there,
    show,
    stream_line,
    text_of,
)
from .values import camel, instant_of

FromArchive = Annotated[
    bool, typer.Option("--archive", help="Read deleted lines, from the archive; needs the extra `archive`.")
]
PAGE: Final = 200
"""Lines that one search finds at most."""


@at_server
def logs(
    api: Api,
    run: Annotated[
        str | None,
        typer.Argument(help="The run's id; with --execution, that of an execution; or else --job or --task."),
    ] = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on until the execution has ended.")] = False,
    execution: Annotated[bool, typer.Option("--execution", help="The id is that of an execution.")] = False,
    search: Annotated[
        str | None, typer.Option("--search", help="Only lines that hold this text, the newest first.")
    ] = None,
    job: Annotated[str | None, typer.Option("--job", help="Search in the newest executions of this job.")] = None,
    task: Annotated[str | None, typer.Option("--task", help="Search in the newest executions of this task.")] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", help="Search in executions that began since a time, or so long ago at most: 24h."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=PAGE, help="Lines found at most.")] = 50,
    archive: FromArchive = False,
) -> None:
    """Show the log lines of a run's newest execution, or those that hold a text; JSON lines with --json."""
    if sum(one is not None for one in (run, job, task)) != 1:
        raise ConfigurationError("logs: give one of RUN, --job and --task")
    if archive:
        if run is None or search is not None or since is not None or follow:
            raise ConfigurationError("logs: --archive goes with the id of a run or an execution alone")
        if not run.isdecimal():
            raise ConfigurationError(
                f"logs: --archive needs the id of a run or an execution, a number, got {run[:80]!r}"
            )
        for line in _archived().archived_lines(api, int(run), execution=execution):
            _show_line(api, line["line"], line["at"], line["level"], line["message"], loads(line["fields"] or "null"))
        return
    if search is None:
        if run is None or since is not None:
            raise ConfigurationError("logs: --job, --task and --since need --search TEXT")
        _show(api, _execution_of(api, run, execution=execution), follow=follow)
        return
    if follow:
        raise ConfigurationError("logs: --search looks through what is there; it does not go with --follow")
    if job is not None or task is not None:
        where = {"job": job, "task": task}
    else:
        where = {"execution": str(_execution_of(api, run or "", execution=execution))}
    named = (JOB_LIST, job) if job is not None else None if task is None else (TASK_LIST, task)
    _search(api, named, text=search, first=limit, **where, **{"from": instant_of("--since", since, ago=True)})


def _archived() -> Any:  # noqa: ANN401 - a module
    """Import the reader of the archive here: the statements of the store come along."""
    return import_module("..archived", __package__)


def _execution_of(api: Api, key: str, *, execution: bool) -> int:
    """Return the id of the execution that is meant.

    Raises:
        Refused: there is none.
    """
    if execution:
        if not key.isdecimal():
            raise ConfigurationError(f"logs: the id of an execution must be a number, got {key[:80]!r}")
        if api.client.execution(int(key)) is None:
            raise Refused(f"execution {key} does not exist; was it pruned?")
        return int(key)
    found = api.ask(ONE_RUN, id=key)["run"]
    if found is None:
        raise Refused(f"run {key} does not exist; was it pruned?")
    if not found["executions"]["nodes"]:
        raise Refused(f"run {key} has not begun yet: {found['explain']['sentence']}")
    return int(found["executions"]["nodes"][-1]["id"])


def _show(api: Api, key: int, *, follow: bool) -> None:
    for part in api.client.execution_log(key):
        for line in part.lines:
            _show_line(api, line.line, line.at, line.level, line.message, line.fields)
        if part.has_ended or not follow:
            return


def _show_line(
    api: Api, number: int, at: datetime, level: object, message: str, fields: Mapping[str, Any] | None
) -> None:
    when = time_text(at)
    data = {"line": number, "at": when, "level": level, "message": message, "fields": fields}
    stream_line(api, data, _shown(when, level, message, fields))


def _shown(at: str, level: object, message: str, fields: Mapping[str, Any] | None) -> str:
    """Return a line with its fields behind the message: ``sent  to=ada@example.com``."""
    named = "".join(f"  {name}={text_of(value)}" for name, value in (fields or {}).items())
    return f"{at} {str(level).lower():<8} {message}{named}"


def _search(api: Api, named: tuple[Listing, str] | None, **variables: Any) -> None:  # noqa: ANN401 - any JSON value
    """Print the lines that were found, and then how far the search went."""
    found = api.ask(SEARCH_LOGS, **variables)["logSearch"]
    if named is not None and not found["executions"]:
        check_there(api, *named)
    for match in found["nodes"]:
        line, key = match["line"], match["executionId"]
        text = _shown(line["at"], line["level"], line["message"], line.get("fields"))
        stream_line(api, {"executionId": key, **line}, f"execution {key} line {line['line']}  {text}")
    reach = {name: found[name] for name in ("executions", "lines", "sentence")}
    stream_line(api, {**reach, "hasMore": found["pageInfo"]["hasNextPage"]}, found["sentence"])


_FAILED: dict[str, Any] = {"outcome": {"in": ["FAILED", "TIMED_OUT", "LOST"]}}


@at_server
def log(
    api: Api,
    failed: Annotated[bool, typer.Option("--failed", help="Only failed, timed out and lost ones.")] = False,
    filter: Filter = None,
    columns: Columns = None,
    sort: Sort = None,
    limit: Limit = 50,
    watch: Watch = None,
    archive: FromArchive = False,
) -> None:
    """Show the execution log, newest first."""
    shape, fixed = (filter, columns, sort, limit, watch), _FAILED if failed else None
    if archive:
        _archived().show_archived(api, shape, fixed)
    else:
        show(api, EXECUTION_LIST, shape, fixed)


@at_server
def events(
    api: Api,
    after: Annotated[str | None, typer.Option("--after", metavar="CURSOR", help="Begin behind this event.")] = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on until Ctrl+C.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Without -f: so many events.")] = 1,
) -> None:
    """Show every change of every thing; nothing is missed when a connection is lost. JSON lines with --json."""
    found = api.client.events(after=after)
    try:
        for event in found if follow else islice(found, limit):
            data = {camel(name): _plain(name, value) for name, value in asdict(event).items() if value is not None}
            what = " ".join(f"{name}={value}" for name, value in data.items() if name not in {"cursor", "at", "kind"})
            stream_line(api, data, f"{data['at']} {event.kind} {what}")
    except KeyboardInterrupt:
        return


def _plain(name: str, value: Any) -> Any:  # noqa: ANN401 - as the API has it
    if isinstance(value, datetime):
        return time_text(value)
    return str(value) if name.endswith("_id") or isinstance(value, Enum) else value
