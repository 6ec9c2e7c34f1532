"""Measure a database: whether its shape is the expected one, its tables, indexes and server, and how fast it grows."""

import re
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, func, select, text
from sqlalchemy.schema import CreateIndex

from ...core.base.lazy import LazyModule
from ..db import dialect
from ..db.address import libpq_url, parse_url
from ..db.dialect import is_postgresql
from ..schema.parts import WHOLE_TABLE, has_parts, in_history, index_statements
from ..schema.tables import job_execution as e
from ..schema.tables import metadata
from ..schema.types import SCHEMA, SchemaText
from .prunable import FEW, HISTORIES, blocks_of, newest_id

if TYPE_CHECKING:
    import psycopg
    import psycopg.sql
else:
    psycopg = LazyModule("psycopg")

MOST_NAMED = 5
"""So many missing columns are named, the others counted."""


@dataclass(frozen=True, slots=True)
class IndexFault:
    """An index that is not as it must be.

    Attributes:
        why: Its fault, in words.
        is_there: Whether there is one of its name.
    """

    name: str
    table: str
    why: str
    is_there: bool
    statement: str


def missing_columns(conn: Connection) -> list[str]:
    """Return the columns of this version that the database lacks, as ``table.column``, or ``table`` if all are missing.

    More columns than these are no fault: a newer version may have made them.
    """
    statement = _POSTGRES_COLUMNS if dialect.is_postgresql(conn) else _SQLITE_COLUMNS
    found: dict[str, set[str]] = {}
    for table, column in conn.execute(statement):
        found.setdefault(table, set()).add(column)
    return [
        name
        for table in metadata.sorted_tables
        for name in (
            [f"{table.name}.{column.name}" for column in table.columns if column.name not in found[table.name]]
            if table.name in found
            else [table.name]
        )
    ]


def named(missing: list[str]) -> str:
    """Name the first missing columns, and say how many more there are."""
    more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
    return ", ".join(missing[:MOST_NAMED]) + more


def index_faults(conn: Connection) -> list[IndexFault]:
    """Return the indexes of this version that are missing, were left half built, or are defined in another way."""
    statement = _POSTGRES_INDEXES if dialect.is_postgresql(conn) else _SQLITE_INDEXES
    found = {row.name: row for row in conn.execute(statement)}
    return list(_index_faults(conn, found))


def _index_faults(conn: Connection, found: Mapping[str, Any]) -> Iterator[IndexFault]:
    for table, name, wanted in _indexes(conn):
        row = found.get(name)
        if row is None:
            yield IndexFault(name, table, "is missing", False, wanted)
        elif not row.valid:
            yield IndexFault(name, table, "is invalid: its building was broken off", True, wanted)
        elif _meaning(row.definition) != _meaning(wanted):
            yield IndexFault(name, table, f"is not that of this version, but {row.definition}", True, wanted)


def _meaning(statement: str) -> str:
    """Return the meaning of a statement that makes an index, however it is written: PostgreSQL says it in its own way.

    Uniqueness, columns, their order and the condition count; schemas, casts and parentheses do not.
    """
    text = _CAST.sub("", statement.replace('"', "").lower())
    text = re.sub(r"[()\]]", " ", text).replace("= any", "in").replace("array[", " ")
    # A restored index has its casts, and so blanks, at other places.
    return re.sub(r" ?, ?", ", ", " ".join(_OF_NO_MEANING.sub(" ", text).split()))


def _indexes(conn: Connection) -> Iterator[tuple[str, str, str]]:
    """Yield the table, name and statement of each index; on PostgreSQL one for each part of a table that has it."""
    for table in metadata.sorted_tables:
        blocks = [one.number for one in blocks_of(conn, in_history(table, table.name))] if has_parts(table) else []
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            if not dialect.is_postgresql(conn):
                made = " ".join(str(CreateIndex(index).compile(dialect=conn.dialect)).split())
                yield table.name, str(index.name), made
                continue
            for name, made in index_statements(index, blocks):
                # Made while nodes work, it must not lock them out.
                yield table.name, name, made.replace(" INDEX ", " INDEX CONCURRENTLY ", 1)


