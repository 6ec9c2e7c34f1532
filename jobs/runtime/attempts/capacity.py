"""Decide how many runs of which jobs a node may begin: each kind of job has a limit of its own."""

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ...core.model import Isolation
from ...registry import JobDefinition

log = logging.getLogger(__name__)

HORIZON: Final = 0.05
"""Seconds for which a run that was begun ahead waits at most, if those before it go on ending as they did."""
LULL: Final = 0.005
"""Seconds that a node lets pass before its next turn while runs that it began ahead still wait: larger turns cost less,
and leave the processor to the jobs."""
GATHER: Final = 0.02
"""Seconds for which the end of a run in a child process waits at most: few of them end in the time of a transaction,
and each transaction costs the node a millisecond."""
PARTS: Final = 3
"""Parts of the slots that take turns under load: of one the ends are stored, one is claimed, and one is executed."""
FULL_CLAIM: Final = 0.01
"""Seconds for which a claim waits at most until a part of the slots is free, while claims of coroutines are full: what
one costs the database hardly grows with its runs."""
_TURNS: Final = 2.0
"""Turns whose time is bridged: while one brings runs, the ends of the runs before are still on their way."""
_PAYS_OFF_FROM: Final = 0.05
"""The part of their time that all places together would wait for claims; below it nothing is begun ahead."""
_LEAST: Final = 40.0
"""Ends a second below which nothing is begun ahead: behind one run that takes longer it would wait for too long."""
_MOST: Final = 400
_MORE: Final = 1.25
_WINDOW: Final = 0.01
_LONG_WINDOW: Final = 0.25
"""Seconds over which ends are counted: at least, and at most where few runs end."""


class Overcommit:
    """Follows how fast runs of one kind end and how long a claim takes, both as they were of late.

    Args:
        places: How many of the kind run at once.
        gather: Seconds for which the end of a run may wait for others, so that one transaction stores them all.
    """

    def __init__(self, places: int, gather: float = 0.0) -> None:
        self._places = places
        self._gather = gather
        self._rate = 0.0
        self._claim = 0.005
        self._ends = 0
        self._is_dry = False
        self._since: float | None = None

    def begin(self, now: float) -> None:
        """Start to measure as runs begin after none was under way: idle time does not say how fast they end."""
        self._ends, self._is_dry, self._since = 0, False, now

    def end(self, waiting: int) -> None:
        """Count the end of a run.

        Args:
            waiting: How many runs that were begun wait for its place; if none does, more could have ended.
        """
        self._ends += 1
        self._is_dry = self._is_dry or not waiting

    def claimed(self, seconds: float) -> None:
        """Note how long a claim took."""
        self._claim += (seconds - self._claim) / 4

    def stall(self) -> None:
        """Start over: a run that was begun ahead got no place in time, so runs have become longer."""
        self._rate, self._ends, self._is_dry, self._since = 0.0, 0, False, None

    def count(self, now: float, waiting: int) -> int:
        """Return the number of runs to begin ahead now.

        Args:
            now: Seconds that only grow.
            waiting: How many runs that were begun wait for a place now.
        """
        if self._since is None:
            self._since = now
        elapsed = now - self._since
        # A few ends that happen to fall together say nothing: each place was left twice, or there was time for it.
        if elapsed >= _WINDOW and (self._ends >= 2 * self._places or elapsed >= _LONG_WINDOW):
            self._follow(self._ends / elapsed, is_short=self._is_dry or not waiting)
            self._ends, self._is_dry, self._since = 0, False, now
        wanted = self._rate * min(HORIZON, _TURNS * (self._claim + LULL + self._gather))
        pays_off = wanted >= _PAYS_OFF_FROM * self._places and self._rate >= _LEAST
        most = min(_MOST, math.ceil(wanted)) if pays_off else 0
        # Where ends are gathered, so are claims: none until half of what was begun ahead has found a place.
        return min(most, waiting) if waiting * 2 > most and self._gather > 0 else most

    def gathering(self, waiting: int) -> float:
        """Return how many seconds an end may wait: its transaction and a claim must end before a place has no run.

        Args:
            waiting: How many runs that were begun wait for a place now.
        """
        return max(0.0, min(self._gather, (waiting / self._rate - 2 * self._claim) / 2)) if self._rate else 0.0

    def _follow(self, rate: float, *, is_short: bool) -> None:
        """Follow the measured rate: if nothing waits, more could have ended with more to do, so it falls slowly."""
        if is_short and rate * _MORE > self._rate:
            self._rate = rate * _MORE
        else:
            self._rate += (rate - self._rate) / (8 if is_short else 2)


