"""The alarm clock: APScheduler with one alarm for the earliest due time.

It never decides anything: every alarm calls the same idempotent dispatch, and the database says what is due.
"""

# APScheduler 3 has no types; what is used of it is annotated here.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportIncompatibleMethodOverride=false

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from apscheduler.executors.debug import DebugExecutor
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

from ..base.clock import Clock

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
