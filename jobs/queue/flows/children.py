"""Runs that a run has begun and waits for: a flow whose end wakes it."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, select

from ...core.durable.waits import Wait
from ...core.flows.model import NewFlow, NewMember
from ...core.model import Json, Run
from ...store.db.transaction import Tx
from ...store.schema.tables import flow as f
from ...store.schema.tables import flow_run as m
from ...store.schema.tables import run as r
from ..enqueue.enqueue_many import new_runs
from .new_flows import put_flow


def begin(tx: Tx, parent: Run, asked: Wait) -> int:
    """Put the runs of a wait into the queue, all or none; the flow that they are.

    Raises:
        UserError: what is wrong with one of them.
    """
    members = tuple(NewMember(str(place), run) for place, run in enumerate(new_runs(asked.runs)))
    name = f"{parent.job_name}: {asked.label}"[:200]
    new = NewFlow(name, members, parent_id=parent.id)
    return put_flow(tx, new, parent.submitter, parent.submitter_id)


def ended(conn: Connection, flow_id: int) -> list[Json] | None:
    """How the runs of a flow ended, in the order in which they were given; None: it has not ended."""
    if conn.execute(select(f.c.finished_at).where(f.c.id == flow_id)).scalar_one() is None:
        return None
    rows = sorted(_members(conn, flow_id), key=lambda row: int(row.key))
    return [_end(row) for row in rows]


def _end(row: Any) -> dict[str, Json]:
    return {"id": row.id, "job": row.job_name, "state": row.state, "value": row.result, "error": row.error}


def unfinished(conn: Connection, flow_id: int) -> tuple[int, ...]:
    """The runs of a flow that have not ended."""
    return tuple(sorted(row.id for row in _members(conn, flow_id) if row.finished_at is None))


def _members(conn: Connection, flow_id: int) -> Sequence[Any]:
    columns = (m.c.key, r.c.id, r.c.job_name, r.c.state, r.c.result, r.c.error, r.c.finished_at)
    return conn.execute(select(*columns).join_from(m, r, r.c.id == m.c.run_id).where(m.c.flow_id == flow_id)).all()


def below(conn: Connection, run_ids: Sequence[int]) -> list[int]:
    """The unfinished runs that these runs wait for."""
    statement = (
        select(m.c.run_id)
        .join_from(f, m, m.c.flow_id == f.c.id)
        .join(r, r.c.id == m.c.run_id)
        .where(f.c.parent_id.in_(run_ids), f.c.finished_at.is_(None), r.c.finished_at.is_(None))
        .order_by(m.c.run_id)
    )
    return list(conn.execute(statement).scalars())
