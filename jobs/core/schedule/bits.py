"""Sets of small numbers as bit masks: bit n of the mask is set when n is in the set."""

from collections.abc import Iterable, Iterator


def lowest(mask: int) -> int:
    """The smallest member of a set that is not empty."""
    return (mask & -mask).bit_length() - 1


def members(mask: int) -> Iterator[int]:
    """The members of the set, ascending."""
    while mask:
        bit = mask & -mask
        yield bit.bit_length() - 1
        mask ^= bit


def span(low: int, high: int) -> int:
    """The set of all numbers from ``low`` to ``high``, both included; empty when ``high < low``."""
    return ((1 << (high + 1)) - 1) & ~((1 << low) - 1) if high >= low else 0


def stepped(low: int, high: int, step: int) -> int:
    """The set ``low, low + step, low + 2·step, …`` up to and including ``high``. ``step`` must be at least 1."""
    return mask_of(range(low, high + 1, step))


def mask_of(numbers: Iterable[int]) -> int:
    """The set of the given numbers, none of them negative."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask
