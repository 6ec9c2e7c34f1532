"""Small pieces of English for descriptions: ordinals, lists, and sets of numbers as lists with ranges."""

from collections.abc import Callable, Sequence
from typing import Final

from .bits import members, stepped

MONTH_NAMES: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
DAY_NAMES: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_SHORTEST_RANGE: Final = 3
_LONGEST: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
"""Days of each month, of February in a leap year."""


def ordinal(number: int) -> str:
    """The number in order: ``1st``, ``2nd``, ``3rd``, ``4th``."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{('th', 'st', 'nd', 'rd', *['th'] * 6)[number % 10]}"


def joined(words: Sequence[str], conjunction: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {conjunction} {words[-1]}"


def missing_day(months: int, days: int) -> str | None:
    """That none of the months (bits 1 to 12) has any of the days (bits 1 to 31), in words; None if one has."""
    chosen = [number for number in range(1, 13) if months >> number & 1]
    first = (days & -days).bit_length() - 1
    if not chosen or first < 1 or any(first <= _LONGEST[number - 1] for number in chosen):
        return None
    names = joined([MONTH_NAMES[number - 1] for number in chosen])
    return f"{names} {'has' if len(chosen) == 1 else 'have'} no day {first}"


def listed(mask: int, name: Callable[[int], str] = str) -> str:
    """The members of a set, three or more in a row as a range: ``1, 3 to 5 and 9``."""
    words: list[str] = []
    for first, last in runs(mask):
        if last - first + 1 >= _SHORTEST_RANGE:
            words.append(f"{name(first)} to {name(last)}")
        else:
            words.extend(name(number) for number in range(first, last + 1))
    return joined(words)


def runs(mask: int) -> list[tuple[int, int]]:
    """The members of a set as runs of consecutive numbers, each with its first and last."""
    found: list[tuple[int, int]] = []
    for number in members(mask):
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def only(mask: int) -> int | None:
    """The only member of a set, or None when it has none or several."""
    return mask.bit_length() - 1 if mask and not mask & (mask - 1) else None


def is_range(mask: int) -> bool:
    """Whether the set is not empty and has no holes."""
    return len(runs(mask)) == 1


def step_of(mask: int, high: int) -> tuple[int, int] | None:
    """``(start, step)`` of a set that is ``start/step`` up to ``high`` with a step over 1 and three members or more."""
    first, second, *more = (*members(mask), -1, -1)[:3]
    if more == [-1] or second - first < 2 or mask != stepped(first, high, second - first):
        return None
    return first, second - first
