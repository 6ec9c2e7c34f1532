"""Statements of the claim: taking runs for a node, and starting them."""

import json
from collections.abc import Sequence
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    Connection,
    String,
    TextualSelect,
    bindparam,
    column,
    func,
    literal_column,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT

from ...core.held import HeldRun
from ...core.model import LIVE_NODES, Json, NodeState, Run
from ...core.states import CLAIMABLE, RunState
from ..db import dialect
from ..db.autocommit import PLANNED
from ..db.literals import sql_literals, unindexed
from ..read.groups import occupied_counts
from ..read.runs import run_from, select_runs
from ..schema.naming import SchemaText
from ..schema.tables import node as n
from ..schema.tables import queue_group as g
from ..schema.tables import quoted
from ..schema.tables import run as r
from ..schema.types import UtcDateTime
from .candidates import JUDGED

LIVE = (
    select(n.c.state)
    .where(n.c.id == bindparam("node_id"), n.c.state.in_(sorted(state.value for state in LIVE_NODES)))
    # The weakest lock: declaring the node dead conflicts with it, its heartbeat does not.
    .with_for_update(read=True, key_share=True)
)
_LIVE_AND_NOW = LIVE.add_columns(func.statement_timestamp().label("now"), literal_column(PLANNED, String()))


def live_node(conn: Connection, node_id: int) -> tuple[NodeState | None, datetime | None]:
    """The state of a live node (nobody declares it dead before the commit), and the time if the database tells.

    On PostgreSQL, what follows in its transaction is planned as on an ``AutocommitConnection``.
    """
    statement = _LIVE_AND_NOW if dialect.is_postgresql(conn) else LIVE
    row = conn.execute(statement, {"node_id": node_id}).first()
    return None if row is None else NodeState(row.state), getattr(row, "now", None)


def free_capacities(conn: Connection, groups: Sequence[str]) -> dict[str, int]:
    """For those of ``groups`` that have a limit: how many more may occupy a slot now. Locks these groups' rows."""
    limits = lock_limits(conn, groups) if groups else {}
    if not limits:
        return {}
    used = occupied_counts(conn, list(limits))
    return {name: max(0, limit - used.get(name, 0)) for name, limit in limits.items()}


def lock_limits(conn: Connection, groups: Sequence[str]) -> dict[str, int]:
    """The limits of those of ``groups`` that have one, locked so that two nodes never fill the same place."""
    statement = (
        select(g.c.name, g.c.max_running)
        .where(g.c.name.in_(groups), g.c.max_running.is_not(None))
        .order_by(g.c.name)
        .with_for_update()
    )
    return {key: value for key, value in conn.execute(statement)}


def lock_claimable(conn: Connection, ids: Sequence[int]) -> dict[int, Run]:
    """Those of these runs that nobody else is taking, locked until the commit."""
    statement = (
        select_runs()
        .where(r.c.id.in_(ids), unindexed(r.c.state).in_(sql_literals(CLAIMABLE)))
        .with_for_update(of=r, skip_locked=True)
    )
    return {row.id: run_from(row) for row in conn.execute(statement)}


def lock_scheduled(conn: Connection, ids: Sequence[int], node_id: int) -> dict[int, Run]:
    """Those of these runs that are still handed to this node, locked until the commit."""
    statement = (
        select_runs()
        .where(r.c.id.in_(ids), unindexed(r.c.state) == RunState.SCHEDULED.value, r.c.node_id + 0 == node_id)
        .order_by(r.c.id)
        .with_for_update(of=r)
    )
    return {row.id: run_from(row) for row in conn.execute(statement)}


_GOES_ON = "NOT EXISTS (SELECT 1 FROM cronograph.queue_group q WHERE q.name = r.group_name AND q.paused_at IS NOT NULL)"
# As in ``lane``: which runs are meant is known, so no other index may serve what is asked of them.
_RESERVED = "r.state || '' = 'scheduled' AND r.node_id + 0 = :node_id"


