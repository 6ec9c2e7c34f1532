"""Check the database of this process, its migrations and its shape, and bring it up to date."""

from typing import TYPE_CHECKING

from ...jobs.core.base.errors import SchemaTooNew, StorageError
from ...jobs.core.base.lazy import LazyModule
from ...jobs.store.db.address import parse_url, schema_in, sqlite_path, without_password
from ...jobs.store.db.database import Connection
from ...jobs.store.db.opening import check_folder, check_place, connected, exists
from ...jobs.store.statements.health import missing_columns, named
from ...migrations.revision import is_newest

if TYPE_CHECKING:
    from ...migrations import upgrade as migrations
else:
    # Alembic: of no use to a server whose database was migrated before.
    migrations = LazyModule("cronograph.migrations.upgrade")
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...jobs.core.model import Task
from ...jobs.core.schedule import ScheduleError, parse
from ...jobs.registry import Registry
from ...jobs.store.db.filelock import lock_for
from ...jobs.store.statements import jobs as job_store
from ...jobs.store.statements.health import index_faults
from ...jobs.store.statements.listing.keyset import OrderKey, PageRequest, Position
from ...jobs.store.statements.listing.pages import page
from ...jobs.store.statements.lists import TASKS

PAGE = 200
"""Tasks read at once."""


@dataclass(slots=True)
class DatabaseReport:
    """Collect the findings about the database.

    Attributes:
        exists: Whether there is one; False only for a SQLite file that the first start will make.
        pending: Revisions of the schema that a start would apply.
        used_by: The process id of the server that uses the SQLite file, None if there is none.
        tasks: How many tasks are stored.
        faults: One sentence for each thing that is broken.
        warnings: One sentence for each thing that is odd.
    """

    exists: bool = True
    pending: list[str] = field(default_factory=list[str])
    used_by: str | None = None
    tasks: int = 0
    faults: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])

    def as_json(self) -> dict[str, Any]:
        """Return the state of the database for programs; faults and warnings are reported elsewhere."""
        return {"exists": self.exists, "pending": self.pending, "usedBy": self.used_by, "tasks": self.tasks}


def check_database(database_url: str, registry: Registry) -> DatabaseReport:
    """Look at the database without changing it, whether a server uses it or not."""
    report = DatabaseReport()
    try:
        lock = lock_for(database_url)
        report.exists = exists(database_url)
        report.used_by = lock.holder() if lock is not None else None
        report.pending = pending(database_url)
        if not report.pending:
            _check_tasks(database_url, registry, report)
    except StorageError as error:
        report.faults.append(str(error))
    return report


def _check_tasks(database_url: str, registry: Registry, report: DatabaseReport) -> None:
    with connected(database_url) as connection:
        check_shape(connection, database_url)
        for fault in index_faults(connection):
            advice = "`cronograph doctor` has the statement that makes it"
            report.faults.append(f"index {fault.name} of table {fault.table} {fault.why}; {advice}")
        known = {*registry.names(), *job_store.all_names(connection)}
        after: Position | None = None
        while True:
            found = page(connection, TASKS, PageRequest((OrderKey("name"),), PAGE, after=after))
            for task in found.items:
                report.tasks += 1
                report.faults.extend(_schedule_faults(task))
                if task.spec.job_name not in known:
                    missing = f"its job '{task.spec.job_name}' is in none of the modules that were imported"
                    report.warnings.append(f"task '{task.name}': {missing}")
            if not found.has_next:
                return
            after = found.positions[-1]


def _schedule_faults(task: Task) -> Iterator[str]:
    schedule = task.spec.schedule
    try:
        parse(schedule.syntax, schedule.value, schedule.timezone, anchor=task.anchor_at)
    except ScheduleError as error:
        # A one-time task whose time has passed was right when it was stored.
        if not task.finished:
            yield f"task '{task.name}': schedule '{schedule.value}': {error.message}"


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
