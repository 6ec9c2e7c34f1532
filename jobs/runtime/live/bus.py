"""Live events inside one process: numbered in the database, fanned out to bounded queues."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Hashable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

from ...core.events import Change, Cursor, Event, EventFilter, EventKind
from ...queue.base.changes import publish
from ...store.db.database import Connection, Database
from ...store.db.transaction import Wake
from ...store.statements import events
from ..base.service import Watch

log = logging.getLogger(__name__)


class Subscriber:
    """A bounded queue of the events that passed a filter.

    Attributes:
        filter: Which events it wants.
        queue: Those that wait for it, in order.
        overflowed: It fell behind; the newest place of which it knows.
        ready: Set when there is something to take.
    """

    def __init__(self, event_filter: EventFilter, bound: int) -> None:
        self.filter = event_filter
        self.queue: deque[Event] = deque()
        self.overflowed: Cursor | None = None
        self.ready = asyncio.Event()
        self._bound = bound

    def offer(self, event: Event) -> None:
        """Queue an event; a full queue is emptied instead, and the subscriber has to reload."""
        if self.overflowed is not None:
            self.overflowed = event.cursor
        elif len(self.queue) >= self._bound:
            self.lose(event.cursor)
        else:
            self.queue.append(event)
        self.ready.set()

    def lose(self, cursor: Cursor) -> None:
        """Forget the waiting events: the subscriber has to reload and go on from ``cursor``."""
        self.queue.clear()
        self.overflowed = cursor
        self.ready.set()


class Audience:
    """All subscribers. An event costs as much as its own subscribers, however many others there are."""

    def __init__(self) -> None:
        self._by_key: dict[Hashable, set[Subscriber]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def __iter__(self) -> Iterator[Subscriber]:
        return (subscriber for group in list(self._by_key.values()) for subscriber in list(group))

    def add(self, subscriber: Subscriber) -> None:
        """Let a subscriber have every event from now on that passes its filter."""
        self._by_key.setdefault(_key_of(subscriber.filter), set()).add(subscriber)

    def discard(self, subscriber: Subscriber) -> None:
        """Let a subscriber go; one that has gone already may go again."""
        key = _key_of(subscriber.filter)
        group = self._by_key.get(key)
        if group is not None:
            group.discard(subscriber)
            if not group:
                del self._by_key[key]

    def offer(self, event: Event) -> None:
        """Hand an event to all that want it."""
        for key in _keys_of(event.change):
            for subscriber in self._by_key.get(key, ()):
                if subscriber.filter.matches(event.change):
                    subscriber.offer(event)


def _key_of(event_filter: EventFilter) -> Hashable:
    if event_filter.run_id is not None:
        return "run", event_filter.run_id
    if event_filter.task_name is not None:
        return "task", event_filter.task_name
    if event_filter.job_name is not None:
        return "job", event_filter.job_name
    if event_filter.group is not None:
        return "group", event_filter.group
    return None


def _keys_of(change: Change) -> Iterator[Hashable]:
    yield None
    yield "run", change.run_id
    yield "task", change.task_name
    yield "job", change.job_name
    yield "group", change.group


class Recent:
    """A bounded stretch of the one order of events, without a gap, that ends with the newest one handed out."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._events: deque[Event] = deque()
        self._start = self._end = Cursor(0, 0)

    def begin(self, start: Cursor, end: Cursor, events: Iterable[Event]) -> None:
        """Forget everything; from now on it holds ``events``, which are all there are after ``start`` up to ``end``."""
        self._events.clear()
        self._start = start
        for event in events:
            self.add(event)
        self._end = end

    def add(self, event: Event) -> None:
        """Append the event that follows in the order."""
        self._events.append(event)
        self._end = event.cursor
        if len(self._events) > self._bound:
            self._start = self._events.popleft().cursor

    def after(self, cursor: Cursor) -> list[Event] | None:
        """Return all events after ``cursor``; None when that is not within the stretch, and the table has to tell."""
        if not self._start <= cursor <= self._end:
            return None
        found: list[Event] = []
        before = self._start
        for event in reversed(self._events):
            if event.cursor <= cursor:
                before = event.cursor
                break
            found.append(event)
        if cursor.mark is not None and not self._knows(cursor, before, found):
            return None
        found.reverse()
        return found

    def _knows(self, cursor: Cursor, before: Cursor, after: list[Event]) -> bool:
        """Return whether a cursor with a mark is one of this stretch, by the events on both sides of it."""
        following = after[-1].cursor if after else self._end
        return any(one.seq == cursor.seq and one.mark == cursor.mark for one in (before, following))


