"""The checks of ``cronograph check``: of the database, and of the schedules that are stored in it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...jobs.core.base.errors import StorageError
from ...jobs.core.model import Task
from ...jobs.core.schedule import ScheduleError, parse
from ...jobs.registry import Registry
from ...jobs.store.db.filelock import lock_for
from ...jobs.store.db.opening import connected, exists
from ...jobs.store.read import jobs as job_store
from ...jobs.store.read.health import index_faults
from ...jobs.store.read.listing.keyset import OrderKey, PageRequest, Position
from ...jobs.store.read.listing.pages import page
from ...jobs.store.read.lists import TASKS
from .schema import check_shape, pending

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
