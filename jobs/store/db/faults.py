"""Whose fault an error is: the value's that was to be stored, the database's, for now or for good, or our own."""

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from ...core.base.lazy import LazyModule

if TYPE_CHECKING:
    import sqlite3

    import psycopg
else:
    psycopg = LazyModule("psycopg")
    sqlite3 = LazyModule("sqlite3")

_DATA_EXCEPTION = "22"
"""Class of SQLSTATE: a number out of range, a text with a character that cannot be stored, JSON that is none."""
_TOO_LARGE = "54000"
# Connection exception, insufficient resources (a full disk, too many clients), shut down or starting up, system error.
_CLASSES = ("08", "53", "57P", "58")
# A server that became a standby or lost its disk refuses writes; a database that was dropped. What others held up:
# a deadlock, a conflict with another transaction, a lock or a statement that took longer than it may, or a client that
# said nothing for so long within a transaction that the server ended it.
_STATES = frozenset({"25006", "25P03", "3D000", "40P01", "40001", "55P03", "57014"})


def is_unstorable(error: BaseException) -> bool:
    """Whether a value itself caused ``error``, so that repeating the statement would raise it for ever.

    Everything else (a database that is down, read-only or full, a right or a prepared statement that is missing, a
    lock) says nothing about the value: what was to be stored is to be stored later.
    """
    if isinstance(error, DBAPIError):
        if isinstance(error.orig, sqlite3.Error):
            return getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_TOOBIG
        state: str | None = getattr(error.orig, "sqlstate", None)
        return state is not None and (state.startswith(_DATA_EXCEPTION) or state == _TOO_LARGE)
    # No database saw it: the driver could not write it down.
    return isinstance(error, OverflowError | UnicodeEncodeError)


def is_databases_fault(error: BaseException) -> bool:
    """Whether the database or the way to it raised ``error``, for any reason; else the fault is our own."""
    return isinstance(error, SQLAlchemyError | psycopg.Error | OSError)


def is_passing(error: BaseException) -> bool:
    """Whether the database raised ``error``, and not because of a value: what was to be stored is to be tried again."""
    return is_databases_fault(error) and not is_unstorable(error)


def is_unavailable(error: BaseException) -> bool:
    """Whether the database is gone, full, read-only, starting, out of reach or too busy: the same may succeed later."""
    return any(_says_unavailable(one) for one in _chain(error))


@cache
def _unavailable_on_sqlite() -> frozenset[int]:
    busy, full = sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL
    return frozenset({busy, full, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY})


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.orig if isinstance(error, DBAPIError) else None


def _says_unavailable(error: BaseException) -> bool:
    match error:
        case PoolTimeoutError():
            return True
        case DBAPIError():
            return error.connection_invalidated
        case psycopg.Error():
            state = error.sqlstate
            # Without a state the server has said nothing: it was not reached, or it was lost. Where its last words come
            # among the results of a command, psycopg finds one too many, and calls that an internal error.
            return (
                isinstance(error, psycopg.OperationalError | psycopg.InternalError)
                if state is None
                else state in _STATES or state.startswith(_CLASSES)
            )
        case sqlite3.OperationalError():
            # The low byte is the kind of error; the others say more about it.
            return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _unavailable_on_sqlite()
        case _:
            return False
