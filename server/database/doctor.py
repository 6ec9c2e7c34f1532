"""``cronograph doctor``: findings, the rules of each kind of database, and the examination by all of them."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

from ...jobs.core.base.errors import StorageError
from ...jobs.core.nodes import Node, NodeState
from ...jobs.runtime.live.replica import PATIENCE, NotUsableError, identity, replay_lag
from ...jobs.store.db.address import is_pooled, is_sqlite, parse_url, schema_in, sqlite_path
from ...jobs.store.db.database import Connection
from ...jobs.store.db.dialect import database_now
from ...jobs.store.db.opening import connected
from ...jobs.store.statements import nodes
from ...jobs.store.statements.health import (
    BlockHealth,
    HistoryHealth,
    Holder,
    IndexFault,
    PostgresHealth,
    SqliteHealth,
    TableHealth,
    index_faults,
    missing_columns,
    named,
    notification_delay,
    read_blocks,
    read_history,
    read_postgres,
    read_sqlite,
    session,
)
from .schema import pending


class Level(StrEnum):
    """Grade a finding: as it should be, something to think about, or a problem of today."""

    OK = "ok"
    ADVICE = "advice"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One of them.

    Attributes:
        check: The name of the check, in one word.
        says: The finding, in a sentence.
        advice: The remedy: a statement, a command or a setting; empty if nothing.
    """

    check: str
    level: Level
    says: str
    advice: str = ""

    def as_json(self) -> dict[str, str]:
        """Return the fields for programs."""
        return {name: str(value) for name, value in asdict(self).items()}


def graded(check: str, value: float, advice_at: float, problem_at: float, says: str, advice: str) -> Finding:
    """Return a finding about a figure that is the worse the higher it is; good ones come without advice."""
    level = Level.PROBLEM if value >= problem_at else Level.ADVICE if value >= advice_at else Level.OK
    return Finding(check, level, says, advice if level is not Level.OK else "")


def size(count: float) -> str:
    """Write bytes in words, e.g. ``3.4 GB``."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"


LITTLE_ROOM: Final = (0.85, 0.95)
"""Part of the disk that is used."""
NODE_SKEW: Final = (1.0, 10.0)
LONG_HISTORY: Final = 5e9
"""Bytes of history from which on one should think about how long it is kept."""
LEAST_FREED: Final = 0.1
"""The part of the history that a shorter retention has to free to be named."""


def judge_schema(pending: Sequence[str], missing: Sequence[str]) -> Finding:
    """Judge whether the tables are those of this version.

    Args:
        pending: Revisions that a start would apply.
        missing: Columns that are not there although none is pending.
    """
    if pending:
        says = f"revisions {', '.join(pending)} are missing"
        return Finding("schema", Level.ADVICE, says, "make a back-up, then run `cronograph migrate`")
    if missing:
        says = f"the tables are not those of this version: {named(list(missing))} is missing"
        return Finding("schema", Level.PROBLEM, says, "restore a back-up, or install the version that made the tables")
    return Finding("schema", Level.OK, "up to date")


def judge_indexes(faults: Sequence[IndexFault], *, postgres: bool) -> Iterator[Finding]:
    """Judge which indexes are to be made."""
    for fault in faults:
        concurrently = "CONCURRENTLY " if postgres else ""
        schema = fault.statement.partition(" ON ")[2].partition(".")[0]
        where = f"{schema}." if postgres else ""
        drop = f"DROP INDEX {concurrently}{where}{fault.name}; " if fault.is_there else ""
        says = f"index {fault.name} of {fault.table} {fault.why}"
        yield Finding("indexes", Level.PROBLEM, says, drop + fault.statement)
    if not faults:
        yield Finding("indexes", Level.OK, "all are there, and defined as in this version")


def judge_blocks(health: BlockHealth) -> Iterator[Finding]:
    """Judge whether old history goes in blocks."""
    if health.owner is not None:
        says = f"the tables belong to role {health.owner}, so old history is deleted row by row, not in blocks"
        yield Finding("blocks", Level.ADVICE, says, f'GRANT "{health.owner}" TO the role of the server')
    for name in health.grown:
        says = f"the last block of {name} was full of rows before it got an end, so these are deleted row by row"
        yield Finding("blocks", Level.ADVICE, says, "keep long transactions away from the history; nothing is lost")
    if health.owner is None and not health.grown:
        yield Finding("blocks", Level.OK, "old history is dropped as a whole")


def judge_nodes(nodes: Sequence[Node], now: datetime) -> Iterator[Finding]:
    """Judge the live nodes; ``now`` is the database's time."""
    found = False
    for node in nodes:
        for finding in _of_node(node, now):
            found = True
            yield finding
    if not found:
        yield Finding("nodes", Level.OK, f"{len(nodes)} live, none in trouble")


