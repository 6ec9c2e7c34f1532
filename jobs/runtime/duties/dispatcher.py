"""Turn due tasks into runs: ring at the earliest due time, dispatch until nothing is due, set the alarm again."""

# APScheduler 3 has no types; what is used of it is annotated here.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportIncompatibleMethodOverride=false

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import chain, repeat

from apscheduler.executors.debug import DebugExecutor
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger
from typing_extensions import override

from ...base.services import Services
from ...queue.occurrences import BATCH, Dispatched, dispatch_apart, dispatch_due, rehearse
from ...store.db.faults import kind_of, log_fault
from ...store.db.transaction import Wake
from ..base.service import ChangeDetector, Watch
from ..base.settings import Clock

log = logging.getLogger(__name__)

STEP = 1.0
"""Seconds by which the clock must have been set for the alarm to be set again."""
_FAR = timedelta(days=365)


class _Once(BaseTrigger):
    """Far away until the alarm is moved; it stays in the scheduler after it has rung."""

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        del previous_fire_time
        return now + _FAR


class Alarm:
    """One alarm on the running event loop.

    APScheduler goes by the time of day: set back by an hour, the clock lets all that it holds wait for an hour more.
    Therefore ``check`` is to be called now and then.
    """

    def __init__(self, on_alarm: Callable[[], None], clock: Clock) -> None:
        self._on_alarm = on_alarm
        self._clock = clock
        self._drift = clock.drift()
        self._scheduler: AsyncIOScheduler | None = None

    def start(self) -> None:
        """Begin; the alarm is not set yet. Starting twice is fine."""
        if self._scheduler is not None:
            return
        self._scheduler = AsyncIOScheduler(
            timezone=UTC,
            # Rung at once, and not in a task: an alarm that is set while the last one rings would be left out.
            executors={"default": DebugExecutor()},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        self._scheduler.add_job(self._ring, _Once(), id="alarm")
        self._scheduler.start()

    def set(self, delay: float | None) -> None:
        """Ring in ``delay`` seconds (at once if it is not positive); None = not at all. Stopped, it stays silent."""
        if self._scheduler is None:
            return
        wait = _FAR if delay is None else min(_FAR, timedelta(seconds=max(0.0, delay)))
        self._drift = self._clock.drift()
        self._scheduler.modify_job("alarm", next_run_time=self._clock.wall() + wait)

    def check(self) -> None:
        """Ring if somebody has set the clock since the alarm was set: each part that it wakes sets the alarm again."""
        step = self._clock.drift() - self._drift
        if abs(step) > STEP:
            log.warning("the clock of this machine was set %s by %.1f s", "forward" if step > 0 else "back", abs(step))
            self._drift += step
            self._on_alarm()

    def stop(self) -> None:
        """Ring no more. Stopping twice is fine."""
        scheduler, self._scheduler = self._scheduler, None
        if scheduler is not None:
            scheduler.shutdown(wait=False)

    def _ring(self) -> None:
        self._on_alarm()


FIRST_BATCHES = (200, 200, 200, 200)
"""The numbers of due tasks in the first transactions of a round.

What one makes is executed while the next one is under way: with large ones from the start, the first run of many would
begin when the last is stored; with smaller ones, what each costs by itself delays the last.
"""


class Dispatcher(Watch):
    """One per node; woken by the alarm, by changed tasks and by the slow poll.

    Args:
        services: The database where the tasks are, and the counters of their outcomes.
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
        # A round looks for the next due time after all that it has changed itself.
        if asyncio.current_task() is not self._task:
            super().on_wake(wakes)

    @override
    def start(self) -> None:
        self.alarm.start()
        super().start()

    @override
    async def stop(self) -> None:
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
