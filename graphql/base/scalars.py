"""The custom scalars, times, big integers and JSON; and checked arguments. Errors name the right form."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Final, NewType, TypeAlias

import strawberry
from strawberry.scalars import JSON
from strawberry.types.scalar import ScalarDefinition

from graphql import GraphQLError

from ...jobs.core.base.times import RANGE, is_possible, time_text
from .errors import UserFacingError

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
    """Return the first character of a text that no database can store, in words, or None; the text may be a secret."""
    found = _UNSTORABLE.search(text)
    return None if found is None else f"U+{ord(found[0]):04X} at position {found.start() + 1}"


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


DEFAULT_PAGE: Final = 50
MAX_PAGE: Final = 200
DEFAULT_STRIP: Final = 60
MAX_COUNT: Final = 100
MAX_JOB_LOGS: Final = 1_000
MAX_LINES: Final = 1_000
MAX_RUNS: Final = 10_000
"""Runs that one mutation makes or changes at most."""

MAX_TASKS: Final = 1_000
"""Tasks that one mutation changes at most: each is changed by itself."""

FIRST: TypeAlias = Annotated[
    int | None,
    strawberry.argument(
        description="At most so many rows from the beginning; 0 to 200, 50 if neither this nor `last`."
    ),
]
AFTER: TypeAlias = Annotated[
    str | None,
    strawberry.argument(
        description="Return only rows behind this cursor, which must be of the same list in the same order."
    ),
]
FORWARDS: TypeAlias = Annotated[int, strawberry.argument(description="At most so many rows, 0 to 200.")]
"""The argument ``first`` of a list that can be read forwards only, since its rows are computed."""
LAST: TypeAlias = Annotated[
    int | None, strawberry.argument(description="At most so many rows from the end, in the list's order; 0 to 200.")
]
BEFORE: TypeAlias = Annotated[
    str | None,
    strawberry.argument(
        description="Return only rows in front of this cursor, which must be of the same list in the same order."
    ),
]
COUNT: TypeAlias = Annotated[int, strawberry.argument(description="The number of times to compute, 1 to 100.")]
ID_ARGUMENT: TypeAlias = Annotated[strawberry.ID, strawberry.argument(description="The decimal key of the object.")]


def refused(message: str, code: str = "INVALID_INPUT") -> UserFacingError:
    """Return the error for an argument with a wrong value."""
    return UserFacingError(message, code=code)


def checked_range(value: int, argument: str, low: int, high: int) -> int:
    """Return a number within its bounds.

    Raises:
        UserFacingError: it is not; the message names the argument and the bounds.
    """
    if not low <= value <= high:
        raise refused(f"{argument}: must be a whole number from {low} to {high}, got {value}")
    return value


def checked_count(value: int) -> int:
    """Return how many times to compute."""
    return checked_range(value, "count", 1, MAX_COUNT)


def checked_text(value: str, argument: str) -> str:
    """Return a text that can be a value in a query to the database.

    Raises:
        UserFacingError: it holds U+0000 or half of a surrogate pair.
    """
    fault = unstorable(value)
    if fault is not None:
        raise refused(f"{argument}: must not contain {fault}")
    return value


def parse_id(value: str, argument: str) -> int:
    """Return the key behind an ``ID``.

    Raises:
        UserFacingError: it is not a decimal number of at most 64 bits.
    """
    number = decimal(value)
    if number is None:
        raise refused(f"{argument}: must be an id as this API gives them, a decimal number, got {value[:60]!r}")
    return number


def decimal(value: str) -> int | None:
    """Return the number behind a decimal key, or None if it is none."""
    if not value.isascii() or not value.isdigit() or len(value) > 19:
        return None
    number = int(value)
    return number if number <= MAX_BIGINT else None


@cache
def camel(name: str) -> str:
    """Return the schema's name of a Python name: ``misfire_grace`` is ``misfireGrace``."""
    head, *rest = name.strip("_").split("_")
    return head + "".join(word.capitalize() for word in rest)
