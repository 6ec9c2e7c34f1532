"""Times and numbers in messages, as people write them."""

from datetime import UTC, datetime


def time_text(instant: datetime) -> str:
    """An aware time as the API writes it: ``2026-03-01T12:00:05Z``, with as many decimals as there are, at most six."""
    utc = instant if instant.tzinfo is UTC else instant.astimezone(UTC)
    # Without its offset, which is always written as +00:00.
    text = utc.isoformat()[:-6]
    return f"{text.rstrip('0') if '.' in text else text}Z"


def number_text(value: float) -> str:
    """A number without exponent and needless decimals: ``2``, ``0.001``, ``316,224,000``; rounded to six decimals.

    Numbers of 10^15 and more, which nobody means, are shortened: ``1e+300``.
    """
    if not abs(value) < 1e15:
        return f"{value:g}"
    text = f"{value:,.6f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
