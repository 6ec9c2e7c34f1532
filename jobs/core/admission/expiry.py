"""Skip a run that has not started by a time. A run that began in time is never affected."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from ..base.errors import InvalidInput
from ..base.times import LATEST, RANGE, number_text, time_faults, time_text

MAX_TTL: Final = 10 * 366 * 86400.0
MIN_TTL: Final = 0.001


def expiry_faults(expires_at: object, ttl: object, available_at: object) -> Iterator[InvalidInput]:
    """Yield the faults of the time by which a run has to start.

    Args:
        expires_at: That time, or None.
        ttl: Or so many seconds from when it is available, or None.
        available_at: Not before this time; None = at once.
    """
    if expires_at is not None and ttl is not None:
        message = "ttl: must not be given together with expiresAt; they contradict each other, leave one of them out"
        yield InvalidInput(message, path=("ttl",))
    yield from ttl_faults(ttl)
    start = available_at if isinstance(available_at, datetime) and available_at.tzinfo is not None else None
    if isinstance(ttl, int | float) and start is not None and (LATEST - start).total_seconds() < ttl:
        message = f"ttl: runAt and {number_text(ttl)} seconds must be a time {RANGE}; give a shorter ttl"
        yield InvalidInput(message, path=("ttl",))
    faults = list(time_faults(expires_at, "expiresAt"))
    yield from faults
    if not faults and isinstance(expires_at, datetime) and start is not None and expires_at <= start:
        message = (
            f"expiresAt: must be after runAt ({start.isoformat()}), before which it cannot start, got "
            f"{time_text(expires_at)}"
        )
        yield InvalidInput(message, path=("expiresAt",))


def ttl_faults(ttl: object) -> Iterator[InvalidInput]:
    """Yield the faults of the seconds in which a run has to start."""
    if ttl is None:
        return
    if isinstance(ttl, bool) or not isinstance(ttl, int | float) or not MIN_TTL <= ttl <= MAX_TTL:
        got = number_text(ttl) if isinstance(ttl, int | float) and not isinstance(ttl, bool) else f"{ttl!r:.60}"
        allowed = f"from {number_text(MIN_TTL)} to {number_text(MAX_TTL)}"
        yield InvalidInput(f"ttl: must be seconds {allowed}, got {got}", path=("ttl",))


def expiry_of(expires_at: datetime | None, ttl: float | None, available_at: datetime) -> datetime | None:
    """Return the time by which a run has to start; None = it never expires."""
    return expires_at if ttl is None else available_at + timedelta(milliseconds=round(ttl * 1000))


def has_expired(expires_at: datetime | None, attempt: int, now: datetime) -> bool:
    """Return whether a run is too old to start for the first time. Retries and snoozed runs have begun in time."""
    return expires_at is not None and attempt == 0 and expires_at <= now


def expired_sentence(expires_at: datetime, available_at: datetime, now: datetime) -> str:
    """Return the reason, as a sentence, for which a run was skipped."""
    waited = number_text(round((now - available_at).total_seconds(), 1))
    return f"expired: it had to start by {time_text(expires_at)}, and had waited {waited} s at {time_text(now)}"


@dataclass(frozen=True, slots=True)
class Expired:
    """A run that was skipped because it was too old to start.

    Attributes:
        run_id: The run's id.
        job_name: Its job.
        expires_at: By when it had to start, in ISO 8601.
        waited: Seconds that it had waited since it could have started.
        task_name: The task that made the run, if one did.
        args: Its arguments, with ``[secret NAME]`` in the place of secrets.
    """

    run_id: int
    job_name: str
    expires_at: str
    waited: float
    task_name: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def document(self) -> dict[str, Any]:
        """Return the argument ``expired`` of the job that is notified."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}
