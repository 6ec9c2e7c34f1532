"""What is to be said about either kind of database: schema, indexes, nodes, disk. Pure rules."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from ...jobs.core.nodes import Node, NodeState
from ...jobs.store.read.health.history import HistoryHealth
from ...jobs.store.read.health.shape import IndexFault, named
from .findings import Finding, Level, graded, size

LITTLE_ROOM: Final = (0.85, 0.95)
"""Part of the disk that is used."""
NODE_SKEW: Final = (1.0, 10.0)
LONG_HISTORY: Final = 5e9
"""Bytes of history from which on one should think about how long it is kept."""
LEAST_FREED: Final = 0.1
"""The part of the history that a shorter retention has to free to be named."""


def judge_schema(pending: Sequence[str], missing: Sequence[str]) -> Finding:
    """Whether the tables are those of this version.

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
    """Which indexes are to be made."""
    for fault in faults:
        concurrently = "CONCURRENTLY " if postgres else ""
        schema = fault.statement.partition(" ON ")[2].partition(".")[0]
        where = f"{schema}." if postgres else ""
        drop = f"DROP INDEX {concurrently}{where}{fault.name}; " if fault.is_there else ""
        says = f"index {fault.name} of {fault.table} {fault.why}"
        yield Finding("indexes", Level.PROBLEM, says, drop + fault.statement)
    if not faults:
        yield Finding("indexes", Level.OK, "all are there, and defined as in this version")


def judge_nodes(nodes: Sequence[Node], now: datetime) -> Iterator[Finding]:
    """How those that live are; ``now`` is the database's time."""
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
    """How much history there is, and how much of it a shorter retention would free.

    Args:
        health: What there is.
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
    """Whether there is room.

    Args:
        used: Bytes of the disk that are not free.
        total: Its size.
        where: The folder on it.
        needed: What the database takes: a back-up takes the same again.
    """
    free = total - used
    says = f"{size(free)} free at '{where}' ({used / total:.0%} used)"
    advice = "shorten retention or make the disk larger; a full disk stops all runs"
    finding = graded("disk", used / total, *LITTLE_ROOM, says, advice)
    if finding.level is Level.OK and free < needed:
        return Finding("disk", Level.ADVICE, says, f"a back-up in the same folder needs {size(needed)}")
    return finding