def _of_node(node: Node, now: datetime) -> Iterator[Finding]:
    if node.expires_at < now:
        late = (now - node.heartbeat_at).total_seconds()
        says = f"node {node.name} has been silent for {late:,.0f} s; its lease is over"
        yield Finding("nodes", Level.PROBLEM, says, "start a node: the next one to live takes its runs over")
        return
    if node.state is NodeState.STALLED:
        says = f"node {node.name} gets nothing done: {node.stall or 'a part of it is stuck'}"
        yield Finding("nodes", Level.PROBLEM, says, "see `blockage` at its page, and restart it")
    if abs(node.clock_skew) >= NODE_SKEW[0]:
        says = f"the clock of node {node.name} is {abs(node.clock_skew):.1f} s off"
        yield graded("nodes", abs(node.clock_skew), *NODE_SKEW, says, "let its machine set its clock by NTP")


def judge_history(health: HistoryHealth, in_all: int) -> Finding:
    """Judge the amount of history, and how much of it a shorter retention would free.

    Args:
        in_all: Bytes of the whole database, where it does not tell those of its tables.
    """
    room = in_all if health.bytes is None else health.bytes
    says = (
        f"about {health.executions:,} executions of the last {health.days:,.0f} days take {size(room)} with their runs"
    )
    freed = [
        f"{days} day{'s' if days > 1 else ''} would free about {size(part * room)}"
        for days, part in sorted(health.older.items(), reverse=True)
        if part >= LEAST_FREED and days < health.days
    ]
    if room < LONG_HISTORY:
        return Finding("history", Level.OK, says)
    if not freed:
        return Finding(
            "history", Level.ADVICE, says, "look at which jobs run so often, and keep them by `@job(keep=…)`"
        )
    shorter = min(days for days, part in health.older.items() if part >= LEAST_FREED and days < health.days)
    how = f"cronograph tasks update prune_history --args '{{\"max_age_days\": {shorter}}}'"
    advice = f"keeping {', '.join(freed)}: {how}; for one group `cronograph groups keep NAME {shorter}d`"
    return Finding("history", Level.ADVICE, says, advice)


def judge_disk(used: int, total: int, where: str, needed: int) -> Finding:
    """Judge the free room of the disk.

    Args:
        used: Bytes of the disk that are not free.
        where: The folder on it.
        needed: Bytes that the database takes; a back-up takes the same again.
    """
    free = total - used
    says = f"{size(free)} free at '{where}' ({used / total:.0%} used)"
    advice = "shorten retention or make the disk larger; a full disk stops all runs"
    finding = graded("disk", used / total, *LITTLE_ROOM, says, advice)
    if finding.level is Level.OK and free < needed:
        return Finding("disk", Level.ADVICE, says, f"a back-up in the same folder needs {size(needed)}")
    return finding


LONG_LOG: Final = (256e6, 4e9)
"""Bytes of the write-ahead log from which on there is advice, and a problem."""
FREE_SHARE: Final = 0.5
SMALL: Final = 100e6
"""Free pages of a smaller file cost nothing."""
NETWORK: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "9p", "glusterfs", "fuse.sshfs"})
"""File systems on which the locks of SQLite do not hold, or not always."""


def judge_sqlite(health: SqliteHealth, path: Path, log_bytes: int, file_system: str | None) -> Iterator[Finding]:
    """Yield everything there is to say.

    Args:
        health: The health that the file records.
        log_bytes: Size of the write-ahead log next to it.
        file_system: The kind it is on; None if the machine does not tell.
    """
    if health.faults:
        advice = "stop the server and restore the last back-up; keep the damaged file"
        yield Finding("integrity", Level.PROBLEM, "the file is damaged: " + "; ".join(health.faults), advice)
    else:
        yield Finding("integrity", Level.OK, f"'{path}' is whole, {size(health.bytes)}")
    says = f"the write-ahead log has {size(log_bytes)}"
    advice = "a reader holds it: end other programs that have the file open, or restart the server"
    yield graded("log", log_bytes, *LONG_LOG, says, advice)
    if health.free_bytes > max(SMALL, FREE_SHARE * health.bytes):
        says = f"{size(health.free_bytes)} of {size(health.bytes)} hold nothing"
        yield Finding("bloat", Level.ADVICE, says, f"stop the server, then sqlite3 {path} VACUUM")
    else:
        yield Finding("bloat", Level.OK, "the file has no more room than it needs")
    if file_system in NETWORK:
        says = f"the file is on a network file system ({file_system}), where locks do not always hold"
        yield Finding("place", Level.PROBLEM, says, "move it to a disk of this machine, or use PostgreSQL")


