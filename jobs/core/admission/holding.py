"""Hold a unique key, for a time, until the start, or moved on by each enqueue; and let runs expire. Pure rules.

Without any of it a key holds while a run with it is unfinished.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, Self, cast

from ..base.errors import InvalidInput
from ..base.times import LATEST, RANGE, number_text, time_faults, time_text

MIN_SECONDS: Final = 0.001
MAX_SECONDS: Final = 366 * 86400.0
_SEVERAL: Final = (list, tuple, set, frozenset)
_WAITING: Final = frozenset({"waiting", "scheduled"})
_UNFINISHED: Final = _WAITING | {"running", "stuck", "suspended"}


class Holding(StrEnum):
    """Name the fate of an enqueue whose key is held.

    ``UNIQUE``: the run that holds the key is answered. ``DEBOUNCE``: that run, which still waits, gets the new
    arguments and waits again. ``THROTTLE``: the first run of a period is answered. ``LAST``: enqueues within a period
    are folded into one run at its end, with the newest arguments.
    """

    UNIQUE = "unique"
    DEBOUNCE = "debounce"
    THROTTLE = "throttle"
    LAST = "last"


class OnConflict(StrEnum):
    """Name the fate of an enqueue whose key an unfinished run with other arguments holds.

    ``KEEP``: that run is answered as it is. ``REPLACE``: it gets the new arguments, or the enqueue is refused if it has
    begun. ``RAISE``: the enqueue is refused.
    """

    KEEP = "keep"
    REPLACE = "replace"
    RAISE = "raise"


@dataclass(frozen=True, slots=True)
class Hold:
    """Say in which way and for how long the key of a run holds.

    Attributes:
        kind: The treatment of an enqueue whose key is held.
        seconds: UNIQUE: how long it holds after the enqueueing, at least; DEBOUNCE: how long the run waits after the
            last enqueue; THROTTLE, LAST: the period. 0 = no time.
        max_wait: DEBOUNCE: how long it waits at most after the first one; None = as long as there are new ones.
        until_start: Whether the key is free once the run has begun.
    """

    kind: Holding
    seconds: float = 0.0
    max_wait: float | None = None
    until_start: bool = False

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Read a published form."""
        own: dict[str, Any] = {**stored, "kind": Holding(stored["kind"])}
        return cls(**own)

    def to_json(self) -> dict[str, Any]:
        """Return the published form."""
        own = {"kind": self.kind.value, "seconds": self.seconds, "until_start": self.until_start}
        return own if self.max_wait is None else {**own, "max_wait": self.max_wait}

    def held_until(self, start: datetime) -> datetime | None:
        """Return the time until which a run enqueued for ``start`` holds its key, with any outcome; None = no time."""
        if self.kind is Holding.DEBOUNCE or self.seconds == 0:
            return None
        return start + timedelta(seconds=self.seconds)

    def due_at(self, first: datetime, now: datetime) -> datetime:
        """Return when a debounced run is due whose first enqueue was at ``first``, and whose last is now."""
        later = now + timedelta(seconds=self.seconds)
        return later if self.max_wait is None else min(later, first + timedelta(seconds=self.max_wait))


@dataclass(frozen=True, slots=True)
class Debounce:
    """One run for many enqueues of a key: it waits until ``delay`` seconds bring no new one, with the last arguments.

    Attributes:
        delay: Seconds.
        max_wait: It starts at the latest so many seconds after the first; None = not while there are new ones.
    """

    delay: float
    max_wait: float | None = None

    def hold(self) -> Hold:
        """Return the rule that is stored."""
        return Hold(Holding.DEBOUNCE, self.delay, self.max_wait, until_start=True)


@dataclass(frozen=True, slots=True)
class Throttle:
    """At most one run of a key is enqueued in a period of so many seconds, the first.

    Attributes:
        period: Seconds.
        last: Whether enqueues within the period are folded into one run at its end, with the newest arguments; else it
            is answered with the first.
    """

    period: float
    last: bool = False

    def hold(self) -> Hold:
        """Return the rule that is stored."""
        return Hold(Holding.LAST if self.last else Holding.THROTTLE, self.period, until_start=True)


