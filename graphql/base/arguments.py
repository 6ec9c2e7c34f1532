"""Arguments that many fields share, with their descriptions, and the checks of their values.

Faults in arguments of queries and subscriptions are GraphQL errors with code ``INVALID_INPUT``; those in the input of
mutations become ``errors`` of the payload (see ``changes``).
"""

from functools import cache
from typing import Annotated, Final, TypeAlias

import strawberry

from .errors import UserFacingError
from .scalars import MAX_BIGINT, unstorable

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
        raise refused(f"{argument}: must not contain {fault}, got {value[:60]!r}")
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
