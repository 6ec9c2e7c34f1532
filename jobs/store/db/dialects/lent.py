"""A connection of a driver that somebody else has opened, as one of SQLAlchemy; its transaction stays theirs."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, NullPool, create_engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from typing_extensions import override

from ....core.base.errors import InvalidState
from ....core.base.lazy import LazyModule
from ....own.forks import renew_in_forks
from ....own.threads import in_own_thread

if TYPE_CHECKING:
    import sqlite3

    import psycopg
else:
    psycopg = LazyModule("psycopg")
    sqlite3 = LazyModule("sqlite3")

T = TypeVar("T")

_DRIVER: Final = "lent"
_lent: ContextVar[Any] = ContextVar("cronograph_lent")
"""The connection of the driver that SQLAlchemy gets when it opens one."""
_seconds: "WeakKeyDictionary[psycopg.BaseConnection[Any], psycopg.Connection[Any]]" = WeakKeyDictionary()
"""For each of theirs on PostgreSQL, one of ours on the same socket."""


class _Leaving:
    """Leaves transaction and connection as they are."""

    def do_rollback(self, dbapi_connection: Any) -> None:
        """Do nothing: callers roll back."""

    def do_commit(self, dbapi_connection: Any) -> None:
        """Do nothing: callers commit."""

    def do_close(self, dbapi_connection: Any) -> None:
        """Do nothing: callers close."""

    def on_connect(self) -> Any:
        """Return nothing: neither functions nor handlers are put on the connection."""


class LentPostgres(_Leaving, PGDialect_psycopg):
    """PostgreSQL, on a connection of theirs."""

    supports_statement_cache = True


class LentSQLite(_Leaving, SQLiteDialect_pysqlite):
    """SQLite, on a connection of theirs."""

    supports_statement_cache = True

    @override
    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        return "SERIALIZABLE"


registry.register(f"postgresql.{_DRIVER}", __name__, LentPostgres.__name__)
registry.register(f"sqlite.{_DRIVER}", __name__, LentSQLite.__name__)


@cache
def _engine(backend: str) -> Engine:
    """Return one engine per kind of database: it asks its first connection once for the server's abilities."""
    options: dict[str, Any] = {"use_native_hstore": False} if backend == "postgresql" else {}
    return create_engine(
        f"{backend}+{_DRIVER}://", creator=_lent.get, poolclass=NullPool, pool_reset_on_return=None, **options
    )


class _Engines:
    """Starts again in a forked process: a thread that is not there may have asked the first connection."""

    def renew(self) -> None:
        _engine.cache_clear()


_engines: Final = _Engines()
renew_in_forks(_engines)


def is_driver(connection: object) -> bool:
    """Return whether it is a connection that ``lent`` takes."""
    return isinstance(connection, psycopg.BaseConnection | sqlite3.Connection)


@contextmanager
def lent(driver: Any) -> Generator[Connection]:
    """Yield a connection whose statements belong to the transaction that is open on one of a driver's.

    If none is open, one begins, which they end; on a connection that commits by itself it ends with the block.

    Args:
        driver: Of ``psycopg`` 3 or ``sqlite3``; afterwards as before, conversions and handlers included. An
            asynchronous one only within ``in_transaction``.

    Raises:
        InvalidState: it is in pipeline mode.
    """
    on_postgres = isinstance(driver, psycopg.BaseConnection)
    theirs: Any = driver
    with _transaction_of(theirs):
        token = _lent.set(_second(theirs) if on_postgres else theirs)
        try:
            with _engine("postgresql" if on_postgres else "sqlite").connect() as conn:
                yield conn
        finally:
            _lent.reset(token)


@contextmanager
def _transaction_of(driver: Any) -> Generator[None]:
    """Begin and end a transaction where the connection would commit each statement by itself."""
    given: Any = driver
    if isinstance(driver, psycopg.Connection):
        with driver.transaction() if _commits_by_itself(given) else nullcontext():
            yield
        return
    by_itself = driver.isolation_level is None or getattr(driver, "autocommit", False) is True
    if isinstance(driver, psycopg.BaseConnection) or driver.in_transaction or not by_itself:
        yield
        return
    driver.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        driver.execute("ROLLBACK")
        raise
    driver.execute("COMMIT")


def _commits_by_itself(driver: "psycopg.BaseConnection[Any]") -> bool:
    return driver.autocommit and driver.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


async def in_transaction(driver: "psycopg.AsyncConnection[Any]", work: Callable[[Any], T]) -> T:
    """Run a function in the open transaction of an asynchronous connection, which is lent to it meanwhile.

    Args:
        work: Called with it in a thread of its own; it may use ``lent``.
    """
    async with driver.transaction() if _commits_by_itself(driver) else nullcontext(), driver.lock:
        working = in_own_thread(work, driver)
        cancelled: asyncio.CancelledError | None = None
        while not working.done():
            try:
                await asyncio.wait([working])
            except asyncio.CancelledError as error:
                # Nobody else may use the socket until the thread has left it.
                cancelled = error
        if cancelled is not None:
            working.exception()
            raise cancelled
        return working.result()


def _second(driver: "psycopg.BaseConnection[Any]") -> "psycopg.Connection[Any]":
    """Return a connection on the socket of theirs, without the conversions that they have put on their own."""
    if driver.pgconn.pipeline_status != psycopg.pq.PipelineStatus.OFF:
        raise InvalidState("session: the connection is in pipeline mode; enqueue before or after its pipeline block")
    made = _seconds.get(driver)
    if made is None:
        socket = driver.pgconn
        handlers = socket.notice_handler, socket.notify_handler
        made = psycopg.Connection(socket)
        socket.notice_handler, socket.notify_handler = handlers
        # The names of prepared statements are theirs.
        made.prepare_threshold = None
        _seconds[driver] = made
    return made
