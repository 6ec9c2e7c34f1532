"""The newest events in memory: many readers that come back together need no statement each."""

from collections import deque
from collections.abc import Iterable

from ...core.events import Cursor, Event


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
        """All events after ``cursor``; None when that is not within the stretch, and the table has to tell."""
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
        """Whether a cursor with a mark is one of this stretch, by the events on both sides of it."""
        following = after[-1].cursor if after else self._end
        return any(one.seq == cursor.seq and one.mark == cursor.mark for one in (before, following))
