"""The way to PostgreSQL: a pool of connections for each part of the process, and one for its sign of life."""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from sqlalchemy import URL, Connection, Engine, event
from sqlalchemy.exc import DBAPIError

from ...core.base.lazy import LazyModule
from ..schema.types import in_schema
from .address import schema_in
from .connecting import check_when_idle, sync_engine
from .interruption import ReadBounds, SocketHandles, read_in_thread
from .transaction import Pool

if TYPE_CHECKING:
    import psycopg.rows as psycopg_rows
else:
    psycopg_rows = LazyModule("psycopg.rows")

POOL = 8
"""Connections that one part of the process uses at most; they are opened when they are needed first, and kept."""

T = TypeVar("T")
Send: TypeAlias = Callable[[str, Mapping[str, Any]], Sequence[Any]]
"""Sends a statement with its parameters by name, in a transaction of its own; its rows are named tuples. It knows
nothing of SQLAlchemy: parameters are marked as the driver wants them, and errors are the driver's."""


class PostgresAccess:
    """A pool of connections, each used by one thread at a time.

    In threads, because an event loop in which a job works would be asked for its turn at every answer of the database:
    a transaction of ten statements would wait for thirty turns, holding its locks meanwhile.

    Args:
        url: From ``parse_url``.
        party: Who uses it; for the names of its threads.
        bounds: Of its reads; None = those of every connection.

    Attributes:
        sockets: Of its connections, and of others that are to end with ``hang_up``.
    """

    def __init__(self, url: URL, party: str = "engine", bounds: ReadBounds | None = None) -> None:
        self._url = url
        pool, settings = (POOL, {}) if bounds is None else (bounds.connections, bounds.settings)
        self._size = pool
        self._threads = ThreadPoolExecutor(pool, f"cronograph-database-{party}")
        self._engine = sync_engine(url, pooled=pool, settings=settings)
        check_when_idle(self._engine)
        self.sockets = SocketHandles()
        _note_sockets(self._engine, self.sockets)
        self._snapshots = self._engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self._kept = _KeptConnection(url, self.sockets)

    def separate_pool(self, party: str, bounds: ReadBounds | None = None) -> "PostgresAccess":
        """Return another access to the same database with its own pool: neither can use up the other's connections."""
        return PostgresAccess(self._url, party, bounds)

    async def read(self, function: Callable[[Connection], T]) -> T:
        """Run a function on one snapshot; a cancel ends its statement."""
        ended = self.sockets.ended
        try:
            return await read_in_thread(self._threads, self._snapshots, function)
        except DBAPIError as error:
            if not error.connection_invalidated or self.sockets.ended != ended:
                raise
        # The connection had died unnoticed; a read can be done again on another one.
        return await read_in_thread(self._threads, self._snapshots, function)

    async def write(self, function: Callable[[Connection], T]) -> T:
        """Run a function in one transaction; a connection that is lost before the commit is replaced once."""
        return await self._in_thread(self._engine, function)

    async def _in_thread(self, engine: Engine, function: Callable[[Connection], T]) -> T:
        work = partial(_in_transaction, engine, function, self.sockets)
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def autocommit(self, function: Callable[[Send], T]) -> T:
        """Run a function of one statement that is a transaction of its own.

        BEGIN and COMMIT would be two more ways to the server and back, and SQLAlchemy's work costs twice the driver's.
        """
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(self._sending, function))

    def _sending(self, function: Callable[[Send], T]) -> T:
        borrowed = self._engine.raw_connection()
        try:
            connection: Any = borrowed.driver_connection
            connection.autocommit = True
            try:
                return function(partial(_send, connection, schema_in(self._url)))
            finally:
                if connection.closed:
                    borrowed.invalidate()
                else:
                    connection.autocommit = False
        finally:
            borrowed.close()

    def write_sync(self, function: Callable[[Connection], T]) -> T:
        """Do the same as ``write`` in a thread, on a connection that is kept for this alone."""
        return self._kept.transact(function)

    def version(self) -> None:
        """Return nothing: a server announces commits by notifications."""

    def own_transactions(self) -> int:
        """Return 0, as nobody needs the number: a server says whose commits it announces."""
        return 0

    def pool(self) -> Pool:
        """Return its connections."""
        # The pool has no types of its own for what it counts.
        checked_out: int = cast("Any", self._engine.pool).checkedout()
        return Pool(checked_out, self._size)

    def hang_up(self) -> None:
        """End every connection at once: callers that wait for an answer get an error that it was lost."""
        self.sockets.shut_down()

    def close(self) -> None:
        """End the threads and close the connections; closing twice is fine. ``write_sync`` is not waited for."""
        self._threads.shutdown()
        self._engine.dispose()
        self._kept.close()


class _KeptConnection:
    """One connection, opened by its first use and again when it was lost, so that a full server never refuses it."""

    def __init__(self, url: URL, sockets: SocketHandles) -> None:
        self._engine = sync_engine(url, pooled=1)
        check_when_idle(self._engine, 0.0)
        _note_sockets(self._engine, sockets)
        self._sockets = sockets
        self._lock = threading.Lock()
        self._closed = False

    def transact(self, function: Callable[[Connection], T]) -> T:
        try:
            with self._lock:
                return _in_transaction(self._engine, function, self._sockets)
        finally:
            if self._closed:
                self._engine.dispose()

    def close(self) -> None:
        """Close it; one in use is closed by its user, who may have to wait long for an answer."""
        self._closed = True
        if self._lock.acquire(blocking=False):
            self._engine.dispose()
            self._lock.release()


def _note_sockets(engine: Engine, sockets: SocketHandles) -> None:
    @event.listens_for(engine, "connect")
    def note(connection: Any, _record: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        sockets.add(connection)


def _in_transaction(engine: Engine, function: Callable[[Connection], T], sockets: SocketHandles) -> T:
    """Run a function in one transaction; once more, on another connection, where the first was lost before the commit.

    Nothing of that transaction is stored. Where the connection is lost at the commit nobody knows, and it is raised. So
    it is where this process has ended its connections itself, because the database is out of reach.
    """
    committing, ended = False, sockets.ended
    try:
        with engine.begin() as conn:
            result = function(conn)
            committing = True
        return result
    except DBAPIError as error:
        if committing or not error.connection_invalidated or sockets.ended != ended:
            raise
    with engine.begin() as conn:
        return function(conn)


def _send(connection: Any, schema: str, statement: str, parameters: Mapping[str, Any]) -> Sequence[Any]:
    cursor = connection.cursor(row_factory=psycopg_rows.namedtuple_row)
    rows: Sequence[Any] = cursor.execute(in_schema(statement, schema), parameters, prepare=True).fetchall()
    return rows
