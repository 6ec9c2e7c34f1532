"""Read the whole cluster's figures for a monitoring system from the database, alike on every node."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, and_, case, func, or_, select, text

from ....core.model import Isolation
from ....core.nodes import NodeState
from ....core.states import CLAIMABLE, OCCUPYING, RunState
from ...db import dialect
from ...db.functions import sql_literals
from ...schema.parts import WHOLE_TABLE
from ...schema.tables import AMONG_ALL_RUNS, IS_OPEN, event
from ...schema.tables import job as j
from ...schema.tables import node as n
from ...schema.tables import queue_group as g
from ...schema.tables import run as r
from ...schema.types import SCHEMA, SchemaText, UtcDateTime
from ..nodes import LIVE
from .depth import stalled

DEAD_FOR: Final = timedelta(hours=1)
"""For so long a node that was found dead is counted."""
LARGE: Final = ("event", "execution_log", "job_execution", "periodic_task", "run", "skipped_occurrence")
"""The tables that grow."""


@dataclass(frozen=True, slots=True)
class GroupDepth:
    """The unfinished runs of a group.

    Attributes:
        states: How many by state.
        oldest_wait: Seconds that the one waits which is due for longest; 0 if none is due.
    """

    states: Mapping[RunState, int]
    oldest_wait: float


@dataclass(frozen=True, slots=True)
class Demand:
    """The runs of a job in a group that take slots of nodes, and those that would begin if there were more slots.

    Attributes:
        isolation: Where its runs execute; the slots of threads and of child processes are counted by themselves.
        slots: How many slots a run takes.
        running: How many nodes have.
        startable: How many are due, as far as neither a pause nor the limit of the group holds them.
    """

    group: str
    job: str
    isolation: Isolation
    slots: int
    running: int
    startable: int

    @property
    def wanted_slots(self) -> int:
        """Return the slots of nodes that they need; runs at engines need none."""
        return 0 if self.isolation is Isolation.REMOTE else self.slots * (self.running + self.startable)


@dataclass(frozen=True, slots=True)
class TableSize:
    """A table of PostgreSQL.

    Attributes:
        bytes: With its indexes.
        dead: Dead rows, as the server estimates.
        live: The same of live ones.
    """

    bytes: int
    dead: int
    live: int


@dataclass(frozen=True, slots=True)
class ClusterFigures:
    """The figures of one moment.

    Attributes:
        groups: The groups with unfinished runs, those with most of them first.
        demand: The unfinished runs that take slots or wait for them, by group and job.
        room: The slots of the largest live node, by kind; ``ASYNC`` = of all kinds together. Empty = there is none.
        stalled_tasks: Tasks that should have started and did not.
        nodes: How many by state: the live ones, and those found dead lately.
        event_lag: Seconds for which the oldest event waits to be published.
        database_bytes: Size of the database.
        oldest_transaction: Seconds since the oldest transaction on the server began; None on SQLite.
        xmin_age: Transactions since the oldest one that anybody may still see, which keeps dead rows; None on SQLite.
        tables: The large ones by name; empty on SQLite.
    """

    groups: Mapping[str, GroupDepth]
    demand: Sequence[Demand]
    room: Mapping[Isolation, int]
    stalled_tasks: int
    nodes: Mapping[NodeState, int]
    event_lag: float
    database_bytes: int = 0
    oldest_transaction: float | None = None
    xmin_age: int | None = None
    tables: Mapping[str, TableSize] | None = None


def read(conn: Connection, now: datetime) -> ClusterFigures:
    """Read all of them, in a few statements whose cost grows with the unfinished runs alone."""
    groups, demand = _queue(conn, now)
    figures = ClusterFigures(
        groups=groups,
        demand=demand,
        room=_room(conn),
        stalled_tasks=len(stalled(conn, now)),
        nodes=_nodes(conn, now),
        event_lag=_event_lag(conn, now),
    )
    if not dialect.is_postgresql(conn):
        return replace(figures, database_bytes=conn.execute(_FILE).scalar_one())
    server = conn.execute(_SERVER).one()
    tables = conn.execute(_TABLES, {"names": list(LARGE)})
    return replace(
        figures,
        database_bytes=server.bytes,
        oldest_transaction=server.oldest or 0.0,
        xmin_age=server.xmin_age or 0,
        tables={row.name: TableSize(row.bytes, row.dead, row.live) for row in tables},
    )


def _queue(conn: Connection, now: datetime) -> tuple[dict[str, GroupDepth], list[Demand]]:
    due = and_(r.c.state.in_(sql_literals(CLAIMABLE)), r.c.available_at <= now)
    oldest = func.min(case((due, r.c.available_at)), type_=UtcDateTime())
    statement = (
        select(r.c.group_name, r.c.job_name, r.c.state, func.count(), func.count(case((due, r.c.id))), oldest)
        .where(IS_OPEN, AMONG_ALL_RUNS)
        .group_by(r.c.group_name, r.c.job_name, r.c.state)
    )
    states: dict[str, dict[RunState, int]] = {}
    waits: dict[str, float] = {}
    counts: dict[tuple[str, str], list[int]] = {}
    rows: Sequence[Any] = conn.execute(statement).all()
    for group, job_name, state, count, due_now, since in rows:
        of_group = states.setdefault(group, {})
        of_group[RunState(state)] = of_group.get(RunState(state), 0) + count
        if since is not None:
            waits[group] = max(waits.get(group, 0.0), (now - since).total_seconds())
        of_both = counts.setdefault((group, job_name), [0, 0])
        of_both[0] += count if RunState(state) in OCCUPYING else 0
        of_both[1] += due_now
    largest = sorted(states, key=lambda group: (-sum(states[group].values()), group))
    depths = {group: GroupDepth(states[group], waits.get(group, 0.0)) for group in largest}
    return depths, list(_demand(conn, counts))


def _demand(conn: Connection, counts: Mapping[tuple[str, str], Sequence[int]]) -> Iterator[Demand]:
    jobs = {one.name: one for one in conn.execute(select(j.c.name, j.c.isolation, j.c.slots))} if counts else {}
    held = or_(g.c.paused_at.is_not(None), g.c.max_running.is_not(None))
    limits = {one.name: 0 if one.paused_at else one.max_running for one in conn.execute(select(g).where(held))}
    begun: dict[str, int] = {}
    for (group, _), (running, _) in counts.items():
        begun[group] = begun.get(group, 0) + running
    for (group, job_name), (running, due) in sorted(counts.items()):
        known = jobs.get(job_name)
        # Who has not published the job cannot say where it runs.
        isolation = Isolation(known.isolation) if known is not None else Isolation.ASYNC
        startable = due if group not in limits else max(0, min(due, limits[group] - begun[group]))
        begun[group] += startable
        if running or startable:
            yield Demand(group, job_name, isolation, known.slots if known is not None else 1, running, startable)


def _room(conn: Connection) -> dict[Isolation, int]:
    kinds = {Isolation.ASYNC: n.c.slots, Isolation.THREAD: n.c.thread_slots, Isolation.PROCESS: n.c.process_slots}
    most = select(*(func.max(column).label(kind.value) for kind, column in kinds.items())).where(n.c.state.in_(LIVE))
    found = conn.execute(most).one()
    return {kind: slots for kind in kinds if (slots := getattr(found, kind.value)) is not None}


def _nodes(conn: Connection, now: datetime) -> dict[NodeState, int]:
    died = and_(n.c.state == NodeState.EXPIRED.value, n.c.heartbeat_at > now - DEAD_FOR)
    statement = select(n.c.state, func.count()).where(or_(n.c.state.in_(LIVE), died)).group_by(n.c.state)
    return {NodeState(state): count for state, count in conn.execute(statement)}


def _event_lag(conn: Connection, now: datetime) -> float:
    oldest = conn.execute(select(func.min(event.c.at)).where(event.c.seq.is_(None))).scalar_one()
    return 0.0 if oldest is None else max(0.0, (now - oldest).total_seconds())


_FILE = text("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
_SERVER = text("""
    SELECT pg_database_size(current_database()) AS bytes,
        (SELECT extract(epoch FROM max(statement_timestamp() - xact_start))::float8 FROM pg_stat_activity
         WHERE pid <> pg_backend_pid()) AS oldest,
        greatest(
            (SELECT max(age(backend_xmin)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()),
            (SELECT max(greatest(age(xmin), age(catalog_xmin))) FROM pg_replication_slots),
            (SELECT max(age(transaction)) FROM pg_prepared_xacts)) AS xmin_age
""")
_TABLES = SchemaText(f"""
    SELECT {WHOLE_TABLE} AS name, CAST(sum(pg_total_relation_size(s.relid)) AS bigint) AS bytes,
        CAST(sum(s.n_dead_tup) AS bigint) AS dead, CAST(sum(s.n_live_tup) AS bigint) AS live
    FROM pg_stat_user_tables s WHERE s.schemaname = '{SCHEMA}' GROUP BY 1 HAVING {WHOLE_TABLE} = ANY(:names)
""")
