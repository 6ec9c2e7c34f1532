"""Which errors mean that the database is unavailable, and which that a statement was wrong."""

import sqlite3

import psycopg
import pytest
from psycopg import errors
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from cronograph.jobs.store.db.faults import is_unavailable


def sqlite_error(code: int) -> sqlite3.OperationalError:
    """An error as SQLite raises it."""
    error = sqlite3.OperationalError("no")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    "error",
    [
        psycopg.OperationalError("connection refused"),
        psycopg.InternalError("received 2 results from command 'COMMIT'"),
        OperationalError(None, None, psycopg.InternalError("received 2 results from command 'COMMIT'")),
        errors.TooManyConnections(),
        errors.AdminShutdown(),
        errors.CannotConnectNow(),
        errors.DiskFull(),
        errors.ReadOnlySqlTransaction(),
        errors.InvalidCatalogName(),
        errors.QueryCanceled(),
        errors.LockNotAvailable(),
        errors.DeadlockDetected(),
        errors.IdleInTransactionSessionTimeout(),
        OperationalError(None, None, psycopg.OperationalError("the server closed the connection")),
        OperationalError(None, None, Exception(), connection_invalidated=True),
        PoolTimeoutError("the pool is used up"),
        sqlite_error(sqlite3.SQLITE_FULL),
        sqlite_error(sqlite3.SQLITE_IOERR_WRITE),
        OperationalError(None, None, sqlite_error(sqlite3.SQLITE_CANTOPEN)),
    ],
)
def test_the_database_is_unavailable(error: Exception) -> None:
    assert is_unavailable(error)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no"),
        errors.UniqueViolation(),
        errors.UndefinedTable(),
        psycopg.DataError(),
        errors.InvalidTransactionState(),
        sqlite_error(sqlite3.SQLITE_ERROR),
        sqlite3.OperationalError("no"),
        IntegrityError(None, None, errors.UniqueViolation()),
    ],
)
def test_the_statement_was_wrong(error: Exception) -> None:
    assert not is_unavailable(error)
