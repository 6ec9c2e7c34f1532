"""SQL functions that the two databases spell differently."""

from typing import Any

from sqlalchemy import BigInteger, Boolean, ColumnElement, Float, Text

from .base.spelling import spelled

# SQLite: whole seconds as integers and the six stored decimals apart: its own times are rounded to milliseconds. By
# days, which it reads in half the time that seconds since 1970 take; they are exact to 0.05 ms.
_WHOLE = "CAST(round((julianday(substr({1}, 1, 19)) - julianday(substr({0}, 1, 19))) * 86400) AS INTEGER)"
_MICROS = "(CAST(substr({1}, 21, 6) AS INTEGER) - CAST(substr({0}, 21, 6) AS INTEGER))"
_seconds_between = spelled(
    "seconds_between",
    Float(),
    postgresql="EXTRACT(EPOCH FROM {1} - {0})::double precision",
    sqlite=f"({_WHOLE} * 1000000 + {_MICROS}) / 1000000.0",
)
"""Seconds from the first time to the second; NULL if either is."""
bucket_start = spelled(
    "bucket_start",
    BigInteger(),
    postgresql="(floor(EXTRACT(EPOCH FROM {0}) / {1})::bigint * {1})",
    # The seconds since 1970 rounded down: with its decimals, .9996 would be rounded up to the next second.
    sqlite="(CAST(strftime('%s', substr({0}, 1, 19)) AS INTEGER) / {1} * {1})",
)
"""The beginning, in seconds since 1970, of the bucket of so many seconds that a time is in."""
fits_pattern = spelled("fits_pattern", Boolean(), postgresql="({0} ~ {1})", sqlite="({0} GLOB {2})")
"""Whether a text fits the second operand, a regular expression, on PostgreSQL; the third, for GLOB, on SQLite."""
_MICROSECONDS = "to_char({0} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US')"
_written_time = spelled(
    "written_time",
    Text(),
    postgresql=f"rtrim(rtrim({_MICROSECONDS}, '0'), '.') || 'Z'",
    sqlite="rtrim(rtrim(substr({0}, 1, 26), '0'), '.') || 'Z'",
)


def duration(start: ColumnElement[Any], end: ColumnElement[Any]) -> ColumnElement[float]:
    """The seconds from ``start`` to ``end`` as an expression to select, filter and order by."""
    return _seconds_between(start, end)


def written_time(instant: ColumnElement[Any]) -> ColumnElement[str]:
    """A time as ``time_text`` in ``core.base.times`` writes it, made by the database: for thousands of them."""
    return _written_time(instant)
