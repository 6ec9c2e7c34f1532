"""Notifies followers of an execution's log that there is more of it: one look for all followers of a process."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from ...store.db.database import Database
from ...store.db.transaction import Wake
from ...store.read import logs
from ...store.read.logs import LogEnd
from ..base.service import Watch

POLL = 5.0
"""Seconds after which it looks without a hint."""
_PAUSE = 0.1
"""Seconds between two looks."""
_HINTS = Wake.LOGS | Wake.EVENTS
"""What may concern followers: lines were written; an execution ended (which is an event)."""


class LogFollower:
    """One who reads the log of an execution, see ``LogFeed.follow``."""

    def __init__(self, execution_id: int) -> None:
        self.execution_id = execution_id
        self._end = LogEnd(last_line=0, over=False)
        self._notified = asyncio.Event()

    def notify(self, end: LogEnd) -> None:
        """Take note of how far the log goes."""
        if end != self._end:
            self._end = end
            self._notified.set()

    async def more(self, last_line: int) -> None:
        """Wait until the log goes beyond ``last_line``, or the execution is over or gone.

        A reader that has read up to ``last_line`` after ``LogFeed.follow`` misses nothing: what came since is noticed.
        """
        while self._end.last_line <= last_line and not self._end.over:
            self._notified.clear()
            await self._notified.wait()


class LogFeed(Watch):
    """Looks how far the followed logs go, whenever some node wrote lines or ended an execution.

    Nobody follows, or nothing happens: no statement is sent, but for one slow look that finds what no hint announced.

    Args:
        database: Where the lines are.
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
        """A follower that is notified of an execution's lines while the block runs."""
        follower = LogFollower(execution_id)
        self._followers.add(follower)
        try:
            yield follower
        finally:
            self._followers.discard(follower)

    async def look(self) -> None:
        """Let the followers know how far their logs go."""
        wanted = {follower.execution_id for follower in self._followers}
        if not wanted:
            return
        ends = await self._database.read(logs.ends, sorted(wanted))
        for follower in self._followers:
            # Who came during the read is notified by the next one, which their first lines were not written before.
            if follower.execution_id in ends:
                follower.notify(ends[follower.execution_id])
