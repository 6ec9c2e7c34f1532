"""The tree of errors of the engine.

::

    CronographError
    ├── UserError              the caller's input; becomes ``errors { code message path }`` in the API
    │   ├── SeveralFaults      more than one of the following; a ValueError too
    │   ├── NotFound
    │   ├── AlreadyExists
    │   ├── InvalidInput       a ValueError too
    │   │   └── InvalidSchedule
    │   ├── InvalidState
    │   ├── StepMismatch
    │   ├── UnreadableRow
    │   ├── VersionConflict
    │   ├── Overlap
    │   └── QueueFull
    ├── ConfigurationError     settings or job code that cannot work
    └── StorageError           the database cannot be used as it is
        ├── SchemaTooNew
        └── FileLocked
"""

import re
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from enum import StrEnum
from itertools import islice
from typing import Final, TypeVar


class ErrorCode(StrEnum):
    """The code of a refusal; the schema describes each."""

    ACCOUNT_DISABLED = "ACCOUNT_DISABLED"
    ALREADY_EXISTS = "ALREADY_EXISTS"
    CODE_TASK = "CODE_TASK"
    FORBIDDEN = "FORBIDDEN"
    IDEMPOTENCY_CONFLICT = "IDEMPOTENCY_CONFLICT"
    INVALID_ARGS = "INVALID_ARGS"
    INVALID_INPUT = "INVALID_INPUT"
    INVALID_LINK = "INVALID_LINK"
    INVALID_SCHEDULE = "INVALID_SCHEDULE"
    INVALID_STATE = "INVALID_STATE"
    IN_USE = "IN_USE"
    LAST_ADMINISTRATOR = "LAST_ADMINISTRATOR"
    LAST_WAY_IN = "LAST_WAY_IN"
    NEVER_FIRES = "NEVER_FIRES"
    NOT_FOUND = "NOT_FOUND"
    NO_ENCRYPTION_KEY = "NO_ENCRYPTION_KEY"
    NO_ACCOUNT = "NO_ACCOUNT"
    NO_CONDITION = "NO_CONDITION"
    OTHER_SET = "OTHER_SET"
    OVERLAP = "OVERLAP"
    QUEUE_FULL = "QUEUE_FULL"
    SIGN_IN_NEEDED = "SIGN_IN_NEEDED"
    STEP_MISMATCH = "STEP_MISMATCH"
    TOO_MANY_ARCHIVED = "TOO_MANY_ARCHIVED"
    TOO_MANY_DEVICES = "TOO_MANY_DEVICES"
    UNKNOWN_JOB = "UNKNOWN_JOB"
    UNKNOWN_STEP = "UNKNOWN_STEP"
    UNKNOWN_TIMEZONE = "UNKNOWN_TIMEZONE"
    UNREADABLE = "UNREADABLE"
    UNREADABLE_ROW = "UNREADABLE_ROW"
    VERSION_CONFLICT = "VERSION_CONFLICT"


MAX_FAULTS = 50
"""So many faults of one input are reported at once."""


class CronographError(Exception):
    """Base of every error that Cronograph raises on purpose; the message is a full sentence."""


