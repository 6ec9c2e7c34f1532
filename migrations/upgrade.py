"""Bring a database to the present schema, once however many nodes start together, and never backwards.

Alembic without an ``alembic.ini``: the revisions are next to this module. Users may keep Cronograph's tables in the
database of their application, next to tables and an Alembic of theirs: on PostgreSQL all of ours, the one with the
version included, lie in a schema of their own, which is made here. The revisions name no schema.
There is no downgrade: going back means restoring a backup.
"""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.schema import CreateSchema

from .revision import VERSION_TABLE

_MAP = "schema_translate_map"

LOCK_KEY = 0x63726F6E
"""PostgreSQL's advisory lock that is held while a database is migrated (``cron`` in ASCII)."""

LOCK_WAIT = "5min"
"""How long a node waits on PostgreSQL for another one that is migrating; then its start fails."""


class SchemaTooNewError(Exception):
    """The database was migrated by a newer version of Cronograph than this one.

    Attributes:
        found: The revision of the database.
        newest: The newest revision that this version knows.
    """

    def __init__(self, found: str, newest: str) -> None:
        super().__init__(
            f"database schema: must be at most revision '{newest}', got '{found}'; the database was migrated by a "
            "newer version of Cronograph: install that version, or restore a backup made before it"
        )
        self.found = found
        self.newest = newest


def head() -> str:
    """The newest revision that this version knows, e.g. ``"0001"``."""
    newest = _revisions().get_current_head()
    assert newest is not None, "the package has a revision"
    return newest


def current(connection: Connection, schema: str) -> str | None:
    """The revision of the database, or None when it has never been migrated; for ``schema`` see ``upgrade``."""
    with _reading(connection):
        return _context(connection, schema).get_current_revision()


def check(connection: Connection, schema: str) -> list[str]:
    """The revisions that ``upgrade`` would apply, oldest first; empty when the database is up to date. Changes nothing.

    Raises:
        SchemaTooNewError: the database has a revision that this version does not know.
    """
    return _pending(current(connection, schema))


def upgrade(connection: Connection, schema: str) -> list[str]:
    """Apply what is missing, all of it in one transaction and under a lock; the revisions applied, oldest first.

    Nodes that start at once wait for each other here, and all but the first find nothing left to do.

    Args:
        connection: If it is in a transaction already, that one is used and the caller commits it; else one is begun
            and committed. On SQLite a transaction of the caller must be an immediate one.
        schema: That of the tables on PostgreSQL, made if need be: a name that needs no quotes.
            On SQLite ``main``.

    Raises:
        SchemaTooNewError: the database has a revision that this version does not know; nothing is changed.
    """
    with _writing(connection):
        _lock(connection)
        pending = _pending(_context(connection, schema).get_current_revision())
        if pending:
            config = _config()
            config.attributes["environment"] = {"connection": connection, **_version_table(schema)}
            if connection.dialect.name == "postgresql":
                _make_schema(connection, schema)
            with _within(connection, schema):
                command.upgrade(config, "head")
        return pending


def _config() -> Config:
    config = Config()
    # Percent signs are doubled, because Alembic interpolates its options.
    folder = str(Path(__file__).parent).replace("%", "%%")
    config.set_main_option("script_location", folder)
    config.set_main_option("path_separator", "os")
    return config


def _revisions() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


def _version_table(schema: str) -> dict[str, str]:
    return {"version_table": VERSION_TABLE, "version_table_schema": schema}


def _context(connection: Connection, schema: str) -> MigrationContext:
    return MigrationContext.configure(connection, opts=_version_table(schema))


def _make_schema(connection: Connection, schema: str) -> None:
    """Make the schema unless it is there: an administrator may have made it for an account that may make none."""
    found = connection.execute(text("SELECT FROM pg_namespace WHERE nspname = :schema"), {"schema": schema})
    if found.first() is None:
        connection.execute(CreateSchema(schema))


@contextmanager
def _within(connection: Connection, schema: str) -> Generator[None, None, None]:
    """Have the revisions, which name no schema, work in this one."""
    before = connection.get_execution_options().get(_MAP)
    connection.execution_options(**{_MAP: {None: schema}})
    try:
        yield
    finally:
        connection.execution_options(**{_MAP: before})


def _pending(found: str | None) -> list[str]:
    """The revisions after ``found``, oldest first."""
    ascending = _ascending(_revisions())
    if found is None:
        return ascending
    if found not in ascending:
        raise SchemaTooNewError(found, ascending[-1])
    return ascending[ascending.index(found) + 1 :]


def _ascending(revisions: ScriptDirectory) -> list[str]:
    return [script.revision for script in revisions.walk_revisions()][::-1]


@contextmanager
def _reading(connection: Connection) -> Generator[None, None, None]:
    """End the transaction that reading begins by itself, so that a later ``upgrade`` is not taken for the caller's."""
    begun_by_caller = connection.in_transaction()
    try:
        yield
    finally:
        if not begun_by_caller:
            connection.rollback()


@contextmanager
def _writing(connection: Connection) -> Generator[None, None, None]:
    if connection.in_transaction():
        yield
    else:
        with connection.begin():
            yield


def _lock(connection: Connection) -> None:
    """Wait until no other process migrates this database, and keep others waiting until the transaction ends."""
    if connection.dialect.name == "postgresql":
        # The limits of the hot statements do not fit here: building an index takes as long as it takes.
        for setting, value in (("lock_timeout", LOCK_WAIT), ("statement_timeout", "0")):
            connection.execute(text("SELECT set_config(:setting, :value, true)"), {"setting": setting, "value": value})
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK_KEY})
        return
    driver = connection.connection.driver_connection
    if isinstance(driver, sqlite3.Connection) and not driver.in_transaction:
        # Python's driver begins no transaction before a CREATE TABLE by itself.
        connection.exec_driver_sql("BEGIN IMMEDIATE")