QUEUE = 2000
"""Events that may wait for one subscriber; one that falls further behind has to reload."""
POLL = 5.0
"""Seconds after which it looks for events without a hint."""
PUBLISHED_AT_ONCE = 500
"""Rows that one transaction numbers."""
RECENT = 2000
"""Events that are kept in memory for readers that come back."""
PATIENCE = 10.0
"""Seconds for which a subscriber waits for a database that is unavailable."""
_PAGE = 200
_TURN = 100
"""Events that are handed out before the readers get a turn."""
_PAUSE = 0.02
"""Seconds between two rounds: the first event goes out at once, and under load many are numbered together."""
_LONG_PAUSE = 0.1
"""The same while nobody here listens: other nodes may number for their own audience."""


class EventBus(Watch):
    """Publishes committed changes and hands them to this process' subscribers, in one order for all readers.

    Args:
        queue: How many events may wait for one subscriber.
        poll: Seconds after which it looks for events without a hint.
        recent: How many events are kept in memory for readers that come back; others read them from the table.

    Attributes:
        is_live: True: events come as they happen.
    """

    is_live = True

    def __init__(self, database: Database, *, queue: int = QUEUE, poll: float = POLL, recent: int = RECENT) -> None:
        super().__init__("event-bus", hints=Wake.EVENTS, poll=poll)
        self._queue = queue
        self._database = database
        # A subscriber that begins or comes back during a short failure of the database need not come back once more.
        self._for_readers = database.with_retry(PATIENCE)
        self._audience = Audience()
        self._recent = Recent(recent)
        self._seen = Cursor(0, 0)
        self._published = False
        self._closed = False
        self._round = asyncio.Lock()

    @property
    def pause(self) -> float:
        """Seconds between two rounds."""
        return _PAUSE if self._audience else _LONG_PAUSE

    async def look(self) -> None:
        """Number committed events, and fan out those that any node has numbered."""
        await self.publish()

    async def _number(self) -> None:
        # On SQLite only rows of an older version have no number.
        if self._published and self._database.is_sqlite:
            return
        while await self._database.write(publish, PUBLISHED_AT_ONCE) == PUBLISHED_AT_ONCE:
            continue
        self._published = True

    async def _deliver(self) -> None:
        """Hand out new events; with nobody there they are not even read."""
        while self._audience:
            page = await self._database.read(events.following, self._seen, _PAGE)
            if page is None:
                await self._start_again()
            elif page:
                await self._offer(page)
            else:
                return

    async def _start_again(self) -> None:
        """Make all readers reload: events that they have seen are not in the database."""
        lost = self._seen
        await self._begin(self._database)
        log.warning(
            "the database knows events up to %s and this process had seen %s: it was restored, or a standby took over "
            "that had not received everything; all readers have to reload (RESYNC)",
            self._seen.seq,
            lost.seq,
        )
        for subscriber in self._audience:
            subscriber.lose(self._seen)

    async def _offer(self, page: list[Event]) -> None:
        for first in range(0, len(page), _TURN):
            turn = page[first : first + _TURN]
            for event in turn:
                self._audience.offer(event)
                self._recent.add(event)
            # A subscriber that comes in the pause reads from the table what was handed out before.
            self._seen = max(self._seen, turn[-1].cursor)
            # Readers that keep up get to empty their queues in between.
            await asyncio.sleep(0)

    async def cursor(self) -> Cursor:
        """Return the cursor of everything published so far; committed events without a number come later."""
        newest = await self._for_readers.read(events.newest)
        if newest < self._seen or newest.contradicts(self._seen):
            # The caller is about to subscribe from there.
            self.poke()
        return newest

    async def subscribe(
        self, after: Cursor | None = None, event_filter: EventFilter | None = None
    ) -> AsyncGenerator[Event, None]:
        """Yield events in order: first those stored after ``after``, then live ones, none missed and none twice.

        Without ``after`` it begins with the next event. A ``RESYNC`` event says that some were lost to the reader
        (older than the kept events, of a history that the database no longer has, or it was too slow): reload, then go
        on from its cursor.
        """
        await self._catch_up()
        subscriber = Subscriber(event_filter or EventFilter(), self._queue)
        # Subscribed first, replayed second: what arrives meanwhile waits in the queue and is not sent twice.
        self._audience.add(subscriber)
        last = self._seen
        # A cursor from the database may be ahead of what this process has handed out so far.
        start = max(last, after or last)
        try:
            if after is not None:
                async for event in self._replay(after, last, subscriber.filter):
                    start = last if event.change.kind is EventKind.RESYNC else start
                    yield event
            async for event in self._live(subscriber, start):
                yield event
        finally:
            self._audience.discard(subscriber)

    async def _catch_up(self) -> None:
        """Begin with the events from now on if there was no audience, to which nothing was handed out."""
        if self._audience:
            return
        async with self._round:
            # Of many that come together the first reads, and is in the audience before the next has its turn.
            if not self._audience:
                await self._begin(self._for_readers)

    async def _begin(self, database: Database) -> None:
        start, self._seen, found = await database.read(_latest)
        self._recent.begin(start, self._seen, found)

    async def _replay(self, after: Cursor, until: Cursor, event_filter: EventFilter) -> AsyncIterator[Event]:
        """Yield the events stored after a cursor, or ``RESYNC`` in the place of those that the database has no more.

        The reader takes its time, and they may be pruned meanwhile.
        """
        cursor, page = after, self._recent.after(after)
        while True:
            if page is None:
                page = await self._for_readers.read(events.following, cursor, _PAGE)
            if page is None:
                yield resync(until)
                return
            for event in page:
                if event.cursor <= until and event_filter.matches(event.change):
                    yield event
            if not page or page[-1].cursor.seq >= until.seq:
                return
            cursor, page = page[-1].cursor, None

    async def _live(self, subscriber: Subscriber, last: Cursor) -> AsyncIterator[Event]:
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
            # A subscriber that was busy when all was closed must not wait for another one.
            if not self._closed:
                await subscriber.ready.wait()

    async def publish(self) -> None:
        """Number and hand out all commits so far; called by the bus in each round, and for an orderly stop."""
        # Two at once would offer the same events twice, and fill a queue that they fit in.
        async with self._round:
            await self._number()
            await self._deliver()

    def close(self) -> None:
        """End all subscriptions."""
        self._closed = True
        for subscriber in self._audience:
            subscriber.ready.set()


def resync(cursor: Cursor) -> Event:
    """Have one subscriber reload and go on from ``cursor``."""
    return Event(cursor, datetime.now(UTC), Change(EventKind.RESYNC))


def _latest(conn: Connection) -> tuple[Cursor, Cursor, list[Event]]:
    newest = events.newest(conn)
    page = events.after(conn, replace(newest, seq=max(0, newest.seq - _PAGE)), _PAGE + 1)
    found = [event for event in page if event.cursor <= newest]
    # What is missing before the first one, or between two, may have been pruned.
    gaps = [place for place, (one, then) in enumerate(pairwise(found), 1) if then.cursor.seq - one.cursor.seq > 1]
    found = found[gaps[-1] :] if gaps else found
    start = replace(newest, seq=found[0].cursor.seq - 1, mark=None) if found else newest
    return start, newest, found