def hold_of(
    unique_for: float | None = None,
    unique_among: Sequence[object] | None = None,
    debounce: Debounce | None = None,
    throttle: Throttle | None = None,
) -> Hold | None:
    """Return the rule that these options make; None = a key holds while its run is unfinished.

    Raises:
        InvalidInput: a value is wrong, or two of them contradict each other.
    """
    given = {"debounce": debounce, "throttle": throttle, "uniqueFor": unique_for, "uniqueAmong": unique_among}
    present = [name for name, value in given.items() if value is not None]
    if len(present) > 1 and present[0] in ("debounce", "throttle"):
        message = f"{present[0]}: contradicts {present[1]}, which says otherwise how the key holds; give one of them"
        raise InvalidInput(message, path=(present[0],))
    for fault in _faults(unique_for, debounce, throttle):
        raise fault
    if debounce is not None:
        return debounce.hold()
    if throttle is not None:
        return throttle.hold()
    until_start = unique_among is not None and _until_start(unique_among)
    if unique_for is None and not until_start:
        return None
    return Hold(Holding.UNIQUE, unique_for or 0.0, until_start=until_start)


def hold_faults(hold: Hold | None, available_at: object) -> Iterator[InvalidInput]:
    """Yield the faults of the time at which a run is asked for, apart from those of its key."""
    if hold is None or available_at is None or hold.kind not in (Holding.DEBOUNCE, Holding.LAST):
        return
    kind = "debounce" if hold.kind is Holding.DEBOUNCE else "throttle with last"
    yield InvalidInput(
        f"runAt: contradicts {kind}, which says when the run starts; leave runAt out, or enqueue it by another job",
        path=("runAt",),
    )


def _faults(unique_for: object, debounce: object, throttle: object) -> Iterator[InvalidInput]:
    if unique_for is not None:
        yield from _seconds(unique_for, "uniqueFor")
    if isinstance(debounce, Debounce):
        yield from _seconds(debounce.delay, "debounce.delay")
        if debounce.max_wait is not None:
            yield from _seconds(debounce.max_wait, "debounce.maxWait")
            if debounce.max_wait < debounce.delay:
                message = (
                    f"debounce.maxWait: must not be less than the delay ({number_text(debounce.delay)} s), got "
                    f"{number_text(debounce.max_wait)}"
                )
                yield InvalidInput(message, path=("debounce", "maxWait"))
    elif debounce is not None:
        yield InvalidInput(f"debounce: must be a Debounce(delay=…), got {debounce!r:.60}", path=("debounce",))
    if isinstance(throttle, Throttle):
        yield from _seconds(throttle.period, "throttle.period")
        yield from _choice(throttle.last, "throttle.last")
    elif throttle is not None:
        yield InvalidInput(f"throttle: must be a Throttle(period=…), got {throttle!r:.60}", path=("throttle",))


def _choice(value: object, name: str) -> Iterator[InvalidInput]:
    if not isinstance(value, bool):
        yield InvalidInput(f"{name}: must be True or False, got {value!r:.60}", path=tuple(name.split(".")))


def _seconds(value: object, name: str) -> Iterator[InvalidInput]:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not MIN_SECONDS <= value <= MAX_SECONDS:  # type: ignore[operator]
        got = number_text(value) if is_number else f"{value!r:.60}"  # type: ignore[arg-type]
        allowed = f"{number_text(MIN_SECONDS)} to {number_text(MAX_SECONDS)}"
        yield InvalidInput(f"{name}: must be seconds from {allowed}, got {got}", path=tuple(name.split(".")))


def _until_start(among: object) -> bool:
    """Return whether a key is free once its run has begun: it holds among those that wait only."""
    words = list(cast("Iterable[object]", among)) if isinstance(among, _SEVERAL) else [among]
    states = {str(getattr(one, "value", one)).lower() for one in words}
    if states and states <= _WAITING:
        return True
    if {"waiting", "running"} <= states <= _UNFINISHED:
        return False
    raise InvalidInput(
        "uniqueAmong: must be ('waiting',): the key is free once the run has begun, or ('waiting', 'running'): it is "
        f"free once the run is finished, got {among!r:.80}; for a time after that give uniqueFor",
        path=("uniqueAmong",),
    )


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
            f"expiresAt: must be after runAt ({time_text(start)}), before which it cannot start, got "
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