_POSTGRES_COLUMNS = SchemaText(f"""
    SELECT c.relname, a.attname FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE n.nspname = '{SCHEMA}' AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
""")
_SQLITE_COLUMNS = SchemaText("""
    SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'
""")
_POSTGRES_INDEXES = SchemaText(f"""
    SELECT c.relname AS name, i.indisvalid AND i.indisready AS valid, pg_get_indexdef(i.indexrelid) AS definition
    FROM pg_index i
    JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = '{SCHEMA}'
""")
_SQLITE_INDEXES = SchemaText(
    "SELECT name, 1 AS valid, sql AS definition FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
)
_CAST: Final = re.compile(r"::[a-z_]+( varying| with time zone| precision)?(\(\d+\))?(\[\])?")
_OF_NO_MEANING: Final = re.compile(r"\b(concurrently|using btree|(?<=index )\w+\.|(?<= on )\w+\.)")


@dataclass(frozen=True, slots=True)
class BlockHealth:
    """Describe the blocks of the history on PostgreSQL.

    Attributes:
        owner: The role that owns the tables, if the one that asks may not act as it; else None.
        grown: Histories whose last block has so many rows already that it gets no end any more.
    """

    owner: str | None
    grown: tuple[str, ...]


def read_blocks(conn: Connection) -> BlockHealth:
    """Look at who may make and drop blocks, and at where the newest rows are."""
    grown = (one.name for one in HISTORIES if newest_id(conn, one) >= (blocks_of(conn, one.name)[-1].first or 0) + FEW)
    return BlockHealth(conn.execute(_OTHER_OWNER).scalar_one_or_none(), tuple(grown))


_OTHER_OWNER = SchemaText(f"""
    SELECT pg_get_userbyid(relowner) FROM pg_class
    WHERE oid = '{SCHEMA}.run'::regclass AND NOT pg_has_role(relowner, 'USAGE')
""")


@dataclass(frozen=True, slots=True)
class SqliteHealth:
    """Describe the health of the file.

    Attributes:
        faults: The findings of SQLite's quick check.
        free_bytes: The unused part of that.
    """

    faults: tuple[str, ...]
    bytes: int
    free_bytes: int


def read_sqlite(conn: Connection) -> SqliteHealth:
    """Return all of it; the quick check reads the whole file."""
    size: int = conn.execute(text("SELECT page_size FROM pragma_page_size()")).scalar_one()
    pages: int = conn.execute(text("SELECT page_count FROM pragma_page_count()")).scalar_one()
    free: int = conn.execute(text("SELECT freelist_count FROM pragma_freelist_count()")).scalar_one()
    found = conn.execute(text("SELECT quick_check FROM pragma_quick_check(20)")).scalars()
    return SqliteHealth(
        faults=tuple(line for line in found if line != "ok"),
        bytes=size * pages,
        free_bytes=size * free,
    )


HISTORY: Final = ("run", "job_execution", "execution_log", "event", "run_label", "run_step", "skipped_occurrence")
"""The tables that grow with the runs, and that a pruning makes smaller."""
DAYS: Final = (1, 7, 14)
"""The shorter times whose freed space is estimated."""


@dataclass(frozen=True, slots=True)
class HistoryHealth:
    """Describe the size of the history.

    Attributes:
        bytes: Of its tables with their indexes; None if the database does not tell.
        executions: About how many there are.
        days: How long ago the first of them began.
        older: The part of them that is older than so many days, by the days.
    """

    bytes: int | None
    executions: int
    days: float
    older: Mapping[int, float]


def read_history(conn: Connection, now: datetime) -> HistoryHealth:
    """Look at both ends of the execution log, and at where the days of ``DAYS`` begin in it.

    Ids ascend with the time of the start, so the executions between two of them are counted by their difference.
    """
    ends = conn.execute(select(func.min(e.c.id), func.max(e.c.id))).one()
    sizes = table_bytes(conn)
    size = None if sizes is None else sum(sizes.values())
    if ends[0] is None:
        return HistoryHealth(size, 0, 0.0, dict.fromkeys(DAYS, 0.0))
    first, last = ends
    began = conn.execute(select(e.c.started_at).where(e.c.id == first)).scalar_one()
    older = {days: _older(conn, now - timedelta(days=days), first, last) for days in DAYS}
    return HistoryHealth(size, last - first + 1, max(0.0, (now - began).total_seconds() / 86400), older)


def _older(conn: Connection, before: datetime, first: int, last: int) -> float:
    """Return the part of the executions that began earlier."""
    statement = select(e.c.id).where(e.c.started_at >= before).order_by(e.c.started_at, e.c.id).limit(1)
    young = conn.execute(statement).scalar_one_or_none()
    return 1.0 if young is None else max(0.0, young - first) / (last - first + 1)


