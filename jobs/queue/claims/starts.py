"""Statements of the claim: taking runs for a node, and starting them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, auto
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import Connection, String, bindparam, func, literal_column, select

from ...core.events import STARTED
from ...core.model import Json, Run, Trigger
from ...core.nodes import LIVE_NODES, NodeState
from ...core.states import CLAIMABLE, RunState
from ...store.db import dialect
from ...store.db.autocommit import PLANNED
from ...store.db.functions import sql_literals, unindexed
from ...store.db.transaction import Tx
from ...store.db.unreadable import is_undecodable, readable
from ...store.schema.tables import job_execution as x
from ...store.schema.tables import node as n
from ...store.schema.tables import run as r
from ...store.statements import tasks as stored_tasks
from ...store.statements.runs import run_from, select_runs
from ..base import statements
from ..base.changes import many_changes
from ..base.shapes import HeldRun, Reserved, reserved_from

LIVE = (
    select(n.c.state)
    .where(n.c.id == bindparam("node_id"), n.c.state.in_(sorted(state.value for state in LIVE_NODES)))
    # The weakest lock: declaring the node dead conflicts with it, its heartbeat does not.
    .with_for_update(read=True, key_share=True)
)
_LIVE_AND_NOW = LIVE.add_columns(func.statement_timestamp().label("now"), literal_column(PLANNED, String()))


def live_node(conn: Connection, node_id: int) -> tuple[NodeState | None, datetime | None]:
    """Return the state of a live node, locked until the commit, and the time if the database returns it.

    On PostgreSQL, the rest of its transaction is planned as on an ``AutocommitConnection``.
    """
    statement = _LIVE_AND_NOW if dialect.is_postgresql(conn) else LIVE
    row = conn.execute(statement, {"node_id": node_id}).first()
    return None if row is None else NodeState(row.state), getattr(row, "now", None)


def lock_claimable(conn: Connection, ids: Sequence[int]) -> dict[int, Run]:
    """Lock these runs until the commit, except those that another transaction is taking, and return them."""
    statement = (
        select_runs()
        .where(r.c.id.in_(ids), unindexed(r.c.state).in_(sql_literals(CLAIMABLE)))
        .with_for_update(of=r, skip_locked=True)
    )
    return {run.id: run for run in readable(conn, statement, r.c.id, run_from)}


def lock_scheduled(conn: Connection, ids: Sequence[int], node_id: int) -> dict[int, Run]:
    """Lock until the commit those of these runs that are still handed to this node and that nobody else is changing."""
    statement = (
        select_runs()
        .where(r.c.id.in_(ids), unindexed(r.c.state) == RunState.SCHEDULED.value, r.c.node_id + 0 == node_id)
        .order_by(r.c.id)
        .with_for_update(of=r, skip_locked=True)
    )
    return {run.id: run for run in readable(conn, statement, r.c.id, run_from)}


class Source(Enum):
    """Take runs from a place in the queue, but never from a group that was paused since the look.

    ``QUEUE``: waiting and stuck ones that nobody else is taking. ``RESERVE``: those that were handed to this node.
    ``UNJUDGED``: of these the ones that no tolerance may keep from starting.
    """

    QUEUE = auto()
    RESERVE = auto()
    UNJUDGED = auto()


def reserve(conn: Connection, ids: Sequence[int], node_id: int) -> dict[int, Reserved]:
    """Hand those of these runs to a node that nobody else is taking, ahead of a free slot; no attempt begins."""
    rows = statements.execute(conn, "reserve", {"ids": list(ids), "node_id": node_id})
    return {row.id: reserved_from(row) for row in rows}


# All of a ``HeldRun`` but the node, which is the caller's, and the checkpoint. The id comes first.
_BEGUN: Final = (*("group_name" if name == "group" else name for name in HeldRun._fields[:-2]), "checkpoint")


_TASK: Final = _BEGUN.index("task_id")


@dataclass(frozen=True, slots=True)
class Started:
    """A run whose attempt has begun: ``run`` as it is now, its open execution, and the last checkpoint."""

    run: Run | HeldRun
    execution_id: int
    checkpoint: Json = None


def start(
    tx: Tx, ids: Sequence[int], node: tuple[int, str], source: Source, at: datetime | None = None
) -> dict[int, Started]:
    """Begin the next attempt of those of these runs that can be taken from ``source``; return them by id.

    Its execution is opened, and the first start of a run that a schedule made is noted at its task.

    Args:
        ids: The runs, in the order in which their executions are to be numbered.
        node: The id and the name of the node that executes them.
        source: Where the runs are taken from.
        at: When the attempts begin; None on PostgreSQL: when the statement sees that they may. The time at which
            the transaction began could lie before the end of an attempt that had to end first.
    """
    postgres = dialect.is_postgresql(tx.conn)
    wanted = (*_BEGUN, "execution_id") if postgres else _BEGUN
    try:
        rows = statements.picked(tx.conn, "start", parameters_of(ids, node, source, at or tx.own_now), wanted)
    except Exception as error:
        if not is_undecodable(error):
            raise
        rows = _begun_and_readable(tx.conn, ids, node)
    found = {row[0]: row for row in rows}
    if not postgres:
        begun = {"ids": [run_id for run_id in ids if run_id in found], "node": node[1]}
        opened = statements.picked(tx.conn, "open_executions", begun, ("run_id", "execution_id"))
        found = {run_id: (*found[run_id], execution_id) for run_id, execution_id in opened}
    started = {run_id: _started(row, node) for run_id, row in found.items()}
    if started:
        in_order = sorted(started.values(), key=attrgetter("execution_id"))
        tx.emit([many_changes(STARTED, node[1], ((one.run, one.execution_id) for one in in_order))])
    if postgres:
        return started
    scheduled = [one.run for one in started.values() if one.run.trigger == Trigger.SCHEDULE.value]
    firsts = {run.task_id for run in scheduled if run.attempt == 1 and run.task_id is not None}
    if firsts:
        stored_tasks.mark_started(tx.conn, sorted(firsts), tx.now)
    of_tasks = sorted({one.run.task_id for one in started.values() if one.run.task_id is not None})
    kept = stored_tasks.checkpoints(tx.conn, of_tasks) if of_tasks else {}
    # Without one of its task, the run itself keeps it.
    return {
        key: replace(one, checkpoint=kept.get(one.run.task_id or 0, one.checkpoint)) for key, one in started.items()
    }


def parameters_of(
    ids: Sequence[int], node: tuple[int, str], source: Source, now: datetime | None, *, with_event: bool = False
) -> dict[str, Any]:
    """Return the parameters of the statement ``start``."""
    reserved, unjudged = source is not Source.QUEUE, source is Source.UNJUDGED
    return {
        "ids": list(ids), "node_id": node[0], "node": node[1], "now": now, "reserved": reserved, "unjudged": unjudged,
        "with_event": with_event,
    }  # fmt: skip


def started_in(rows: Sequence[Any], node: tuple[int, str]) -> dict[int, Started]:
    """Return the runs that the statement ``start`` began, from its rows as psycopg returns them."""
    if not rows:
        return {}
    pick = statements.picker(rows[0]._fields, (*_BEGUN, "execution_id"))
    return {row.id: _started(pick(row), node) for row in rows}


def _begun_and_readable(conn: Connection, ids: Sequence[int], node: tuple[int, str]) -> list[tuple[Any, ...]]:
    """Return the started runs of a statement whose answer could not be read, row by row, without unreadable rows.

    The node holds the others without knowing them, so ``losses.disown`` ends them; no attempt of theirs is open.
    """
    begun = (r.c.id.in_(ids), r.c.node_id == node[0], unindexed(r.c.state) == RunState.RUNNING.value)
    columns = [r.c[name] for name in _BEGUN]
    rows = readable(conn, select(*columns).where(*begun).order_by(r.c.id), r.c.id, tuple)
    if not dialect.is_postgresql(conn):
        return rows
    opened = select(x.c.run_id, x.c.id).where(x.c.run_id.in_([row[0] for row in rows]), x.c.completed_at.is_(None))
    executions = {run_id: execution_id for run_id, execution_id in conn.execute(opened)}
    kept = stored_tasks.checkpoints(conn, sorted({row[_TASK] for row in rows if row[_TASK] is not None}))
    return [(*row[:-1], kept.get(row[_TASK], row[-1]), executions[row[0]]) for row in rows]


def _started(values: tuple[Any, ...], node: tuple[int, str]) -> Started:
    return Started(HeldRun._make((*values[:-2], *node)), values[-1], values[-2])
