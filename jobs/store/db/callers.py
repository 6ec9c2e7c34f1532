"""Work within the transaction of a caller: on a connection of theirs, or of a test."""

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, event
from sqlalchemy.exc import DBAPIError

from ...core.base.errors import StorageError
from ...core.base.lazy import LazyModule
from ..schema.types import SCHEMA, SQLITE_SCHEMA
from . import dialect
from .dialects.lent import is_driver

if TYPE_CHECKING:
    import sqlite3

    import psycopg
else:
    psycopg = LazyModule("psycopg")
    sqlite3 = LazyModule("sqlite3")

_MAP = "schema_translate_map"


@contextmanager
def borrowed(conn: Connection, schema: str | None) -> Generator[None]:
    """Let the statements within the block find our tables, and leave the connection as it was.

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
    """Name the remedy if statements of the block find no tables.

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


_SAVEPOINT: Final = re.compile(
    r"\s*(?P<verb>SAVEPOINT|RELEASE|ROLLBACK)(?:\s+TO)?(?:\s+SAVEPOINT)?\s+(?P<name>[^\s;]+)", re.IGNORECASE
)
"""The three statements about savepoints."""


class Rollbacks:
    """Finds which of the numbers that belong to a transaction are taken back.

    Args:
        on_rollback: Called with them, in the thread that rolls back.
    """

    def __init__(self, on_rollback: Callable[[Sequence[int]], None]) -> None:
        self._on_rollback = on_rollback
        self._open: WeakKeyDictionary[Connection, _Levels] = WeakKeyDictionary()

    def watch(self, session: Any, numbers: Sequence[int]) -> None:
        """Note that these numbers belong to the transaction of a session; begin one if there is none yet.

        A connection of a driver does not say how its transaction ends: its numbers are never taken back.
        """
        if is_driver(session):
            return
        connection = session if isinstance(session, Connection) else session.connection()
        if not connection.in_transaction():
            # As the first statement would have done.
            connection.begin()
        levels = self._open.get(connection)
        if levels is None:
            levels = self._open[connection] = _Levels()
            self._listen(connection, levels)
        levels.add(numbers)

    def _listen(self, connection: Connection, levels: "_Levels") -> None:
        """Listen to how transactions of a connection end; the connection keeps its listeners as long as it lives."""

        def on_statement(_connection: Connection, _cursor: object, statement: str, *_: object) -> None:
            found = _SAVEPOINT.match(statement)
            if found is not None:
                self._rolled_back(levels.after(found["verb"].upper(), found["name"]))

        def on_commit(_connection: Connection) -> None:
            levels.end()

        def on_rollback(_connection: Connection) -> None:
            self._rolled_back(levels.end())

        # The events for savepoints do not say the name of one that begins.
        event.listen(connection, "before_cursor_execute", on_statement)
        event.listen(connection, "commit", on_commit)
        event.listen(connection, "rollback", on_rollback)

    def _rolled_back(self, numbers: Sequence[int]) -> None:
        if numbers:
            self._on_rollback(numbers)


class _Levels:
    """The numbers that belong to a transaction, and to which of its savepoints."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._runs: list[list[int]] = [[]]

    def add(self, numbers: Sequence[int]) -> None:
        """Add numbers to the innermost savepoint."""
        self._runs[-1] += numbers

    def after(self, verb: str, name: str) -> list[int]:
        """Return the numbers that a statement about a savepoint takes back."""
        if verb == "SAVEPOINT":
            self._names.append(name)
            self._runs.append([])
        elif verb == "ROLLBACK":
            return self._since(name)
        elif name in self._names:
            # What belongs to a savepoint that is released belongs to what is around it.
            inner = self._since(name)
            self._runs[-1] += inner
        return []

    def _since(self, name: str) -> list[int]:
        """Return all since a savepoint began; everything where it began before the first number."""
        place = self._names.index(name) if name in self._names else -1
        gone = [number for level in self._runs[place + 1 :] for number in level]
        self._names = self._names[: max(place, 0)]
        self._runs = self._runs[: place + 1] or [[]]
        return gone

    def end(self) -> list[int]:
        """Return all of the transaction; the next one begins."""
        gone = [number for level in self._runs for number in level]
        self._names, self._runs = [], [[]]
        return gone