LONG_TRANSACTION: Final = (60.0, 600.0)
"""Seconds from which on an open transaction gets advice, and is a problem; the same for the pairs below."""
XMIN_AGE: Final = (1_000_000, 20_000_000)
WRAPAROUND: Final = (0.3, 0.7)
DEAD_SHARE: Final = (0.3, 1.0)
"""Dead rows for each live one."""
FEW_ROWS: Final = 10_000
"""Fewer rows than that cost nothing, in any table."""
SKEW: Final = (1.0, 10.0)
DELAY: Final = (0.1, 1.0)
CONNECTIONS: Final = (0.8, 0.95)


def judge_postgres(health: PostgresHealth, schema: str) -> Iterator[Finding]:
    """Yield everything there is to say; ``schema`` is that of the tables."""
    yield _role(health)
    yield from _settings(health)
    yield from _transactions(health.holders)
    yield _xmin(health.holders)
    yield _wraparound(health.wraparound)
    yield from _each(health.tables, "bloat", lambda table: _bloat(table, schema), "no table has many dead rows")
    yield from _autovacuum(health, schema)
    yield from _each(health.tables, "statistics", lambda table: _statistics(table, schema), "the planner knows all")
    yield _connections(health)


def judge_clock(skew: float, error: float) -> Finding:
    """Judge the difference of the clocks: this machine's minus the server's, wrong by ``error`` at most."""
    way = "ahead of" if skew > 0 else "behind"
    says = f"this machine's clock is {abs(skew):.1f} s {way} the database's"
    if abs(skew) - error < SKEW[0]:
        return Finding("clock", Level.OK, "this machine's clock agrees with the database's")
    advice = "let both set their clocks by NTP (timedatectl set-ntp true); schedules go by the database's"
    return graded("clock", abs(skew) - error, *SKEW, says, advice)


def judge_notification(delay: float | None, *, pooled: bool) -> Finding:
    """Judge the delay of a notification; None: it did not arrive."""
    if pooled:
        return Finding("notifications", Level.OK, "not used behind a pooler; the poll does the work (CRONOGRAPH_POLL)")
    if delay is None:
        advice = (
            "a transaction pooler stands between: add ?pooler=transaction to the URL, or connect to the server itself"
        )
        return Finding("notifications", Level.PROBLEM, "a NOTIFY did not arrive; runs wait for the next poll", advice)
    advice = "look at the load of the server and at the network between"
    return graded("notifications", delay, *DELAY, f"a NOTIFY arrived after {delay * 1000:.0f} ms", advice)


def judge_replica(lag: float | None, fault: str, *, feedback: bool) -> Finding:
    """Judge the standby that answers queries.

    Args:
        lag: Seconds by which it was behind the database; None: it cannot be used.
        fault: The reason for that.
        feedback: Whether it says to the database which rows its readers still need.
    """
    if lag is None:
        advice = "the database answers all queries meanwhile; mend the standby, or leave read_database_url out"
        return Finding("replica", Level.PROBLEM, f"the read replica cannot be used: {fault}", advice)
    if lag > PATIENCE:
        says = f"the read replica is {lag:.1f} s behind, so the database answers queries"
        return Finding("replica", Level.PROBLEM, says, "look at its load, its disk, and the network between")
    says = f"the read replica had everything after {lag * 1000:.0f} ms"
    if not feedback:
        advice = "ALTER SYSTEM SET hot_standby_feedback = on at the standby, else it ends long reads"
        return Finding("replica", Level.ADVICE, says, advice)
    return Finding("replica", Level.OK, says)


def judge_pooler(sessions: Sequence[int], jit: str, *, pooled: bool) -> Finding:
    """Judge the statement of the URL about a pooler.

    Args:
        sessions: The server's process that answered, in one transaction after the other on one connection.
        jit: The setting of that name, which a direct connection has turned off.
        pooled: Whether the URL says that there is one.
    """
    if pooled:
        return Finding("pooler", Level.OK, "the URL says ?pooler=transaction; nothing is used that needs a connection")
    if len(set(sessions)) > 1:
        says = "each transaction gets another connection of the server, so a transaction pooler stands between"
        return Finding("pooler", Level.PROBLEM, says, "add ?pooler=transaction to the URL")
    if jit != "off":
        says = "the settings that a connection begins with are ignored (jit is on)"
        return Finding("pooler", Level.PROBLEM, says, "a pooler drops them: add ?pooler=transaction to the URL")
    return Finding("pooler", Level.OK, "none; the connection is the server's own")


