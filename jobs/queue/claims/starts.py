"""Statements of the claim: taking runs for a node, and starting them."""

from collections.abc import Sequence
from datetime import datetime
from enum import Enum, auto
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, String, bindparam, func, literal_column, select

from ...core.model import Json, Run, Trigger
from ...core.nodes import LIVE_NODES, NodeState
from ...core.states import CLAIMABLE, RunState
from ...store.db import dialect
from ...store.db.autocommit import PLANNED
from ...store.db.functions import sql_literals, unindexed
from ...store.db.unreadable import is_undecodable, readable
from ...store.read.runs import run_from, select_runs
from ...store.schema.tables import job_execution as x
from ...store.schema.tables import node as n
from ...store.schema.tables import run as r
from ..base import statements
from ..base.shapes import HeldRun, Reserved, reserved_from

LIVE = (
    select(n.c.state)
    .where(n.c.id == bindparam("node_id"), n.c.state.in_(sorted(state.value for state in LIVE_NODES)))
    # The weakest lock: declaring the node dead conflicts with it, its heartbeat does not.
    .with_for_update(read=True, key_share=True)
)
_LIVE_AND_NOW = LIVE.add_columns(func.statement_timestamp().label("now"), literal_column(PLANNED, String()))


def live_node(conn: Connection, node_id: int) -> tuple[NodeState | None, datetime | None]:
    """The state of a live node (nobody declares it dead before the commit), and the time if the database returns it.

    On PostgreSQL, what follows in its transaction is planned as on an ``AutocommitConnection``.
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
# Looked up: a third of the time of asking the enumeration.
_TRIGGERS: Final = {one.value: one for one in Trigger}


class Begun(NamedTuple):
    """An attempt that has begun; ``trigger`` and ``checkpoint`` are those of its run."""

    run: HeldRun
    trigger: Trigger
    checkpoint: Json
    execution_id: int


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
    parameters: dict[str, Any] = {
        "ids": list(ids),
        "node_id": node[0],
        "node": node[1],
        "now": now,
        "reserved": source is not Source.QUEUE,
        "unjudged": source is Source.UNJUDGED,
    }
    postgres = dialect.is_postgresql(conn)
    try:
        rows = statements.picked(conn, "start", parameters, (*_BEGUN, "execution_id") if postgres else _BEGUN)
    except Exception as error:
        if not is_undecodable(error):
            raise
        return _begun_and_readable(conn, ids, node)
    if postgres:
        return {row[0]: _begun(row[:-1], node, row[-1]) for row in rows}
    found = {row[0]: row for row in rows}
    begun = {"ids": [run_id for run_id in ids if run_id in found], "node": node[1]}
    opened = statements.picked(conn, "open_executions", begun, ("run_id", "execution_id"))
    return {run_id: _begun(found[run_id], node, execution_id) for run_id, execution_id in opened}


def _begun_and_readable(conn: Connection, ids: Sequence[int], node: tuple[int, str]) -> dict[int, Begun]:
    """Return what a statement has begun whose answer could not be read: row by row, without those that cannot be read.

    The node holds the others without knowing them, so ``losses.disown`` ends them; no attempt of theirs is open.
    """
    begun = (r.c.id.in_(ids), r.c.node_id == node[0], unindexed(r.c.state) == RunState.RUNNING.value)
    columns = [r.c[name] for name in _BEGUN]
    rows = readable(conn, select(*columns).where(*begun).order_by(r.c.id), r.c.id, tuple)
    found: dict[int, tuple[Any, ...]] = {row[0]: row for row in rows}
    wanted = [run_id for run_id in ids if run_id in found]
    opened: Sequence[Sequence[Any]]
    if dialect.is_postgresql(conn):
        opened = conn.execute(
            select(x.c.run_id, x.c.id).where(x.c.run_id.in_(wanted), x.c.completed_at.is_(None))
        ).all()
    else:
        opened = statements.picked(
            conn, "open_executions", {"ids": wanted, "node": node[1]}, ("run_id", "execution_id")
        )
    executions = {run_id: execution_id for run_id, execution_id in opened}
    return {run_id: _begun(found[run_id], node, executions[run_id]) for run_id in wanted}


def _begun(values: tuple[Any, ...], node: tuple[int, str], execution_id: int) -> Begun:
    held = HeldRun._make((*values[:-1], *node))
    return Begun(held, _TRIGGERS[held.trigger], values[-1], execution_id)
