"""The names of fields as a Python caller writes them: the rules that judge an input name its fields as the API does."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, TypeVar

from .errors import UserError

Error = TypeVar("Error", bound=UserError)

NAMES: Final = {
    "expiresAt": "expires_at",
    "jobName": "job_name",
    "maxDuration": "max_duration",
    "maxWait": "max_wait",
    "retryDelay": "retry_delay",
    "runAt": "run_at",
    "uniqueAmong": "unique_among",
    "uniqueFor": "unique_for",
    "uniqueKey": "unique_key",
}
"""Fields of runs and flows whose names the API and Python write differently, by the API's."""
# What stands in quotes is a value of the caller's.
_OF_THE_API: Final = re.compile(rf"(?<![\w'\"])(?:{'|'.join(NAMES)})(?!\w)")


def in_python(error: Error) -> Error:
    """The same error, which names fields as a Python caller wrote them, in its messages and its paths."""
    several: list[UserError] = [error, *(one for one in error.faults if one is not error)]
    for one in several:
        one.message = _OF_THE_API.sub(lambda word: NAMES[word[0]], one.message)
        one.args = (one.message, *one.args[1:])
        one.path = tuple(NAMES.get(part, part) for part in one.path)
    return error


@contextmanager
def python_names() -> Generator[None]:
    """Refuse what the block refuses in a Python caller's names.

    Raises:
        UserError: that of the block.
    """
    try:
        yield
    except UserError as error:
        raise in_python(error) from None
