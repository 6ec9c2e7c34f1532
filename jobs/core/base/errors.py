"""The tree of errors of the engine.

::

    CronographError
    ├── UserError              the caller's input; becomes ``errors { code message path }`` in the API
    │   ├── SeveralFaults      more than one of the following; a ValueError too
    │   ├── NotFound
    │   ├── AlreadyExists
    │   ├── InvalidInput       a ValueError too
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

from collections.abc import Iterable, Sequence
from itertools import islice

from .codes import ErrorCode

MAX_FAULTS = 50
"""So many faults of one input are reported at once."""


class CronographError(Exception):
    """Base of every error that Cronograph raises on purpose; the message is a full sentence."""


class UserError(CronographError):
    """The caller asked for something that cannot be done as asked.

    Attributes:
        code: Stable word that programs can test.
        message: The sentence for people: which thing, what it must be, what it got, a suggestion.
        path: Where in the input the fault is, outermost first (``("schedule", "value")``).
    """

    code: ErrorCode = ErrorCode.INVALID_INPUT

    def __init__(self, message: str, *, path: Sequence[str] = (), code: ErrorCode | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.path = tuple(path)
        if code is not None:
            self.code = code

    @property
    def faults(self) -> "tuple[UserError, ...]":
        """Every fault that was found, in the order of the input; just this one unless there are several."""
        return (self,)

    def with_prefix(self, *prefix: str) -> "UserError":
        """The same error with ``prefix`` put before its path."""
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
        """What is wrong, in the order of the input."""
        return self._faults


def refuse(faults: Iterable[UserError]) -> None:
    """Raise what was found, the first ``MAX_FAULTS``, if anything was.

    Raises:
        UserError: the only fault, or ``SeveralFaults``.
    """
    found = list(islice(faults, MAX_FAULTS))
    if len(found) > 1:
        raise SeveralFaults(found)
    if found:
        raise found[0]


class InvalidInput(UserError, ValueError):
    """A value of the input is not what it must be; a ``ValueError`` too, as Python programs expect of it."""


class NotFound(UserError):
    """What the input names does not exist."""

    code = ErrorCode.NOT_FOUND


class AlreadyExists(UserError):
    """What the input would make exists already."""

    code = ErrorCode.ALREADY_EXISTS


class InvalidState(UserError):
    """The thing exists, but in its present state this cannot be done to it."""

    code = ErrorCode.INVALID_STATE


class StepMismatch(UserError):
    """What is stored of a durable step is not what its function returns now; raised in jobs alone."""

    code = ErrorCode.STEP_MISMATCH


class UnreadableRow(UserError):
    """What is asked for is stored, but its row holds what it must not: somebody wrote past this product."""

    code = ErrorCode.UNREADABLE_ROW


class VersionConflict(UserError):
    """Somebody else edited the thing since the caller read it (a lost update, refused)."""

    code = ErrorCode.VERSION_CONFLICT


class Overlap(UserError):
    """The overlap policy SKIP forbids a second unfinished run of the task."""

    code = ErrorCode.OVERLAP


class QueueFull(UserError):
    """As many runs wait as may; nothing was enqueued.

    Attributes:
        limit: How many may wait.
    """

    code = ErrorCode.QUEUE_FULL

    def __init__(self, message: str, *, limit: int, path: Sequence[str] = ()) -> None:
        super().__init__(message, path=path)
        self.limit = limit


class ConfigurationError(CronographError):
    """Settings or job code that cannot work; raised at start, never while serving."""


class StorageError(CronographError):
    """The database cannot be used as it is."""


class SchemaTooNew(StorageError):
    """The database was migrated by a newer version of Cronograph than this one."""


class FileLocked(StorageError):
    """Another process serves this SQLite file."""
