"""How many runs may start in how long: a token bucket, whose whole state is the instant at which it is full again.

A bucket holds ``burst`` tokens and gets ``limit`` new ones in ``per`` seconds; each start takes one. So in any stretch
of ``t`` seconds at most ``burst + limit * t / per`` runs start.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Self

from .errors import InvalidInput
from .wording import number_text

MAX_LIMIT: Final = 100_000_000
"""Tokens in ``per`` seconds at most, however long that is."""
MAX_PER: Final = 366 * 86400.0
MAX_PER_SECOND: Final = 100_000
"""The fastest rate: starts in a second."""
SLOWEST: Final = 86400.0
"""The slowest rate: seconds for one start."""
_DEFAULT_BURST: Final = 20
"""The part of the limit that a burst may have unless another is given."""
_LOOK: Final = 0.01
"""Seconds whose tokens are waited for together."""
_MICROSECOND: Final = timedelta(microseconds=1)
_UNITS: Final[Mapping[float, str]] = {1.0: "second", 60.0: "minute", 3600.0: "hour", 86400.0: "day"}


@dataclass(frozen=True, slots=True)
class Rate:
    """So many starts in so many seconds.

    Attributes:
        limit: How many tokens come in ``per`` seconds.
        per: Seconds.
        burst: How many tokens are kept, so as many runs start at once after a pause.
    """

    limit: int
    per: float
    burst: int

    @classmethod
    def of(cls, limit: int, per: float, burst: int | None = None) -> Self:
        """A rate; unless given, ``burst`` is a twentieth of the limit, at least 1."""
        return cls(limit, float(per), max(1, limit // _DEFAULT_BURST) if burst is None else burst)

    def to_json(self) -> dict[str, Any]:
        """The stored form."""
        return {"limit": self.limit, "per": self.per, "burst": self.burst}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """What a stored form says."""
        return cls(int(stored["limit"]), float(stored["per"]), int(stored["burst"]))

    @property
    def words(self) -> str:
        """``100 a minute``, ``1 an hour``, ``5 in 90 s``."""
        unit = _UNITS.get(self.per)
        article = "an" if unit == "hour" else "a"
        return f"{self.limit:,} {article} {unit}" if unit else f"{self.limit:,} in {number_text(self.per)} s"

    @property
    def length(self) -> int:
        """``per`` in microseconds."""
        return round(self.per * 1_000_000)

    def span(self, tokens: int) -> int:
        """The microseconds in which so many tokens come, rounded up."""
        return -(-tokens * self.length // self.limit)


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket of a rate. Where the rate may have changed since it was stored, ``settled`` comes first.

    Attributes:
        rate: By which it is filled.
        full_at: When it is full again if nobody takes a token; None = it is full.
    """

    rate: Rate
    full_at: datetime | None = None

    def tokens(self, now: datetime) -> int:
        """How many runs may start now."""
        lacking = -(-self._lacking(now) * self.rate.limit // self.rate.length)
        return max(0, self.rate.burst - lacking)

    def settled(self, now: datetime) -> "Bucket":
        """The bucket as it goes on after its rate was changed: at the worst it is empty."""
        if self.full_at is None or self.full_at - now <= self.rate.span(self.rate.burst) * _MICROSECOND:
            return self
        return Bucket(self.rate, now + self.rate.span(self.rate.burst) * _MICROSECOND)

    def take(self, count: int, now: datetime) -> "Bucket":
        """The bucket without so many of its tokens."""
        microseconds = self._lacking(now) + self.rate.span(count)
        return Bucket(self.rate, now + microseconds * _MICROSECOND)

    def give_back(self, count: int, now: datetime) -> "Bucket":
        """The bucket with so many tokens more, at most full."""
        microseconds = self._lacking(now) - count * self.rate.length // self.rate.limit
        return Bucket(self.rate, now + microseconds * _MICROSECOND if microseconds > 0 else None)

    def due(self, now: datetime, tokens: int = 1) -> datetime:
        """When there are so many tokens, at most the burst: now, or the instant at which the last of them comes."""
        # Missing so much, it has as many tokens and no more.
        left = (self.rate.burst - tokens) * self.rate.length // self.rate.limit
        return now + max(0, self._lacking(now) - left) * _MICROSECOND

    def look_at(self, now: datetime) -> datetime:
        """When to look at an empty bucket again: for a fast rate not at each token, so that a claim takes several."""
        return self.due(now, max(1, min(int(self.rate.limit * _LOOK / self.rate.per), self.rate.burst // 2)))

    def _lacking(self, now: datetime) -> int:
        """The microseconds until it is full."""
        return 0 if self.full_at is None else max(0, (self.full_at - now) // _MICROSECOND)


def rate_faults(limit: object, per: object, burst: object, field: str = "rate") -> Iterator[InvalidInput]:
    """What is wrong with the parts of a rate; ``burst`` None = as it follows from the limit."""
    faults = [
        *_whole_faults(limit, (field, "limit"), MAX_LIMIT),
        *_per_faults(per, (field, "per")),
        *(_whole_faults(burst, (field, "burst"), MAX_LIMIT) if burst is not None else ()),
    ]
    yield from faults
    if faults or not isinstance(limit, int) or not isinstance(per, int | float):
        return
    if limit / per > MAX_PER_SECOND:
        message = f"{field}: must be at most {MAX_PER_SECOND:,} a second, got {limit:,} in {number_text(per)} s"
        yield InvalidInput(message, path=(field,))
    elif per / limit > SLOWEST:
        message = f"{field}: must be at least one a day, got {limit:,} in {number_text(per)} s"
        yield InvalidInput(message, path=(field,))


def _whole_faults(value: object, path: tuple[str, str], most: int) -> Iterator[InvalidInput]:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        named = ".".join(path)
        yield InvalidInput(f"{named}: must be a whole number from 1 to {most:,}, got {value!r:.60}", path=path)


def _per_faults(value: object, path: tuple[str, str]) -> Iterator[InvalidInput]:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.001 <= value <= MAX_PER:
        message = f"{'.'.join(path)}: must be seconds from 0.001 to {number_text(MAX_PER)}, got {value!r:.60}"
        yield InvalidInput(message, path=path)
