"""Limit how many runs may wait, and decide about a new run whose queue is full. Pure rules.

A run waits from its enqueueing until it starts for the first time. Runs that wait for a retry or were snoozed have been
let in before, and are not counted.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple, Self

from ..base.errors import InvalidInput, QueueFull
from ..base.times import counted, number_text

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
        """Return a rate; unless given, ``burst`` is a twentieth of the limit, at least 1."""
        return cls(limit, float(per), max(1, limit // _DEFAULT_BURST) if burst is None else burst)

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        return {"limit": self.limit, "per": self.per, "burst": self.burst}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Read a stored form."""
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
        """Return the microseconds in which so many tokens come, rounded up."""
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
        """Return how many runs may start now."""
        lacking = -(-self._lacking(now) * self.rate.limit // self.rate.length)
        return max(0, self.rate.burst - lacking)

    def settled(self, now: datetime) -> "Bucket":
        """Return the bucket as it goes on after its rate was changed: at the worst it is empty."""
        if self.full_at is None or self.full_at - now <= self.rate.span(self.rate.burst) * _MICROSECOND:
            return self
        return Bucket(self.rate, now + self.rate.span(self.rate.burst) * _MICROSECOND)

    def take(self, count: int, now: datetime) -> "Bucket":
        """Return the bucket without so many of its tokens."""
        microseconds = self._lacking(now) + self.rate.span(count)
        return Bucket(self.rate, now + microseconds * _MICROSECOND)

    def give_back(self, count: int, now: datetime) -> "Bucket":
        """Return the bucket with so many tokens more, at most full."""
        microseconds = self._lacking(now) - count * self.rate.length // self.rate.limit
        return Bucket(self.rate, now + microseconds * _MICROSECOND if microseconds > 0 else None)

    def due(self, now: datetime, tokens: int = 1) -> datetime:
        """Return when there are so many tokens, at most the burst: now, or the instant when the last of them comes."""
        # Missing so much, it has as many tokens and no more.
        left = (self.rate.burst - tokens) * self.rate.length // self.rate.limit
        return now + max(0, self._lacking(now) - left) * _MICROSECOND

    def look_at(self, now: datetime) -> datetime:
        """Return when to look at an empty bucket again: at a fast rate only after several tokens, for one claim."""
        return self.due(now, max(1, min(int(self.rate.limit * _LOOK / self.rate.per), self.rate.burst // 2)))

    def _lacking(self, now: datetime) -> int:
        """Return the microseconds until it is full."""
        return 0 if self.full_at is None else max(0, (self.full_at - now) // _MICROSECOND)


def rate_faults(limit: object, per: object, burst: object) -> Iterator[InvalidInput]:
    """Yield the faults of the parts of a rate; ``burst`` None = derived from the limit."""
    faults = [
        *_whole_faults(limit, ("rate", "limit"), MAX_LIMIT),
        *_per_faults(per, ("rate", "per")),
        *(_whole_faults(burst, ("rate", "burst"), MAX_LIMIT) if burst is not None else ()),
    ]
    yield from faults
    if faults or not isinstance(limit, int) or not isinstance(per, int | float):
        return
    if limit / per > MAX_PER_SECOND:
        message = f"rate: must be at most {MAX_PER_SECOND:,} a second, got {limit:,} in {number_text(per)} s"
        yield InvalidInput(message, path=("rate",))
    elif per / limit > SLOWEST:
        message = f"rate: must be at least one a day, got {limit:,} in {number_text(per)} s"
        yield InvalidInput(message, path=("rate",))


def _whole_faults(value: object, path: tuple[str, str], most: int) -> Iterator[InvalidInput]:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        named = ".".join(path)
        yield InvalidInput(f"{named}: must be a whole number from 1 to {most:,}, got {value!r:.60}", path=path)


def _per_faults(value: object, path: tuple[str, str]) -> Iterator[InvalidInput]:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.001 <= value <= MAX_PER:
        message = f"{'.'.join(path)}: must be seconds from 0.001 to {number_text(MAX_PER)}, got {value!r:.60}"
        yield InvalidInput(message, path=path)


MAX_WAITING: Final = 100_000
"""Runs that may wait at most; an enqueue into a full queue counts them."""


class WhenFull(StrEnum):
    """Name the fate of a new run whose queue is full.

    ``REFUSE``: it is refused, and nothing is added. ``DROP_OLDEST``: the run that was enqueued first is dropped.
    ``DROP_NEWEST``: the new run is. A dropped run is ``skipped``.
    """

    REFUSE = "refuse"
    DROP_OLDEST = "drop_oldest"
    DROP_NEWEST = "drop_newest"


@dataclass(frozen=True, slots=True)
class Cap:
    """Limit how many runs may wait, and say how one more is treated."""

    limit: int
    when_full: WhenFull = WhenFull.REFUSE

    def never_refusing(self) -> Self:
        """Return the same, but with runs dropped that would be refused."""
        return replace(self, when_full=WhenFull.DROP_NEWEST) if self.when_full is WhenFull.REFUSE else self

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        return {"limit": self.limit, "when_full": self.when_full.value}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Read a stored form."""
        return cls(int(stored["limit"]), WhenFull(stored["when_full"]))


class Line(NamedTuple):
    """Name the runs that are counted together: a group (no job), or a job's runs with one key (empty: all of them)."""

    job_name: str | None
    name: str

    @property
    def words(self) -> str:
        """``group 'mail'``, ``job 'send' with key '42'``."""
        if self.job_name is None:
            return f"group '{self.name}'"
        return f"job '{self.job_name}'" + (f" with key '{self.name}'" if self.name else "")


class Full(NamedTuple):
    """Name the line that refuses a run, and how many wait in it."""

    line: Line
    waiting: int


class Waiter(NamedTuple):
    """A run that waits: its id, or for a new one its place as -1, -2, …; and where it is counted."""

    ref: int
    lines: tuple[Line, ...]


@dataclass(slots=True)
class Verdict:
    """Hold the decisions about new runs.

    Attributes:
        refused: The line that refuses the first run that is refused; then nothing is added at all.
        dropped: The places of new runs that are dropped, with the line that was full.
        replaced: The ids of stored runs that are dropped, likewise.
        is_short: Whether stored runs have to go that were not given.
    """

    refused: Line | None = None
    dropped: dict[int, Line] = field(default_factory=dict[int, Line])
    replaced: dict[int, Line] = field(default_factory=dict[int, Line])
    is_short: bool = False


def needed(new: int) -> int:
    """Return how many of a line's oldest runs ``new`` runs may displace, directly or through others."""
    return 2 * new


def judge(
    new: Sequence[tuple[Line, ...]],
    caps: Mapping[Line, Cap],
    waiting: Mapping[Line, int],
    oldest: Mapping[Line, Sequence[Waiter]],
) -> Verdict:
    """Decide about new runs, one after the other. Each makes at most one run of a line give way.

    So where a cap was lowered below the number of waiting runs, no enqueue drops more than it adds: the rest starts
    sometime.

    Args:
        new: Of each its lines that have caps.
        waiting: How many wait in each.
        oldest: The stored runs that wait in each, the oldest first, as many as are ``needed`` and there are.
    """
    verdict = Verdict()
    count = dict(waiting)
    rows = {line: deque(oldest.get(line, ())) for line in caps}
    gone, given = set[int](), needed(len(new))
    for place, lines in enumerate(new):
        full = [line for line in lines if count[line] >= caps[line].limit]
        refusing = _first(full, caps, WhenFull.REFUSE)
        if refusing is not None:
            return Verdict(refused=refusing)
        dropping = _first(full, caps, WhenFull.DROP_NEWEST)
        if dropping is not None:
            verdict.dropped[place] = dropping
            continue
        for line in full:
            if count[line] < caps[line].limit:
                continue  # what gave way in another line was in this one, too
            victim = next((one for one in _taken(rows[line]) if one.ref not in gone), None)
            if victim is None or (victim.ref < 0 and len(oldest.get(line, ())) < min(waiting[line], given)):
                return Verdict(is_short=True)
            gone.add(victim.ref)
            for its in victim.lines:
                count[its] -= 1
            if victim.ref < 0:
                verdict.dropped[-1 - victim.ref] = line
            else:
                verdict.replaced[victim.ref] = line
        for line in lines:
            count[line] += 1
            rows[line].append(Waiter(-1 - place, lines))
    return verdict


def _first(full: Sequence[Line], caps: Mapping[Line, Cap], policy: WhenFull) -> Line | None:
    return next((line for line in full if caps[line].when_full is policy), None)


def _taken(row: deque[Waiter]) -> Iterator[Waiter]:
    while row:
        yield row.popleft()


def cap_faults(limit: object, when_full: object) -> Iterator[InvalidInput]:
    """Yield the faults of the parts of a cap."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_WAITING:
        message = f"cap.limit: must be a whole number of waiting runs from 1 to {MAX_WAITING:,}, got {limit!r:.60}"
        yield InvalidInput(message, path=("cap", "limit"))
    words = [one.value for one in WhenFull]
    if when_full not in words:
        allowed = ", ".join(f"'{one}'" for one in words)
        yield InvalidInput(f"cap.when_full: must be one of {allowed}, got {when_full!r:.60}", path=("cap", "whenFull"))


def refusal(full: Full, cap: Cap) -> QueueFull:
    """Return the error of an enqueue that is refused."""
    line, waiting = full
    message = (
        f"queue full: {line.words} may have {counted(cap.limit, 'run')} waiting, and has {waiting:,}; try again once "
        "some have started, or raise the cap"
    )
    return QueueFull(message, limit=cap.limit, waiting=waiting, path=("group" if line.job_name is None else "jobName",))


def dropped_sentence(line: Line, cap: Cap) -> str:
    """Return the reason, as a sentence, for which a run was skipped."""
    which = "oldest" if cap.when_full is WhenFull.DROP_OLDEST else "newest"
    return f"queue full: {line.words} may have {counted(cap.limit, 'run')} waiting, and of more the {which} is dropped"
