"""Connections to PostgreSQL for statements that are a transaction each: the engine's hot path, and enqueueing.

Each is opened by its first use, kept, and opened again after a fault.
"""

import contextlib
import logging
import re
import threading
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import URL

from ...core.base.lazy import LazyModule
from ..schema.types import in_schema, loads
from .address import is_pooled, libpq_url, schema_in
from .connecting import IDLE_SECONDS, postgres_arguments, settings_of_transaction, settings_of_version
from .interruption import SocketHandles

if TYPE_CHECKING:
    import psycopg
    import psycopg.rows as psycopg_rows
    from psycopg.rows import TupleRow
    from psycopg.types import json as psycopg_json

    from . import cancellable
else:
    psycopg = LazyModule("psycopg")
    psycopg_rows = LazyModule("psycopg.rows")
    psycopg_json = LazyModule("psycopg.types.json")
    cancellable = LazyModule(f"{__package__}.cancellable")

log = logging.getLogger(__name__)

_PARAMETER: Final = re.compile(r"%\((\w+)\)s")

# Rows are found by the keys that a statement is given, in the order in which it gives them, so that all statements lock
# in one order. The statistics of a queue, which is now empty and now full, must not change that. Without these settings
# PostgreSQL would also make a plan for each set of parameters, which costs more than the statement.
PLANS: Final = {
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_seqscan": "off",
    "plan_cache_mode": "force_generic_plan",
}
"""Settings of the server about plans on an ``AutocommitConnection``."""
PLANNED: Final = " || ".join(f"set_config('{name}', '{value}', true)" for name, value in PLANS.items())
"""SQL by whose evaluation the rest of a transaction is planned in the same way. A plan that was made while a table was
empty reads it whole, and is kept until the server analyzes the table: by then it may hold a million rows."""


async def plain_connection(url: URL, **settings: str) -> "psycopg.AsyncConnection[TupleRow]":
    """Return a new asynchronous connection of the bare driver, each of whose statements is a transaction.

    Args:
        url: From ``parse_url``; PostgreSQL.
        settings: Of the server, in addition to those that every connection has.
    """
    connection = await cancellable.connect(libpq_url(url), **postgres_arguments(url, **settings))
    # Most documents are an empty object; the driver's own way takes ten times as long for that.
    psycopg_json.set_json_loads(loads, connection)
    if is_pooled(url):
        # A transaction has its level from its beginning; elsewhere it is a setting of the connection.
        await connection.set_isolation_level(psycopg.IsolationLevel.READ_COMMITTED)
    else:
        for name, value in settings_of_version(connection.info.server_version).items():
            await connection.execute(f"SET {name} = {value}".encode())
    return connection


class NotConnectedError(Exception):
    """A connection could not be opened, so nothing was sent."""