def table_bytes(conn: Connection) -> dict[str, int] | None:
    """Return the size of each table of ``HISTORY`` with its indexes; None if SQLite was built without ``dbstat``."""
    if is_postgresql(conn):
        return {row.name: row.bytes for row in conn.execute(_POSTGRES) if row.name in HISTORY}
    if not conn.execute(
        text("SELECT 1 FROM pragma_compile_options WHERE compile_options = 'ENABLE_DBSTAT_VTAB'")
    ).all():
        return None
    sizes: dict[str, int] = dict.fromkeys(HISTORY, 0)
    for row in conn.execute(_SQLITE):
        if row.name in sizes:
            sizes[row.name] = row.bytes
    return sizes


_POSTGRES: Final = SchemaText(f"""
    SELECT {WHOLE_TABLE} AS name, CAST(sum(pg_total_relation_size(s.relid)) AS bigint) AS bytes
    FROM pg_stat_user_tables s WHERE s.schemaname = '{SCHEMA}' GROUP BY 1
""")
_SQLITE: Final = text("""
    SELECT m.tbl_name AS name, sum(d.pgsize) AS bytes
    FROM dbstat d JOIN sqlite_schema m ON m.name = d.name GROUP BY m.tbl_name
""")


PATIENCE = 2.0
"""Seconds to wait for a notification."""


def notification_delay(database_url: str) -> float | None:
    """Return the seconds from a ``NOTIFY`` to its arrival on another connection; None if it did not arrive.

    It goes by a channel of its own, so no node wakes up.

    Args:
        database_url: Of a PostgreSQL database that can be reached.
    """
    address, channel = libpq_url(parse_url(database_url)), f"cronograph_trial_{secrets.token_hex(6)}"
    with psycopg.connect(address, autocommit=True) as listener, psycopg.connect(address, autocommit=True) as sender:
        listener.execute(psycopg.sql.SQL("LISTEN {}").format(psycopg.sql.Identifier(channel)))
        began = time.perf_counter()
        sender.execute("SELECT pg_notify(%s, '')", (channel,))
        received = list(listener.notifies(timeout=PATIENCE, stop_after=1))
        return time.perf_counter() - began if received else None


SETTINGS = (
    *("autovacuum", "track_counts", "fsync", "full_page_writes", "synchronous_commit"),
    *("default_transaction_read_only", "jit"),
)
"""Settings of PostgreSQL that are looked at."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Describe a session or slot that keeps the server from removing dead rows.

    Attributes:
        what: ``session``, ``replication slot`` or ``prepared transaction``.
        name: Its process id and its own name, or its name.
        seconds: For how long its transaction is open; 0 for a slot.
        transactions: How many others have begun since the oldest one that it may still see.
        end: The statement that ends it.
    """

    what: str
    name: str
    seconds: float
    transactions: int
    end: str


@dataclass(frozen=True, slots=True)
class TableHealth:
    """A table, as the server's statistics have it.

    Attributes:
        bytes: With its indexes.
        live: Rows.
        dead: Rows that are still to be removed.
        changed: Rows changed since the planner last looked at it.
        autovacuum: Whether it is cleaned by itself, for all that the settings of the table say.
        was_analyzed: Whether the planner has ever looked at it.
    """

    name: str
    bytes: int
    live: int
    dead: int
    changed: int
    autovacuum: bool
    was_analyzed: bool


@dataclass(frozen=True, slots=True)
class PostgresHealth:
    """Describe the health of a server at one moment.

    Attributes:
        settings: Those of ``SETTINGS``, of this session.
        places: Where each of them was set: the statement that changes it there, up to ``SET``, or the place in words.
        server: ``server_version``.
        is_standby: Whether the server only follows another.
        connections: Open ones.
        most_connections: So many may be open, without those kept for administrators.
        wraparound: Part of the transactions that may be used before the server stops to protect its data.
        holders: Those who hold dead rows back, the oldest first.
        bytes: Size of the database.
        data_directory: Where it is kept; None if that is on another machine, or this account may not know.
        skew: Seconds by which this machine's clock is ahead of the server's.
        skew_error: By so much that may be wrong: half the time that asking took.
    """

    settings: Mapping[str, str]
    places: Mapping[str, str]
    server: str
    is_standby: bool
    connections: int
    most_connections: int
    wraparound: float
    holders: tuple[Holder, ...]
    tables: tuple[TableHealth, ...]
    bytes: int
    data_directory: str | None
    skew: float
    skew_error: float


