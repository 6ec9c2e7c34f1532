"""Whose fault an error is: only a value that cannot be stored may be blamed on the job that returned it."""

import sqlite3
from typing import Any

import psycopg
from sqlalchemy import Connection, text

from cronograph.jobs.store.db.faults import is_databases_fault, is_unstorable
from cronograph.jobs.store.schema.naming import SchemaText


def raised_by(conn: Connection, statement: Any, parameters: Any = None) -> Exception:
    try:
        with conn.begin_nested():
            conn.execute(statement, parameters)
    except Exception as error:  # noqa: BLE001  (any error is what is judged here)
        return error
    raise AssertionError("the statement passed")


def test_a_value_that_no_database_stores_is_blamed(conn: Connection) -> None:
    assert is_unstorable(raised_by(conn, text("SELECT CAST(:value AS bigint)"), {"value": 2**70}))
    assert is_unstorable(raised_by(conn, text("SELECT :value"), {"value": "\ud800"}))


def limit_length(conn: Connection) -> None:
    """Have SQLite refuse what is longer than a kilobyte, as it refuses what is longer than a gigabyte otherwise."""
    driver = conn.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    driver.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1000)


def test_a_value_that_is_too_long_is_blamed(conn: Connection) -> None:
    if conn.dialect.name == "sqlite":
        limit_length(conn)
        error = raised_by(conn, text("SELECT :value"), {"value": "x" * 2000})
    else:
        # What an index holds is bounded, also where it is compressed.
        conn.execute(text("CREATE TEMPORARY TABLE found (name text PRIMARY KEY)"))
        long = "SELECT string_agg(md5(place::text), '') FROM generate_series(1, 1000) AS place"
        error = raised_by(conn, text(f"INSERT INTO found {long}"))
    assert is_unstorable(error)


def test_what_is_wrong_with_the_database_is_no_values_fault(conn: Connection) -> None:
    for statement in ("SELECT * FROM nowhere", "INSERT INTO cronograph.event (at) VALUES (NULL)"):
        error = raised_by(conn, SchemaText(statement))
        assert is_databases_fault(error)
        assert not is_unstorable(error)


def test_a_way_that_is_cut_is_the_databases_fault_and_a_bug_is_our_own() -> None:
    assert is_databases_fault(ConnectionResetError())
    assert is_databases_fault(psycopg.OperationalError("gone"))
    assert not is_databases_fault(KeyError("run"))
