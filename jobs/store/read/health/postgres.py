"""What a PostgreSQL server says about how it is used and kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, text

from ...schema.naming import SCHEMA, SchemaText

SETTINGS = (
    *("autovacuum", "track_counts", "fsync", "full_page_writes", "synchronous_commit"),
    *("default_transaction_read_only", "jit"),
)
"""Those that are looked at."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who keeps the server from removing dead rows.

    Attributes:
        what: ``session``, ``replication slot`` or ``prepared transaction``.
        name: Its process id and what it calls itself, or its name.
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
    """What was found at one moment.

    Attributes:
        settings: Those of ``SETTINGS``, of this session.
        server: ``server_version``.
        is_standby: Whether the server only follows another.
        connections: Open ones.
        most_connections: So many may be open, without those kept for administrators.
        wraparound: Part of the transactions that may be used before the server stops to protect its data.
        holders: Those who hold dead rows back, the oldest first.
        tables: Of the schema.
        bytes: Size of the database.
        data_directory: Where it is kept; None if that is on another machine, or this account may not know.
        skew: Seconds by which this machine's clock is ahead of the server's.
        skew_error: By so much that may be wrong: half the time that asking took.
    """

    settings: Mapping[str, str]
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


def read(conn: Connection) -> PostgresHealth:
    """All of it, in a few statements that read no table of ours."""
    server = conn.execute(_SERVER).one()
    before = datetime.now(UTC)
    theirs: datetime = conn.execute(_CLOCK).scalar_one()
    after = datetime.now(UTC)
    error = (after - before).total_seconds() / 2
    return PostgresHealth(
        settings={name: conn.execute(_SETTING, {"name": name}).scalar_one() for name in SETTINGS},
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
    """The process of the server that answers; another one after a commit, if a pooler stands between."""
    found: int = conn.execute(text("SELECT pg_backend_pid()")).scalar_one()
    return found


_CLOCK = text("SELECT clock_timestamp()")
_SETTING = text("SELECT current_setting(:name)")
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
