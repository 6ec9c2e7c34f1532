"""Search in the past: log lines that hold a text, and stored events."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Annotated, Final, Self, TypeVar

import strawberry

from ...jobs.core import events
from ...jobs.core.base.times import time_text
from ...jobs.store.statements import events as stored_events
from ...jobs.store.statements import logs as stored
from ...jobs.store.statements.listing.keyset import OrderKey, Page, PageRequest, Position, page_of
from ...jobs.store.statements.listing.searching import Counted, capped
from ...jobs.store.statements.logs import Logged, LogPlace, Searched
from ...jobs.store.statements.logs import LogLine as StoredLine
from ..base.enums import Role
from ..base.fields import Size, resolved
from ..base.scalars import (
    AFTER,
    BEFORE,
    DEFAULT_PAGE,
    FIRST,
    FORWARDS,
    LAST,
    MAX_PAGE,
    BigInt,
    checked_range,
    checked_text,
    parse_id,
    refused,
)
from ..lists.connections import INVALID_CURSOR, Connection, connect
from ..resolving.context import Info
from ..types.common import LogLine
from ..types.entities import JobExecution, load_execution
from ..types.event import Event, EventFilter, event_of
from .subscription import parse_cursor


@strawberry.type(description="A log line that holds the searched text.")
class LogMatch:
    """A line and its execution."""

    execution_id: strawberry.ID = strawberry.field(description="The `id` of the execution of the line.")
    line: LogLine = strawberry.field(description="The line.")

    @resolved()
    async def execution(self, info: Info) -> JobExecution | None:
        """The execution of the line; null once it is pruned."""
        return await load_execution(info, int(self.execution_id))

    @classmethod
    def from_model(cls, stored: StoredLine) -> Self:
        """Return the match behind a stored line."""
        return cls(execution_id=strawberry.ID(str(stored.execution_id)), line=LogLine.from_model(stored))


@strawberry.type(
    description="Log lines that contain a text, and how far the search looked. If it ended before it found `first` "
    "lines, after 1,000 executions or 20,000 lines, `pageInfo.isPartial` is true, and `after` with the `endCursor` "
    "looks on."
)
class LogMatchConnection(Connection[LogMatch]):
    """The lines that were found, and the reach of the search."""

    executions: int = strawberry.field(description="The number of executions that were looked through.")
    lines: BigInt = strawberry.field(description="The number of lines that these executions have.")
    sentence: str = strawberry.field(description="The result as an English sentence, with how far the search looked.")


T = TypeVar("T")

MAX_EXECUTIONS: Final = 1_000
"""Executions that one search looks through at most."""
MAX_LINES: Final = 20_000
"""Lines that one search looks through at most, those of a first execution that has more by itself apart."""
MAX_TEXT: Final = 200
_CURSOR: Final = re.compile(r"([1-9][0-9]{0,18})\.([0-9]{1,10})")
PLACE_ORDER: Final = (OrderKey("execution_id", descending=True), OrderKey("line", descending=True))
_WHY: Final = "Log lines are looked through one by one; name a shorter span of time, or one execution."


@dataclass(frozen=True, slots=True)
class Reach:
    """Tell how far a search looks: through these executions, and whether there are more behind them."""

    executions: Sequence[Logged]
    more: bool

    @property
    def lines(self) -> int:
        """Return how many lines they have."""
        return sum(one.lines for one in self.executions)

    @property
    def end(self) -> LogPlace:
        """The place behind all of it."""
        return LogPlace(self.executions[-1].execution_id, 0)


def reach_of(found: Sequence[Logged], *, executions: int, lines: int) -> Reach:
    """Return the executions that a search covers within its bounds.

    Args:
        found: The executions to be looked through, in their order, one more than the bound if there are so many.
        executions: So many at most.
        lines: So many lines at most; those of the first one in any case.
    """
    taken: list[Logged] = []
    left = lines
    for one in found[:executions]:
        left -= one.lines
        if left < 0 and taken:
            break
        taken.append(one)
    return Reach(taken, more=len(taken) < len(found))


def sentence_of(reach: Reach, matches: int, *, full: bool) -> str:
    """Describe the findings and the extent of a search."""
    what = f"{matches} {'line' if matches == 1 else 'lines'} found"
    if not reach.executions:
        return f"{what}: no such execution has begun in this span of time."
    count = len(reach.executions)
    where = f"{reach.lines} {'line' if reach.lines == 1 else 'lines'} of {count} "
    where += "execution" if count == 1 else "executions"
    if full:
        older = " and in older ones" if reach.more else ""
        return f"{what}, then the search stopped: there may be more among {where}{older}."
    if reach.more:
        last = f"{reach.executions[-1].started_at:%Y-%m-%d %H:%M:%S} UTC"
        return f"{what} among {where}; older ones than that of {last} have not been looked through."
    cut = sum(one.cut for one in reach.executions)
    if cut:
        return f"{what} among {where}, all that are kept: {cut} older {'line was' if cut == 1 else 'lines were'} cut."
    return f"{what} among {where}: all there are."


@strawberry.type
class LogSearchQueries:
    """The search in log lines."""

    @resolved(
        description="Log lines that contain a text, upper or lower case: of one execution, or of the newest "
        "executions of a job or a task. The newest execution comes first, and in it the newest line. The search ends "
        "at a bound and says so; `after` looks on. `totalCount` counts the lines of this page.",
        size=Size(("first",), default=DEFAULT_PAGE, most=MAX_PAGE, own=200),
        requires=Role.VIEWER,
    )
    async def log_search(
        self,
        info: Info,
        *,
        text: Annotated[str, strawberry.argument(description="The text to look for, 1 to 200 characters.")],
        job_name: Annotated[str | None, strawberry.argument(description="In executions of this job.")] = None,
        task_name: Annotated[str | None, strawberry.argument(description="In executions of this task.")] = None,
        execution_id: Annotated[strawberry.ID | None, strawberry.argument(description="In this execution.")] = None,
        from_: Annotated[
            datetime | None,
            strawberry.argument(name="from", description="Only of executions that began then or after."),
        ] = None,
        to: Annotated[
            datetime | None, strawberry.argument(description="Only of executions that began before that.")
        ] = None,
        first: FORWARDS = DEFAULT_PAGE,
        after: AFTER = None,
    ) -> LogMatchConnection | None:
        """Lines that hold a text."""
        place = _place(after)
        request = PageRequest(PLACE_ORDER, checked_range(first, "first", 0, MAX_PAGE), after=place)
        wanted, behind = _checked_text(text), None if place is None else LogPlace(*place)
        searched = _searched(job_name, task_name, execution_id, from_, to)
        found = await info.context.database.read(stored.logged, searched, behind, MAX_EXECUTIONS + 1)
        reach = reach_of(found, executions=MAX_EXECUTIONS, lines=MAX_LINES)
        lines = await _lines(info, wanted, reach, behind, first + 1) if reach.lines else []
        return _answer(request, reach, lines)


async def _lines(info: Info, text: str, reach: Reach, behind: LogPlace | None, limit: int) -> list[StoredLine]:
    """Return the lines that hold the text; read as searches are, each caller having so much time for them."""
    ids, searches = [one.execution_id for one in reach.executions if one.lines], info.context.searches
    if searches is None:
        return await info.context.database.read(stored.holding, text, ids, behind, limit)
    searches.add(reach.lines, _WHY)
    with searches.in_time(lambda: _WHY):
        return await searches.read(stored.holding, text, ids, behind, limit)


def _answer(request: PageRequest, reach: Reach, lines: Sequence[StoredLine]) -> LogMatchConnection:
    page = page_of(request, [(line, (line.execution_id, line.line)) for line in lines])
    full = page.has_next
    if reach.more and not full:
        page = replace(page, has_next=True, reached=(reach.end.execution_id, reach.end.line))
    is_whole = request.after is None and not page.has_next
    counted = Counted(len(page.items), is_complete=is_whole)
    return LogMatchConnection(
        executions=len(reach.executions),
        lines=BigInt(reach.lines),
        sentence=sentence_of(reach, len(page.items), full=full),
        cursor_of=_cursor_of_line,
        read=partial(_ready, page),
        number=partial(_ready, counted),
        convert=LogMatch.from_model,
    )


async def _ready(value: T) -> T:
    return value


def _cursor_of_line(position: Position) -> str:
    return ".".join(map(str, position))


def _checked_text(text: str) -> str:
    if not 1 <= len(text) <= MAX_TEXT:
        raise refused(f"text: must have 1 to {MAX_TEXT} characters, got {len(text)}")
    return checked_text(text, "text")


def _place(after: str | None) -> tuple[int, int] | None:
    if after is None:
        return None
    found = _CURSOR.fullmatch(after)
    if found is None or int(found[1]) >= 2**63 or int(found[2]) >= 2**31:
        raise refused(f"after: must be a cursor as this list gives them, got {after[:60]!r}", code=INVALID_CURSOR)
    return int(found[1]), int(found[2])


def _searched(
    job_name: str | None, task_name: str | None, execution_id: str | None, start: datetime | None, end: datetime | None
) -> Searched:
    given = {"jobName": job_name, "taskName": task_name, "executionId": execution_id}
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        got = " and ".join(names) or "none of them"
        raise refused(f"logSearch: must be given one of {', '.join(given)}, got {got}")
    if start is not None and end is not None and start >= end:
        raise refused(f"from: must be before to, got {time_text(start)} and {time_text(end)}")
    return Searched(
        job_name=None if job_name is None else checked_text(job_name, "jobName"),
        task_name=None if task_name is None else checked_text(task_name, "taskName"),
        execution_id=None if execution_id is None else parse_id(execution_id, "executionId"),
        start=start,
        end=end,
    )


ORDER: Final = (OrderKey("seq"), OrderKey("index"))
COUNTED: Final = 10_000


class History:
    """A page of the stored events."""

    def __init__(self, info: Info, request: PageRequest, wanted: events.EventFilter) -> None:
        self._info = info
        self._request = request
        self._wanted = wanted
        self._read: Page[events.Event] | None = None

    async def page(self) -> Page[events.Event]:
        """Return the page, read once."""
        if self._read is None:
            self._read = await self._info.context.database.read(stored_events.page, self._request, self._wanted)
        return self._read

    async def count(self) -> Counted:
        """Return how many stored events pass the filter, counted up to the cap and one more."""
        everything = PageRequest(ORDER, COUNTED + 1)
        found = await self._info.context.database.read(stored_events.page, everything, self._wanted)
        return capped(len(found.items))


@strawberry.type
class HistoryQueries:
    """Queries of history."""

    @resolved(size=Size(("first", "last"), default=DEFAULT_PAGE, most=MAX_PAGE, own=50), requires=Role.VIEWER)
    def events(
        self,
        info: Info,
        *,
        first: FIRST = None,
        after: AFTER = None,
        last: LAST = None,
        before: BEFORE = None,
        filter: Annotated[EventFilter | None, strawberry.argument(description="A filter of events.")] = None,
    ) -> Connection[Event] | None:
        """The stored events, the oldest first: the newest 50 unless asked otherwise, as far back as they are kept.

        A cursor of the list is the `cursor` of the event; the subscription `events` goes on from it.
        """
        if first is not None and last is not None:
            raise refused("last: must not be given together with first; page forwards or backwards")
        backwards = first is None and after is None
        size = first if first is not None else last
        request = PageRequest(
            ORDER,
            DEFAULT_PAGE if size is None else checked_range(size, "last" if backwards else "first", 0, MAX_PAGE),
            backwards=backwards or last is not None,
            after=_position(after, "after"),
            before=_position(before, "before"),
        )
        history = History(info, request, events.EventFilter() if filter is None else filter.to_filter())
        return connect("events", request, read=history.page, count=history.count, convert=event_of, cursor_of=_cursor)


def _position(cursor: str | None, argument: str) -> Position | None:
    place = parse_cursor(cursor, argument)
    return None if place is None else stored_events.position_of(place)


def _cursor(position: Position) -> str:
    return str(stored_events.cursor_of(position))
