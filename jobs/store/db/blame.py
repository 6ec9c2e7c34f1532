"""Whose fault an error is: the value's that was to be stored, the database's, or our own."""

import sqlite3
from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from ...core.later import Later

if TYPE_CHECKING:
    import psycopg
else:
    psycopg = Later("psycopg")

_DATA_EXCEPTION = "22"
"""Class of SQLSTATE: a number out of range, a text with a character that cannot be stored, JSON that is none."""
_TOO_LARGE = "54000"


def is_unstorable(error: BaseException) -> bool:
    """Whether a value itself caused ``error``, so that repeating the statement would raise it for ever.

    Everything else (a database that is away, read-only or full, a right or a prepared statement that is missing, a
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
    """Whether the database or the way to it raised ``error``, for whatever reason; else the fault is our own."""
    return isinstance(error, SQLAlchemyError | psycopg.Error | OSError)
