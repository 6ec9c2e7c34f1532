"""How long a child process may serve one run after the other."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from ..core.run_spec import Seconds, length

DEFAULT_MEMORY: Final = 512 * 1024 * 1024
"""Bytes of memory above which a child process is not used again unless its job says otherwise."""


@dataclass(frozen=True, slots=True)
class Reuse:
    """A child process serves several runs of a job, one after the other, until one of these limits is reached.

    It also ends after any attempt that does not succeed, or that leaves a process of its own behind.

    Attributes:
        runs: How many runs; None = no limit.
        age: How long after its start it begins the last one, e.g. ``"1h"``; None = no limit.
        memory: Bytes of memory that it holds after a run.

    Raises:
        ValueError: names the limit that cannot be.
        InvalidInput: ``age`` is no duration.
    """

    runs: int | None = None
    age: Seconds | None = None
    memory: int = DEFAULT_MEMORY

    def __post_init__(self) -> None:
        """Refuse what is no limit."""
        if self.runs is None and self.age is None:
            raise ValueError("reuse: needs a limit, e.g. Reuse(runs=100) or Reuse(age='1h')")
        if self.runs is not None and not _is_number(self.runs):
            raise ValueError(f"reuse: runs must be 1 or more, got {self.runs!r:.60}")
        if self.age is not None and length("reuse: age", self.age) == 0:
            raise ValueError(f"reuse: age must be above 0, got {self.age}")
        if not _is_number(self.memory):
            raise ValueError(f"reuse: memory must be a number of bytes above 0, got {self.memory!r:.60}")


def _is_number(value: object) -> bool:
    """Whether it is a whole number above 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def reuse_of(value: object) -> Reuse | None:
    """What ``reuse=`` at a job means: a number of runs, an age, or both in a ``Reuse``.

    Raises:
        ValueError: it is none of these.
    """
    match value:
        case None | Reuse():
            return value
        case timedelta():
            return Reuse(age=value)
        case int() if not isinstance(value, bool):
            return Reuse(runs=value)
        case _:
            raise ValueError(f"reuse: must be a number of runs, a timedelta or a Reuse, got {value!r:.60}")
