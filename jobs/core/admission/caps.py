"""How many runs may wait, and what becomes of one that comes when its queue is full. Pure rules.

A run waits from its enqueueing until it starts for the first time. Runs that wait for a retry or were snoozed have been
let in before, and are not counted.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, NamedTuple, Self

from ..base.errors import InvalidInput, QueueFull

MAX_WAITING: Final = 100_000
"""Runs that may wait at most; an enqueue into a full queue counts them."""


class WhenFull(StrEnum):
    """What becomes of a run that comes when as many wait as may.

    ``REFUSE``: it is refused, and nothing is added. ``DROP_OLDEST``: the run that was enqueued first is dropped.
    ``DROP_NEWEST``: the new run is. What is dropped is ``skipped``.
    """

    REFUSE = "refuse"
    DROP_OLDEST = "drop_oldest"
    DROP_NEWEST = "drop_newest"


@dataclass(frozen=True, slots=True)
class Cap:
    """How many runs may wait, and what happens when as many do."""

    limit: int
    when_full: WhenFull = WhenFull.REFUSE

    def never_refusing(self) -> Self:
        """The same, where what would be refused is dropped."""
        return replace(self, when_full=WhenFull.DROP_NEWEST) if self.when_full is WhenFull.REFUSE else self

    def to_json(self) -> dict[str, Any]:
        """The stored form."""
        return {"limit": self.limit, "when_full": self.when_full.value}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """What a stored form says."""
        return cls(int(stored["limit"]), WhenFull(stored["when_full"]))


class Line(NamedTuple):
    """What is counted together: a group (no job), or the runs of a job with one key (empty: all of them)."""

    job_name: str | None
    name: str

    @property
    def words(self) -> str:
        """``group 'mail'``, ``job 'send' with key '42'``."""
        if self.job_name is None:
            return f"group '{self.name}'"
        return f"job '{self.job_name}'" + (f" with key '{self.name}'" if self.name else "")


class Waiter(NamedTuple):
    """A run that waits: its id, or for a new one its place as -1, -2, …; and where it is counted."""

    ref: int
    lines: tuple[Line, ...]


@dataclass(slots=True)
class Verdict:
    """What becomes of new runs.

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
    """How many of the oldest runs of a line may have to go, by itself or by another, for so many new ones."""
    return 2 * new


def judge(
    new: Sequence[tuple[Line, ...]],
    caps: Mapping[Line, Cap],
    waiting: Mapping[Line, int],
    oldest: Mapping[Line, Sequence[Waiter]],
) -> Verdict:
    """What becomes of new runs, one after the other. Each makes at most one run of a line give way.

    So where a cap was lowered below what waits, no enqueue drops more than it adds: the rest starts sometime.

    Args:
        new: Of each its lines that have caps.
        caps: Of these lines.
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


def cap_faults(limit: object, when_full: object, field: str = "cap") -> Iterator[InvalidInput]:
    """What is wrong with the parts of a cap."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_WAITING:
        message = f"{field}.limit: must be a whole number of waiting runs from 1 to {MAX_WAITING:,}, got {limit!r:.60}"
        yield InvalidInput(message, path=(field, "limit"))
    words = [one.value for one in WhenFull]
    if when_full not in words:
        allowed = ", ".join(f"'{one}'" for one in words)
        yield InvalidInput(
            f"{field}.when_full: must be one of {allowed}, got {when_full!r:.60}", path=(field, "whenFull")
        )


def refusal(line: Line, cap: Cap) -> QueueFull:
    """The error of an enqueue that is refused."""
    message = (
        f"queue full: {line.words} may have {cap.limit:,} runs waiting, and has so many; try again once some have "
        "started, or raise the cap"
    )
    return QueueFull(message, limit=cap.limit, path=("group" if line.job_name is None else "jobName",))


def dropped_sentence(line: Line, cap: Cap) -> str:
    """Why a run was skipped."""
    which = "oldest" if cap.when_full is WhenFull.DROP_OLDEST else "newest"
    return f"queue full: {line.words} may have {cap.limit:,} runs waiting, and of more the {which} is dropped"
