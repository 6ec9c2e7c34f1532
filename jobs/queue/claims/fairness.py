"""In which order a node takes runs: round-robin over groups, and within a group by class.

Within a group: due stuck runs first, then HIGH and LOW under a counting scheme, then first in, first out. Taking k at
once gives the same order as taking one k times, because every taken run advances the same pointer and counters.
"""

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

from ...core.model import Priority
from ..base.shapes import Candidate


@dataclass(frozen=True, slots=True)
class CountingScheme:
    """``high`` runs of priority HIGH, then ``low`` of LOW, and so on. ``2,1`` unless set."""

    high: int = 2
    low: int = 1

    @classmethod
    def parse(cls, text: str) -> "CountingScheme":
        """Return the scheme behind ``"2,1"``.

        Raises:
            ValueError: not two whole numbers of at least 1.
        """
        parts = [part.strip() for part in text.split(",")]
        if len(parts) != 2 or not all(part.isascii() and part.isdigit() and 0 < int(part) < 10_000 for part in parts):
            raise ValueError(f"counting scheme: must be two whole numbers from 1 to 9999 such as '2,1', got {text!r}")
        return cls(int(parts[0]), int(parts[1]))

    def prefers(self, counter: int) -> Priority:
        """Return the priority whose turn it is when ``counter`` runs were taken in this group before."""
        return Priority.HIGH if counter % (self.high + self.low) < self.high else Priority.LOW


MOST_COUNTERS: Final = 1000
"""Groups that have a counter of their own; all others share one."""
_SHARED: Final = ""
"""In the place of the name of a group: no group has it."""


@dataclass(slots=True)
class FairnessState:
    """Remember between takes, in a node's memory, the last served group and one counter per group.

    ``groups``: in how many there was something to take when it last looked. It has no part in the order.
    """

    scheme: CountingScheme = CountingScheme()
    last_group: str | None = None
    counters: dict[str, int] = field(default_factory=dict[str, int])
    groups: int = 1

    def copy(self) -> "FairnessState":
        """Return an independent copy, to take from on trial until the claim is committed."""
        return FairnessState(self.scheme, self.last_group, dict(self.counters), self.groups)

    def after(self, group: str, count: int) -> "FairnessState":
        """Return the state that ``take`` leaves once it took ``count`` runs of this group, all of one class."""
        if not count:
            return self
        state = FairnessState(self.scheme, group, dict(self.counters))
        state.count(group, count)
        return state

    def counter(self, group: str) -> int:
        """Return how many runs were taken in this group before, or in all groups that have no counter of their own."""
        return self.counters.get(group, self.counters.get(_SHARED, 0))

    def count(self, group: str, count: int) -> None:
        """Count runs that are taken in this group."""
        name = group if group in self.counters or len(self.counters) < MOST_COUNTERS else _SHARED
        self.counters[name] = self.counters.get(name, 0) + count


@dataclass(slots=True)
class _Lane:
    """Hold the known runs of one class of a group, first in, first out; there may be more behind them."""

    known: deque[Candidate] = field(default_factory=deque[Candidate])
    goes_on: bool = False

    def take(self, blocked: set[int]) -> Candidate | None:
        """Return the oldest whose task is not taken yet; a blocked one stays blocked for the whole batch.

        Raises:
            _UnknownError: It may be one that is not known.
        """
        while self.known:
            candidate = self.known.popleft()
            if candidate.blocks is None or candidate.blocks not in blocked:
                return candidate
        if self.goes_on:
            raise _UnknownError
        return None


class _NoRoomError(Exception):
    """The next run takes more slots than are free."""

    def __init__(self, candidate: Candidate) -> None:
        super().__init__(candidate)
        self.candidate = candidate


class _UnknownError(Exception):
    """The runs that were looked at do not tell which run is next."""


@dataclass(slots=True)
class _Group:
    """The candidates of one group, by class."""

    stuck: _Lane = field(default_factory=_Lane)
    by_priority: dict[Priority, _Lane] = field(default_factory=lambda: {Priority.HIGH: _Lane(), Priority.LOW: _Lane()})
    capacity: int | None = None

    def lane(self, candidate: Candidate) -> _Lane:
        """Return where a candidate belongs."""
        return self.stuck if candidate.stuck else self.by_priority[candidate.priority]

    def take(self, preferred: Priority, blocked: set[int]) -> Candidate | None:
        """Return the next run of this group, or None if nothing is left that may be taken.

        Raises:
            _UnknownError: It may be one that is not known.
        """
        if self.capacity == 0:
            return None
        low = self.by_priority[Priority.LOW].known
        if low and low[0].overdue:
            preferred = Priority.LOW
        other = Priority.LOW if preferred is Priority.HIGH else Priority.HIGH
        for lane in (self.stuck, self.by_priority[preferred], self.by_priority[other]):
            candidate = lane.take(blocked)
            if candidate is not None:
                if self.capacity is not None:
                    self.capacity -= 1
                return candidate
        return None


