"""A database outside of the running engine: opened for one purpose, made for a test, or set aside for a trial."""

import re
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, text
from sqlalchemy.exc import DBAPIError

from ...core.base.errors import StorageError
from ..schema.tables import event_publisher, metadata
from .base.address import is_sqlite, parse_url, sqlite_path
from .base.connecting import ENCODING, sync_engine
from .base.passwords import hide_passwords, without_password


@contextmanager
def connected(database_url: str, *, read_only: bool = False) -> Generator[Connection]:
    """A connection that is closed at the end of the block; a transaction left open is rolled back.

    Args:
        database_url: As users write it.
        read_only: SQLite: refuse writes, and do not keep others from writing meanwhile.

    Raises:
        ConfigurationError: the URL is of no form that is known.
        StorageError: the database cannot be reached or used; names it, without its password, and the reason. So it is
            where PostgreSQL keeps its texts in another encoding than UTF-8.
    """
    url = parse_url(database_url)
    engine = sync_engine(url, read_only=read_only)
    plain = url.set(drivername=url.get_backend_name())
    shown = without_password(plain.render_as_string(hide_password=False))
    name = f"file '{sqlite_path(url)}'" if plain.drivername == "sqlite" else shown
    try:
        with engine.connect() as connection:
            _check_encoding(connection, name)
            yield connection
    except DBAPIError as error:
        reason = hide_passwords(re.sub(r"\s+", " ", str(error.orig)).strip(), database_url)
        raise StorageError(f"database {name}: cannot be used: {reason}") from error
    finally:
        engine.dispose()


def _check_encoding(connection: Connection, name: str) -> None:
    driver: Any = connection.connection.driver_connection
    if connection.dialect.name != "postgresql":
        return
    found = driver.info.parameter_status("server_encoding")
    if found != ENCODING:
        raise StorageError(
            f"database {name}: must have the encoding {ENCODING}, got {found}. Make another: "
            f"CREATE DATABASE … ENCODING '{ENCODING}' TEMPLATE template0"
        )


def exists(database_url: str) -> bool:
    """Whether there is a database to connect to; False only for a SQLite file that has not been made yet."""
    url = parse_url(database_url)
    return url.get_backend_name() != "sqlite" or sqlite_path(url).exists()


def create_tables(url: str) -> None:
    """Make every table of the present schema in an empty database, without migrations; for tests of jobs."""
    engine = sync_engine(parse_url(url))
    try:
        with engine.begin() as conn:
            metadata.create_all(conn, checkfirst=False)
            conn.execute(insert(event_publisher).values(id=1, last_seq=0))
    finally:
        engine.dispose()


@contextmanager
def scratch_database(database_url: str) -> Generator[str]:
    """The address of an empty place: a schema of its own in the same PostgreSQL database, or a file next to SQLite's.

    What the database holds is neither read nor changed. The caller closes it before the block ends.

    Raises:
        ConfigurationError: the address is of no form that is known.
        StorageError: the database cannot be reached, or the account may make no schema there.
    """
    url = parse_url(database_url)
    name = f"cronograph_trial_{secrets.token_hex(6)}"
    if is_sqlite(url):
        yield from _scratch_file(sqlite_path(url).with_name(f"{name}.db"))
        return
    _execute(database_url, f"CREATE SCHEMA {name}")
    try:
        inside = url.set(drivername="postgresql").update_query_dict({"schema": name})
        yield inside.render_as_string(hide_password=False)
    finally:
        _execute(database_url, f"DROP SCHEMA {name} CASCADE")


def _scratch_file(path: Path) -> Generator[str]:
    try:
        yield f"sqlite:///{path}"
    finally:
        for left in path.parent.glob(f"{path.name}*"):
            left.unlink()


def _execute(database_url: str, statement: str) -> None:
    with connected(database_url) as conn:
        conn.execute(text(statement))
        conn.commit()
