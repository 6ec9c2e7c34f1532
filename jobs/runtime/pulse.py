"""Whether the parts of a node get on: since when each has had something to do without having done any of it."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stall:
    """A part that makes no progress.

    Attributes:
        part: Which, in words.
        seconds: For how long.
    """

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


def stall_of(pulses: Iterable[Pulse], patience: float) -> Stall | None:
    """The part that has made no progress for the longest, if for longer than ``patience`` seconds."""
    slowest = max(pulses, key=Pulse.age, default=None)
    age = 0.0 if slowest is None else slowest.age()
    return Stall(slowest.part, age) if slowest is not None and age > patience else None
