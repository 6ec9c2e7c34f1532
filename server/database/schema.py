"""The schema of the database of this process: its missing migrations, and bringing it up to date."""

from typing import TYPE_CHECKING

from ...jobs.core.base.errors import SchemaTooNew, StorageError
from ...jobs.core.base.lazy import LazyModule
from ...jobs.store.db.address import parse_url, schema_in, sqlite_path, without_password
from ...jobs.store.db.database import Connection
from ...jobs.store.db.opening import check_folder, check_place, connected, exists
from ...jobs.store.read.health import missing_columns, named
from ...migrations.revision import is_newest

if TYPE_CHECKING:
    from ...migrations import upgrade as migrations
else:
    # Alembic: of no use to a server whose database was migrated before.
    migrations = LazyModule("cronograph.migrations.upgrade")


def migrate(database_url: str) -> list[str]:
    """Migrate the database to the present schema; return the applied revisions in order. Blocks; safe on many nodes.

    Raises:
        SchemaTooNew: a newer version of Cronograph has migrated it.
        StorageError: it cannot be reached or used, there is no place for the tables, or columns are missing.
    """
    try:
        return _migrate(database_url)
    except StorageError as error:
        if not getattr(error.__cause__, "connection_invalidated", False):
            raise
    # The connection was lost on the way, perhaps with the answer to the commit.
    return _migrate(database_url)


def _migrate(database_url: str) -> list[str]:
    try:
        with connected(database_url) as connection:
            if _is_newest(connection, database_url):
                check_shape(connection, database_url)
                return []
            _check_place(connection, database_url)
            return migrations.upgrade(connection, schema_in(parse_url(database_url)))
    except migrations.SchemaTooNewError as error:
        raise SchemaTooNew(str(error)) from error


def pending(database_url: str) -> list[str]:
    """Return the revisions that ``migrate`` would apply, oldest first; changes nothing, and makes no file.

    Raises:
        SchemaTooNew: a newer version of Cronograph has migrated it.
        StorageError: it cannot be reached or used, or there is no place for the tables.
    """
    check_folder(database_url)
    if not exists(database_url):
        return [migrations.head()]
    try:
        with connected(database_url, read_only=True) as connection:
            if _is_newest(connection, database_url):
                return []
            _check_place(connection, database_url)
            return migrations.check(connection, schema_in(parse_url(database_url)))
    except migrations.SchemaTooNewError as error:
        raise SchemaTooNew(str(error)) from error


def missing(database_url: str) -> str | None:
    """Return the missing part of the database, in words; None if it has tables of Cronograph. Changes nothing.

    Raises:
        StorageError: it cannot be reached or used.
    """
    url = parse_url(database_url)
    if not exists(database_url):
        return f"database file '{sqlite_path(url)}' does not exist"
    with connected(database_url, read_only=True) as connection:
        if migrations.current(connection, schema_in(url)) is not None:
            return None
    return f"database {without_password(database_url)} has no tables of Cronograph"


def _is_newest(connection: Connection, database_url: str) -> bool:
    found = is_newest(connection, schema_in(parse_url(database_url)))
    connection.rollback()
    return found


def _check_place(connection: Connection, database_url: str) -> None:
    """Check that a database was migrated before, or that the tables can be made in it."""
    if migrations.current(connection, schema_in(parse_url(database_url))) is None:
        check_place(connection, database_url)
        connection.rollback()


def check_shape(connection: Connection, database_url: str) -> None:
    """Check that a database has all columns of its revision.

    Raises:
        StorageError: something else than the migrations has changed it, or an unreleased version has made it.
    """
    missing = missing_columns(connection)
    connection.rollback()
    if missing:
        raise StorageError(
            f"database {without_password(database_url)}: must have the tables of this version, but "
            f"{named(missing)} is missing; an unreleased version made it, or somebody changed it: restore a back-up, "
            "or name another database"
        )
