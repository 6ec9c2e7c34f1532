"""How a connection is made, on both databases: with this product's settings, whatever it is for."""

import sqlite3
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.pool import NullPool

from .address import KEEPALIVES, is_sqlite
from .journal import use_wal

# A node that hangs within a transaction holds locks, and cannot be declared dead before these are gone: idle in a
# transaction must end well before a lease does.
_POSTGRES_SETTINGS = (
    "-c statement_timeout=30s -c lock_timeout=10s -c idle_in_transaction_session_timeout=10s -c timezone=UTC"
)


def sync_engine(url: URL, *, pooled: int = 0, read_only: bool = False) -> Engine:
    """A synchronous engine with this product's settings.

    Args:
        url: From ``parse_url``.
        pooled: PostgreSQL only: keep up to so many connections, and never open more; 0 = each use opens its own.
        read_only: SQLite only: refuse writes.
    """
    if is_sqlite(url):
        engine = create_engine(url, connect_args={"check_same_thread": False, "timeout": 30})
        _prepare_sqlite(engine, read_only=read_only)
        return engine
    options: dict[str, Any] = {"pool_size": pooled, "max_overflow": 0} if pooled else {"poolclass": NullPool}
    return create_engine(url, connect_args=postgres_arguments(url), **options)


def postgres_arguments(url: URL) -> dict[str, Any]:
    """What every connection to PostgreSQL is opened with, apart from the address."""
    # Of two settings of one name the later holds: who writes options into the address means it.
    options = f"{_POSTGRES_SETTINGS} {url.query.get('options', '')}".strip()
    # What was sent and is not acknowledged for this many milliseconds ends its connection.
    ours = {"application_name": "cronograph", "connect_timeout": 10, "tcp_user_timeout": 10_000, **KEEPALIVES}
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
