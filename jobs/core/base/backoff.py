"""Exponential back-off: the one formula for all that the engine and the sign-in let wait."""

from typing import Final

_MOST_DOUBLINGS: Final = 32
"""By then any first pause that makes sense has met its limit; the bound keeps the power finite."""


def exponential(first: float, longest: float, failures: int) -> float:
    """Seconds to wait: ``first`` × 2^``failures``, at most ``longest``.

    Args:
        first: The first pause.
        longest: The limit.
        failures: How many there were before this one.
    """
    return min(longest, first * 2.0 ** min(failures, _MOST_DOUBLINGS))
