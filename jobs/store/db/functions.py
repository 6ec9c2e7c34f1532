"""SQL functions that the two databases spell differently."""

from typing import Any

from sqlalchemy import BigInteger, Boolean, ColumnElement, Float, Text
from sqlalchemy.sql.functions import GenericFunction

from .base.spelling import spelled


class SecondsBetween(GenericFunction[float]):
    """Seconds from the first time to the second; NULL if either is."""

    type = Float()
    inherit_cache = True
    name = "cronograph_seconds_between"


# SQLite: whole seconds as integers and the six stored decimals apart: its own times are rounded to milliseconds. By
# days, which it reads in half the time that seconds since 1970 take; they are exact to 0.05 ms.
_WHOLE = "CAST(round((julianday(substr({1}, 1, 19)) - julianday(substr({0}, 1, 19))) * 86400) AS INTEGER)"
_MICROS = "(CAST(substr({1}, 21, 6) AS INTEGER) - CAST(substr({0}, 21, 6) AS INTEGER))"
spelled(
    SecondsBetween,
    postgresql="EXTRACT(EPOCH FROM {1} - {0})::double precision",
    sqlite=f"({_WHOLE} * 1000000 + {_MICROS}) / 1000000.0",
)


class BucketStart(GenericFunction[int]):
    """The beginning, in seconds since 1970, of the bucket of so many seconds that a time is in."""

    type = BigInteger()
    inherit_cache = True
    name = "cronograph_bucket_start"


spelled(
    BucketStart,
    postgresql="(floor(EXTRACT(EPOCH FROM {0}) / {1})::bigint * {1})",
    # The seconds since 1970 rounded down: with its decimals, .9996 would be rounded up to the next second.
    sqlite="(CAST(strftime('%s', substr({0}, 1, 19)) AS INTEGER) / {1} * {1})",
)


class FitsPattern(GenericFunction[bool]):
    """Whether a text fits the second operand, a regular expression, on PostgreSQL; the third, for GLOB, on SQLite."""

    type = Boolean()
    inherit_cache = True
    name = "cronograph_fits_pattern"


spelled(FitsPattern, postgresql="({0} ~ {1})", sqlite="({0} GLOB {2})")


class WrittenTime(GenericFunction[str]):
    """A time as the API writes it: in UTC, with as many decimals as there are."""

    type = Text()
    inherit_cache = True
    name = "cronograph_written_time"


_MICROSECONDS = "to_char({0} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US')"
spelled(
    WrittenTime,
    postgresql=f"rtrim(rtrim({_MICROSECONDS}, '0'), '.') || 'Z'",
    sqlite="rtrim(rtrim(substr({0}, 1, 26), '0'), '.') || 'Z'",
)


def duration(start: ColumnElement[Any], end: ColumnElement[Any]) -> ColumnElement[float]:
    """The seconds from ``start`` to ``end`` as an expression to select, filter and order by."""
    return SecondsBetween(start, end)


def written_time(instant: ColumnElement[Any]) -> ColumnElement[str]:
    """A time as ``time_text`` in ``core.base.wording`` writes it, made by the database: for thousands of them."""
    return WrittenTime(instant)
