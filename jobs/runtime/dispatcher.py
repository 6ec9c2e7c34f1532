"""Turns due tasks into runs: rings at the earliest due time, dispatches until nothing is due, sets the alarm anew."""

import asyncio
import logging
from datetime import datetime

from ..actions.dispatch import dispatch_due, next_due
from ..store.database import Database
from ..store.transaction import Tx, Wake
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
        self.alarm = Alarm(self._due.set)

    def on_wake(self, wakes: Wake) -> None:
        """Look again when tasks have changed."""
        if wakes & Wake.TASKS:
            self._due.set()

    def poke(self) -> None:
        """Look again."""
        self._due.set()

    async def run(self) -> None:
        """Dispatch until stopped."""
        self._due.set()
        while True:
            await self._due.wait()
            self._due.clear()
            await self._round()

    async def _round(self) -> None:
        while (await self._database.write(dispatch_due, self._node)).more:
            log.debug("more tasks are due")
        # A due time may have changed while this round was under way; then the event is set again.
        now, due = await self._database.write(_next)
        self.alarm.set(None if due is None else (due - now).total_seconds())


def _next(tx: Tx) -> tuple[datetime, datetime | None]:
    return tx.now, next_due(tx)
