"""Make every connection, on both databases, with this product's settings, and keep it usable."""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final
from weakref import WeakSet

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, InvalidatePoolError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool, QueuePool
from sqlalchemy.util import queue
from sqlalchemy.util.queue import Queue
from typing_extensions import override

from ...core.base.lazy import LazyModule
from ..schema.types import dumps, loads
from .address import KEEPALIVES, OWNER_ONLY, for_drivers, is_pooled, is_sqlite, schema_in, sqlite_path
from .dialects.compiled import COMPILED, for_shared_statements, name_tables

if TYPE_CHECKING:
    import sqlite3
else:
    sqlite3 = LazyModule("sqlite3")

IDLE_SECONDS = 1.0
"""A connection used within so many seconds is taken to be alive; if it is not, its transaction fails and says so."""

TURN: Final = 10.0
"""Seconds to wait for a connection where the server has no further one."""
_LOOK_EVERY: Final = 0.2
_TOO_MANY: Final = ("too many connections", "too many clients", "connection slots are reserved")
"""PostgreSQL's words at the limit of a role, of a database, and of the server."""
_NO_ENTRY: Final = (
    "authentication failed",
    "no password supplied",
    "pg_hba.conf",
    "does not exist",
    "not permitted to log in",
    "permission denied",
    "unrecognized configuration parameter",
    "invalid value for parameter",
    "does not support SSL",
    "certificate verify failed",
)
"""Words by which PostgreSQL, and libpq, say that this address will not do, now or later."""

_RETURNED_AT = "cronograph_returned_at"
_WAL_ATTEMPTS = 20
"""Number of attempts to switch a file over while other connections lock it."""

ISOLATION: Final = "READ COMMITTED"
"""Of every transaction that is no snapshot."""
ENCODING: Final = "UTF8"
ESCAPED_BLANK: Final = "\\ "

# A node that hangs within a transaction holds locks, and cannot be declared dead before these are gone: idle in a
# transaction must end well before a lease does.
# ``jit``: no statement of ours takes long enough for compiling to pay. Once statistics know of a long queue, the
# server would compile each claim again, which takes 200 times as long as the claim.
# ``plan_cache_mode``: the server's own default would hold for statements that need a plan for what they are asked.
# ``idle_session_timeout``: a connection that listens has nothing to send.
# ``search_path``: statements name the schema of each table; of all else they mean what comes with PostgreSQL.
# ``default_transaction_read_only`` is not among them: it is how an administrator keeps everybody from writing.
_POSTGRES_SETTINGS = {
    "jit": "off",
    "plan_cache_mode": "auto",
    "statement_timeout": "30s",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "10s",
    "idle_session_timeout": "0",
    "default_transaction_isolation": ISOLATION.lower(),
    "exit_on_error": "off",
    "search_path": "pg_catalog",
}
# They decide how values are written and read, and hold against the address as well.
_FORMS = {
    "array_nulls": "on",
    "bytea_output": "hex",
    "datestyle": "ISO, MDY",
    "extra_float_digits": "1",
    "intervalstyle": "postgres",
    "standard_conforming_strings": "on",
    "timezone": "UTC",
}

# Of PostgreSQL 17 and later: no part of a transaction may take long, but some have many parts.
_NO_TIMEOUT: Final = (170_000, "transaction_timeout")

_ALL: Mapping[str, Any] = {
    "json_serializer": dumps,
    "json_deserializer": loads,
    "execution_options": {"compiled_cache": COMPILED},
}
"""Arguments of every engine."""