class Source(Enum):
    """Where runs are taken from; never from a group that was paused since they were looked for.

    ``QUEUE``: waiting and stuck ones that nobody else is taking. ``RESERVE``: those that were handed to this node.
    ``UNJUDGED``: of these the ones that no tolerance may keep from starting.
    """

    QUEUE = f"r.state || '' IN ({quoted(CLAIMABLE)}) AND {_GOES_ON}"
    RESERVE = f"{_RESERVED} AND {_GOES_ON}"
    UNJUDGED = f"{_RESERVED} AND {_GOES_ON} AND NOT {JUDGED}"

    @property
    def locking(self) -> str:
        """How PostgreSQL locks each of them: what others hold is passed over, or waited for."""
        return "FOR UPDATE SKIP LOCKED" if self is Source.QUEUE else "FOR UPDATE"


class Reserved(NamedTuple):
    """What an event says of a run that was reserved."""

    id: int
    task_id: int | None
    task_name: str | None
    job_name: str
    group: str


_IDS = bindparam("ids", type_=ARRAY(BIGINT))
_NOW = bindparam("now", type_=UtcDateTime())
_AMONG = "r.id IN (SELECT value FROM json_each(:ids))"


def _parameters(ids: Sequence[int], *, postgres: bool, **others: object) -> dict[str, object]:
    return {"ids": list(ids) if postgres else json.dumps(list(ids)), **others}


# In ascending order, so that those who wait for each other do so in one order; each is found by its key. A join of the
# parts of a statement would compare each run with each other one.
_LOCKED = """locked AS MATERIALIZED (
            SELECT r.id, w.place
            FROM (SELECT id, place FROM unnest(:ids) WITH ORDINALITY AS u(id, place) ORDER BY id) w
            CROSS JOIN LATERAL (
                SELECT r.id FROM cronograph.run r WHERE r.id = w.id AND {source} {locking}) r)"""


@cache
def _reserving(*, postgres: bool) -> TextualSelect:
    described = (r.c.id, r.c.task_id, r.c.task_name, r.c.job_name, r.c.group_name)
    names = ", ".join(one.name for one in described)
    if not postgres:
        return SchemaText(f"""
            UPDATE cronograph.run AS r SET state = 'scheduled', node_id = :node_id
            WHERE {_AMONG} AND {Source.QUEUE.value} RETURNING {names}""").columns(*described)
    statement = SchemaText(f"""
        WITH {_LOCKED.format(source=Source.QUEUE.value, locking=Source.QUEUE.locking)},
        reserved AS (
            UPDATE cronograph.run r SET state = 'scheduled', node_id = :node_id FROM locked WHERE r.id = locked.id
            RETURNING r.*)
        SELECT {names} FROM reserved""")
    return statement.bindparams(_IDS).columns(*described)


def reserve(conn: Connection, ids: Sequence[int], node_id: int) -> dict[int, Reserved]:
    """Hand those of these runs to a node that nobody else is taking, ahead of a free slot; no attempt begins."""
    postgres = dialect.is_postgresql(conn)
    parameters = _parameters(ids, postgres=postgres, node_id=node_id)
    return {row[0]: Reserved(*row) for row in conn.execute(_reserving(postgres=postgres), parameters)}


_EXECUTION = (
    "job_name, started_at, run_id, task_id, task_name, attempt, node_id, node, trigger, scheduled_for, submitted_at, "
    "log_lines, log_cut"
)
_OF_RUN = (
    "r.job_name, r.started_at, r.id, r.task_id, r.task_name, r.attempt, r.node_id, CAST(:node AS text), r.trigger, "
    "r.scheduled_for, r.submitted_at, 0, 0"
)
_BEGIN = "state = 'running', node_id = :node_id, attempt = r.attempt + 1, started_at = :now, progress = NULL"
# The fields of ``HeldRun`` in their order, but for the node, which is the caller's. A whole run takes longer to read.
_HELD = [r.c.group_name if name == "group" else r.c[name] for name in HeldRun._fields[:-2]]
_BEGUN = [*_HELD, r.c.checkpoint]
_RUN = ", ".join(f"r.{one.name}" for one in _BEGUN)
_EXECUTION_ID = column("execution_id", BigInteger())


