"""The subscribers of a process, found by what an event is about instead of asking each of them."""

import asyncio
from collections import deque
from collections.abc import Hashable, Iterator

from ...core.events import Change, Cursor, Event, EventFilter


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
        """Forget what waits: the subscriber has to reload and go on from ``cursor``."""
        self.queue.clear()
        self.overflowed = cursor
        self.ready.set()


class Audience:
    """All subscribers. An event costs what its own subscribers cost, however many others there are."""

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
    """The condition of a filter that the fewest events meet."""
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
    """Under what the subscribers that may want a change are kept."""
    yield None
    yield "run", change.run_id
    yield "task", change.task_name
    yield "job", change.job_name
    yield "group", change.group