def _role(health: PostgresHealth) -> Finding:
    if health.is_standby or health.settings["default_transaction_read_only"] == "on":
        why = "is a standby" if health.is_standby else "refuses writes (default_transaction_read_only)"
        return Finding("server", Level.PROBLEM, f"PostgreSQL {health.server} {why}", "name the primary in the URL")
    return Finding("server", Level.OK, f"PostgreSQL {health.server}, {size(health.bytes)}")


def _settings(health: PostgresHealth) -> Iterator[Finding]:
    safe = True
    for name, loss in (
        ("fsync", "a crash of the machine may destroy the database"),
        ("full_page_writes", "a crash of the machine may damage pages"),
        ("synchronous_commit", "a crash of the server loses runs that were acknowledged just before"),
    ):
        if health.settings[name] == "off":
            safe = False
            yield Finding("durability", Level.PROBLEM, f"{name} = off: {loss}", _turn_on(health, name))
    if safe:
        yield Finding("durability", Level.OK, "what is committed survives a crash")


def _transactions(holders: Sequence[Holder]) -> Iterator[Finding]:
    found = False
    for holder in holders:
        if holder.seconds >= LONG_TRANSACTION[0]:
            found = True
            says = f"{holder.what} {holder.name} has had its transaction open for {holder.seconds:,.0f} s"
            advice = f"end it: {holder.end}; let clients set idle_in_transaction_session_timeout"
            yield graded("transactions", holder.seconds, *LONG_TRANSACTION, says, advice)
    if not found:
        yield Finding("transactions", Level.OK, f"none is open for longer than {LONG_TRANSACTION[0]:.0f} s")


def _xmin(holders: Sequence[Holder]) -> Finding:
    oldest = max(holders, key=lambda one: one.transactions, default=None)
    if oldest is None or oldest.transactions < XMIN_AGE[0]:
        return Finding("xmin", Level.OK, "nobody holds dead rows back for long")
    says = f"{oldest.what} {oldest.name} keeps the dead rows of the last {oldest.transactions:,} transactions"
    return graded("xmin", oldest.transactions, *XMIN_AGE, says, f"{oldest.end}, then VACUUM")


def _wraparound(part: float) -> Finding:
    says = f"{part:.0%} of the transactions are used before the server stops to protect its data"
    advice = "find what keeps autovacuum from freezing rows (xmin above), then VACUUM (FREEZE) the oldest tables"
    return graded("wraparound", part, *WRAPAROUND, says, advice)


def _each(
    tables: Sequence[TableHealth], check: str, judge: Callable[[TableHealth], Finding | None], good: str
) -> Iterator[Finding]:
    found = [one for table in tables if (one := judge(table)) is not None]
    yield from found or [Finding(check, Level.OK, good)]


def _bloat(table: TableHealth, schema: str) -> Finding | None:
    share = table.dead / max(1, table.live)
    if table.dead < FEW_ROWS or share < DEAD_SHARE[0]:
        return None
    says = f"table {table.name} has {table.dead:,} dead and {table.live:,} live rows ({size(table.bytes)})"
    return graded("bloat", share, *DEAD_SHARE, says, f"VACUUM (ANALYZE) {schema}.{table.name}")


def _autovacuum(health: PostgresHealth, schema: str) -> Iterator[Finding]:
    off = [name for name in ("autovacuum", "track_counts") if health.settings[name] == "off"]
    if not off:
        yield from _each(health.tables, "autovacuum", lambda table: _vacuum(table, schema), "on for all tables")
        return
    says = "autovacuum is off: tables grow, and claims get slower and slower"
    yield Finding("autovacuum", Level.PROBLEM, says, _turn_on(health, *off))


def _turn_on(health: PostgresHealth, *names: str) -> str:
    """Advise to turn settings on, each where it was turned off."""
    places = {name: health.places[name] for name in names}
    steps = [
        f"{place} SET {name} = on" if place.startswith("ALTER") else f"take {name} out of the {place}"
        for name, place in places.items()
    ]
    return "; ".join([*steps, "SELECT pg_reload_conf()"] if "ALTER SYSTEM" in places.values() else steps)


