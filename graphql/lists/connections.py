"""Relay connections over the lists of the store: keyset cursors in both directions, rows and counts only when asked."""

import asyncio
import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Generic, TypeAlias, TypeVar

import strawberry

from ...jobs.core.base.times import is_possible
from ...jobs.core.model import Run, SkippedOccurrence
from ...jobs.store.schema.types import from_text, to_text
from ...jobs.store.statements import lists as aggregates
from ...jobs.store.statements.listing.criteria import EVERYTHING, Criteria
from ...jobs.store.statements.listing.keyset import OrderKey, Page, PageRequest, Position, Value
from ...jobs.store.statements.listing.listing import Listing
from ...jobs.store.statements.listing.pages import COUNT_CAP
from ...jobs.store.statements.listing.searching import Counted, capped
from ..base.errors import UserFacingError
from ..base.fields import Size, resolved
from ..base.scalars import DEFAULT_PAGE, MAX_PAGE, BigInt, checked_range, refused, unstorable
from ..resolving.loaders import Loaders

INVALID_CURSOR = "INVALID_CURSOR"
MAX_CURSOR = 2_000
"""Longest cursor that is looked at, in characters."""


def encode(listing: str, order: Sequence[OrderKey], position: Position) -> str:
    """Return the cursor of a row at ``position`` in a list ordered by ``order``."""
    document = [_bound_to(listing, order), *(_to_json(value) for value in position)]
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(listing: str, order: Sequence[OrderKey], kinds: Sequence[type], cursor: str, argument: str) -> Position:
    """Return the position behind a cursor.

    Args:
        listing: The list it is used with.
        order: The order it is used with.
        kinds: The Python type of each value of the order.
        cursor: The cursor from the client.
        argument: Where, for the message: ``after`` or ``before``.

    Raises:
        UserFacingError: ``INVALID_CURSOR``: not a cursor of ours, or one of another list or order.
    """
    document = _document(cursor)
    if not document:
        raise _refused(argument, "is not a cursor that this server gave out", cursor)
    if document[0] != _bound_to(listing, order):
        raise _refused(argument, "belongs to another list or another order than this one", cursor)
    if len(document) != len(order) + 1:
        raise _refused(argument, "is not a cursor that this server gave out", cursor)
    values: list[Value] = []
    for kind, stored in zip(kinds, document[1:], strict=True):
        value = _from_json(kind, stored)
        if value is None and stored is not None:
            raise _refused(argument, "is not a cursor that this server gave out", cursor)
        values.append(value)
    if values[-1] is None:
        raise _refused(argument, "is not a cursor that this server gave out", cursor)
    return tuple(values)


def _bound_to(listing: str, order: Sequence[OrderKey]) -> str:
    return ":".join([listing, *map(_sign, order)])


def _sign(key: OrderKey) -> str:
    placed = "" if key.nulls_first is None else "^" if key.nulls_first else "$"
    return f"{'-' if key.descending else ''}{key.field}{placed}"


def _document(cursor: str) -> list[object] | None:
    if not cursor or len(cursor) > MAX_CURSOR or not cursor.isascii():
        return None
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        document: object = json.loads(text)
    except (binascii.Error, ValueError, RecursionError):
        return None
    return document if isinstance(document, list) else None  # pyright: ignore[reportUnknownVariableType]


def _to_json(value: Value) -> object:
    return to_text(value) if isinstance(value, datetime) else value


def _from_json(kind: type, stored: object) -> Value:
    """Return the value, or None if it is not one of ``kind``."""
    if kind is datetime:
        return _time(stored)
    if kind is float and isinstance(stored, int | float) and not isinstance(stored, bool):
        return float(stored)
    if kind is int and isinstance(stored, int) and not isinstance(stored, bool):
        return stored if -(2**63) <= stored < 2**63 else None
    if kind is str and isinstance(stored, str):
        return None if unstorable(stored) else stored
    return stored if kind is bool and isinstance(stored, bool) else None


def _time(stored: object) -> datetime | None:
    try:
        instant = from_text(stored) if isinstance(stored, str) else None
    except ValueError:
        return None
    if instant is None or instant.tzinfo is None or not is_possible(instant):
        return None
    return instant.astimezone(UTC)


