"""Live events inside one process: numbered in the database, fanned out to bounded queues."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import UTC, datetime

from ..core.events import Change, Cursor, Event, EventFilter, EventKind
from ..store import events
from ..store.database import Connection, Database
from ..store.transaction import Tx, Wake
from .service import Service

QUEUE = 2000
"""Events that may wait for one subscriber; one that falls further behind is told to read anew."""
_PAGE = 200


class _Subscriber:
    """A bounded queue of what passed the filter."""

    def __init__(self, event_filter: EventFilter, bound: int) -> None:
        self.filter = event_filter
        self.bound = bound
        self.queue: deque[Event] = deque()
        self.overflowed: Cursor | None = None
        self.ready = asyncio.Event()

    def offer(self, event: Event) -> None:
        if self.overflowed is not None:
            self.overflowed = event.cursor
        elif len(self.queue) >= self.bound:
            self.queue.clear()
            self.overflowed = event.cursor
        else:
            self.queue.append(event)
        self.ready.set()


class EventBus(Service):
    """Publishes committed changes and hands them to this process' subscribers, in one order for all readers.

    Args:
        database: Where the events are.
        queue: How many events may wait for one subscriber.
    """

    def __init__(self, database: Database, *, queue: int = QUEUE) -> None:
        super().__init__("event-bus")
        self._queue = queue
        self._database = database
        self._wanted = asyncio.Event()
        self._subscribers: set[_Subscriber] = set()
        self._seen = Cursor(0, 0)
        self._closed = False
        self._started = asyncio.Event()

    def on_wake(self, wakes: Wake) -> None:
        """Events may wait to be published or read."""
        if wakes & Wake.EVENTS:
            self._wanted.set()

    def poke(self) -> None:
        """Look again."""
        self._wanted.set()

    async def run(self) -> None:
        """Number what was committed and fan out what was numbered, by whichever node."""
        if not self._started.is_set():
            self._seen = await self._database.read(events.newest)
            self._started.set()
        self._wanted.set()
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            await self._publish()
            await self._deliver()

    async def _publish(self) -> None:
        while await self._database.read(events.has_unpublished):
            await self._database.write(_publish)

    async def _deliver(self) -> None:
        while True:
            page = await self._database.read(events.after, self._seen, _PAGE)
            if not page:
                return
            for event in page:
                for subscriber in self._subscribers:
                    if subscriber.filter.matches(event.change):
                        subscriber.offer(event)
            self._seen = page[-1].cursor

    async def cursor(self) -> Cursor:
        """The cursor of everything published so far; what is committed but has no number yet comes after it."""
        return await self._database.read(events.newest)

    async def subscribe(
        self, after: Cursor | None = None, event_filter: EventFilter | None = None
    ) -> AsyncGenerator[Event, None]:
        """Events in order: first those stored after ``after``, then live ones, none missed and none twice.

        Without ``after`` it begins with the next event. A ``RESYNC`` event says that some were lost to the reader
        (older than what is kept, or it was too slow): read anew, then go on from its cursor.
        """
        await self._started.wait()
        subscriber = _Subscriber(event_filter or EventFilter(), self._queue)
        # Subscribed first, replayed second: what arrives meanwhile waits in the queue and is not sent twice.
        self._subscribers.add(subscriber)
        last = self._seen
        try:
            if after is not None:
                async for event in self._replay(after, last, subscriber.filter):
                    yield event
            # A cursor from the database may be ahead of what this process has handed out so far.
            async for event in self._live(subscriber, max(last, after or last)):
                yield event
        finally:
            self._subscribers.discard(subscriber)

    async def _replay(self, after: Cursor, until: Cursor, event_filter: EventFilter) -> AsyncIterator[Event]:
        if await self._is_gone(after):
            yield resync(until)
            return
        cursor = after
        while cursor < until:
            page = await self._database.read(events.after, cursor, _PAGE)
            for event in page:
                if event.cursor <= until and event_filter.matches(event.change):
                    yield event
            if not page:
                return
            cursor = page[-1].cursor

    async def _is_gone(self, after: Cursor) -> bool:
        """Whether events after this cursor were pruned already, or it was never given out."""
        newest, oldest = await self._database.read(_bounds)
        if after.seq > newest.seq:
            return True
        if oldest is None:
            return after.seq < newest.seq
        return after.seq + 1 < oldest

    async def _live(self, subscriber: _Subscriber, last: Cursor) -> AsyncIterator[Event]:
        while not self._closed:
            while subscriber.queue:
                event = subscriber.queue.popleft()
                if event.cursor > last:
                    last = event.cursor
                    yield event
            if subscriber.overflowed is not None:
                last, subscriber.overflowed = subscriber.overflowed, None
                yield resync(last)
                continue
            subscriber.ready.clear()
            await subscriber.ready.wait()

    async def settle(self) -> None:
        """Publish and hand out what is committed by now; for an orderly stop."""
        await self._publish()
        await self._deliver()

    def close(self) -> None:
        """End all subscriptions."""
        self._closed = True
        for subscriber in self._subscribers:
            subscriber.ready.set()


def resync(cursor: Cursor) -> Event:
    """Tell one subscriber to read anew and to go on from ``cursor``."""
    return Event(cursor, datetime.now(UTC), Change(EventKind.RESYNC))


def _publish(tx: Tx) -> int:
    return events.publish(tx.conn)


def _bounds(conn: Connection) -> tuple[Cursor, int | None]:
    return events.newest(conn), events.oldest_seq(conn)
