"""Whether there is a place for the tables in a database that has none of ours yet."""

import tempfile

from sqlalchemy import Connection, inspect, text

from ...core.base.errors import StorageError
from ..schema.naming import SQLITE_SCHEMA
from ..schema.tables import metadata
from .base.address import is_sqlite, parse_url, schema_in, sqlite_path

_RIGHTS = text("""
    SELECT current_user AS account,
        CASE WHEN n.oid IS NULL THEN has_database_privilege(current_database(), 'CREATE')
            ELSE has_schema_privilege(n.oid, 'USAGE') AND has_schema_privilege(n.oid, 'CREATE') END AS may,
        n.oid IS NULL AS missing
    FROM (SELECT 1) AS one LEFT JOIN pg_namespace n ON n.nspname = :schema""")


def check_folder(database_url: str) -> None:
    """Let pass what can be written next to a SQLite file (its log and its lock); PostgreSQL needs no folder.

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
    """Let pass a database in which the tables can be made.

    Args:
        conn: To the database, which has no tables of ours.
        database_url: Its address.

    Raises:
        StorageError: tables of these names are there, or the account may not make any; says what to do.
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