def _refused(argument: str, fault: str, cursor: str) -> UserFacingError:
    shown = cursor if len(cursor) <= 40 else f"{cursor[:40]}…"
    return UserFacingError(
        f"{argument}: {shown!r} {fault}; take it from 'pageInfo' or 'edges' of the same list, ordered the same way",
        code=INVALID_CURSOR,
    )


T = TypeVar("T")
M = TypeVar("M")

COUNT: Final = Size(own=5)
"""Up to ten thousand entries of an index are looked at: up to a millisecond, mostly much less."""


@strawberry.type(description="The place of a page in its list.")
class PageInfo:
    """Relay's page information."""

    has_next_page: bool = strawberry.field(description="Whether there are rows after this page.")
    has_previous_page: bool = strawberry.field(description="Whether there are rows before this page.")
    start_cursor: str | None = strawberry.field(
        description="Cursor of the first row; pass it as `before` to page back."
    )
    end_cursor: str | None = strawberry.field(description="Cursor of the last row; pass it as `after` to page on.")
    is_partial: bool = strawberry.field(
        description="Whether the search for rows that no index finds ended after 200,000 rows, before the page was "
        "full. Then `hasNextPage` is true (with `last`: `hasPreviousPage`), and `endCursor` (`startCursor`) is where "
        "the search ended: pass it on to go on from there."
    )


@strawberry.type(description="One row of a page and its cursor.")
class Edge(Generic[T]):
    """Relay's edge."""

    cursor: str = strawberry.field(description="The opaque place of the row in this list and order.")
    node: T = strawberry.field(description="The row itself.")


@dataclass(frozen=True, slots=True)
class PageArguments:
    """Hold a client's arguments about paging, as they came."""

    first: int | None = None
    after: str | None = None
    last: int | None = None
    before: str | None = None

    def request(self, listing: Listing[Any], order: Sequence[OrderKey], criteria: Criteria = EVERYTHING) -> PageRequest:
        """Return the checked request for a page of a list of the store.

        Raises:
            UserFacingError: both or impossible sizes, or a cursor that does not belong here.
        """
        complete = listing.complete(order)
        return replace(self.bounded(listing.name, complete, listing.kinds(complete)), criteria=criteria)

    def bounded(
        self, name: str, order: tuple[OrderKey, ...], kinds: Sequence[type], *, most: int = MAX_PAGE
    ) -> PageRequest:
        """Return the checked request for a page of any list.

        Args:
            name: The name that the list's cursors are bound to.
            order: Its unique order.
            kinds: The Python type of each value of the order.
            most: The largest page.

        Raises:
            UserFacingError: both or impossible sizes, or a cursor that does not belong here.
        """
        if self.first is not None and self.last is not None:
            raise refused("last: must not be given together with first; page forwards or backwards")
        backwards = self.last is not None
        argument, size = ("last", self.last) if backwards else ("first", self.first)

        def position(cursor: str | None, argument: str) -> Position | None:
            return None if cursor is None else decode(name, order, kinds, cursor, argument)

        return PageRequest(
            order=order,
            limit=DEFAULT_PAGE if size is None else checked_range(size, argument, 0, most),
            backwards=backwards,
            after=position(self.after, "after"),
            before=position(self.before, "before"),
        )


