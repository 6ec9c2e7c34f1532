"""Writes the tasks that code declares: at the start, and again for tasks that have to catch up first."""

import asyncio
import logging

from ...actions.declarations import Declared
from ...actions.tasks import DECLARED
from ...core.defaults import task_of_job
from ...core.model import ScheduleSpec, TaskSpec
from ...delivery.declared import declare
from ...registry import JobDefinition, Registry
from ...store.db.database import Database
from ...store.db.transaction import Wake
from ..base.service import Service, persistently

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