@cache
def _starting_on_postgres(source: Source) -> TextualSelect:
    """Lock, begin the attempts and open their executions, in one statement."""
    statement = SchemaText(f"""
        WITH {_LOCKED.format(source=source.value, locking=source.locking)},
        chosen AS MATERIALIZED (
            SELECT l.id, nextval('cronograph.job_execution_id_seq') AS execution_id
            FROM (SELECT id FROM locked ORDER BY place) l),
        moment AS MATERIALIZED (SELECT coalesce(CAST(:now AS timestamptz), clock_timestamp()) AS at),
        begun AS (
            UPDATE cronograph.run r SET {_BEGIN.replace(":now", "moment.at")} FROM chosen c, moment
            WHERE r.id = c.id RETURNING {_RUN}, c.execution_id, r.node_id, r.submitted_at),
        opened AS (
            INSERT INTO cronograph.job_execution (id, {_EXECUTION}) OVERRIDING SYSTEM VALUE
            SELECT r.execution_id, {_OF_RUN} FROM begun r)
        SELECT {_RUN}, r.execution_id FROM begun r""")
    return statement.bindparams(_IDS, _NOW).columns(*_BEGUN, _EXECUTION_ID)


@cache
def _beginning_on_sqlite(source: Source) -> TextualSelect:
    statement = SchemaText(f"""
        UPDATE cronograph.run AS r SET {_BEGIN} WHERE {_AMONG} AND {source.value}
        RETURNING {_RUN.replace("r.", "")}""")
    return statement.bindparams(_NOW).columns(*_BEGUN)


_OPENING_ON_SQLITE = SchemaText(f"""
    INSERT INTO cronograph.job_execution ({_EXECUTION})
    SELECT {_OF_RUN} FROM json_each(:ids) w JOIN cronograph.run r ON r.id = w.value ORDER BY w.key
    RETURNING run_id, id""")


class Begun(NamedTuple):
    """An attempt that has begun; ``checkpoint`` is that of its run."""

    run: HeldRun
    checkpoint: Json
    execution_id: int


def _begun(row: Sequence[Any], node: tuple[int, str], execution_id: int) -> Begun:
    *held, checkpoint = row
    return Begun(HeldRun._make((*held, *node)), checkpoint, execution_id)


def start(
    conn: Connection, ids: Sequence[int], node: tuple[int, str], now: datetime | None, source: Source
) -> dict[int, Begun]:
    """Begin the next attempt of those of these runs that can be taken from ``source``, and open its execution.

    Args:
        conn: The transaction.
        ids: The runs, in the order in which their executions are to be numbered.
        node: The id and the name of the node that executes them.
        now: When the attempts begin; None on PostgreSQL: when the statement sees that they may. The time at which
            the transaction began could lie before the end of an attempt that had to end first.
        source: Where the runs are taken from.

    Returns:
        By id, what has begun.
    """
    postgres = dialect.is_postgresql(conn)
    parameters = _parameters(ids, postgres=postgres, node_id=node[0], node=node[1], now=now)
    if postgres:
        rows = conn.execute(_starting_on_postgres(source), parameters).all()
        return {row[0]: _begun(row[:-1], node, row[-1]) for row in rows}
    runs = {row[0]: row for row in conn.execute(_beginning_on_sqlite(source), parameters)}
    begun = _parameters([run_id for run_id in ids if run_id in runs], postgres=False, node=node[1])
    opened = conn.execute(_OPENING_ON_SQLITE, begun)
    return {run_id: _begun(runs[run_id], node, execution_id) for run_id, execution_id in opened}