def _vacuum(table: TableHealth, schema: str) -> Finding | None:
    if table.autovacuum:
        return None
    says = f"autovacuum is turned off for table {table.name}"
    return Finding("autovacuum", Level.PROBLEM, says, f"ALTER TABLE {schema}.{table.name} RESET (autovacuum_enabled)")


def _statistics(table: TableHealth, schema: str) -> Finding | None:
    rows = table.live + table.dead
    if rows < FEW_ROWS or (table.was_analyzed and table.changed < rows):
        return None
    why = f"{table.changed:,} rows have changed since it looked" if table.was_analyzed else "it has never looked at it"
    says = f"the planner guesses about table {table.name}: {why}"
    return Finding("statistics", Level.ADVICE, says, f"ANALYZE {schema}.{table.name}")


def _connections(health: PostgresHealth) -> Finding:
    says = f"{health.connections} of {health.most_connections} connections are open"
    advice = "raise max_connections, or put a pooler in between (?pooler=transaction); a node opens up to 27"
    return graded("connections", health.connections / max(1, health.most_connections), *CONNECTIONS, says, advice)


SESSIONS = 4
"""Transactions on one connection that are compared, to see whether a pooler stands between."""
MOUNTS = Path("/proc/self/mounts")


def examine(database_url: str, read_database_url: str | None = None) -> list[Finding]:
    """Return all that there is to say about a database that has tables of Cronograph.

    Args:
        read_database_url: That of a standby that answers queries; None = there is none.

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
        connection.rollback()
        if read_database_url is not None:
            findings.append(_replica(connection, read_database_url))
    delay = None if is_pooled(url) else notification_delay(database_url)
    return [*findings, judge_notification(delay, pooled=is_pooled(url))]


def _shared(connection: Connection, missing_revisions: list[str], *, postgres: bool) -> Iterator[Finding]:
    missing = [] if missing_revisions else missing_columns(connection)
    yield judge_schema(missing_revisions, missing)
    if not missing_revisions and not missing:
        yield from judge_indexes(index_faults(connection), postgres=postgres)
        if postgres:
            yield from judge_blocks(read_blocks(connection))
        yield from judge_nodes(nodes.live(connection), database_now(connection))


def _postgres(connection: Connection, schema: str, *, pooled: bool) -> Iterator[Finding]:
    health = read_postgres(connection)
    yield from judge_postgres(health, schema)
    yield judge_clock(health.skew, health.skew_error)
    sessions: list[int] = []
    for _ in range(SESSIONS):
        connection.rollback()
        sessions.append(session(connection))
    yield judge_pooler(sessions, health.settings["jit"], pooled=pooled)
    folder = None if health.data_directory is None else Path(health.data_directory)
    yield judge_history(read_history(connection, database_now(connection)), health.bytes)
    if folder is not None and folder.exists():
        yield _disk(folder, health.bytes)


def _replica(primary: Connection, read_database_url: str) -> Finding:
    try:
        with connected(read_database_url) as standby:
            if (ours := identity(primary)) != (theirs := identity(standby)):
                says = f"is '{theirs[1]}' of cluster {theirs[0]}, and no standby of '{ours[1]}' of cluster {ours[0]}"
                return judge_replica(None, says, feedback=True)
            feedback = standby.exec_driver_sql("SHOW hot_standby_feedback").scalar_one() == "on"
            return judge_replica(replay_lag(primary, standby), "", feedback=feedback)
    except (StorageError, NotUsableError) as error:
        return judge_replica(None, str(error), feedback=True)


def _sqlite(connection: Connection, path: Path) -> Iterator[Finding]:
    health = read_sqlite(connection)
    log = path.with_name(f"{path.name}-wal")
    yield from judge_sqlite(health, path, log.stat().st_size if log.exists() else 0, file_system(path))
    yield judge_history(read_history(connection, database_now(connection)), health.bytes)
    yield _disk(path.parent, health.bytes)


def _disk(folder: Path, needed: int) -> Finding:
    usage = shutil.disk_usage(folder)
    # What is kept for root is of no use to the database.
    return judge_disk(usage.total - usage.free, usage.total, str(folder), needed)


def file_system(path: Path) -> str | None:
    """Return the kind of file system that a file is on; None where the machine does not tell (it does on Linux)."""
    if not MOUNTS.exists():
        return None
    resolved, best, kind = path.resolve(), "", None
    for line in MOUNTS.read_text(errors="replace").splitlines():
        _, place, found, *_ = line.split(" ")
        mount = place.replace("\\040", " ")
        if resolved.is_relative_to(mount) and len(mount) >= len(best):
            best, kind = mount, found
    return kind
