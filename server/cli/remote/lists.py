"""The one way of all lists: `--filter`, `--columns`, `--sort`, `--limit`, `--watch`."""

import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from shutil import get_terminal_size
from typing import Annotated, Any, Final, cast

import typer

from ....graphql.client.command_line import EXECUTIONS, FLOWS, GROUPS, JOBS, NODES, RUNS, TASKS
from ....jobs.core.base.errors import ConfigurationError
from ..base.application import NARROW, CommandLine
from ..base.output import Refused, print_line
from .api import Api, Limit, at_server
from .values import FLAG, INSIDE, NUMBER, TEXT, TIME, WORD, camel, filter_of, order_of

Filter = Annotated[
    list[str] | None,
    typer.Option("--filter", "-f", metavar="FIELD=VALUE", help="Only such rows: = != ~ ^ > >= < <=; repeatable."),
]
Columns = Annotated[
    str | None, typer.Option("--columns", metavar="A,B", help="These columns, in this order; `all` for every one.")
]
Sort = Annotated[list[str] | None, typer.Option("--sort", metavar="FIELD", help="Order by it; -FIELD the other way.")]
Watch = Annotated[
    float | None, typer.Option("--watch", min=0.2, metavar="SECONDS", help="Show it again every so many seconds.")
]
Shape = tuple[list[str] | None, str | None, list[str] | None, int, float | None]

