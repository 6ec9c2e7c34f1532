"""The way to a database: how a transaction runs without blocking the event loop, and who is notified.

Store functions are synchronous and take a connection; they run in threads. On PostgreSQL these are as many as there are
connections; on SQLite every write runs in one writer thread, and reads in threads of their own.
"""

import asyncio
import copy
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import URL, Connection
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError

from ...core.arguments.judging import KnownCode, no_code
from ...core.base.errors import StorageError
from ...core.base.lazy import LazyModule
from ...own.forks import FORKED, forks
from ...own.threads import in_own_thread
from . import audit, dialect, outbox
from .address import is_pooled, is_sqlite, libpq_url, parse_url, schema_in, sqlite_path
from .autocommit import AutocommitConnection, SyncAutocommitConnection, plain_connection
from .connecting import sync_engine
from .faults import ErrorKind, kind_of, took_too_long
from .interruption import ReadBounds
from .postgres import PostgresAccess, Send
from .transaction import Clock, Pool, Tx, Usage, Wake

if TYPE_CHECKING:
    import psycopg
    from psycopg.rows import TupleRow

    from . import sqlite as sqlite_access
else:
    psycopg = LazyModule("psycopg")
    sqlite_access = LazyModule(f"{__package__}.sqlite")

__all__ = [
    "AutocommitConnection",
    "Connection",
    "DBAPIError",
    "Database",
    "InterfaceError",
    "Listener",
    "OperationalError",
    "ReadBounds",
    "SQLAlchemyError",
    "Send",
    "SyncAutocommitConnection",
    "parse_url",
    "sqlite_path",
    "sync_engine",
]

P = ParamSpec("P")
T = TypeVar("T")
Listener = Callable[[Wake], None]

_ATTEMPTS = 4
_AGAIN = 0.2
"""Seconds between two tries of a read that is retried."""


class Access(Protocol):
    """Run functions of a connection, each in one transaction; common to the two databases."""

    def separate_pool(self, party: str, bounds: "ReadBounds | None" = None) -> "Access":
        """Return the access of another part of this process."""
        ...

    async def read(self, function: Callable[[Connection], T]) -> T:
        """Run a function on one snapshot."""
        ...

    async def write(self, function: Callable[[Connection], T]) -> T:
        """Run a function in one transaction."""
        ...

    def write_sync(self, function: Callable[[Connection], T]) -> T:
        """Do the same as ``write`` in a thread, on a connection or in a turn of its own."""
        ...

    def version(self) -> object | None:
        """Return a value that differs after each commit of anybody; None = not known."""
        ...

    def own_transactions(self) -> int:
        """Return the number of writing transactions of this process that have begun on SQLite."""
        ...

    def pool(self) -> Pool | None:
        """Return its connections; None = there is no pool."""
        ...

    def hang_up(self) -> None:
        """End connections that may never answer, without waiting."""
        ...

    def close(self) -> None:
        """End; twice is fine."""
        ...


class Elsewhere(Protocol):
    """Run the reads of one part at another server that has everything that this one had before."""

    async def read(self, function: Callable[[Connection], T]) -> tuple[T] | None:
        """Return the result of a function that reads; None = this server has to be asked."""
        ...


