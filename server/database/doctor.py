"""Looks at a database as an experienced operator would, without changing anything."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from ...jobs.store.db.base.address import is_pooled, is_sqlite, parse_url, schema_in, sqlite_path
from ...jobs.store.db.database import Connection
from ...jobs.store.db.dialect import database_now
from ...jobs.store.db.opening import connected
from ...jobs.store.read import nodes
from ...jobs.store.read.health import history, postgres, shape, sqlite
from ...jobs.store.read.health.notifications import notification_delay
from .findings import Finding
from .postgres_rules import judge_clock, judge_notification, judge_pooler, judge_postgres
from .schema import pending
from .shared_rules import judge_disk, judge_history, judge_indexes, judge_nodes, judge_schema
from .sqlite_rules import judge_sqlite

SESSIONS = 4
"""Transactions on one connection that are compared, to see whether a pooler stands between."""
MOUNTS = Path("/proc/self/mounts")


def examine(database_url: str) -> list[Finding]:
    """All that there is to say about a database that has tables of Cronograph.

    Raises:
        SchemaTooNew: a newer version of Cronograph has migrated it.
        StorageError: it cannot be reached or used.
    """
    url = parse_url(database_url)
    with connected(database_url, read_only=True) as connection:
        findings = list(_shared(connection, pending(database_url), postgres=not is_sqlite(url)))
        connection.rollback()
        if is_sqlite(url):
            return [*findings, *_sqlite(connection, sqlite_path(url))]
        findings.extend(_postgres(connection, schema_in(url), pooled=is_pooled(url)))
    delay = None if is_pooled(url) else notification_delay(database_url)
    return [*findings, judge_notification(delay, pooled=is_pooled(url))]


def _shared(connection: Connection, missing_revisions: list[str], *, postgres: bool) -> Iterator[Finding]:
    missing = [] if missing_revisions else shape.missing_columns(connection)
    yield judge_schema(missing_revisions, missing)
    if not missing_revisions and not missing:
        yield from judge_indexes(shape.index_faults(connection), postgres=postgres)
        yield from judge_nodes(nodes.live(connection), database_now(connection))


def _postgres(connection: Connection, schema: str, *, pooled: bool) -> Iterator[Finding]:
    health = postgres.read(connection)
    yield from judge_postgres(health, schema)
    yield judge_clock(health.skew, health.skew_error)
    sessions: list[int] = []
    for _ in range(SESSIONS):
        connection.rollback()
        sessions.append(postgres.session(connection))
    yield judge_pooler(sessions, health.settings["jit"], pooled=pooled)
    folder = None if health.data_directory is None else Path(health.data_directory)
    yield judge_history(history.read(connection, database_now(connection)), health.bytes)
    if folder is not None and folder.exists():
        yield _disk(folder, health.bytes)


def _sqlite(connection: Connection, path: Path) -> Iterator[Finding]:
    health = sqlite.read(connection)
    log = path.with_name(f"{path.name}-wal")
    yield from judge_sqlite(health, path, log.stat().st_size if log.exists() else 0, file_system(path))
    yield judge_history(history.read(connection, database_now(connection)), health.bytes)
    yield _disk(path.parent, health.bytes)


def _disk(folder: Path, needed: int) -> Finding:
    usage = shutil.disk_usage(folder)
    # What is kept for root is of no use to the database.
    return judge_disk(usage.total - usage.free, usage.total, str(folder), needed)


def file_system(path: Path) -> str | None:
    """The kind of file system that a file is on; None where the machine does not tell (it does on Linux)."""
    if not MOUNTS.exists():
        return None
    resolved, best, kind = path.resolve(), "", None
    for line in MOUNTS.read_text(errors="replace").splitlines():
        _, place, found, *_ = line.split(" ")
        mount = place.replace("\\040", " ")
        if resolved.is_relative_to(mount) and len(mount) >= len(best):
            best, kind = mount, found
    return kind