def sync_engine(
    url: URL,
    *,
    pooled: int = 0,
    read_only: bool = False,
    settings: Mapping[str, str] | None = None,
    is_there: Callable[[], bool] | None = None,
) -> Engine:
    """Return a synchronous engine with this product's settings.

    Args:
        url: From ``parse_url``.
        pooled: PostgreSQL only: keep up to so many connections, and never open more; 0 = each use opens its own.
        read_only: SQLite only: refuse writes.
        settings: Of PostgreSQL, in addition to those that every connection has.
        is_there: SQLite only: whether the file is there that was opened before; raises if it is another one. From then
            on no connection makes a file. Unless given, each connection makes one where there is none.
    """
    if is_sqlite(url):
        arguments = {"check_same_thread": False, "timeout": 30}
        engine = create_engine(for_shared_statements(url), connect_args=arguments, **_ALL)
        _open_files(engine, sqlite_path(url), is_there or (lambda: False))
        _prepare_sqlite(engine, read_only=read_only)
        name_tables(engine, schema_in(url))
        return engine
    # The connection that was used last knows the tables and has prepared what is sent often.
    kept = {"poolclass": PatientPool, "pool_size": pooled, "max_overflow": 0, "pool_use_lifo": True}
    options: dict[str, Any] = kept if pooled else {"poolclass": NullPool}
    given = settings or {}
    arguments = postgres_arguments(url, **given)
    if is_pooled(url):
        # A transaction has its level from its beginning; elsewhere it is a setting of the connection.
        options["isolation_level"] = ISOLATION
    engine = create_engine(for_shared_statements(for_drivers(url)), connect_args=arguments, **_ALL, **options)
    name_tables(engine, schema_in(url))
    if is_pooled(url):
        _set_in_each_transaction(engine, given)
    else:
        _set_on_each_connection(engine)
    return engine


class _LostOnesLast(Queue[ConnectionPoolEntry]):
    """Hold a pool's idle connections; those that were lost are used last."""

    @override
    def _put(self, item: ConnectionPoolEntry) -> None:
        if item.dbapi_connection is None:
            self.queue.appendleft(item)
        else:
            super()._put(item)


class PatientPool(QueuePool):
    """Waits for its turn, up to ``TURN`` seconds, while the server has no further connection for this role.

    It gets the next connection that another thread gives back, or a new one in the place of an idle one of another part
    of this process; but the sign of life of a node keeps its own.
    """

    # SQLAlchemy names the log of a pool by this: it is not one of our logs.
    __module__ = QueuePool.__module__

    _queue_class = _LostOnesLast
    _all: ClassVar["WeakSet[PatientPool]"] = WeakSet()

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._all.add(self)

    @override
    def _do_get(self) -> ConnectionPoolEntry:
        give_up_at = time.monotonic() + TURN
        while True:
            try:
                return super()._do_get()
            except Exception as error:
                if not _says_too_many(error) or time.monotonic() >= give_up_at:
                    raise
            if not self._close_idle_of_others():
                with suppress(queue.Empty):
                    return self._pool.get(block=True, timeout=_LOOK_EVERY)

    def close_idle(self) -> bool:
        """Close a connection that nobody uses; False if there is none. The pool of one connection keeps it."""
        with suppress(queue.Empty):
            if self.size() > 1:
                self._pool.get(block=False).close()
                self._dec_overflow()
                return True
        return False

    def _close_idle_of_others(self) -> bool:
        return any(other.close_idle() for other in list(self._all) if other is not self)


def _says_too_many(error: BaseException) -> bool:
    """Return whether a server refused a connection because there are too many; libpq gives no code, but its words."""
    return any(words in str(error) for words in _TOO_MANY)


def refuses_entry(error: DBAPIError) -> bool:
    """Return whether a server does not let this account in, or not with these settings, or has no such database."""
    said = str(error.orig)
    return getattr(error.orig, "sqlstate", None) is None and any(words in said for words in _NO_ENTRY)


def postgres_arguments(url: URL, **settings: str) -> dict[str, Any]:
    """Return the options of every connection to PostgreSQL, apart from the address.

    Args:
        url: From ``parse_url``.
        settings: Of the server, in addition to those that every connection has.
    """
    # What was sent and is not acknowledged for this many milliseconds ends its connection.
    ours = {"application_name": "cronograph", "connect_timeout": 10, "tcp_user_timeout": 10_000, **KEEPALIVES}
    arguments = {name: value for name, value in ours.items() if name not in url.query}
    # Not among the settings: a variable of the environment (PGCLIENTENCODING) would hold against these.
    arguments["client_encoding"] = ENCODING
    if is_pooled(url):
        # A pooler refuses settings at the start, and what was prepared on one connection is unknown on the next.
        return {**arguments, "prepare_threshold": None}
    given, forms = (
        " ".join(f"-c {name}={value.replace(' ', ESCAPED_BLANK)}" for name, value in values.items())
        for values in (_POSTGRES_SETTINGS | settings, _FORMS)
    )
    # Of two settings of one name the later holds: who writes options into the address means it.
    return {**arguments, "options": f"{given} {url.query.get('options', '')} {forms}"}