class Database:
    """The access of one part of a process to its database. Start is lazy; ``close`` is idempotent.

    Each part has its own connections, so that none can use up those of another: the engine has one, the API gets one
    by ``separate_pool``.

    Args:
        url: A database URL as ``parse_url`` takes it.
        clock: Replaces the database's time in every transaction; for tests.
        access: The connections; unless given, new ones (see ``separate_pool``).
        listeners: Who is notified of commits; unless given, nobody yet.
        bounds: Of its reads; None = those of every connection.
        part: Which part of the process uses it.
        known_code: Judges arguments by the code of jobs that this process has.

    Attributes:
        usage: How much it was used.
        deadline: See ``with_deadline``.
        retry_seconds: See ``with_retry``.
        elsewhere: See ``with_replica``.
        cache: Values that actions keep of it between transactions, by name; whether it is still so, a statement asks.
    """

    def __init__(
        self,
        url: str | URL,
        *,
        clock: Clock | None = None,
        access: Access | None = None,
        listeners: list[Listener] | None = None,
        bounds: ReadBounds | None = None,
        part: str = "engine",
        known_code: KnownCode = no_code,
    ) -> None:
        self.url: URL = url if isinstance(url, URL) else parse_url(url)
        self.clock = clock
        self._listeners: list[Listener] = [] if listeners is None else listeners
        self._access = access or _new_access(self.url)
        self._bounds = bounds
        self._forks = forks()
        self.deadline: float | None = None
        self.retry_seconds: float = 0.0
        self.usage: Usage = Usage(part)
        self.cache: dict[str, Any] = {}
        self.known_code = known_code
        self.elsewhere: Elsewhere | None = None

    def with_deadline(self, deadline: float | None) -> "Database":
        """Return a copy whose reads raise TimeoutError at ``deadline`` by the event loop's clock; None = never.

        A statement that is under way then is cancelled, and gives its connection back.
        """
        bounded = copy.copy(self)
        bounded.deadline = deadline
        return bounded

    def with_retry(self, seconds: float) -> "Database":
        """Return the same access, which repeats a read for so long while the database is unavailable."""
        retrying = copy.copy(self)
        retrying.retry_seconds = seconds
        return retrying

    def with_replica(self, replica: Elsewhere | None) -> "Database":
        """Return the same access, whose reads another server answers where it can; None = none does."""
        helped = copy.copy(self)
        helped.elsewhere = replica
        return helped

    def separate_pool(self, party: str, bounds: ReadBounds | None = None) -> "Database":
        """Return the access of another part of this process, which may use it from an event loop of its own.

        It has connections of its own; on SQLite both use one writer, in turn. Listeners of one get the
        commits of both. It is to be closed first.

        Args:
            party: Which part, e.g. ``"api"``.
            bounds: Of its reads, which end with TimeoutError; None = those of every connection.
        """
        access = self._access.separate_pool(party, bounds)
        return Database(
            self.url,
            clock=self.clock,
            access=access,
            listeners=self._listeners,
            bounds=bounds,
            part=party,
            known_code=self.known_code,
        )

    @property
    def is_sqlite(self) -> bool:
        """Return whether the database is a SQLite file (one process), not PostgreSQL (many nodes)."""
        return is_sqlite(self.url)

    @property
    def is_pooled(self) -> bool:
        """Return whether a pooler stands between, which gives each transaction another connection."""
        return is_pooled(self.url)

    def on_commit(self, listener: Listener) -> None:
        """Call ``listener`` after every commit of this process that concerns somebody, in the event loop that made it.

        ``runtime.wakeup`` notifies the parts of the process, each in its own loop.
        """
        self._listeners.append(listener)

    async def read(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``function(connection, …)`` on one consistent snapshot and return its result."""
        self._check_process()
        loop = asyncio.get_running_loop()
        give_up = loop.time() + self.retry_seconds
        work = partial(_called, function, args, kwargs)
        async with asyncio.timeout_at(self._end_of_read(loop.time())):
            if self.elsewhere is not None and (found := await self.elsewhere.read(work)) is not None:
                return found[0]
            self.usage.reads += 1
            while True:
                try:
                    return await self._access.read(work)
                except Exception as error:
                    if self._bounds is not None and took_too_long(error):
                        raise TimeoutError from error
                    if loop.time() >= give_up or not kind_of(error).passes:
                        raise
                await asyncio.sleep(_AGAIN)

    async def server_time(self) -> datetime:
        """Return the time by which work comes due: the clock set for it in tests, else the database's own."""
        if self.clock is not None:
            return self.clock()
        # A standby would say what its own machine's clock says.
        return await self.with_replica(None).read(dialect.database_now)

    def _end_of_read(self, now: float) -> float | None:
        if self._bounds is None:
            return self.deadline
        end = now + self._bounds.seconds
        return end if self.deadline is None else min(end, self.deadline)

    async def write(self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``function(tx, …)`` in one transaction, write its events with it, commit, and wake whom it concerns.

        Any error in ``function`` rolls the whole transaction back. Deadlocks, lock time-outs and connections that are
        lost before the commit are tried again, so ``function`` must not change anything outside the transaction.
        """
        self._check_process()
        self.usage.writes += 1
        work = partial(self._transact, function, args, kwargs)
        result, wakes = await self._retrying(work)
        self._notify(wakes)
        return result

    @property
    def can_autocommit(self) -> bool:
        """Return whether ``autocommit`` is of use: not on SQLite, behind a pooler, or with a replaced clock."""
        return isinstance(self._access, PostgresAccess) and not self.is_pooled and self.clock is None

    async def autocommit(
        self, function: Callable[Concatenate[Send, P], T | None], wakes: Wake, *args: P.args, **kwargs: P.kwargs
    ) -> T | None:
        """Run ``function(send, …)``, whose one statement is a transaction of its own, and wake whom it concerns.

        None, and nothing was done, where the function says so, where ``can_autocommit`` does, and where another
        transaction was in the way: ``write`` has to do it.
        """
        if not isinstance(self._access, PostgresAccess) or not self.can_autocommit:
            return None
        self.usage.statements += 1
        try:
            result = await self._access.autocommit(lambda send: function(send, *args, **kwargs))
        except psycopg.Error as error:
            if kind_of(error) is not ErrorKind.CONFLICT:
                raise
            return None
        if result is not None:
            self._notify(wakes)
        return result

    def _notify(self, wakes: Wake) -> None:
        for listener in self._listeners if wakes else ():
            listener(wakes)

    async def _retrying(self, transaction: Callable[[Connection], T]) -> T:
        for _ in range(_ATTEMPTS - 1):
            try:
                return await self._access.write(transaction)
            except Exception as error:
                if kind_of(error) is not ErrorKind.CONFLICT:
                    raise
        return await self._access.write(transaction)

    def _transact(
        self, function: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any], conn: Connection
    ) -> tuple[T, Wake]:
        tx = Tx(conn, self.clock, known_code=self.known_code)
        result = function(tx, *args, **kwargs)
        # The audit log last of all: the next writer of the chain waits from here to the commit.
        if len(tx.records) == 1:
            audit.append_one(conn, tx.now, tx.records[0], tx.changes)
            return result, tx.wakes
        if tx.changes:
            outbox.append(conn, tx.now, tx.changes)
        if tx.records:
            audit.append(conn, tx.now, tx.records)
        return result, tx.wakes

    def write_sync(self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do the same as ``write`` in a thread, on a connection kept for this; once only, and nobody is woken."""
        self._check_process()
        work = partial(self._transact, function, args, kwargs)
        return self._access.write_sync(work)[0]

    def _check_process(self) -> None:
        """Refuse callers in another process than the one that has opened the database.

        Raises:
            StorageError: this process was forked from that one, and has neither its threads nor its connections.
        """
        if self._forks != forks():
            raise StorageError(FORKED)

    def pool(self) -> Pool | None:
        """Return the connections of this part; None where it has no pool of them."""
        return self._access.pool()

    def version(self) -> object | None:
        """Return a value that differs after each commit of anybody; None = not known. Costs microseconds.

        Known on SQLite alone; not with a replaced clock, by which things become due without a commit.
        """
        return self._access.version() if self.clock is None else None

    def own_transactions(self) -> int:
        """Return the number of writing transactions of this process that have begun, of all parts; on SQLite alone."""
        return self._access.own_transactions()

    def autocommit_connection(self) -> AutocommitConnection | None:
        """Return a connection of its own for the hot path; None on SQLite, where statements would bypass the writer.

        A database whose time is replaced has none either.
        """
        if self.is_sqlite or self.clock is not None:
            return None
        return AutocommitConnection(
            self.url, self._access.sockets if isinstance(self._access, PostgresAccess) else None
        )

    def sync_autocommit_connection(self) -> SyncAutocommitConnection | None:
        """Do the same as ``autocommit_connection`` for threads; None behind a pooler, too."""
        return (
            None if self.is_sqlite or self.is_pooled or self.clock is not None else SyncAutocommitConnection(self.url)
        )

    async def on_connection(
        self,
        function: Callable[Concatenate[AutocommitConnection, P], Awaitable[tuple[T, Wake]]],
        connection: AutocommitConnection,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run ``function(connection, …)`` and wake whom its statement concerns."""
        self.usage.statements += 1
        result, wakes = await function(connection, *args, **kwargs)
        self._notify(wakes)
        return result

    @property
    def schema(self) -> str:
        """The schema of the tables, and on PostgreSQL the name of the channel for notifications."""
        return schema_in(self.url)

    async def plain_connection(self) -> "psycopg.AsyncConnection[TupleRow]":
        """Return a connection of its own to PostgreSQL for uses of the bare driver, such as listening; see there."""
        return await plain_connection(self.url)

    def libpq_url(self) -> str:
        """Return the address for a plain psycopg connection."""
        return libpq_url(self.url)

    def hang_up(self) -> None:
        """End every connection to a server at once, from any thread; later requests open others.

        Callers that wait for an answer get an error: a commit may have happened or not. For a server that
        is out of reach: nothing is sent, and nothing waited for. A file needs nothing of this.
        """
        self._access.hang_up()

    async def close(self) -> None:
        """Close every connection."""
        await in_own_thread(self._access.close)

    def close_sync(self) -> None:
        """Do the same as ``close`` outside an event loop."""
        self._access.close()


def _called(function: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any], conn: Connection) -> T:
    return function(conn, *args, **kwargs)


def _new_access(url: URL) -> Access:
    return sqlite_access.SqliteAccess(url) if is_sqlite(url) else PostgresAccess(url)
