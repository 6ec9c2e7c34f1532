"""The stored events as a list; there is a subscription to new ones."""

from typing import Annotated, Final

import strawberry

from ...jobs.core import events
from ...jobs.store.read import events as stored_events
from ...jobs.store.read.listing.keyset import OrderKey, Page, PageRequest, Position
from ...jobs.store.read.listing.searching import Counted, capped
from ..base.arguments import AFTER, BEFORE, DEFAULT_PAGE, FIRST, LAST, MAX_PAGE, checked_range, refused
from ..base.enums import Role
from ..base.fields import resolved
from ..base.sizes import Size
from ..lists.connections import Connection, connect
from ..resolving.context import Info
from ..types.event import Event, EventFilter
from .subscription import parse_cursor

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
        """The page, read once."""
        if self._read is None:
            self._read = await self._info.context.database.read(stored_events.page, self._request, self._wanted)
        return self._read

    async def count(self) -> Counted:
        """How many stored events pass the filter, counted up to the cap and one more."""
        everything = PageRequest(ORDER, COUNTED + 1)
        found = await self._info.context.database.read(stored_events.page, everything, self._wanted)
        return capped(len(found.items))


@strawberry.type
class HistoryQueries:
    """What happened."""

    @resolved(size=Size(("first", "last"), default=DEFAULT_PAGE, most=MAX_PAGE, own=50), requires=Role.VIEWER)
    def events(
        self,
        info: Info,
        *,
        first: FIRST = None,
        after: AFTER = None,
        last: LAST = None,
        before: BEFORE = None,
        filter: Annotated[EventFilter | None, strawberry.argument(description="Which events.")] = None,
    ) -> Connection[Event]:
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
        return connect(
            "events", request, read=history.page, count=history.count, convert=Event.from_model, cursor_of=_cursor
        )


def _position(cursor: str | None, argument: str) -> Position | None:
    place = parse_cursor(cursor, argument)
    return None if place is None else stored_events.position_of(place)


def _cursor(position: Position) -> str:
    return str(stored_events.cursor_of(position))
