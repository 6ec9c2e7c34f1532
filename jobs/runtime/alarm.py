"""The alarm clock: APScheduler with one alarm for the earliest due time, and the periodic duties of a node.

It never decides anything: every alarm calls the same idempotent dispatch, and the database says what is due.
"""

# APScheduler 3 has no types; what is used of it is annotated here.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportIncompatibleMethodOverride=false

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

from ..core.schedule import Schedule
from .faults import log_fault

log = logging.getLogger(__name__)

Duty = Callable[[], Awaitable[None]]
_FAR = timedelta(days=365)


class ScheduleTrigger(BaseTrigger):
    """Any Cronograph schedule as an APScheduler trigger; slots that were missed are passed over, not listed."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        """The next time strictly after now."""
        return self.schedule.next_after(max(now, previous_fire_time or now))


class _Every(BaseTrigger):
    """At even distances from now on; what was missed is passed over."""

    def __init__(self, seconds: float) -> None:
        self._step = timedelta(seconds=seconds)

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        if previous_fire_time is not None and previous_fire_time + self._step > now:
            return previous_fire_time + self._step
        return now + self._step


class _Once(BaseTrigger):
    """Far away until the alarm is moved; it stays in the scheduler after it has rung."""

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        del previous_fire_time
        return now + _FAR


class Alarm:
    """One alarm and a handful of duties on the running event loop.

    Args:
        on_alarm: Called when the alarm rings.
    """

    def __init__(self, on_alarm: Callable[[], None]) -> None:
        self._on_alarm = on_alarm
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._scheduler = AsyncIOScheduler(
            timezone=UTC, job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1}
        )

    def start(self) -> None:
        """Begin; the alarm is not set yet."""
        self._scheduler.add_job(self._ring, _Once(), id="alarm")
        self._scheduler.start()

    def every(self, seconds: float, name: str, duty: Duty) -> None:
        """Do ``duty`` every so many seconds, never twice at once; a fault is logged, and its turn comes again."""

        async def begin() -> None:
            # A task of our own: APScheduler warns when a duty outlasts its distance, and logs its cancel by ``stop``.
            if name not in self._under_way:
                task = asyncio.get_running_loop().create_task(_done(name, duty), name=f"cronograph-{name}")
                self._under_way[name] = task
                task.add_done_callback(lambda _: self._under_way.pop(name, None))

        self._scheduler.add_job(begin, _Every(seconds), id=name)

    def set(self, delay: float | None) -> None:
        """Ring in ``delay`` seconds (at once if it is not positive); None = not at all."""
        wait = _FAR if delay is None else min(_FAR, timedelta(seconds=max(0.0, delay)))
        self._scheduler.modify_job("alarm", next_run_time=datetime.now(UTC) + wait)

    def stop(self) -> None:
        """End all alarms and duties; what is under way is cancelled, not waited for. Stopping twice is fine."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)
        for task in list(self._under_way.values()):
            task.cancel()

    async def _ring(self) -> None:
        self._on_alarm()


async def _done(name: str, duty: Duty) -> None:
    try:
        await duty()
    except Exception as error:
        log_fault(log, f"duty {name} failed", error)
