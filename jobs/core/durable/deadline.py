"""By when a whole run has to end: so long after its first start, no matter what it does meanwhile."""

from datetime import datetime, timedelta
from typing import Protocol

from ..base.wording import time_text


class Timed(Protocol):
    """What a started run knows of its time."""

    @property
    def timeout(self) -> float | None:
        """Seconds that each attempt may take."""
        ...

    @property
    def started_at(self) -> datetime | None:
        """When the attempt began."""
        ...

    @property
    def deadline_at(self) -> datetime | None:
        """When the run has to have ended."""
        ...


def time_box(run: Timed) -> float | None:
    """Seconds that the attempt may take, by its own limit and by that of its run; None = any number."""
    left = _left(run)
    if left is None or run.timeout is None:
        return run.timeout if left is None else left
    return min(left, run.timeout)


def attempt_deadline(run: Timed) -> datetime | None:
    """When the time box of the attempt ends; None = it has none."""
    seconds = time_box(run)
    return None if seconds is None or run.started_at is None else run.started_at + timedelta(seconds=seconds)


def ends_run(run: Timed) -> bool:
    """Whether the run is over when the time box of the attempt is."""
    left = _left(run)
    return left is not None and (run.timeout is None or left <= run.timeout)


def is_over(run: Timed) -> bool:
    """Whether no time was left when the attempt began."""
    return _left(run) == 0.0


def _left(run: Timed) -> float | None:
    if run.deadline_at is None or run.started_at is None:
        return None
    return max(0.0, (run.deadline_at - run.started_at).total_seconds())


def deadline_sentence(deadline_at: datetime) -> str:
    """Why a run failed that took too long."""
    return f"max_duration: the run had to end by {time_text(deadline_at)}, counted from its first start"