@strawberry.type(description="A page of a list.")
class Connection(Generic[T]):
    """Rows are read once, for ``edges``, ``nodes`` or ``pageInfo``; they are counted only for ``totalCount``."""

    cursor_of: strawberry.Private[Callable[[Position], str]]
    read: strawberry.Private[Callable[[], Awaitable[Page[Any]]]]
    number: strawberry.Private[Callable[[], Awaitable[Counted]]]
    convert: strawberry.Private[Callable[[Any], Any]]

    @resolved()
    async def edges(self) -> list[Edge[T]]:
        """The rows of the page with their cursors."""
        page = await self.read()
        return [
            Edge(cursor=self.cursor_of(position), node=self.convert(item))
            for item, position in zip(page.items, page.positions, strict=True)
        ]

    @resolved()
    async def nodes(self) -> list[T]:
        """The rows of the page."""
        return [self.convert(item) for item in (await self.read()).items]

    @resolved()
    async def page_info(self) -> PageInfo:
        """The place of the page in the list."""
        page = await self.read()
        start, end = page.ends
        return PageInfo(
            has_next_page=page.has_next,
            has_previous_page=page.has_previous,
            start_cursor=None if start is None else self.cursor_of(start),
            end_cursor=None if end is None else self.cursor_of(end),
            is_partial=page.reached is not None,
        )

    @resolved(
        description="The number of rows of the whole list that meet the filter: exact up to 10,000. 10,001 means "
        "more than that, and `isTotalCountExact` is false. Rows that no index finds are counted among "
        "the newest 200,000. The server counts only if you ask for it.",
        size=COUNT,
    )
    async def total_count(self) -> BigInt:
        """The capped count."""
        return BigInt((await self.number()).number)

    @resolved(size=COUNT)
    async def is_total_count_exact(self) -> bool:
        """True if `totalCount` is the exact number; false: there may be more.

        Counted only when asked for, together with `totalCount`.
        """
        return (await self.number()).is_complete


def connect(
    name: str,
    request: PageRequest,
    *,
    read: Callable[[], Awaitable[Page[M]]],
    count: Callable[[], Awaitable[Counted]],
    convert: Callable[[M], T],
    cursor_of: Callable[[Position], str] | None = None,
) -> Connection[T]:
    """Return a connection.

    Args:
        name: The name that the list's cursors are bound to.
        request: The page asked for.
        read: Reads the page; may be called several times, so it should remember.
        count: Counts the rows; called once.
        convert: Makes the GraphQL object of a row.
        cursor_of: Makes the cursor of a row; bound to the list and its order unless given.
    """
    bound = cursor_of or partial(encode, name, request.order)
    return Connection[T](cursor_of=bound, read=read, number=once(count), convert=convert)


NUMBER: Final = (OrderKey("number"),)
FARTHEST: Final = 2**53
"""No row has a number beyond."""


@dataclass(frozen=True, slots=True)
class Numbered(Generic[M]):
    """Rows that are known by their numbers, from 0: those of a list that grows only at its end.

    Attributes:
        request: The page, in terms of ``NUMBER``.
        read: Reads up to so many rows from a number on: ``read(number, limit)``.
        length: Counts all rows; called when it is asked for, and for a page from the end.
    """

    request: PageRequest
    read: Callable[[int, int], Awaitable[Sequence[M]]]
    length: Callable[[], Awaitable[int]]

    async def page(self) -> Page[M]:
        """Return the page asked for."""
        limit, end = self.request.limit, _number(self.request.before)
        last = _number(self.request.after)
        begin = 0 if last is None else last + 1
        if self.request.backwards:
            stop = await self.length() if end is None else end
            begin = max(begin, stop - limit)
            limit = max(0, min(limit, stop - begin))
        elif end is not None:
            limit = max(0, min(limit, end - begin))
        # One row more shows that another page follows.
        found = await self.read(begin, limit + 1)
        kept = found[:limit]
        numbers = range(begin, begin + len(kept))
        return Page(tuple(kept), tuple((one,) for one in numbers), len(found) > limit, begin > 0)

    async def count(self) -> Counted:
        """Return how many rows there are, all of them counted."""
        return Counted(await self.length(), is_complete=True)


def _number(position: Position | None) -> int | None:
    if position is None:
        return None
    (number,) = position
    assert isinstance(number, int), "a cursor of this list is a number"
    return max(0, min(number, FARTHEST))


def connect_numbered(
    name: str,
    paging: PageArguments,
    *,
    read: Callable[[int, int], Awaitable[Sequence[M]]],
    length: Callable[[], Awaitable[int]],
    convert: Callable[[M], T],
    most: int = MAX_PAGE,
) -> Connection[T]:
    """Return a connection over numbered rows, see ``Numbered``.

    Args:
        name: The name that the list's cursors are bound to.
        paging: The arguments of the client.
        read: Reads up to so many rows from a number on.
        length: Counts all rows.
        convert: Makes the GraphQL object of a row.
        most: The largest page.
    """
    request = paging.bounded(name, NUMBER, (int,), most=most)
    rows = Numbered(request, read, length)
    return connect(name, request, read=once(rows.page), count=rows.count, convert=convert)


