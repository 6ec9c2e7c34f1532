"""Whether the parts of a node get on: since when each has had something to do without having done any of it."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stall:
    """A part that makes no progress."""

    part: str
    seconds: float

    def __str__(self) -> str:
        return f"its {self.part} has made no progress for {self.seconds:.0f} s"


class Pulse:
    """Of one part, which calls it; read from any thread.

    Args:
        part: In words, e.g. ``"dispatcher"``.
        clock: Seconds that only grow.
    """

    def __init__(self, part: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.part = part
        self._clock = clock
        self._since: float | None = None

    def wanted(self) -> None:
        """There is something to do."""
        if self._since is None:
            self._since = self._clock()

    def beat(self) -> None:
        """Some of it was done, and more is to do."""
        self._since = self._clock()

    def done(self) -> None:
        """All of it was done."""
        self._since = None

    def age(self) -> float:
        """For how many seconds there has been something to do of which nothing was done."""
        since = self._since
        return 0.0 if since is None else self._clock() - since


_STILL = 0.25
"""The part of its patience after which what carries the parts counts as standing still, if one of them does."""


def stall_of(pulses: Iterable[Pulse], patience: float, carrier: Pulse | None = None) -> Stall | None:
    """The part that has made no progress for the longest, if for longer than ``patience`` seconds.

    Args:
        pulses: Of the parts.
        patience: Seconds.
        carrier: Of what all of them need to get on. While it stands still it is the one to name: a part that had begun
            something before has been waiting for longer, but for this.
    """
    slowest = max(pulses if carrier is None else (carrier, *pulses), key=Pulse.age, default=None)
    age = 0.0 if slowest is None else slowest.age()
    if slowest is None or age <= patience:
        return None
    carried = 0.0 if carrier is None else carrier.age()
    return Stall(slowest.part, age) if carrier is None or carried <= _STILL * patience else Stall(carrier.part, carried)