class AutocommitConnection:
    """An asynchronous connection, used by one task at a time.

    It belongs to the event loop that uses it. A statement is committed by itself, so a loop that is kept busy reads
    its answer late, but holds no lock meanwhile.

    Args:
        url: From ``parse_url``; PostgreSQL.
        sockets: Where its connection is to be found by somebody who ends many at once.
    """

    def __init__(self, url: URL, sockets: SocketHandles | None = None) -> None:
        self._url = url
        self._sockets = sockets
        self._schema = schema_in(url)
        self._connection: psycopg.AsyncConnection[TupleRow] | None = None
        self._used_at = 0.0

    async def execute(self, statement: str, parameters: Mapping[str, Any]) -> Sequence[Any]:
        """Send a statement, in a transaction of its own; its rows, as named tuples.

        After a fault it may have been committed or not.

        Args:
            statement: In it, the word ``cronograph`` stands for the schema of the tables.
            parameters: Its parameters, by name.

        Raises:
            NotConnectedError: it has no connection and gets none; connections of others may still be open.
        """
        (rows,) = await self.together((statement, parameters))
        return rows

    async def together(self, *requests: tuple[str, Mapping[str, Any]]) -> Sequence[Sequence[Any]]:
        """Send statements with their parameters in one transaction; return the rows of each. See ``execute``.

        All are sent before the first answer is read, so that nothing stays locked while this process is busy. Each
        sees all rows committed before it began: a lock that one waits for shows the next one its holder's work.
        """
        connection = await self._open()
        own = [(psycopg.AsyncRawCursor(connection, row_factory=psycopg_rows.namedtuple_row), *one) for one in requests]
        is_plain = not is_pooled(self._url)
        async with contextlib.AsyncExitStack() as stack:
            if not is_plain:
                await stack.enter_async_context(connection.transaction())
                settings = settings_of_transaction(connection.info.server_version, **PLANS)
                await connection.execute(settings.encode())
            elif len(own) > 1:
                await stack.enter_async_context(connection.pipeline())
            for cursor, statement, parameters in own:
                text, names = _numbered(statement, self._schema)
                await cursor.execute(text, [parameters[name] for name in names], prepare=is_plain, binary=True)
        rows = [await _readable(cursor) for cursor, *_ in own]
        self._used_at = time.monotonic()
        return rows

    async def _open(self) -> "psycopg.AsyncConnection[TupleRow]":
        if self._connection is not None and not await self._is_alive(self._connection):
            await self.close()
        if self._connection is None:
            try:
                self._connection = await plain_connection(self._url, **PLANS)
            except (psycopg.OperationalError, OSError) as error:
                raise NotConnectedError(str(error)) from error
            if self._sockets is not None:
                self._sockets.add(self._connection)
        return self._connection

    async def _is_alive(self, connection: "psycopg.AsyncConnection[TupleRow]") -> bool:
        """Ask a connection that was idle for a while whether it still lives; a busy one is not asked."""
        if not connection.closed and time.monotonic() - self._used_at > IDLE_SECONDS:
            with contextlib.suppress(psycopg.Error):
                await connection.execute("SELECT 1")
        return not connection.closed

    async def close(self) -> None:
        """Close the connection; the next use opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


async def _readable(cursor: "psycopg.AsyncCursor[Any]") -> Sequence[Any]:
    """Return the rows of a statement that was executed, but those that cannot be read: its changes are committed."""
    try:
        return await cursor.fetchall()
    except psycopg.DataError as error:
        log.error("a row of an answer was left out, which cannot be read: %s", error)  # noqa: TRY400 - no fault of ours
    rows = list[Any]()
    for place in range(cursor.rowcount):
        await cursor.scroll(place, mode="absolute")
        with contextlib.suppress(psycopg.DataError):
            rows.append(await cursor.fetchone())
    return rows


class SyncAutocommitConnection:
    """A connection for any threads, one after the other. Not for an address with a pooler."""

    def __init__(self, url: URL) -> None:
        self._url = url
        self._schema = schema_in(url)
        self._lock = threading.Lock()
        # To make one for each statement takes a quarter of the driver's own time.
        self._cursor: psycopg.RawCursor[Any] | None = None
        self._used_at = 0.0

    def execute(self, statement: str, parameters: Mapping[str, Any]) -> Sequence[Any]:
        """See ``AutocommitConnection.execute``."""
        with self._lock:
            text, names = _numbered(statement, self._schema)
            rows = self._open().execute(text, [parameters[name] for name in names], prepare=True).fetchall()
            self._used_at = time.monotonic()
            return rows

    def _open(self) -> "psycopg.RawCursor[Any]":
        cursor = self._cursor
        if cursor is not None and not cursor.connection.closed and time.monotonic() - self._used_at > IDLE_SECONDS:
            with contextlib.suppress(psycopg.Error):
                cursor.execute("SELECT 1")
        if cursor is None or cursor.connection.closed:
            arguments = postgres_arguments(self._url)
            connection = psycopg.connect(libpq_url(self._url), autocommit=True, **arguments)
            for name, value in settings_of_version(connection.info.server_version).items():
                connection.execute(f"SET {name} = {value}".encode())
            self._cursor = cursor = psycopg.RawCursor(connection, row_factory=psycopg_rows.namedtuple_row)
        return cursor

    def close(self) -> None:
        """Close the connection once its statement has ended; the next use opens another."""
        with self._lock:
            cursor, self._cursor = self._cursor, None
            if cursor is not None:
                cursor.connection.close()


@lru_cache(maxsize=256)
def _numbered(statement: str, schema: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a statement with its parameters as the server takes them, and their names in this order.

    psycopg would find them again at each execution, and encode and hash the text: it remembers no statement as long
    as a claim.
    """
    text = in_schema(statement, schema)
    names = tuple(dict.fromkeys(_PARAMETER.findall(text)))
    places = {name: f"${place}" for place, name in enumerate(names, 1)}
    numbered = _PARAMETER.sub(lambda mark: places[mark[1]], text).replace("%%", "%")
    return numbered.encode(), names
