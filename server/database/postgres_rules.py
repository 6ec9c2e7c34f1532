"""What is to be said about a PostgreSQL server: pure rules, each about one thing that goes wrong in practice."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ...jobs.store.read.health.postgres import Holder, PostgresHealth, TableHealth
from .findings import Finding, Level, graded, size

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
    """All that is to be said; ``schema`` is that of the tables."""
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
    """What the difference of the clocks means: this machine's minus the server's, wrong by ``error`` at most."""
    way = "ahead of" if skew > 0 else "behind"
    says = f"this machine's clock is {abs(skew):.1f} s {way} the database's"
    if abs(skew) - error < SKEW[0]:
        return Finding("clock", Level.OK, "this machine's clock agrees with the database's")
    advice = "let both set their clocks by NTP (timedatectl set-ntp true); schedules go by the database's"
    return graded("clock", abs(skew) - error, *SKEW, says, advice)


def judge_notification(delay: float | None, *, pooled: bool) -> Finding:
    """What the delay of a notification means; None: it did not arrive."""
    if pooled:
        return Finding("notifications", Level.OK, "not used behind a pooler; the poll does the work (CRONOGRAPH_POLL)")
    if delay is None:
        advice = (
            "a transaction pooler stands between: add ?pooler=transaction to the URL, or connect to the server itself"
        )
        return Finding("notifications", Level.PROBLEM, "a NOTIFY did not arrive; runs wait for the next poll", advice)
    advice = "look at the load of the server and at the network between"
    return graded("notifications", delay, *DELAY, f"a NOTIFY arrived after {delay * 1000:.0f} ms", advice)


def judge_pooler(sessions: Sequence[int], jit: str, *, pooled: bool) -> Finding:
    """Whether what the URL says about a pooler is so.

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
            yield Finding("durability", Level.PROBLEM, f"{name} = off: {loss}", f"ALTER SYSTEM SET {name} = on")
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
    """The finding of each table that has one, or that all is well."""
    found = [one for table in tables if (one := judge(table)) is not None]
    yield from found or [Finding(check, Level.OK, good)]


def _bloat(table: TableHealth, schema: str) -> Finding | None:
    share = table.dead / max(1, table.live)
    if table.dead < FEW_ROWS or share < DEAD_SHARE[0]:
        return None
    says = f"table {table.name} has {table.dead:,} dead and {table.live:,} live rows ({size(table.bytes)})"
    return graded("bloat", share, *DEAD_SHARE, says, f"VACUUM (ANALYZE) {schema}.{table.name}")


def _autovacuum(health: PostgresHealth, schema: str) -> Iterator[Finding]:
    if "off" not in (health.settings["autovacuum"], health.settings["track_counts"]):
        yield from _each(health.tables, "autovacuum", lambda table: _vacuum(table, schema), "on for all tables")
        return
    says = "autovacuum is off: tables grow, and claims get slower and slower"
    advice = "ALTER SYSTEM SET autovacuum = on; ALTER SYSTEM SET track_counts = on; SELECT pg_reload_conf()"
    yield Finding("autovacuum", Level.PROBLEM, says, advice)


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
