"""Bound the times to those that every database, driver and calendar of this product can hold and compute with."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from .errors import InvalidInput, refuse


def time_text(instant: datetime) -> str:
    """Write an aware time as the API does: ``2026-03-01T12:00:05Z``, with up to six decimals where there are any."""
    utc = instant if instant.tzinfo is UTC else instant.astimezone(UTC)
    # Without its offset, which is always written as +00:00.
    text = utc.isoformat()[:-6]
    return f"{text.rstrip('0') if '.' in text else text}Z"


def number_text(value: float) -> str:
    """Write a number without exponent or needless decimals: ``2``, ``0.001``, ``316,224,000``; rounded to six decimals.

    Numbers of 10^15 and more, which nobody means, are shortened: ``1e+300``.
    """
    if not abs(value) < 1e15:
        return f"{Decimal(value).normalize():.6g}" if isinstance(value, int) else f"{value:g}"
    text = f"{value:,.6f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: ``1 run``, ``2,000 runs``, ``0 entries``.

    Args:
        number: Of how many.
        plural: For any other number, unless it is the noun with an ``s``.
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(9998, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
"""Leaves a year for a zone's offset, and for computations with a time."""
RANGE: Final = f"from {time_text(EARLIEST)} to {time_text(LATEST)}"


def is_possible(instant: datetime) -> bool:
    """Return whether a time with a zone is one that can be stored. Nothing is converted, which could overflow."""
    return EARLIEST <= instant <= LATEST


def time_faults(value: object, name: str) -> Iterator[InvalidInput]:
    """Yield the faults of a given time, by the name that the API has for it; None is fine."""
    if value is None:
        return
    path = (name,)
    if not isinstance(value, datetime):
        message = f"{name}: must be a datetime with a time zone, e.g. datetime.now(UTC), or None, got {value!r:.60}"
        yield InvalidInput(message, path=path)
    elif value.tzinfo is None:
        message = f"{name}: must have a time zone, e.g. datetime.now(UTC), got the naive {value.isoformat()}"
        yield InvalidInput(message, path=path)
    elif not is_possible(value):
        message = f"{name}: must be a time {RANGE}, got {value.isoformat()}; leave it out if no time is meant"
        yield InvalidInput(message, path=path)


def check_time(value: object, name: str) -> None:
    """Check that a time can be stored, or is None.

    Raises:
        InvalidInput: see ``time_faults``.
    """
    refuse(time_faults(value, name))