class Choice(NamedTuple):
    """Runs in fair order.

    ``goes_on``: the runs looked at do not show which one would be next. ``next_one``: takes more slots than are
    free, so those behind it wait.
    """

    chosen: list[Candidate]
    goes_on: bool
    next_one: Candidate | None = None


def take(
    state: FairnessState,
    candidates: Iterable[Candidate],
    count: int,
    *,
    capacities: dict[str, int] | None = None,
    room: int | None = None,
) -> list[Candidate]:
    """Take from all candidates that can matter, as ``choose`` does."""
    return choose(state, candidates, count, capacities=capacities, room=room).chosen


def choose(
    state: FairnessState,
    candidates: Iterable[Candidate],
    count: int,
    *,
    capacities: dict[str, int] | None = None,
    depth: int | None = None,
    room: int | None = None,
) -> Choice:
    """Choose runs for up to ``count`` slots in fair order and advance ``state`` by every one chosen.

    Args:
        state: The node's pointer and counters; changed in place.
        candidates: The runs that could be taken now.
        count: How many are wanted.
        capacities: For groups with a limit, how many more may occupy a slot now.
        depth: How many of a lane (the runs of one class of a group) were looked for: one that holds as many may go on;
            None = all that can matter.
        room: How many of the slots are free for runs that take several; None = each run takes one.
    """
    found = list(candidates)
    if room is None and not capacities and (lanes := _one_for_each_group(found)) is not None:
        return _take_in_turn(state, lanes, count, depth)
    groups = _by_group(found, capacities or {}, depth)
    names = sorted(groups)
    taken: list[Candidate] = []
    blocked: set[int] = set()
    used = 0
    while used < count:
        try:
            chosen_one = _take_one(state, groups, names, blocked, None if room is None else room - used)
        except _UnknownError:
            return Choice(taken, True)
        except _NoRoomError as error:
            return Choice(taken, False, error.candidate)
        if chosen_one is None:
            break
        taken.append(chosen_one)
        used += chosen_one.slots
    return Choice(taken, False)


def _one_for_each_group(found: Sequence[Candidate]) -> dict[str, list[Candidate]] | None:
    """Return the lane of each group, if none has runs of several classes, or one that blocks another."""
    lanes: dict[str, list[Candidate]] = {}
    for one in found:
        lane = lanes.setdefault(one.group, [])
        if one.blocks is not None or (lane and (one.priority, one.stuck) != (lane[0].priority, lane[0].stuck)):
            return None
        lane.append(one)
    return lanes


def _take_in_turn(
    state: FairnessState, lanes: Mapping[str, Sequence[Candidate]], count: int, depth: int | None
) -> Choice:
    """Choose where no class of a group waits for another one: earlier counts decide nothing."""
    names = sorted(lanes)
    first = 0 if state.last_group is None else bisect_right(names, state.last_group)
    taken: list[Candidate] = []
    goes_on = False
    try:
        taken.extend(islice(_in_turn(names[first:] + names[:first], lanes, depth), count))
    except _UnknownError:
        goes_on = True
    for name, number in Counter(one.group for one in taken).items():
        state.count(name, number)
    if taken:
        state.last_group = taken[-1].group
    return Choice(taken, goes_on)


def _in_turn(names: list[str], lanes: Mapping[str, Sequence[Candidate]], depth: int | None) -> Iterator[Candidate]:
    """Yield the next run of each lane in this order, again and again.

    Raises:
        _UnknownError: There may be one more in a lane.
    """
    place = 0
    while names:
        left: list[str] = []
        for name in names:
            lane = lanes[name]
            if place < len(lane):
                yield lane[place]
                left.append(name)
            elif place == depth:
                raise _UnknownError
        names, place = left, place + 1


def _take_one(
    state: FairnessState, groups: dict[str, _Group], names: list[str], blocked: set[int], room: int | None
) -> Candidate | None:
    while names:
        # In round-robin order: the smallest after the last one, wrapping.
        after = 0 if state.last_group is None else bisect_right(names, state.last_group)
        place = after % len(names)
        name = names[place]
        candidate = groups[name].take(state.scheme.prefers(state.counter(name)), blocked)
        if candidate is None:
            del names[place]
            continue
        if room is not None and candidate.slots > max(1, room):
            raise _NoRoomError(candidate)
        state.last_group = name
        state.count(name, 1)
        if candidate.blocks is not None:
            blocked.add(candidate.blocks)
        return candidate
    return None


def _by_group(candidates: Iterable[Candidate], capacities: dict[str, int], depth: int | None) -> dict[str, _Group]:
    groups: dict[str, _Group] = {}
    for candidate in candidates:
        group = groups.get(candidate.group)
        if group is None:
            group = groups[candidate.group] = _Group(capacity=capacities.get(candidate.group))
        lane = group.lane(candidate)
        lane.known.append(candidate)
        lane.goes_on = len(lane.known) == depth
    return groups
