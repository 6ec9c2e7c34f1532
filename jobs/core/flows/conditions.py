"""Whether a run of a flow may start, must wait, or can never start, by the states of the runs that it comes after."""

from enum import Enum, auto
from typing import NamedTuple

from .model import When


class Standing(Enum):
    """What follows for a run that waits for others."""

    WAIT = auto()
    START = auto()
    SKIP = auto()


class Before(NamedTuple):
    """What is known of the runs before one: whether any is unfinished, failed for good, or ended without success."""

    unfinished: bool
    failed: bool
    unsuccessful: bool


def standing(when: When, before: Before) -> Standing:
    """What follows for a run under the condition ``when``. Only one that can never start is decided early."""
    if when is When.SUCCESS and before.unsuccessful:
        return Standing.SKIP
    if before.unfinished:
        return Standing.WAIT
    if when is When.FAILURE and not before.failed:
        return Standing.SKIP
    return Standing.START


SHOWN = 20
"""So many keys of a chain are kept: the first, whose end began it, and the last ones."""


def chained(chain: tuple[str, ...], key: str) -> tuple[str, ...]:
    """A chain of runs that kept each other from starting, gone on by one; long ones lose their middle."""
    longer = (*chain, key)
    return longer if len(longer) <= SHOWN else (longer[0], *longer[-(SHOWN - 1) :])
