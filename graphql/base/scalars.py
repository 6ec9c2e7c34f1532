"""The custom scalars: times, big integers and JSON values; each parses strictly and its errors name the right form."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, NewType

import strawberry
from strawberry.scalars import JSON
from strawberry.types.scalar import ScalarDefinition

from graphql import GraphQLError

from ...jobs.core.base.times import RANGE, is_possible, time_text

BigInt = NewType("BigInt", int)
Duration = NewType("Duration", float)
Labels = NewType("Labels", dict[str, str])

MAX_BIGINT: Final = 2**63 - 1
MAX_EXACT: Final = 2**53 - 1
"""The largest whole number up to which JavaScript reads every JSON number without losing digits."""
DECIMAL: Final = re.compile(r"-?[0-9]{1,19}", re.ASCII)
RFC_3339: Final = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,12}))?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def parse_time(value: object) -> datetime:
    """Return the instant behind an RFC 3339 text; decimals beyond microseconds are cut off.

    Raises:
        GraphQLError: it is no text, no such time, has no zone, or is before 1970 or after 9998.
    """
    match = RFC_3339.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise GraphQLError(
            f"DateTime: must be an RFC 3339 time with a zone, e.g. 2026-01-31T09:30:00Z, got {_shown(value)}"
        )
    date, time, decimals, zone = match.groups()
    try:
        text = f"{date}T{time}.{(decimals or '')[:6]:0<6}{'+00:00' if zone in 'Zz' else zone}"
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise GraphQLError(f"DateTime: {_shown(value)} is no time of the calendar: {error}") from None
    if not is_possible(instant):
        raise GraphQLError(
            f"DateTime: must be a time {RANGE}, got {_shown(value)}; leave it out, or give null, if no time is meant"
        )
    return instant.astimezone(UTC)


def serialize_time(value: datetime | str) -> str:
    """Return a time as the API writes it; a text is one that the database has written in that form."""
    return value if isinstance(value, str) else time_text(value)


def serialize_bigint(value: int) -> int | str:
    """Return the number as a JSON number where JavaScript reads it exactly, and otherwise as a decimal text."""
    return value if -MAX_EXACT <= value <= MAX_EXACT else str(value)


def parse_bigint(value: object) -> int:
    """Return a whole number that fits into 64 bits, or its decimal text.

    Raises:
        GraphQLError: anything else.
    """
    if isinstance(value, str) and DECIMAL.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not -MAX_BIGINT - 1 <= value <= MAX_BIGINT:
        raise GraphQLError(f"BigInt: must be a whole number of at most 64 bits, got {_shown(value)}")
    return value


def parse_duration(value: object) -> float:
    """Return a number of seconds; its bounds are those of the argument.

    Raises:
        GraphQLError: it is no number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise GraphQLError(f"Duration: must be a number of seconds, e.g. 90 or 0.25, got {_shown(value)}")
    try:
        return float(value)
    except OverflowError:
        raise GraphQLError(f"Duration: must be a finite number of seconds, got {_shown(value)}") from None


_UNSTORABLE: Final = re.compile("[\\0\\ud800-\\udfff]")


def unstorable(text: str) -> str | None:
    """Return the first character of a text that no database can store, in words, or None."""
    found = _UNSTORABLE.search(text)
    return None if found is None else f"U+{ord(found[0]):04X}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


SCALARS: Final[Mapping[object, ScalarDefinition]] = {
    datetime: strawberry.scalar(
        name="DateTime",
        description="An instant as RFC 3339 in UTC, e.g. `2026-01-31T09:30:00Z`; up to six decimals. "
        "In input any offset is accepted, and one is required; times before 1970 and after 9998 are refused.",
        specified_by_url="https://datatracker.ietf.org/doc/html/rfc3339",
        serialize=serialize_time,
        parse_value=parse_time,
    ),
    BigInt: strawberry.scalar(
        name="BigInt",
        description="A whole number of up to 64 bits: a JSON number from -9007199254740991 to 9007199254740991, which "
        "JavaScript reads exactly, and otherwise a decimal text. `BigInt(value)` reads both. In input both are "
        "accepted for every number.",
        serialize=serialize_bigint,
        parse_value=parse_bigint,
    ),
    Duration: strawberry.scalar(
        name="Duration",
        description="A length of time in seconds, as a JSON number with decimals, e.g. `90` or `0.25`.",
        serialize=float,
        parse_value=parse_duration,
    ),
    Labels: strawberry.scalar(
        name="Labels",
        description='Labels: a JSON object whose values are texts, e.g. `{"customer": "42"}`.',
        specified_by_url="https://www.rfc-editor.org/rfc/rfc8259",
        serialize=lambda value: value,
        parse_value=lambda value: value,
    ),
    JSON: strawberry.scalar(
        name="JSON",
        description="Any JSON value. Strings without U+0000, numbers finite.",
        specified_by_url="https://www.rfc-editor.org/rfc/rfc8259",
        serialize=lambda value: value,
        parse_value=lambda value: value,
    ),
}
"""Python type to scalar, for the schema's configuration."""
