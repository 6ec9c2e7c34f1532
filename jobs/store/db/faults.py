"""The one taxonomy of errors in engine transactions: who is at fault, and whether to try again."""

import logging
import secrets
from collections.abc import Iterator
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy.exc import DBAPIError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from ...core.base.errors import CronographError, StorageError, UserError
from ...core.base.lazy import LazyModule

if TYPE_CHECKING:
    import sqlite3

    import psycopg
else:
    psycopg = LazyModule("psycopg")
    sqlite3 = LazyModule("sqlite3")


class ErrorKind(Enum):
    """Say who is at fault for an error in a transaction of the engine.

    ``REFUSAL``: the caller. It asked for something that is refused, or gave a value that no database can store; the
    same fails again. ``CONFLICT``: another transaction was in the way; the same succeeds if it is tried again.
    ``UNAVAILABLE``: the database is gone, full, read-only, starting, out of reach or too busy; the same may succeed
    later. ``FAULT``: this product, or a row that somebody else damaged; it is logged with an id (``log_fault``) and
    isolated to the row that caused it.
    """

    REFUSAL = "refusal"
    CONFLICT = "conflict"
    UNAVAILABLE = "unavailable"
    FAULT = "fault"

    @property
    def passes(self) -> bool:
        """Return whether the same may succeed later."""
        return self in (ErrorKind.CONFLICT, ErrorKind.UNAVAILABLE)


# SQLSTATE 22, data exception: a number out of range, a character that cannot be stored, a text that is no JSON.
_DATA_EXCEPTION = "22"
_TOO_LARGE = "54000"
# Deadlock, serialization failure, lock timeout, a unique constraint that another transaction was faster to meet, and a
# transaction in which this process sat idle for too long (it was frozen, or a job kept the interpreter to itself), or
# that took longer than its server lets one take: it is rolled back whole and, tried again, sees what the others did.
_SERIALIZATION = "40001"
_NOT_OWNED = "42501"
_CANCELLED = "57014"
_CONFLICTS = frozenset({"40P01", _SERIALIZATION, "55P03", "23505", "25P03", "25P04"})
# Connection exception, insufficient resources (a full disk, too many clients), shut down or starting up, system error.
_UNAVAILABLE_CLASSES = ("08", "53", "57P", "58")
# A server that became a standby or lost its disk refuses writes; a database that was dropped; a statement that took
# longer than it may.
_UNAVAILABLE = frozenset({"25006", "3D000", _CANCELLED})


def kind_of(error: BaseException) -> ErrorKind:
    """Return who is at fault for ``error``."""
    if isinstance(error, StorageError) and error.__cause__ is not None:
        return kind_of(error.__cause__)
    if isinstance(error, DBAPIError) and not error.connection_invalidated and error.orig is not None:
        return kind_of(error.orig)
    if isinstance(error, UserError) or _is_unwritable(error):
        return ErrorKind.REFUSAL
    if isinstance(error, PoolTimeoutError | DBAPIError | OSError):
        return ErrorKind.UNAVAILABLE
    if isinstance(error, psycopg.Error):
        return _kind_on_postgresql(error)
    return _kind_on_sqlite(error) if isinstance(error, sqlite3.Error) else ErrorKind.FAULT


def took_too_long(error: BaseException) -> bool:
    """Return whether PostgreSQL ended a statement that took longer than it may."""
    return isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) == _CANCELLED


def has_moved(error: DBAPIError) -> bool:
    """Return whether PostgreSQL refused to follow a row that another transaction has moved to another part."""
    return not error.connection_invalidated and getattr(error.orig, "sqlstate", None) == _SERIALIZATION


def hindrance(error: DBAPIError) -> str | None:
    """Return why tables could not be made or dropped now, in words; None = it is none of the usual reasons."""
    if kind_of(error) is ErrorKind.CONFLICT:
        return "a transaction of somebody else uses them"
    is_owner = getattr(error.orig, "sqlstate", None) != _NOT_OWNED
    return None if is_owner else "they belong to another role; GRANT that role to the one of the server"


def _is_unwritable(error: BaseException) -> bool:
    if isinstance(error, StatementError) and not isinstance(error, DBAPIError):
        return isinstance(error.orig, UserError | ValueError | TypeError | OverflowError)
    return isinstance(error, OverflowError | UnicodeEncodeError)


def _kind_on_postgresql(error: "psycopg.Error") -> ErrorKind:
    state = error.sqlstate
    if state is None:
        # Without a state the server has said nothing: a value could not be sent, or the server was not reached, or it
        # was lost. Where its last words come among the results of a command, psycopg finds one too many, and calls
        # that an internal error.
        if isinstance(error, psycopg.DataError):
            return ErrorKind.REFUSAL
        away = isinstance(error, psycopg.OperationalError | psycopg.InternalError | psycopg.InterfaceError)
        return ErrorKind.UNAVAILABLE if away else ErrorKind.FAULT
    if state.startswith(_DATA_EXCEPTION) or state == _TOO_LARGE:
        return ErrorKind.REFUSAL
    if state in _CONFLICTS:
        return ErrorKind.CONFLICT
    if state in _UNAVAILABLE or state.startswith(_UNAVAILABLE_CLASSES):
        return ErrorKind.UNAVAILABLE
    return ErrorKind.FAULT


def _kind_on_sqlite(error: "sqlite3.Error") -> ErrorKind:
    code = getattr(error, "sqlite_errorcode", None)
    # The low byte is the kind of error; the others say more about it.
    return ErrorKind.FAULT if code is None else _kinds_on_sqlite().get(code & 0xFF, ErrorKind.FAULT)


@cache
def _kinds_on_sqlite() -> dict[int, ErrorKind]:
    away = (
        sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY
    )  # fmt: skip
    return {
        sqlite3.SQLITE_TOOBIG: ErrorKind.REFUSAL,
        sqlite3.SQLITE_LOCKED: ErrorKind.CONFLICT,
        **dict.fromkeys(away, ErrorKind.UNAVAILABLE),
    }


def new_error_id() -> str:
    """Return a short random id, 8 hexadecimal digits, that ties an answer or a row to its log record."""
    return secrets.token_hex(4).upper()


def log_fault(log: logging.Logger, what: str, error: BaseException) -> str | None:
    """Log that ``what`` happened because of ``error``.

    An error that passes, and one that was raised on purpose, is one line. Every other one has its traceback and an id.

    Args:
        what: In words, without the reason.
        error: The reason; of a group, its members.

    Returns:
        The id, if it has one.
    """
    reasons = list(_leaves(error))
    if all(isinstance(reason, CronographError) or kind_of(reason).passes for reason in reasons):
        log.error("%s: %s", what, "; ".join(dict.fromkeys(map(first_line, reasons))))
        return None
    error_id = new_error_id()
    log.error("%s (id %s): %s", what, error_id, error, exc_info=error, extra={"error_id": error_id})
    return error_id


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        inside: tuple[BaseException, ...] = cast("Any", error).exceptions
        for inner in inside:
            yield from _leaves(inner)
    else:
        yield error


def first_line(error: BaseException) -> str:
    """Return the driver's message, without the statement that SQLAlchemy adds."""
    original: object = getattr(error, "orig", None) or error
    return str(original).partition("\n")[0] or type(original).__name__
