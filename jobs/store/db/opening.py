"""A database outside of the running engine: opened for one purpose, made for a test, or set aside for a trial."""

import re
import secrets
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, inspect, text
from sqlalchemy.exc import DBAPIError

from ...core.base.errors import StorageError
from ..schema.tables import event_publisher, metadata
from ..schema.types import SQLITE_SCHEMA
from .address import address_of_file, hide_passwords, is_sqlite, parse_url, schema_in, sqlite_path, without_password
from .connecting import ENCODING, refuses_entry, sync_engine

_RIGHTS = text("""
    SELECT current_user AS account,
        CASE WHEN n.oid IS NULL THEN has_database_privilege(current_database(), 'CREATE')
            ELSE has_schema_privilege(n.oid, 'USAGE') AND has_schema_privilege(n.oid, 'CREATE') END AS may,
        n.oid IS NULL AS missing
    FROM (SELECT 1) AS one LEFT JOIN pg_namespace n ON n.nspname = :schema""")


def check_folder(database_url: str) -> None:
    """Check that a SQLite file's log and lock can be written next to it; PostgreSQL needs no folder.

    Raises:
        StorageError: nothing can be written there.
    """
    url = parse_url(database_url)
    if not is_sqlite(url):
        return
    path = sqlite_path(url)
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise StorageError(
            f"database file '{path}': must be in a folder that can be written, which also gets its log and its "
            f"lock: {error.strerror}"
        ) from error


def check_place(conn: Connection, database_url: str) -> None:
    """Check that the tables can be made in a database.

    Args:
        conn: To the database, which has no tables of ours.

    Raises:
        StorageError: tables of these names are there, or the account may not make any; names the remedy.
    """
    url = parse_url(database_url)
    if is_sqlite(url):
        _check_names(conn, SQLITE_SCHEMA, f"database file '{sqlite_path(url)}'", "another file (database_url)")
        return
    schema = schema_in(url)
    account, may, missing = conn.execute(_RIGHTS, {"schema": schema}).one()
    if not may:
        lacks = "is not there, and" if missing else "must let tables be made, but"
        whose = f"CREATE SCHEMA {schema} AUTHORIZATION" if missing else f"GRANT USAGE, CREATE ON SCHEMA {schema} TO"
        quoted = conn.dialect.identifier_preparer.quote(account)
        raise StorageError(
            f"database schema '{schema}': {lacks} the account '{account}' may not make it; let an administrator run "
            f"{whose} {quoted}"
        )
    _check_names(conn, schema, f"database schema '{schema}'", "another schema (database_schema)")


def _check_names(conn: Connection, schema: str, where: str, other: str) -> None:
    ours = {table.name for table in metadata.sorted_tables}
    taken = sorted(ours.intersection(inspect(conn).get_table_names(schema)))
    if taken:
        raise StorageError(
            f"{where}: must have no tables of the names that Cronograph uses, got {', '.join(taken)}, which it has not "
            f"made; take {other}, or move these away"
        )


@contextmanager
def connected(database_url: str, *, read_only: bool = False) -> Generator[Connection]:
    """Yield a connection that is closed at the end of the block; a transaction left open is rolled back.

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
        # Without its cause it is not tried again: a password that is wrong does not become right.
        cause = None if refuses_entry(error) else error
        raise StorageError(f"database {name}: cannot be used: {reason}") from cause
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
    """Return whether there is a database to connect to; False only for a SQLite file that has not been made yet."""
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
    """Yield the address of an empty place: an own schema in the same PostgreSQL database, or a file next to SQLite's.

    The database's contents are neither read nor changed. The caller closes it before the block ends.

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
        yield address_of_file(path)
    finally:
        for left in path.parent.glob(f"{path.name}*"):
            left.unlink()


def _execute(database_url: str, statement: str) -> None:
    with connected(database_url) as conn:
        conn.execute(text(statement))
        conn.commit()
