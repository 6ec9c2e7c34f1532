"""What a process sends to its readers while it serves an API: events, log lines and the overview, of every node."""

import logging

from ...store.db.database import Database
from ...store.db.faults import log_fault
from ..base.wakeup import Wakeup
from .bus import EventBus
from .log_feed import LogFeed
from .overviews import Overviews

log = logging.getLogger(__name__)


class LiveFeeds:
    """The live feeds of one process, in the event loop that made them; start and stop are idempotent.

    Args:
        database: Whose changes are sent.
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
        """Hand out what is committed by now, and end all subscriptions; nothing happens before ``start``.

        What a database that is unavailable keeps back, readers get when they come again with their cursors.
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