class UserError(CronographError):
    """The caller asked for something that cannot be done as asked.

    Attributes:
        code: Stable word that programs can test.
        message: The sentence for people: the thing, its rule, the given value, a suggestion.
        path: Where in the input the fault is, outermost first (``("schedule", "value")``).
    """

    code: ErrorCode = ErrorCode.INVALID_INPUT

    def __init__(self, message: str, *, path: Sequence[str] = (), code: ErrorCode | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.path: tuple[str, ...] = tuple(path)
        if code is not None:
            self.code = code

    @property
    def faults(self) -> "tuple[UserError, ...]":
        """Every fault that was found, in the order of the input; just this one unless there are several."""
        return (self,)

    def with_prefix(self, *prefix: str) -> "UserError":
        """Return the same error with ``prefix`` put before its path."""
        self.path = (*prefix, *self.path)
        return self


class SeveralFaults(UserError, ValueError):
    """More than one thing is wrong with an input; a ``ValueError`` too. Code and path are those of the first."""

    def __init__(self, faults: Sequence[UserError]) -> None:
        first = faults[0]
        super().__init__("; ".join(one.message for one in faults), path=first.path, code=first.code)
        self._faults = tuple(faults)

    @property
    def faults(self) -> tuple[UserError, ...]:
        """Return the faults, in the order of the input."""
        return self._faults


def refuse(faults: Iterable[UserError]) -> None:
    """Raise the found faults, the first ``MAX_FAULTS``, if there are any.

    Raises:
        UserError: the only fault, or ``SeveralFaults``.
    """
    found = list(islice(faults, MAX_FAULTS))
    if len(found) > 1:
        raise SeveralFaults(found)
    if found:
        raise found[0]


class InvalidInput(UserError, ValueError):
    """A value of the input is wrong; a ``ValueError`` too, as Python programs expect of it."""


class NotFound(UserError):
    """The input names a thing that does not exist."""

    code = ErrorCode.NOT_FOUND


class AlreadyExists(UserError):
    """The input would make a thing that exists already."""

    code = ErrorCode.ALREADY_EXISTS


class InvalidState(UserError):
    """The thing exists, but in its present state this cannot be done to it."""

    code = ErrorCode.INVALID_STATE


class StepMismatch(UserError):
    """The stored value of a durable step no longer fits its function; raised in jobs alone."""

    code = ErrorCode.STEP_MISMATCH


class UnreadableRow(UserError):
    """A stored row has values that its columns must not hold: somebody wrote past this product."""

    code = ErrorCode.UNREADABLE_ROW


class InvalidSchedule(InvalidInput):
    """A schedule cannot be used.

    Attributes:
        fault: The error of the parser, with the place and a suggestion; None if the schedule itself is fine.
    """

    def __init__(
        self, message: str, *, code: ErrorCode, path: Sequence[str] = (), fault: Exception | None = None
    ) -> None:
        super().__init__(message, path=path, code=code)
        self.fault = fault


class VersionConflict(UserError):
    """Somebody else edited the thing since the caller read it (a lost update, refused).

    Attributes:
        current: The thing as it is now; None if it is not known.
    """

    code = ErrorCode.VERSION_CONFLICT

    def __init__(self, message: str, *, path: Sequence[str] = (), current: object = None) -> None:
        super().__init__(message, path=path)
        self.current = current


class KeyHeld(InvalidState):
    """A run with other arguments holds the unique key, and the enqueue said that this is a fault.

    Attributes:
        run_id: That run.
    """

    def __init__(self, message: str, *, path: Sequence[str] = (), run_id: int | None = None) -> None:
        super().__init__(message, path=path)
        self.run_id = run_id


class Overlap(UserError):
    """The overlap policy SKIP forbids a second unfinished run of the task.

    Attributes:
        run_id: The key of the unfinished run.
    """

    code = ErrorCode.OVERLAP

    def __init__(self, message: str, *, path: Sequence[str] = (), run_id: int | None = None) -> None:
        super().__init__(message, path=path)
        self.run_id = run_id


class QueueFull(UserError):
    """As many runs wait as may; nothing was enqueued.

    Attributes:
        limit: How many may wait.
        waiting: How many wait; counted no further than the limit and the new ones.
    """

    code = ErrorCode.QUEUE_FULL

    def __init__(self, message: str, *, limit: int, waiting: int, path: Sequence[str] = ()) -> None:
        super().__init__(message, path=path)
        self.limit = limit
        self.waiting = waiting


class ConfigurationError(CronographError):
    """Settings or job code that cannot work; raised at start, never while serving."""


class StorageError(CronographError):
    """The database cannot be used as it is."""


class SchemaTooNew(StorageError):
    """The database was migrated by a newer version of Cronograph than this one."""


class FileLocked(StorageError):
    """Another process serves this SQLite file."""


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
    "maxConcurrent": "max_concurrent",
    "onConflict": "on_conflict",
}
"""Fields of runs and flows whose names the API and Python write differently, by the API's."""
# What stands in quotes is a value of the caller's.
_OF_THE_API: Final = re.compile(rf"(?<![\w'\"])(?:{'|'.join(NAMES)})(?!\w)")


def in_python(error: Error) -> Error:
    """Return the same error, which names fields as a Python caller wrote them, in its messages and its paths."""
    several: list[UserError] = [error, *(one for one in error.faults if one is not error)]
    for one in several:
        one.message = _OF_THE_API.sub(lambda word: NAMES[word[0]], one.message)
        one.args = (one.message, *one.args[1:])
        one.path = tuple(NAMES.get(part, part) for part in one.path)
    return error


@contextmanager
def python_names() -> Generator[None]:
    """Raise the refusals of the block with a Python caller's names.

    Raises:
        UserError: that of the block.
    """
    try:
        yield
    except UserError as error:
        raise in_python(error) from None