def read_postgres(conn: Connection) -> PostgresHealth:
    """Return all of it, in a few statements that read no table of ours."""
    server = conn.execute(_SERVER).one()
    before = datetime.now(UTC)
    theirs: datetime = conn.execute(_CLOCK).scalar_one()
    after = datetime.now(UTC)
    error = (after - before).total_seconds() / 2
    settings = conn.execute(_SETTINGS, {"names": list(SETTINGS)}).all()
    return PostgresHealth(
        settings={row.name: row.value for row in settings},
        places={row.name: row.place for row in settings},
        server=server.version,
        is_standby=server.standby,
        connections=server.connections,
        most_connections=server.most_connections,
        wraparound=server.wraparound,
        holders=tuple(Holder(*row) for row in conn.execute(_HOLDERS)),
        tables=tuple(TableHealth(*row) for row in conn.execute(_TABLES)),
        bytes=server.bytes,
        data_directory=server.data_directory,
        skew=(before - theirs).total_seconds() + error,
        skew_error=error,
    )


def session(conn: Connection) -> int:
    """Return the process of the server that answers; another one after a commit, if a pooler stands between."""
    found: int = conn.execute(text("SELECT pg_backend_pid()")).scalar_one()
    return found


_CLOCK = text("SELECT clock_timestamp()")
_SETTINGS = text("""
    SELECT name, current_setting(name) AS value,
        CASE source
            WHEN 'database user' THEN format('ALTER ROLE %I IN DATABASE %I', session_user, current_database())
            WHEN 'user' THEN format('ALTER ROLE %I', session_user)
            WHEN 'database' THEN format('ALTER DATABASE %I', current_database())
            WHEN 'global' THEN 'ALTER ROLE ALL'
            WHEN 'client' THEN 'options of the URL'
            WHEN 'command line' THEN 'command line of the server'
            ELSE 'ALTER SYSTEM'
        END AS place
    FROM pg_settings WHERE name = ANY(:names)""")
_SERVER = text("""
    SELECT current_setting('server_version') AS version, pg_is_in_recovery() AS standby,
        (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
            AS most_connections,
        (SELECT max(age(datfrozenxid)) / 2e9 FROM pg_database)::float8 AS wraparound,
        pg_database_size(current_database()) AS bytes,
        CASE WHEN pg_has_role(current_user, 'pg_read_all_settings', 'USAGE')
            AND (inet_server_addr() IS NULL OR inet_server_addr() = inet_client_addr())
            THEN current_setting('data_directory') END AS data_directory
""")
_HOLDERS = text("""
    SELECT 'session' AS what, concat_ws(' ', pid, nullif(application_name, ''), 'of', usename, state) AS name,
        coalesce(extract(epoch FROM clock_timestamp() - xact_start), 0)::float8 AS seconds,
        greatest(coalesce(age(backend_xmin), 0), coalesce(age(backend_xid), 0)) AS transactions,
        'SELECT pg_terminate_backend(' || pid || ')' AS ending
    FROM pg_stat_activity
    WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' AND xact_start IS NOT NULL
    UNION ALL
    SELECT 'replication slot', slot_name, 0, greatest(coalesce(age(xmin), 0), coalesce(age(catalog_xmin), 0)),
        'SELECT pg_drop_replication_slot(' || quote_literal(slot_name) || ')'
    FROM pg_replication_slots
    UNION ALL
    SELECT 'prepared transaction', gid, extract(epoch FROM clock_timestamp() - prepared)::float8, age(transaction),
        'ROLLBACK PREPARED ' || quote_literal(gid)
    FROM pg_prepared_xacts
    ORDER BY seconds DESC, transactions DESC
""")
_TABLES = SchemaText(f"""
    SELECT s.relname, pg_total_relation_size(s.relid), s.n_live_tup, s.n_dead_tup, s.n_mod_since_analyze,
        coalesce((SELECT lower(o.option_value) IN ('on', 'true', '1', 'yes') FROM pg_options_to_table(c.reloptions) o
                  WHERE o.option_name = 'autovacuum_enabled'), true),
        coalesce(s.last_analyze, s.last_autoanalyze) IS NOT NULL
    FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
    WHERE s.schemaname = '{SCHEMA}' ORDER BY s.relname
""")
