"""Turns due tasks into runs: rings at the earliest due time, dispatches until nothing is due, sets the alarm again."""

import asyncio
import logging
import time
from itertools import chain, repeat

from typing_extensions import override

from ...base.services import Services
from ...queue.occurrences import BATCH, Dispatched, dispatch_apart, dispatch_due, rehearse
from ...store.db.faults import kind_of, log_fault
from ...store.db.transaction import Wake
from ..base.change_detector import ChangeDetector
from ..base.clock import Clock
from ..base.service import Watch
from .alarm import Alarm

log = logging.getLogger(__name__)

FIRST_BATCHES = (200, 200, 200, 200)
"""How many due tasks the first transactions of a round look at.

What one makes is executed while the next one is under way: with large ones from the start, the first run of many would
begin when the last is stored; with smaller ones, what each costs by itself delays the last.
"""


class Dispatcher(Watch):
    """One per node; woken by the alarm, by changed tasks and by the slow poll.

    Args:
        services: The database where the tasks are, and what counts what became of them.
        node: This process' node.
        clock: By which the alarm is set.
        poll: Seconds after which it looks without a hint.
    """

    def __init__(self, services: Services, node: str, *, clock: Clock, poll: float) -> None:
        super().__init__(
            "dispatcher", hints=Wake.TASKS, poll=poll, should_poll=ChangeDetector(services.database).should_poll
        )
        self._database = services.database
        self._counts = services.counts
        self._node = node
        self._rehearsed = False
        self.alarm = Alarm(self.poke, clock)

    @override
    def on_wake(self, wakes: Wake) -> None:
        """Look again when tasks have changed."""
        # A round looks for the next due time after all that it has changed itself.
        if asyncio.current_task() is not self._task:
            super().on_wake(wakes)

    @override
    def start(self) -> None:
        """Begin in the running event loop."""
        self.alarm.start()
        super().start()

    @override
    async def stop(self) -> None:
        """End, and wait for the end."""
        await super().stop()
        self.alarm.stop()

    async def look(self) -> None:
        """Dispatch until nothing is due."""
        batches = chain(FIRST_BATCHES, repeat(BATCH))
        while (dispatched := await self._visit(next(batches))).more:
            self.passed(more=True)
        # A due time may have changed while this round was under way; then a hint makes it look again.
        next_at = dispatched.next_at
        self.alarm.set(None if next_at is None else next_at - time.monotonic())
        if not self._rehearsed:
            await self._database.write(rehearse)
            self._rehearsed = True

    async def _visit(self, batch: int) -> Dispatched:
        try:
            dispatched = await self._database.write(dispatch_due, self._node, batch=batch)
        except Exception as error:
            if kind_of(error).passes:
                raise
            log_fault(log, f"{self.name} failed and goes on task by task", error)
            self.on_fault(self.name)
            dispatched = await self._database.write(dispatch_apart, self._node, batch=batch)
        self._counts.visited(dispatched.made, dispatched.lags, dispatched.skipped)
        return dispatched
