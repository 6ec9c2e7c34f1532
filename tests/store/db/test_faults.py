"""Each error is of one kind, which decides whether it is tried again, and whom it concerns."""

import sqlite3
from datetime import datetime
from typing import Any

import psycopg
import pytest
from psycopg import errors
from sqlalchemy import Connection, insert, text
from sqlalchemy.exc import IntegrityError, NoResultFound, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from cronograph.jobs.core.base.errors import InvalidInput, QueueFull
from cronograph.jobs.store.db.faults import ErrorKind, kind_of
from cronograph.jobs.store.schema.tables import run
from cronograph.jobs.store.schema.types import SchemaText


def sqlite_error(code: int) -> sqlite3.OperationalError:
    """An error as SQLite raises it."""
    error = sqlite3.OperationalError("no")
    error.sqlite_errorcode = code
    return error


UNAVAILABLE = [
    psycopg.OperationalError("connection refused"),
    psycopg.InterfaceError("the connection is closed"),
    psycopg.InternalError("received 2 results from command 'COMMIT'"),
    OperationalError(None, None, psycopg.InternalError("received 2 results from command 'COMMIT'")),
    errors.TooManyConnections(),
    errors.AdminShutdown(),
    errors.CannotConnectNow(),
    errors.DiskFull(),
    errors.ReadOnlySqlTransaction(),
    errors.InvalidCatalogName(),
    errors.QueryCanceled(),
    OperationalError(None, None, psycopg.OperationalError("the server closed the connection")),
    OperationalError(None, None, Exception(), connection_invalidated=True),
    PoolTimeoutError("the pool is used up"),
    ConnectionResetError("cut off"),
    sqlite_error(sqlite3.SQLITE_FULL),
    sqlite_error(sqlite3.SQLITE_BUSY),
    sqlite_error(sqlite3.SQLITE_IOERR_WRITE),
    OperationalError(None, None, sqlite_error(sqlite3.SQLITE_CANTOPEN)),
]
CONFLICT = [
    errors.LockNotAvailable(),
    errors.DeadlockDetected(),
    errors.SerializationFailure(),
    errors.IdleInTransactionSessionTimeout(),
    IntegrityError(None, None, errors.UniqueViolation()),
    sqlite_error(sqlite3.SQLITE_LOCKED),
]
REFUSAL = [
    InvalidInput("labels: no", path=("labels",)),
    QueueFull("full", limit=3, waiting=3),
    OverflowError("Python int too large to convert to SQLite INTEGER"),
    psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes"),
    errors.NumericValueOutOfRange(),
    errors.ProgramLimitExceeded(),
    sqlite_error(sqlite3.SQLITE_TOOBIG),
]
FAULT = [
    ValueError("no"),
    KeyError("run"),
    NoResultFound(),
    errors.UndefinedTable(),
    errors.CheckViolation(),
    errors.InvalidTransactionState(),
    sqlite_error(sqlite3.SQLITE_ERROR),
    sqlite_error(sqlite3.SQLITE_CORRUPT),
    sqlite3.OperationalError("no"),
]


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (ErrorKind.UNAVAILABLE, UNAVAILABLE),
        (ErrorKind.CONFLICT, CONFLICT),
        (ErrorKind.REFUSAL, REFUSAL),
        (ErrorKind.FAULT, FAULT),
    ],
    ids=lambda one: one.value if isinstance(one, ErrorKind) else "",
)
def test_each_error_is_of_one_kind(kind: ErrorKind, found: list[Exception]) -> None:
    assert [error for error in found if kind_of(error) is not kind] == []


def test_conflicts_and_a_database_that_is_unavailable_pass() -> None:
    assert {kind for kind in ErrorKind if kind.passes} == {ErrorKind.CONFLICT, ErrorKind.UNAVAILABLE}


def raised_by(conn: Connection, statement: Any, parameters: Any = None) -> Exception:
    try:
        with conn.begin_nested():
            conn.execute(statement, parameters)
    except Exception as error:  # noqa: BLE001  (any error is what is judged here)
        return error
    raise AssertionError("the statement passed")


def test_a_value_that_no_database_stores_is_refused(conn: Connection) -> None:
    cases = [
        (text("SELECT CAST(:value AS bigint)"), {"value": 2**70}),
        (text("SELECT :value"), {"value": "\ud800"}),
        (insert(run), {"available_at": datetime(2026, 1, 1)}),  # noqa: DTZ001 - that it is naive is refused
    ]
    if conn.dialect.name == "postgresql":
        cases.append((text("SELECT CAST(:value AS text)"), {"value": "a\0b"}))
    assert [kind_of(raised_by(conn, *case)) for case in cases] == [ErrorKind.REFUSAL] * len(cases)


def limit_length(conn: Connection) -> None:
    """Have SQLite refuse what is longer than a kilobyte, as it refuses what is longer than a gigabyte otherwise."""
    driver = conn.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    driver.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1000)


def test_a_value_that_is_too_long_is_refused(conn: Connection) -> None:
    if conn.dialect.name == "sqlite":
        limit_length(conn)
        error = raised_by(conn, text("SELECT :value"), {"value": "x" * 2000})
    else:
        # What an index holds is bounded, also where it is compressed.
        conn.execute(text("CREATE TEMPORARY TABLE found (name text PRIMARY KEY)"))
        long = "SELECT string_agg(md5(place::text), '') FROM generate_series(1, 1000) AS place"
        error = raised_by(conn, text(f"INSERT INTO found {long}"))
    assert kind_of(error) is ErrorKind.REFUSAL


def test_a_statement_that_is_wrong_is_our_fault(conn: Connection) -> None:
    for statement in ("SELECT * FROM nowhere", "INSERT INTO cronograph.event (at) VALUES (NULL)"):
        assert kind_of(raised_by(conn, SchemaText(statement))) is ErrorKind.FAULT