PAUSE: Final = 0.1
"""Seconds for which jobs of which nothing was found are left out, unless a notice of runs comes."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """An upper bound for one claim.

    Attributes:
        count: For how many slots; each run may be of any of these jobs.
        room: How many of the slots are free already, for runs that take several.
        heavy: The jobs among these whose runs take several, and how many.
    """

    jobs: tuple[str, ...]
    count: int
    kinds: frozenset[Isolation] = frozenset()
    room: int = 0
    heavy: Mapping[str, int] = field(default_factory=dict[str, int])


NO_ALLOWANCE: Final = Allowance((), 0)
"""Nothing may begin."""


class Capacity:
    """The limits of one node, and the room that its attempts leave.

    Args:
        taken: The jobs whose runs it takes.
        slots: How many runs it executes at once.
        limits: How many of these in threads and in child processes.
        apart: How many runs it hands to engines at once, besides: they take none of its slots.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        taken: Iterable[JobDefinition],
        slots: int,
        limits: Mapping[Isolation, int],
        clock: Callable[[], float] = time.monotonic,
        *,
        apart: int = 0,
    ) -> None:
        self._slots = slots
        self._limits = {kind: min(slots, limit) for kind, limit in limits.items()}
        self._apart = apart
        self._clock = clock
        self._jobs: dict[Isolation, list[str]] = {kind: [] for kind in Isolation}
        self._heavy: dict[Isolation, dict[str, int]] = {kind: {} for kind in Isolation}
        for one in taken:
            if one.slots > self._limit(one.isolation):
                log.warning(
                    "job %s takes %d slots, and this node has %d of the kind: its runs are left to other nodes",
                    one.name,
                    one.slots,
                    self._limit(one.isolation),
                )
                continue
            self._jobs[one.isolation].append(one.name)
            if one.slots > 1:
                self._heavy[one.isolation][one.name] = one.slots
        # Where the run that is next needs more slots than are free, and how many: they are kept free for it.
        self._awaited: tuple[Isolation, int] | None = None
        gather = {Isolation.PROCESS: GATHER}
        self._overcommit = {kind: Overcommit(limit, gather.get(kind, 0.0)) for kind, limit in self._limits.items()}
        self._closed: set[Isolation] = set()
        self._empty: dict[frozenset[Isolation], float] = {}
        self._notices: Counter[Isolation] = Counter()
        self._ended: set[Isolation] = set()
        self._is_full = False
        # Of these the last claim left slots free: nothing more waits that could begin.
        self._left: frozenset[Isolation] = frozenset()
        # Of the runs that begin while claims are full.
        self._lately: set[Isolation] = set()

    def _limit(self, kind: Isolation) -> int:
        return self._apart if kind is Isolation.REMOTE else self._limits.get(kind, self._slots)

    @property
    def jobs(self) -> tuple[str, ...]:
        """The jobs whose runs may begin here once there is room."""
        return tuple(sorted(name for kind in self._jobs if kind not in self._closed for name in self._jobs[kind]))

    @property
    def unlimited(self) -> tuple[str, ...]:
        """The jobs of which all begins that can: a run of one that follows another in its slot takes it from nobody."""
        if self._awaited is not None:
            return ()
        names = (
            name for kind in self._left - self._closed for name in self._jobs[kind] if name not in self._heavy[kind]
        )
        return tuple(sorted(names))

    def note_left(self, allowance: Allowance, *, is_left: bool) -> None:
        """Note whether a claim left some of the slots that it was for."""
        self._left = self._left | allowance.kinds if is_left else self._left - allowance.kinds

    def used(self, held: Counter[Isolation]) -> dict[Isolation, tuple[int, int]]:
        """Return for each kind how many slots its attempts hold and how many they may hold; coroutines may use all."""
        limits = {Isolation.ASYNC: self._slots, **self._limits}
        if self._apart:
            limits[Isolation.REMOTE] = self._apart
        return {kind: (held[kind], limit) for kind, limit in limits.items()}

    def keep_free(self, allowance: Allowance, next_job: str | None) -> bool:
        """Keep slots free for the next run, which found no room; its node's other runs come after it.

        Args:
            allowance: Of the claim that found it.
            next_job: Its job; None = there is no such run.

        Returns:
            Whether to try other claims now: they leave its slots alone, or need not any more.
        """
        before = self._awaited
        if before is not None and before[0] in allowance.kinds:
            self._awaited = None
        # One at a time: two kinds that leave room for each other would wait for ever.
        if next_job is not None and self._awaited is None:
            kind = next(kind for kind in allowance.kinds if next_job in self._heavy[kind])
            self._awaited = kind, self._heavy[kind][next_job]
        return next_job is not None or self._awaited != before

    def close(self, kind: Isolation) -> None:
        """Take no runs of this kind: there is nothing that could execute them."""
        self._closed.add(kind)

    def open(self, kind: Isolation) -> None:
        """Take runs of this kind again."""
        self._closed.discard(kind)

    def begun(self, kind: Isolation, held: int) -> None:
        """Note that runs of a kind begin, in addition to ``held`` others of it.

        Where there were none, the kind was idle, unless claims are full: then its places waited for the last one.
        """
        self._lately.add(kind)
        if not held and not self._is_full and kind in self._overcommit:
            self._overcommit[kind].begin(self._clock())

    def ended(self, kind: Isolation, waiting: int) -> None:
        """Note that a run of this kind has ended, while ``waiting`` others that were begun wait for its place."""
        self._ended.add(kind)
        if kind in self._overcommit:
            self._overcommit[kind].end(waiting)

    def stalled(self, kind: Isolation) -> None:
        """Note that a run of this kind was begun and found no place."""
        if kind in self._overcommit:
            self._overcommit[kind].stall()

    def gathering(self, kind: Isolation, waiting: int) -> float:
        """Return the seconds for which the end of a run of this kind may wait for others.

        Args:
            waiting: How many runs have begun and wait for a child process: no other kind gathers.
        """
        return self._overcommit[kind].gathering(waiting) if waiting and kind in self._overcommit else 0.0

    def claimed(self, seconds: float) -> None:
        """Note how long a claim took."""
        for one in self._overcommit.values():
            one.claimed(seconds)

    def filled(self, *, is_full: bool) -> None:
        """Note that free slots were filled, as far as runs were found; ``is_full``: more of them may wait.

        To be said after the found runs have begun: whether that began from idleness is said by the claims before.
        """
        self._is_full = is_full
        if not is_full:
            self._lately = set()

    def pays_off(self, held: int) -> bool:
        """Return whether enough slots are free for a claim: while claims of coroutines are full, a part of them.

        Args:
            held: How many runs hold one.
        """
        return not self._is_full or Isolation.ASYNC not in self._lately or (self._slots - held) * PARTS >= self._slots

    def allowances(
        self, held: Counter[Isolation], waiting: Mapping[Isolation, int], heavy: Collection[Isolation] = ()
    ) -> list[Allowance]:
        """Return allowances for claims to try in turn: all kinds with free slots, then without the scarcest, and so on.

        Each has as many places as the scarcest of its kinds, since every run that it brings may be of that one. So few
        child processes would make small claims of coroutines: while claims are full, each kind has a claim of its own,
        and coroutines leave their places to the others, unless these are more than half of all.

        Args:
            held: The slots that attempts hold, by kind.
            waiting: How many of them have begun and wait for a thread or a child process.
            heavy: Kinds of which some of these take several slots: their threads or child processes do not say how many
                are free, so nothing is begun ahead.
        """
        ahead = {kind: one.count(self._clock(), waiting[kind]) for kind, one in self._overcommit.items()}
        ahead |= dict.fromkeys(heavy, 0)
        left = self._slots - held.total() + held[Isolation.REMOTE]
        free = left + sum(ahead.values())
        places = {Isolation.ASYNC: min(free, left)}
        places |= {kind: min(free, limit + ahead[kind] - held[kind]) for kind, limit in self._limits.items()}
        if self._apart:
            places[Isolation.REMOTE] = self._apart - held[Isolation.REMOTE]
        if self._awaited is not None:
            for kind in places.keys() - {self._awaited[0], Isolation.REMOTE}:
                places[kind] = min(places[kind], left - self._awaited[1])
        kinds = [kind for kind in places if places[kind] > 0 and self._jobs[kind] and kind not in self._closed]
        apart = sum(limit for kind, limit in self._limits.items() if self._jobs[kind] and kind not in self._closed)
        if self._is_full and apart * 2 <= self._slots and self._awaited is None:
            places[Isolation.ASYNC] = min(places[Isolation.ASYNC], self._slots - apart - held[Isolation.ASYNC])
            return [self._allowance([kind], places[kind], left, ahead) for kind in kinds if places[kind] > 0]
        kinds.sort(key=places.__getitem__)
        return [
            self._allowance(kinds[first:], places[kinds[first]], left, ahead)
            for first in range(len(kinds))
            if not first or places[kinds[first]] > places[kinds[first - 1]]
        ]

    def _allowance(
        self, kinds: Sequence[Isolation], count: int, left: int, ahead: Mapping[Isolation, int]
    ) -> Allowance:
        jobs = tuple(sorted(name for kind in kinds for name in self._jobs[kind]))
        heavy = {name: slots for kind in kinds for name, slots in self._heavy[kind].items()}
        room = min(left, count - max(ahead.get(kind, 0) for kind in kinds)) if heavy else 0
        return Allowance(jobs, count, frozenset(kinds), room, heavy)

    def notices(self, allowance: Allowance) -> int:
        """Return how many notices have come so far of runs that it may be for."""
        return sum(self._notices[kind] for kind in allowance.kinds)

    def note_empty(self, allowance: Allowance, notices: int) -> None:
        """Note that a claim found no run. It may have missed notices that came after it began.

        Args:
            notices: How many ``notices`` had come when it began.
        """
        if notices == self.notices(allowance):
            self._empty[allowance.kinds] = self._clock() + PAUSE

    def was_empty(self, allowance: Allowance) -> bool:
        """Return whether such a claim brought nothing a moment ago, with no notice of runs since."""
        return self._empty.get(allowance.kinds, 0.0) > self._clock()

    def forget_empty(self) -> None:
        """Forget empty claims, as a notice of runs has come."""
        self._forget_empty(Isolation)

    def ends_stored(self) -> None:
        """Forget empty claims of the kinds whose ends were stored: other runs may have waited for these ends."""
        self._forget_empty(self._ended)
        self._ended = set()

    def _forget_empty(self, kinds: Iterable[Isolation]) -> None:
        self._notices.update(kinds)
        self._empty = {one: until for one, until in self._empty.items() if one.isdisjoint(kinds)}