def settings_of_version(version: int) -> dict[str, str]:
    """Return the settings that only servers from some version on know: none takes them from an address as well.

    Args:
        version: Of the server, as libpq says it: 170000 is 17.0.
    """
    least, name = _NO_TIMEOUT
    return {name: "0"} if version >= least else {}


@cache
def settings_of_transaction(version: int, **settings: str) -> str:
    """Return the statement that makes for one transaction the settings which a connection has otherwise."""
    ours = _POSTGRES_SETTINGS | _FORMS | settings_of_version(version) | settings
    return "; ".join(f"SET LOCAL {name} = '{value}'" for name, value in ours.items())


def _set_in_each_transaction(engine: Engine, settings: Mapping[str, str]) -> None:
    """Set these in each transaction: behind a pooler, settings hold for a transaction only."""

    @event.listens_for(engine, "begin")
    def begin(conn: Connection) -> None:  # pyright: ignore[reportUnusedFunction]
        conn.exec_driver_sql(settings_of_transaction(_version(conn.connection.driver_connection), **settings))


def _set_on_each_connection(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def connected(connection: Any, _record: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        for name, value in settings_of_version(_version(connection)).items():
            connection.execute(f"SET {name} = {value}")
            connection.commit()


def _version(connection: Any) -> int:
    version: int = connection.info.server_version
    return version


def check_when_idle(engine: Engine, idle_seconds: float = IDLE_SECONDS) -> None:
    """Have the pool of ``engine`` replace connections that died while nobody used them.

    Only connections that were idle for a while are tested: the pool's own test before every use costs a transaction a
    fifth of its time.
    """

    @event.listens_for(engine, "checkin")
    def note_time(_connection: Any, record: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        record.info[_RETURNED_AT] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def check(connection: Any, record: Any, _proxy: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        returned_at = record.info.get(_RETURNED_AT)
        if returned_at is None or time.monotonic() - returned_at < idle_seconds:
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            if not engine.dialect.is_disconnect(error, connection, None):
                raise
            # The others have most likely died with it.
            raise InvalidatePoolError from error


def _open_files(engine: Engine, path: Path, is_there: Callable[[], bool]) -> None:
    """Have connections open the file that is known, and only where none is known yet make one.

    Next to a file that was moved away is its log. SQLite deletes that log once it reads an empty file of the same
    name, and the last commits are lost.
    """

    @event.listens_for(engine, "do_connect")
    def connect(dialect: Any, _record: Any, args: Any, given: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        if not is_there():
            _make_private(path)
            return dialect.connect(*args, **given)
        # What comes into its place meanwhile is opened, but not read.
        connection = dialect.connect(f"{path.as_uri()}?mode=rw", uri=True, **given)
        try:
            is_there()
        except BaseException:
            connection.close()
            raise
        return connection


def _make_private(path: Path) -> None:
    """Make a file that is not there yet for its owner alone, with any ``umask``.

    It will hold the arguments of jobs and hashes of credentials. SQLite's files next to it get the same mode.
    """
    # Where no file can be made, SQLite says why.
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, OWNER_ONLY))


def _prepare_sqlite(engine: Engine, *, read_only: bool) -> None:
    """Set WAL, full durability, and explicit BEGIN IMMEDIATE (readers: a plain snapshot) on every connection."""

    @event.listens_for(engine, "connect")
    def configure(connection: "sqlite3.Connection", _record: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        # Python's own transaction control begins too late and never IMMEDIATE.
        connection.isolation_level = None
        for pragma in ("busy_timeout=30000", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")
        _use_wal(connection)
        if read_only:
            connection.execute("PRAGMA query_only=ON")

    @event.listens_for(engine, "begin")
    def begin(conn: Connection) -> None:  # pyright: ignore[reportUnusedFunction]
        conn.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")


def _use_wal(connection: "sqlite3.Connection") -> None:
    """Have the file of this connection use a write-ahead log; the file remembers it.

    Of several connections that open a new file at once one switches it over. SQLite refuses the others while that one
    is about to, without the waiting that ``busy_timeout`` promises; so they wait for its lock, and look again.

    Args:
        connection: In autocommit mode, with a ``busy_timeout``.

    Raises:
        sqlite3.OperationalError: the file stayed locked for longer than that, or cannot be written.
    """
    for _ in range(_WAL_ATTEMPTS - 1):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            # The low byte is the kind of error; the others say more about it.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            # This does wait until nobody else is about to write.
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("COMMIT")
        else:
            return
    connection.execute("PRAGMA journal_mode=WAL")
