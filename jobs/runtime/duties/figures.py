"""Count for statistics and charts: the hours of the execution log that are over, and the depth of the queue."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime

from ...actions.groups import count_hour, keep_depth
from ...actions.task_sets import Declared
from ...actions.tasks import DECLARED
from ...core.defaults import task_of_job
from ...core.model import ScheduleSpec, TaskSpec
from ...delivery.declared import declare
from ...registry import JobDefinition, Registry
from ...store.db.database import Database
from ...store.db.transaction import Wake
from ...store.statements.figures import depth
from ...store.statements.figures import hours as stored_hours
from ..base.service import Service, persistently
from ..base.settings import Clock

HOURS_EVERY = 60.0
DEPTH_EVERY = 20.0
"""Seconds between two looks; at the depth less than a minute, so that none is left out."""
REST = 60
"""Counting a very long queue takes a while: so many times as long nothing is counted."""
REST_OF_HOURS = 9
"""The same between two hours of the log: a long history is counted in a tenth of the time, and the rest is for runs."""
BRIEF = 0.05
"""Seconds that an hour may take without a rest."""


class HourCounter:
    """Counts hour after hour, each in a transaction of its own; any node may do it, also several at once.

    A history that was never counted (a log that was copied or restored) is counted while runs go on, with rests.

    Args:
        clock: The clocks of this process.
        rest: Waits for so many seconds.
    """

    def __init__(
        self, database: Database, clock: Clock, *, rest: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._database = database
        self._clock = clock
        self._rest = rest
        self._start: datetime | None = None

    async def look(self) -> int:
        """Count all hours that can be counted; return how many they were."""
        now = await self._database.server_time()
        if self._start is None:
            self._start = await self._database.read(stored_hours.first_to_count, now)
        if self._start is None:
            return 0
        pending = await self._database.read(stored_hours.uncounted, self._start, now)
        waiting = [hour for hour in pending if not await self._count(hour)]
        if pending:
            # An hour in which something began that still runs is looked at again.
            self._start = waiting[0] if waiting else pending[-1] + stored_hours.HOUR
        return len(pending) - len(waiting)

    async def _count(self, hour: datetime) -> bool:
        began = self._clock.monotonic()
        is_counted = await self._database.write(count_hour, hour)
        took = self._clock.monotonic() - began
        if took > BRIEF:
            await self._rest(REST_OF_HOURS * took)
        return is_counted


class DepthKeeper:
    """Counts the queue once a minute, for its charts, unless another node has, or the last count was costly."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._rests_until = clock.monotonic()

    async def look(self) -> bool:
        """Keep this minute if nobody has; return whether it was kept here."""
        began = self._clock.monotonic()
        if began < self._rests_until:
            return False
        now = await self._database.server_time()
        minute = now.replace(second=0, microsecond=0)
        if await self._database.read(depth.is_kept, minute):
            return False
        parts = await self._database.read(depth.parts, now)
        ended = self._clock.monotonic()
        self._rests_until = ended + REST * (ended - began)
        return await self._database.write(keep_depth, minute, parts)


log = logging.getLogger(__name__)

_SHORTEST_GAP = 0.2
"""Seconds between two looks while the dispatcher catches up."""


class Declarer(Service):
    """Ends by itself once every task follows its declaration.

    Args:
        registry: The jobs, some with a schedule.
        poll: Seconds after which it looks without a hint that a task has moved.
    """

    def __init__(self, database: Database, registry: Registry, *, poll: float) -> None:
        super().__init__("declarer")
        self._database = database
        self._registry = registry
        self._poll = poll
        self._moved = asyncio.Event()

    async def start_declaring(self) -> None:
        """Write the declared tasks; tasks that are far behind follow later, while the node serves already."""
        declared = await self._declare()
        for warning in declared.warnings:
            log.warning("%s", warning)
        if declared.postponed:
            names = ", ".join(declared.postponed)
            log.info("these tasks catch up with the times they missed, then they follow their declaration: %s", names)
            await self.stop()
            self.start()

    async def _declare(self) -> Declared:
        declared = declarations(self._registry)
        alarms = {job.name: job.alarms for job in self._registry if job.alarms}
        return await persistently(lambda: self._database.write(declare, declared, self._registry.names(), alarms))

    def on_wake(self, wakes: Wake) -> None:
        """Look again if a task may have caught up."""
        if wakes & Wake.TASKS:
            self._moved.set()

    async def run(self) -> None:
        """Declare again until nothing is postponed any more."""
        loop = asyncio.get_running_loop()
        postponed = True
        while postponed:
            timer = loop.call_later(self._poll, self._moved.set)
            await self._moved.wait()
            timer.cancel()
            await asyncio.sleep(_SHORTEST_GAP)
            self._moved.clear()
            declared = await self._declare()
            postponed = bool(declared.postponed)
            self.passed()


def declarations(registry: Registry) -> list[TaskSpec]:
    """Return the tasks of the schedules that the jobs of a registry declare."""
    return [
        task_of_job(_declared(job, job.schedule), job.policies.defaults) for job in registry if job.schedule is not None
    ]


def _declared(job: JobDefinition, schedule: ScheduleSpec) -> TaskSpec:
    return TaskSpec(
        job.name,
        job.name,
        schedule,
        args=job.declared_args,
        description=job.description,
        enabled=job.enabled,
        inherits=DECLARED,
    )