def once(read: Callable[[], Awaitable[T]]) -> Callable[[], Awaitable[T]]:
    """Return the same read, made when it is first asked for, no matter who asks again meanwhile or later."""
    made: list[asyncio.Future[T]] = []

    def ask() -> Awaitable[T]:
        if not made:
            made.append(asyncio.ensure_future(read()))
        return made[0]

    return ask


OccurrenceRow: TypeAlias = Run | SkippedOccurrence
_Place: TypeAlias = tuple[datetime, int, int]

LIST: Final = "occurrences"
ORDER: Final = (OrderKey("at", descending=True), OrderKey("kind", descending=True), OrderKey("id", descending=True))
KINDS: Final = (datetime, int, int)
RUN, SKIPPED = 1, 0
"""The kinds, so that of one nominal time the run comes first."""

RUN_ORDER: Final = (OrderKey("scheduled_for", descending=True), OrderKey("id", descending=True))
SKIPPED_ORDER: Final = (OrderKey("last_scheduled_for", descending=True), OrderKey("id", descending=True))
BEYOND: Final = 2**62
"""A key after all keys."""


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The occurrences of one task, read from two lists that are each in order.

    Attributes:
        request: The page in terms of ``ORDER``.
    """

    loaders: Loaders
    task_id: int
    request: PageRequest

    async def page(self) -> Page[OccurrenceRow]:
        """Return the page: of each list as many rows as a page has, merged and cut."""
        runs, skipped = await asyncio.gather(
            self.loaders.children(aggregates.OCCURRENCES, "task_id").page(self.task_id, self._part(RUN, RUN_ORDER)),
            self.loaders.children(aggregates.SKIPPED, "task_id").page(self.task_id, self._part(SKIPPED, SKIPPED_ORDER)),
        )
        return merge(self.request, runs, skipped)

    async def count(self) -> Counted:
        """Return how many there are, each list counted up to its cap."""
        runs, skipped = await asyncio.gather(
            self.loaders.children(aggregates.OCCURRENCES, "task_id").count(self.task_id, EVERYTHING),
            self.loaders.children(aggregates.SKIPPED, "task_id").count(self.task_id, EVERYTHING),
        )
        return capped(min(runs + skipped, COUNT_CAP + 1))

    def _part(self, kind: int, order: tuple[OrderKey, ...]) -> PageRequest:
        return replace(
            self.request, order=order, after=_bound(self.request.after, kind), before=_bound(self.request.before, kind)
        )


def _bound(position: Position | None, kind: int) -> Position | None:
    """Translate a position in the merged list into one in the list of one kind."""
    if position is None:
        return None
    at, its_kind, key = position
    if its_kind == kind:
        return at, key
    # Of one time, runs stand in front of skips.
    return at, BEYOND if kind == SKIPPED else 0


def _place(position: Position, kind: int) -> _Place:
    at, key = position
    assert isinstance(at, datetime), "both lists are ordered by a time"
    assert isinstance(key, int), "and then by a key"
    return at, kind, key


def merge(request: PageRequest, runs: Page[Run], skipped: Page[SkippedOccurrence]) -> Page[OccurrenceRow]:
    """Return the page of the merged list behind a page of each."""
    rows: list[tuple[_Place, OccurrenceRow]] = [
        *((_place(position, RUN), run) for position, run in zip(runs.positions, runs.items, strict=True)),
        *((_place(position, SKIPPED), row) for position, row in zip(skipped.positions, skipped.items, strict=True)),
    ]
    rows.sort(key=lambda row: row[0], reverse=True)
    more = len(rows) > request.limit
    kept = rows[len(rows) - request.limit :] if request.backwards and more else rows[: request.limit]
    return Page(
        items=tuple(row for _, row in kept),
        positions=tuple(position for position, _ in kept),
        has_next=runs.has_next or skipped.has_next or (more and not request.backwards),
        has_previous=runs.has_previous or skipped.has_previous or (more and request.backwards),
    )
