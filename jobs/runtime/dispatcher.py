"""Turns due tasks into runs: rings at the earliest due time, dispatches until nothing is due, sets the alarm anew."""

import asyncio
import logging

from ..actions.dispatch import dispatch_due
from ..store.db.database import Database
from ..store.db.transaction import Wake
from .alarm import Alarm
from .service import Service

log = logging.getLogger(__name__)


class Dispatcher(Service):
    """One per node; woken by the alarm, by changed tasks and by the slow poll."""

    def __init__(self, database: Database, node: str) -> None:
        super().__init__("dispatcher")
        self._database = database
        self._node = node
        self._due = asyncio.Event()
        self._rounds: asyncio.Task[None] | None = None
        self.alarm = Alarm(self._due.set)

    def on_wake(self, wakes: Wake) -> None:
        """Look again when tasks have changed."""
        # A round looks for the next due time after all that it has changed itself.
        if wakes & Wake.TASKS and asyncio.current_task() is not self._rounds:
            self._due.set()

    def poke(self) -> None:
        """Look again."""
        self._due.set()

    async def run(self) -> None:
        """Dispatch until stopped."""
        self._rounds = asyncio.current_task()
        self._due.set()
        while True:
            await self._due.wait()
            self._due.clear()
            await self._round()

    async def _round(self) -> None:
        while (dispatched := await self._database.write(dispatch_due, self._node)).more:
            log.debug("more tasks are due")
        # A due time may have changed while this round was under way; then the event is set again.
        self.alarm.set(dispatched.next_in)