WIDEST: Final = 60
TOGETHER: Final = ("rate", "Rate", "cap")
"""Ends of columns that mean nothing without each other."""
CLEAR: Final = "\x1b[H\x1b[2J"


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of the API.

    Attributes:
        name: The name of its rows in JSON.
        shown: Those that are shown unless others are asked for.
        fields: The kinds of the fields to filter by.
        orders: The fields to order by.
    """

    name: str
    document: str
    shown: tuple[str, ...]
    fields: Mapping[str, str]
    orders: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """All that the query asks of a row, as paths into it; paths that are read together are one column."""
        within, found = list[str](), list[str]()
        for word in re.findall(r"\w+|[{}]", self.document.partition(" nodes {")[2]):
            if word == "{":
                within.append(found[-1] if found[-1].endswith(TOGETHER) else found.pop())
            elif word == "}" and within:
                within.pop()
            elif word == "}":
                break
            elif not within or not within[-1].endswith(TOGETHER):
                found.append(".".join((*within[-1:], word)))
        return tuple(found)


def check_there(api: Api, listing: Listing, name: str) -> None:
    """Refuse the name of a thing that does not exist; for commands that found nothing by it.

    Raises:
        Refused: the list has nothing of this name.
    """
    if not list(api.rows(listing.document, 1, filter={"name": {"eq": name}}, orderBy=None)):
        noun = listing.name.removesuffix("s")
        raise Refused(f"{noun} '{name}' does not exist; `cronograph {listing.name} list` shows those that do")


def show(
    api: Api,
    listing: Listing,
    shape: Shape,
    fixed: Mapping[str, Any] | None = None,
    of: tuple[Listing, str] | None = None,
) -> None:
    """Show a list as the options say.

    Args:
        api: The server.
        listing: The list.
        shape: The options.
        fixed: A condition that always holds.
        of: The list with the thing whose rows these are, and its name.
    """
    terms, columns, sort, limit, watch = shape
    asked = filter_of(terms or (), listing.fields)
    both = [one for one in (asked, fixed) if one]
    variables = {
        "filter": (both[0] if len(both) == 1 else {"and": both}) if both else None,
        "orderBy": order_of(sort or (), listing.orders),
    }
    columns_shown = chosen(listing, columns)

    def once() -> None:
        rows = list(api.rows(listing.document, limit, **variables))
        if of is not None and not rows:
            check_there(api, *of)
        columns = get_terminal_size().columns
        room = columns if columns < NARROW and sys.stdout.isatty() else None
        api.result({listing.name: rows}, table(rows, columns_shown, room) if rows else f"No {listing.name}")

    repeat(once, watch, clear=not api.output.as_json and sys.stdout.isatty())


def add_list(commands: CommandLine, listing: Listing, about: str, *, name: str = "list") -> None:
    """Give a group of commands the one that shows its list."""

    @at_server
    def show_list(
        api: Api,
        filter: Filter = None,
        columns: Columns = None,
        sort: Sort = None,
        limit: Limit = 50,
        watch: Watch = None,
    ) -> None:
        show(api, listing, (filter, columns, sort, limit, watch))

    commands.command(name=name, help=about)(show_list)


def repeat(once: Callable[[], None], seconds: float | None, *, clear: bool) -> None:
    """Do it once, or again and again until Ctrl+C."""
    try:
        while True:
            if clear and seconds is not None:
                sys.stdout.write(CLEAR)
            once()
            if seconds is None:
                return
            time.sleep(seconds)
    except KeyboardInterrupt:
        return


def chosen(listing: Listing, columns: str | None) -> Sequence[str]:
    """Return the columns that are asked for.

    Raises:
        ConfigurationError: the list has no such column.
    """
    if columns is None:
        return listing.shown
    if columns == "all":
        return listing.columns
    by_name = {camel(one.replace(".", "_")).lower(): one for one in listing.columns}
    found: list[str] = []
    for name in columns.split(","):
        column = by_name.get(camel(name.strip().replace(".", "_")).lower())
        if column is None:
            raise ConfigurationError(f"--columns: there is no column '{name}'; there are {', '.join(listing.columns)}")
        found.append(column)
    return found


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], room: int | None = None) -> str:
    """Return rows in columns, for people; if a line is longer than ``room``, each field is on a line of its own."""
    cells = [[_heading(column) for column in columns]]
    cells += [[text_of(_at(row, column)) for column in columns] for row in rows]
    widths = [min(WIDEST, max(len(line[at]) for line in cells)) for at in range(len(columns))]
    if room is not None and sum(widths) + 2 * (len(widths) - 1) > room:
        return "\n\n".join(details(dict(zip(cells[0], line, strict=True))) for line in cells[1:])
    lines = (
        "  ".join(_cut(cell, width).ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )
    return "\n".join(lines)


def _heading(column: str) -> str:
    """Return the words of a column: ``submittedAt`` is headed ``SUBMITTED AT``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column.rpartition(".")[2]).upper()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _at(row: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401 - any JSON value
    value: Any = row
    for name in path.split("."):
        value = cast("Mapping[str, Any]", value).get(name) if isinstance(value, dict) else None
    return value


def text_of(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return a value for people, in one line."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(text.split())


def details(row: Mapping[str, Any]) -> str:
    """Return one thing for people, a line for each field."""
    width = max(map(len, row))
    return "\n".join(f"{name.ljust(width)}  {text_of(value)}" for name, value in row.items())


def stream_line(api: Api, data: Mapping[str, Any], text: str) -> None:
    """Print one line of an endless answer: JSON lines for programs."""
    print_line(json.dumps(data, default=str) if api.output.as_json else text)


_TIMES: Final = ("startedAt", "finishedAt", "submittedAt", "availableAt", "scheduledFor", "cancelRequestedAt")
RUN_LIST: Final = Listing(
    "runs",
    RUNS,
    ("id", "state", "jobName", "group", "priority", "attempt", "submittedAt", "node", "error"),
    {
        **dict.fromkeys(("id", "jobName", "taskId", "taskName", "group", "node", "uniqueKey", "retriedFrom"), TEXT),
        **dict.fromkeys(("submitter", "description", "error"), TEXT),
        **dict.fromkeys(("state", "priority", "trigger"), WORD),
        **dict.fromkeys(("attempt", "failures"), NUMBER),
        **dict.fromkeys(_TIMES, TIME),
        "isRetried": FLAG,
        "isWaitingForSignal": FLAG,
        "labels": INSIDE,
        "args": INSIDE,
    },
    (
        "ID",
        "STATE",
        "JOB_NAME",
        "TASK_NAME",
        "GROUP",
        "PRIORITY",
        "SCHEDULED_FOR",
        "SUBMITTED_AT",
        "AVAILABLE_AT",
        "STARTED_AT",
        "FINISHED_AT",
    ),
)
TASK_LIST: Final = Listing(
    "tasks",
    TASKS,
    ("name", "jobName", "isEnabled", "schedule.humanized", "nextExecutionAt", "lastStartedAt"),
    {
        **dict.fromkeys(("id", "name", "description", "jobName", "group", "owner", "submitter", "timezone"), TEXT),
        **dict.fromkeys(("source", "priority", "syntax", "overlap", "lastOutcome"), WORD),
        **dict.fromkeys(("isEnabled", "isOverridden", "isFinished", "isStalled"), FLAG),
        **dict.fromkeys(("nextExecutionAt", "pausedAt", "lastDueAt", "lastStartedAt", "createdAt", "updatedAt"), TIME),
        "counter": NUMBER,
        "labels": INSIDE,
    },
    (
        "ID",
        "NAME",
        "JOB_NAME",
        "GROUP",
        "OWNER",
        "NEXT_EXECUTION_AT",
        "LAST_STARTED_AT",
        "COUNTER",
        "CREATED_AT",
        "UPDATED_AT",
    ),
)
EXECUTION_LIST: Final = Listing(
    "executions",
    EXECUTIONS,
    ("id", "jobName", "runId", "attempt", "outcome", "startedAt", "duration", "errorMessage"),
    {
        **dict.fromkeys(("id", "jobName", "taskId", "taskName", "runId", "group", "owner", "node"), TEXT),
        **dict.fromkeys(("errorMessage", "errorType"), TEXT),
        **dict.fromkeys(("outcome", "trigger"), WORD),
        **dict.fromkeys(("attempt", "recordsProcessed", "duration"), NUMBER),
        **dict.fromkeys(("startedAt", "completedAt", "scheduledFor"), TIME),
        "success": FLAG,
        "labels": INSIDE,
        "args": INSIDE,
    },
    ("ID", "JOB_NAME", "TASK_NAME", "NODE", "STARTED_AT", "COMPLETED_AT", "DURATION", "RECORDS_PROCESSED"),
)
GROUP_LIST: Final = Listing(
    "groups",
    GROUPS,
    ("name", "isPaused", "maxRunning", "waiting", "running", "stuck", "suspended", "oldestWait"),
    {"name": TEXT, "isPaused": FLAG, "maxRunning": NUMBER},
    ("NAME", "DEPTH", "RUNNING", "WAIT"),
)
FLOW_LIST: Final = Listing(
    "flows",
    FLOWS,
    ("id", "name", "state", "progress.done", "progress.total", "progress.failed", "submittedAt", "finishedAt"),
    {
        **dict.fromkeys(("id", "name", "uniqueKey", "submitter", "startedByRunId", "startedByTaskId"), TEXT),
        "state": WORD,
        "labels": INSIDE,
        **dict.fromkeys(("submittedAt", "finishedAt", "deadlineAt"), TIME),
    },
    ("ID", "NAME", "FINISHED_AT"),
)
JOB_LIST: Final = Listing(
    "jobs",
    JOBS,
    ("name", "isolation", "schedule", "limits.rate", "declaredRate"),
    {**dict.fromkeys(("name", "description", "schedule"), TEXT), "isolation": WORD},
    ("NAME",),
)
NODE_LIST: Final = Listing(
    "nodes",
    NODES,
    ("name", "state", "running", "slots", "version", "heartbeatAt"),
    {**dict.fromkeys(("id", "name", "version"), TEXT), "state": WORD, "startedAt": TIME},
    ("ID", "NAME", "STARTED_AT"),
)
