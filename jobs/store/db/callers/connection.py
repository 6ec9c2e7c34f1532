"""A connection of the user's application, on which some statements of ours are sent within its transaction."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from ....core.base.errors import StorageError
from ....core.base.lazy import LazyModule
from ...schema.naming import SCHEMA, SQLITE_SCHEMA
from .. import dialect

if TYPE_CHECKING:
    import sqlite3

    import psycopg
else:
    psycopg = LazyModule("psycopg")
    sqlite3 = LazyModule("sqlite3")

_MAP = "schema_translate_map"


@contextmanager
def borrowed(conn: Connection, schema: str | None) -> Generator[None]:
    """Have the statements within the block find our tables, and leave the connection as it was.

    Args:
        conn: Somebody's connection, whose search path and options nobody knows.
        schema: The schema of the tables on PostgreSQL; None: the connection is our own, and names it by itself.

    Raises:
        StorageError: there are no tables.
    """
    with explaining_missing_tables(schema):
        theirs = conn.get_execution_options().get(_MAP)
        here = schema if dialect.is_postgresql(conn) else SQLITE_SCHEMA
        if schema is None or (here == SCHEMA and not theirs):
            yield
            return
        conn.execution_options(**{_MAP: {**(theirs or {}), SCHEMA: here}})
        try:
            yield
        finally:
            conn.execution_options(**{_MAP: theirs})


@contextmanager
def explaining_missing_tables(schema: str | None) -> Generator[None]:
    """Say what to do where statements of the block find no tables.

    Raises:
        StorageError: there are none.
    """
    try:
        yield
    except (DBAPIError, psycopg.Error) as error:
        if not _finds_no_table(error.orig if isinstance(error, DBAPIError) else error):
            raise
        where = f"in schema '{schema}'" if schema not in (None, SQLITE_SCHEMA) else "there"
        raise StorageError(
            f"database: must have Cronograph's tables, got none {where}; run `cronograph migrate` with this database, "
            "or name the schema that has them (database_schema)"
        ) from error


def _finds_no_table(error: BaseException | None) -> bool:
    if isinstance(error, sqlite3.OperationalError):
        return str(error).startswith("no such table")
    return isinstance(error, psycopg.errors.UndefinedTable)
