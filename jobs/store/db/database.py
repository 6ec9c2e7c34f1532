"""The way to a database: engines, connections, and how a transaction runs without blocking the event loop.

Store functions are synchronous and take a connection; they run in threads. On PostgreSQL these are as many as there are
connections; on SQLite every write runs in one writer thread, and reads in threads of their own.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from ...core.errors import ConfigurationError
from ..write import events
from .idle_check import check_when_idle
from .journal import use_wal
from .transaction import Clock, Tx, Wake

__all__ = [
    "Connection",
    "Database",
    "InterfaceError",
    "Listener",
    "OperationalError",
    "SQLAlchemyError",
    "parse_url",
    "sqlite_path",
    "sync_engine",
]

P = ParamSpec("P")
T = TypeVar("T")
Listener = Callable[[Wake], None]

SQLITE_READERS = 4
POSTGRES_POOL = 10
# Deadlock, serialization failure, lock timeout, a unique constraint that another transaction was faster to meet, and a
# transaction in which this process sat idle for too long (it was frozen, or a job kept the interpreter to itself): it
# is rolled back whole and, tried again, sees what the others did.
_RETRYABLE = frozenset({"40P01", "40001", "55P03", "23505", "25P03"})
_ATTEMPTS = 4
# A node that hangs within a transaction holds locks, and cannot be declared dead before these are gone: idle in a
# transaction must end well before a lease does.
_POSTGRES_SETTINGS = (
    "-c statement_timeout=30s -c lock_timeout=10s -c idle_in_transaction_session_timeout=10s -c timezone=UTC"
)
# Seconds: a peer that vanished without a word is noticed within a minute, on connections that only wait, too.
_KEEPALIVES = {"keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3"}


def parse_url(text: str) -> URL:
    """The SQLAlchemy URL behind ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or ``postgresql://…``.

    Raises:
        ConfigurationError: any other form.
    """
    try:
        url = make_url(text)
    except ArgumentError:
        url = None
    backend = url.get_backend_name() if url is not None else None
    if url is None or backend not in ("sqlite", "postgresql", "postgres"):
        raise ConfigurationError(
            "database URL: must be sqlite:///relative.db, sqlite:////absolute.db or postgresql://user@host/name, "
            f"got {text[:60]!r}"
        )
    if backend == "sqlite":
        if not url.database or url.database == ":memory:":
            raise ConfigurationError(
                "database URL: SQLite needs a file, e.g. sqlite:///cronograph.db; memory is lost at exit"
            )
        return url.set(drivername="sqlite")
    return url.set(drivername="postgresql+psycopg")


def sqlite_path(url: URL) -> Path:
    """The file behind a SQLite URL."""
    return Path(url.database or "").absolute()


def sync_engine(url: URL, *, pooled: bool = False, read_only: bool = False) -> Engine:
    """A synchronous engine with this product's settings.

    Args:
        url: From ``parse_url``.
        pooled: Keep connections; else each use opens its own.
        read_only: SQLite only: refuse writes.
    """
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, connect_args={"check_same_thread": False, "timeout": 30})
        _prepare_sqlite(engine, read_only=read_only)
        return engine
    options: dict[str, Any] = {} if pooled else {"poolclass": NullPool}
    return create_engine(url, connect_args=_postgres_arguments(url), **options)


def _postgres_arguments(url: URL) -> dict[str, Any]:
    # Of two settings of one name the later holds: who writes options into the address means it.
    options = f"{_POSTGRES_SETTINGS} {url.query.get('options', '')}".strip()
    # What was sent and is not acknowledged for this many milliseconds ends its connection.
    ours = {"application_name": "cronograph", "connect_timeout": 10, "tcp_user_timeout": 10_000, **_KEEPALIVES}
    return {**{name: value for name, value in ours.items() if name not in url.query}, "options": options}


def _prepare_sqlite(engine: Engine, *, read_only: bool) -> None:
    """WAL, full durability, and explicit BEGIN IMMEDIATE (or a plain snapshot for readers) on every connection."""

    @event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, _record: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        # Python's own transaction control begins too late and never IMMEDIATE.
        connection.isolation_level = None
        for pragma in ("busy_timeout=30000", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")
        use_wal(connection)
        if read_only:
            connection.execute("PRAGMA query_only=ON")

    @event.listens_for(engine, "begin")
    def begin(conn: Connection) -> None:  # pyright: ignore[reportUnusedFunction]
        conn.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")


class Database:
    """All access of one process to its database. Start is lazy; ``close`` is idempotent.

    Args:
        url: A database URL as ``parse_url`` takes it.
        clock: Replaces the database's time in every transaction; for tests.
    """

    def __init__(self, url: str, *, clock: Clock | None = None) -> None:
        self.url = parse_url(url)
        self.clock = clock
        self._listeners: list[Listener] = []
        self._sync_engine: Engine | None = None
        self._backend: _Sqlite | _Postgres = _Sqlite(self.url) if self.is_sqlite else _Postgres(self.url)

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is a SQLite file (one process), not PostgreSQL (many nodes)."""
        return self.url.get_backend_name() == "sqlite"

    def on_commit(self, listener: Listener) -> None:
        """Call ``listener`` in the event loop after every commit of this process that concerns somebody."""
        self._listeners.append(listener)

    async def read(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``function(connection, …)`` on one consistent snapshot and return what it returns."""
        return await self._backend.read(lambda conn: function(conn, *args, **kwargs))

    async def write(self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``function(tx, …)`` in one transaction, write its events with it, commit, and wake whom it concerns.

        Whatever ``function`` raises rolls the whole transaction back. Deadlocks and lock time-outs are tried again, so
        ``function`` must not change anything outside the transaction.
        """
        result, wakes = await self._retrying(lambda conn: self._transact(conn, function, args, kwargs))
        if wakes:
            self._announce(wakes)
        return result

    async def _retrying(self, transaction: Callable[[Connection], T]) -> T:
        for _ in range(_ATTEMPTS - 1):
            try:
                return await self._backend.write(transaction)
            except DBAPIError as error:
                if getattr(error.orig, "sqlstate", None) not in _RETRYABLE:
                    raise
        return await self._backend.write(transaction)

    def _transact(
        self, conn: Connection, function: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[T, Wake]:
        tx = Tx(conn, self.clock)
        result = function(tx, *args, **kwargs)
        if tx.changes:
            events.append(conn, tx.now, tx.changes)
        return result, tx.wakes

    def _announce(self, wakes: Wake) -> None:
        for listener in self._listeners:
            listener(wakes)

    def write_sync(self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """``write`` for a thread of its own, on a connection of its own; nobody is woken."""
        if self._sync_engine is None:
            self._sync_engine = sync_engine(self.url)
        with self._sync_engine.begin() as conn:
            return self._transact(conn, function, args, kwargs)[0]

    def libpq_url(self) -> str:
        """The address for a plain psycopg connection."""
        url = self.url.set(drivername="postgresql", query={**_KEEPALIVES, **self.url.query})
        place, _, query = url.render_as_string(hide_password=False).partition("?")
        # SQLAlchemy writes a blank as ``+``, which libpq takes for what it is.
        return f"{place}?{query.replace('+', '%20')}"

    async def close(self) -> None:
        """Close every connection."""
        await self._backend.close()
        self.close_sync()

    def close_sync(self) -> None:
        """Close what ``write_sync`` opened."""
        if self._sync_engine is not None:
            self._sync_engine.dispose()


class _Sqlite:
    """One writer thread, a few reader threads."""

    def __init__(self, url: URL) -> None:
        self._writer = ThreadPoolExecutor(1, "cronograph-writer")
        self._readers = ThreadPoolExecutor(SQLITE_READERS, "cronograph-reader")
        self._write_engine = sync_engine(url)
        self._read_engine = sync_engine(url, read_only=True)

    async def read(self, function: Callable[[Connection], T]) -> T:
        return await _in_thread(self._readers, self._read_engine, function)

    async def write(self, function: Callable[[Connection], T]) -> T:
        return await _in_thread(self._writer, self._write_engine, function)

    async def close(self) -> None:
        for pool in (self._writer, self._readers):
            await asyncio.to_thread(pool.shutdown)
        self._write_engine.dispose()
        self._read_engine.dispose()


async def _in_thread(pool: ThreadPoolExecutor, engine: Engine, function: Callable[[Connection], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(pool, partial(_in_transaction, engine, function))


def _in_transaction(engine: Engine, function: Callable[[Connection], T]) -> T:
    with engine.begin() as conn:
        return function(conn)


class _Postgres:
    """A pool of connections, each used by one thread at a time.

    In threads, because an event loop in which a job works would be asked for its turn at every answer of the database:
    a transaction of ten statements would wait for thirty turns, holding its locks meanwhile.
    """

    def __init__(self, url: URL) -> None:
        self._threads = ThreadPoolExecutor(POSTGRES_POOL, "cronograph-database")
        self._engine = create_engine(
            url, pool_size=POSTGRES_POOL, max_overflow=0, connect_args=_postgres_arguments(url)
        )
        check_when_idle(self._engine)
        self._snapshots = self._engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    async def read(self, function: Callable[[Connection], T]) -> T:
        try:
            return await _in_thread(self._threads, self._snapshots, function)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
        # The connection had died unnoticed; a read can be done again on another one.
        return await _in_thread(self._threads, self._snapshots, function)

    async def write(self, function: Callable[[Connection], T]) -> T:
        return await _in_thread(self._threads, self._engine, function)

    async def close(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)
        self._engine.dispose()
