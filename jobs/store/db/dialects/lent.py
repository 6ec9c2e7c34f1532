"""A connection of a driver that somebody else has opened, as one of SQLAlchemy; its transaction stays theirs."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, NullPool, create_engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from typing_extensions import override

from ....core.base.lazy import LazyModule
from ....own.forks import renew_in_forks

if TYPE_CHECKING:
    import psycopg
else:
    psycopg = LazyModule("psycopg")

_DRIVER: Final = "lent"
_lent: ContextVar[Any] = ContextVar("cronograph_lent")
"""The connection of the driver that SQLAlchemy gets when it opens one."""
_seconds: "WeakKeyDictionary[psycopg.Connection[Any], psycopg.Connection[Any]]" = WeakKeyDictionary()
"""For each of theirs on PostgreSQL, one of ours on the same socket."""


class _Leaving:
    """Leaves transaction and connection as they are."""

    def do_rollback(self, dbapi_connection: Any) -> None:
        """Nothing: they roll back."""

    def do_commit(self, dbapi_connection: Any) -> None:
        """Nothing: they commit."""

    def do_close(self, dbapi_connection: Any) -> None:
        """Nothing: they close."""

    def on_connect(self) -> Any:
        """Nothing: neither functions nor handlers are put on the connection."""


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
    """One for each kind of database: it asks the first connection once for the server's abilities."""
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


@contextmanager
def lent(driver: Any) -> Generator[Connection]:
    """A connection whose statements belong to the transaction that is open on one of a driver's.

    Args:
        driver: Of ``psycopg`` 3 or ``sqlite3``; afterwards as before, conversions and handlers included.
    """
    on_postgres = isinstance(driver, psycopg.Connection)
    theirs: Any = driver
    token = _lent.set(_second(theirs) if on_postgres else theirs)
    try:
        with _engine("postgresql" if on_postgres else "sqlite").connect() as conn:
            yield conn
    finally:
        _lent.reset(token)


def _second(driver: "psycopg.Connection[Any]") -> "psycopg.Connection[Any]":
    """A connection on the socket of theirs, without the conversions that they have put on their own."""
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
