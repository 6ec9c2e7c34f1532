"""Send to the readers of an API: events, log lines and the overview, of every node."""

import asyncio
import logging
import math
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from ...store.db.database import Database
from ...store.db.faults import log_fault
from ...store.db.transaction import Wake
from ...store.statements import logs
from ...store.statements.figures.reports import EVERYTHING, Overview, Part, overview
from ...store.statements.logs import LogEnd
from ..base.service import Watch
from ..base.wakeup import Wakeup
from .bus import EventBus

log = logging.getLogger(__name__)


FRESH: Final = 0.5
"""Seconds for which a reading is shown to other callers."""
PAUSE: Final = 4
"""One that took long is shown for so many times as long: however many look, a fifth of the time is read at most."""


@dataclass(slots=True)
class _Reading:
    """A reading, who waits for it, and until when it is shown."""

    task: asyncio.Task[Overview]
    waiting: int = 0
    stale_at: float = math.inf


class Overviews:
    """Reads the overview for all who ask in one event loop."""

    def __init__(self) -> None:
        self._readings: dict[frozenset[Part], _Reading] = {}

    async def latest(self, database: Database, wanted: frozenset[Part] = EVERYTHING) -> Overview:
        """Return a reading that is under way, or one that is over and still fresh, or else a new one.

        It ends when the last of those who wait for it has left. Its error reaches all of them; the next try is new.

        Args:
            database: The first caller reads by it.
        """
        reading = self._readings.get(wanted)
        if reading is None or asyncio.get_running_loop().time() >= reading.stale_at:
            task = asyncio.create_task(self.read(database, wanted), name="cronograph-overview")
            reading = self._readings[wanted] = _Reading(task)
            task.add_done_callback(partial(_note_the_end, reading, asyncio.get_running_loop().time()))
        reading.waiting += 1
        try:
            return await asyncio.shield(reading.task)
        finally:
            reading.waiting -= 1
            if not reading.waiting and not reading.task.done():
                self._readings.pop(wanted, None)
                reading.task.cancel()

    async def read(self, database: Database, wanted: frozenset[Part] = EVERYTHING) -> Overview:
        """Return a new reading."""
        return await database.read(overview, await database.server_time(), wanted)


def _note_the_end(reading: _Reading, began: float, task: asyncio.Task[Overview]) -> None:
    ended = task.get_loop().time()
    good = not task.cancelled() and task.exception() is None
    reading.stale_at = ended + max(FRESH, PAUSE * (ended - began)) if good else ended


POLL = 5.0
"""Seconds after which it looks without a hint."""
_PAUSE = 0.1
"""Seconds between two looks."""
_HINTS = Wake.LOGS | Wake.EVENTS
"""Hints for followers: lines were written; an execution ended (which is an event)."""


class LogFollower:
    """One who reads the log of an execution, see ``LogFeed.follow``."""

    def __init__(self, execution_id: int) -> None:
        self.execution_id = execution_id
        self._end = LogEnd(last_line=0, over=False)
        self._notified = asyncio.Event()

    def notify(self, end: LogEnd) -> None:
        """Note how far the log goes."""
        if end != self._end:
            self._end = end
            self._notified.set()

    async def more(self, last_line: int) -> None:
        """Wait until the log goes beyond ``last_line``, or the execution is over or gone.

        A reader that has read up to ``last_line`` after ``LogFeed.follow`` misses nothing: later lines are noticed.
        """
        while self._end.last_line <= last_line and not self._end.over:
            self._notified.clear()
            await self._notified.wait()


class LogFeed(Watch):
    """Looks how far the followed logs go, whenever some node wrote lines or ended an execution.

    Nobody follows, or nothing happens: no statement is sent, but for one slow look that finds lines without a hint.

    Args:
        poll: Seconds between two slow looks.
    """

    def __init__(self, database: Database, *, poll: float = POLL) -> None:
        super().__init__("log-feed", hints=_HINTS, poll=poll)
        self._database = database
        self._followers: set[LogFollower] = set()

    @property
    def pause(self) -> float:
        """Seconds between two looks."""
        return _PAUSE

    @contextmanager
    def follow(self, execution_id: int) -> Generator[LogFollower]:
        """Yield a follower that is notified of an execution's lines while the block runs."""
        follower = LogFollower(execution_id)
        self._followers.add(follower)
        try:
            yield follower
        finally:
            self._followers.discard(follower)

    async def look(self) -> None:
        """Tell the followers how far their logs go."""
        wanted = {follower.execution_id for follower in self._followers}
        if not wanted:
            return
        ends = await self._database.read(logs.ends, sorted(wanted))
        for follower in self._followers:
            # Who came during the read is notified by the next one, which their first lines were not written before.
            if follower.execution_id in ends:
                follower.notify(ends[follower.execution_id])


class LiveFeeds:
    """The live feeds of one process, in the event loop that made them; start and stop are idempotent.

    Args:
        wakeup: Notifies of commits; its owner starts and stops it.
        poll: Seconds between two slow looks.

    Attributes:
        bus: Live events.
        log_feed: Notifies followers of the lines of executions.
        overviews: How things are, read once for all who look.
    """

    def __init__(self, database: Database, wakeup: Wakeup, *, poll: float) -> None:
        self._wakeup = wakeup
        self.bus = EventBus(database, poll=poll)
        self.log_feed = LogFeed(database, poll=poll)
        self.overviews = Overviews()
        self._subscribed = False

    def start(self) -> None:
        """Begin; the tables must be there."""
        if not self._subscribed:
            self._subscribed = True
            self._wakeup.subscribe(self.bus.on_wake)
            self._wakeup.subscribe(self.log_feed.on_wake)
        self.bus.start()
        self.log_feed.start()

    async def end(self) -> None:
        """Hand out the lines committed by now, and end all subscriptions; nothing happens before ``start``.

        Lines that an unavailable database keeps back, readers get when they come again with their cursors.
        """
        try:
            if self._subscribed:
                await self.bus.publish()
        except Exception as error:
            log_fault(log, "the newest events are left for readers that come again", error)
        finally:
            self.bus.close()

    async def stop(self) -> None:
        """Look no more."""
        self._wakeup.unsubscribe(self.bus.on_wake)
        self._wakeup.unsubscribe(self.log_feed.on_wake)
        await self.log_feed.stop()
        await self.bus.stop()
