"""How many short runs a node begins beyond its free threads or child processes, so that none of these waits for it."""

import math
from typing import Final

HORIZON: Final = 0.05
"""Seconds for which a run that was begun ahead waits at most, if those before it go on ending as they did."""
LULL: Final = 0.005
"""Seconds that a node lets pass before its next turn while runs that it began ahead still wait: larger turns cost less,
and leave the processor to the jobs."""
GATHER: Final = 0.02
"""Seconds for which the end of a run in a child process waits at most: few of them end in the time of a transaction,
and each transaction costs the node a millisecond."""
_TURNS: Final = 2.0
"""How many turns' time is bridged: while one brings runs, the ends of those before are still on their way."""
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
        self._since: float | None = None

    def begin(self, now: float) -> None:
        """Runs begin where none was under way: what was idle time says nothing about how fast they end."""
        self._ends, self._since = 0, now

    def end(self) -> None:
        """A run has ended."""
        self._ends += 1

    def claimed(self, seconds: float) -> None:
        """A claim took that long."""
        self._claim += (seconds - self._claim) / 4

    def stall(self) -> None:
        """A run that was begun ahead got no place in time: runs are not as short as they were."""
        self._rate, self._ends, self._since = 0.0, 0, None

    def count(self, now: float, waiting: int) -> int:
        """How many to begin ahead now.

        Args:
            now: Seconds that only grow.
            waiting: How many runs that were begun wait for a place now.
        """
        if self._since is None:
            self._since = now
        elapsed = now - self._since
        # A few ends that happen to fall together say nothing: each place was left twice, or there was time for it.
        if elapsed >= _WINDOW and (self._ends >= 2 * self._places or elapsed >= _LONG_WINDOW):
            self._follow(self._ends / elapsed, is_short=not waiting)
            self._ends, self._since = 0, now
        wanted = self._rate * min(HORIZON, _TURNS * (self._claim + LULL + self._gather))
        pays_off = wanted >= _PAYS_OFF_FROM * self._places and self._rate >= _LEAST
        most = min(_MOST, math.ceil(wanted)) if pays_off else 0
        # Where ends are gathered, so are claims: none until half of what was begun ahead has found a place.
        return min(most, waiting) if waiting * 2 > most and self.gathering(waiting) > 0 else most

    def gathering(self, waiting: int) -> float:
        """Seconds for which an end may wait, so that its transaction and a claim end before a place is without a run.

        Args:
            waiting: How many runs that were begun wait for a place now.
        """
        return max(0.0, min(self._gather, (waiting / self._rate - 2 * self._claim) / 2)) if self._rate else 0.0

    def _follow(self, rate: float, *, is_short: bool) -> None:
        """Where nothing waits, more may have ended with more to do: the rate is at least that, and falls slowly."""
        if is_short and rate * _MORE > self._rate:
            self._rate = rate * _MORE
        else:
            self._rate += (rate - self._rate) / (8 if is_short else 2)
