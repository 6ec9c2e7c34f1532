"""Runs that a run has begun and waits for: a flow whose end wakes it, and runs that others have begun.

A job's declared settings hold for these runs, too: a cap may refuse one, and where a unique key is held, the step
waits for the run that has it. Such a run is not in the flow.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import Connection, and_, bindparam, delete, exists, select, union

from ...core.base.errors import InvalidState
from ...core.base.resources import handed_on
from ...core.defaults import FOLLOWED
from ...core.flows import NewFlow, NewMember, StartedBy, When
from ...core.model import Json, NewRun, Run, Trigger
from ...core.outcome import Cancellation
from ...core.rules import MAX_UNIQUE_KEY
from ...core.states import RunState
from ...core.steps import PLACE
from ...core.waits import Wait
from ...store.db import dialect
from ...store.db.transaction import Tx
from ...store.schema.flows import callback_from
from ...store.schema.tables import flow as f
from ...store.schema.tables import flow_run as m
from ...store.schema.tables import run as r
from ...store.schema.tables import run_awaited as a
from ...store.schema.tables import run_step as s
from ...store.statements import jobs
from ..base.apart import CLEANUP, ON_CANCEL, in_halves, note_lost
from ..base.shapes import HeldRun
from ..enqueue.enqueue import (
    FAILURE_OF,
    FollowUp,
    are_held_apart,
    put,
    put_following,
    refuse_misplaced,
    shown_args,
)
from ..enqueue.requests import new_runs
from .new_flows import put_flow


def begin(tx: Tx, parent: Run, asked: Wait) -> int | None:
    """Put the runs of a wait into the queue, all or none; return the flow that they are, None if each was there before.

    Raises:
        UserError: a fault of one of them; a full queue refuses one; one would wait for its own end.
    """
    runs = new_runs(asked.runs)
    refuse_misplaced(tx.conn, runs)
    apart = are_held_apart(tx, runs)
    judged = {place: runs[place] for place, one in enumerate(apart) if one}
    found = dict(zip(judged, put(tx, list(judged.values())), strict=True)) if judged else {}
    _attach(tx, parent, asked, {place: one.run.id for place, one in found.items() if one.deduplicated})
    own = {str(place): one.run for place, one in found.items() if not one.deduplicated}
    members = tuple(NewMember(str(place), runs[place]) for place, one in enumerate(apart) if not one)
    flow_id = None
    if members or own:
        flow_id = _as_flow(tx, parent, asked, members, own)
    if parent.keeps_place and parent.max_concurrent == 1:
        _refuse_own_key(tx, parent, asked, flow_id)
    return flow_id


def _as_flow(tx: Tx, parent: Run, asked: Wait, members: tuple[NewMember, ...], own: Mapping[str, Run]) -> int:
    by = StartedBy(parent.id, parent.task_id)
    name = f"{parent.job_name}: {asked.label}"[:200]
    new = NewFlow(name, members, parent_id=parent.id, started_by=by, max_concurrent=asked.max_concurrent)
    return put_flow(tx, new, parent.submitter, parent.submitter_id, adopted=own)


def _refuse_own_key(tx: Tx, parent: Run, asked: Wait, flow_id: int | None) -> None:
    """Refuse a wait for a run that needs the only place of a key, which its parent keeps until that run has ended."""
    ids = [row.id for row in _awaited(tx.conn, parent.id, asked.label, flow_id)]
    needs_it = (r.c.id.in_(ids), r.c.concurrency_key == parent.concurrency_key, r.c.finished_at.is_(None))
    found = tx.conn.execute(select(r.c.job_name).where(*needs_it).order_by(r.c.id)).first()
    if found is not None:
        raise InvalidState(
            f"step '{asked.label}': would wait for its own end: this run ({parent.id}) keeps the only place of the "
            f"concurrency key '{parent.concurrency_key}' until it is finished, and job '{found.job_name}' has it, "
            'too; give one of them another key, or hold="running"',
            path=("concurrencyKey",),
        )


def _attach(tx: Tx, parent: Run, asked: Wait, runs: dict[int, int]) -> None:
    """Have a step wait for runs, by their place, that others have begun."""
    if not runs:
        return
    if parent.id in _all_awaited(tx.conn, runs.values()):
        held = sorted(set(runs.values()))
        raise InvalidState(
            f"step '{asked.label}': would wait for its own end: the unique key is held by run {held[0]}, which is this "
            f"run ({parent.id}) or waits for it; give the run it begins another key",
            path=("uniqueKey",),
        )
    mine = {"run_id": parent.id, "step": asked.label}
    rows = [{**mine, "number": place, "awaited_id": run_id} for place, run_id in runs.items()]
    dialect.insert_rows(tx.conn, a, rows, (a.c.run_id, a.c.step, a.c.number))


def _all_awaited(conn: Connection, run_ids: Collection[int]) -> set[int]:
    """Return these runs, all runs that they wait for, and so on."""
    found, following = set[int](), set(run_ids)
    while following:
        found |= following
        flows = select(m.c.run_id).join_from(f, m, m.c.flow_id == f.c.id).where(f.c.parent_id.in_(following))
        others = select(a.c.awaited_id).where(a.c.run_id.in_(following))
        following = set(conn.execute(union(flows, others)).scalars()) - found
    return found


def ended(conn: Connection, parent_id: int, step: str, flow_id: int | None) -> list[Json] | None:
    """Return the ends of a step's runs, in the order in which they were given; None: one of them has not ended."""
    if flow_id is not None and conn.execute(select(f.c.finished_at).where(f.c.id == flow_id)).scalar_one() is None:
        return None
    rows = _awaited(conn, parent_id, step, flow_id)
    if any(row.finished_at is None and row.state is not None for row in rows):
        return None
    return [_end(row) for row in rows]


def _end(row: Any) -> dict[str, Json]:
    if row.state is None:
        error = f"run {row.id} was deleted before its end was read"
        return {"id": row.id, "job": "", "state": RunState.FAILED.value, "value": None, "error": error}
    return {"id": row.id, "job": row.job_name, "state": row.state, "value": row.result, "error": row.error}


def forget(conn: Connection, parent_id: int, step: str) -> None:
    """Note that the step has read how the runs ended: nobody needs them for it any more."""
    conn.execute(delete(a).where(a.c.run_id == parent_id, a.c.step == step))


def unfinished(conn: Connection, parent_id: int, step: str, flow_id: int | None) -> tuple[int, ...]:
    """Return the runs of a step that have not ended."""
    rows = _awaited(conn, parent_id, step, flow_id)
    return tuple(sorted(row.id for row in rows if row.finished_at is None and row.state is not None))


def _awaited(conn: Connection, parent_id: int, step: str, flow_id: int | None) -> Sequence[Any]:
    """Return the runs of a step, by their place."""
    columns = (r.c.job_name, r.c.state, r.c.result, r.c.error, r.c.finished_at)
    others = select(a.c.number.label("place"), a.c.awaited_id.label("id"), *columns).outerjoin_from(
        a, r, r.c.id == a.c.awaited_id
    )
    found = list(conn.execute(others.where(a.c.run_id == parent_id, a.c.step == step)).all())
    if flow_id is not None:
        members = select(m.c.key.label("place"), r.c.id, *columns).join_from(m, r, r.c.id == m.c.run_id)
        found += conn.execute(members.where(m.c.flow_id == flow_id)).all()
    return sorted(found, key=lambda row: int(row.place))


def below(conn: Connection, run_ids: Sequence[int]) -> list[int]:
    """Return the unfinished runs that these runs have begun and wait for, and for which nobody else waits."""
    waiting = r.alias("waiting")
    wanted = exists().where(
        a.c.awaited_id == m.c.run_id,
        a.c.run_id.not_in(run_ids),
        waiting.c.id == a.c.run_id,
        waiting.c.finished_at.is_(None),
    )
    statement = (
        select(m.c.run_id)
        .join_from(f, m, m.c.flow_id == f.c.id)
        .join(r, r.c.id == m.c.run_id)
        .where(f.c.parent_id.in_(run_ids), f.c.finished_at.is_(None), r.c.finished_at.is_(None), ~wanted)
        .order_by(m.c.run_id)
    )
    return list(conn.execute(statement).scalars())


def all_over(run_id: Any, step: Any, flow_id: Any) -> Any:
    """Return whether the runs have ended that the step of these columns waits for."""
    of_step = and_(a.c.run_id == run_id, a.c.step == step)
    pending = exists().where(of_step, r.c.id == a.c.awaited_id, r.c.finished_at.is_(None))
    in_flow = exists().where(f.c.id == flow_id, f.c.finished_at.is_(None))
    return ~pending & ~in_flow


_CLEANUPS: Final = (
    select(s.c.run_id, s.c.step, s.c.attempt, s.c.cleanup)
    .where(s.c.run_id.in_(bindparam("ids", expanding=True)), s.c.failure == 0, s.c.cleanup.is_not(None))
    .order_by(s.c.run_id)
)


def undo(tx: Tx, ended: Sequence[Run | HeldRun]) -> None:
    """Enqueue the cleanups of steps of runs that have failed for good or were cancelled.

    Of each run it is a flow, in which each cleanup starts after the one before it has ended, however that ended.
    """
    begun = {run.id: run for run in ended if run.attempt > 0}
    if not begun:
        return
    rows = tx.conn.execute(_CLEANUPS, {"ids": sorted(begun)}).all()
    flows = [
        (begun[run_id], sorted(some, key=_order, reverse=True)) for run_id, some in groupby(rows, attrgetter("run_id"))
    ]
    lost = in_halves(tx, flows, lambda some: [_put(tx, *one) for one in some])
    for (run, _), error in lost:
        note_lost(tx, run.id, CLEANUP, None, error)


def _order(row: Any) -> tuple[int, int]:
    """Return the order in which cleanups were registered."""
    return row.attempt, row.cleanup[PLACE]


def _put(tx: Tx, run: Run | HeldRun, rows: Sequence[Any]) -> int:
    """Put the cleanups of a run, in their order, into the queue; return their flow."""
    members: list[NewMember] = []
    for number, row in enumerate(rows, 1):
        key = row.step if len(row.step) <= MAX_UNIQUE_KEY else f"step {number}"
        new = replace(callback_from(row.cleanup), submitter=run.submitter, submitter_id=run.submitter_id)
        members.append(NewMember(key, new, tuple(one.key for one in members[-1:]), When.ALWAYS))
    flow = NewFlow(
        f"cleanup of run {run.id}",
        tuple(members),
        labels=dict(run.labels) if run.labels else None,
        started_by=StartedBy(run.id, run.task_id),
    )
    return put_flow(tx, flow, run.submitter, run.submitter_id)


def enqueue_cancel_jobs(tx: Tx, cancelled: Sequence[tuple[Run | HeldRun, str | None]]) -> None:
    """Enqueue runs of the jobs that the jobs of these cancelled runs name by ``on_cancel``.

    Args:
        tx: The transaction in which they end.
        cancelled: Each with the reason.
    """
    of_note = [(run, reason) for run, reason in cancelled if FAILURE_OF not in (run.carried or {})]
    if not of_note:
        return
    defaults = jobs.defaults(tx.conn, {run.job_name for run, _ in of_note})
    put_following(
        tx,
        [
            FollowUp(run.id, ON_CANCEL, job, partial(_cancel_job, job, run, reason))
            for run, reason in of_note
            if (job := defaults[run.job_name].on_cancel) is not None
        ],
    )


def _cancel_job(job_name: str, run: Run | HeldRun, reason: str | None) -> NewRun:
    cancellation = Cancellation(run.id, run.job_name, run.attempt, reason, run.task_name, shown_args(run))
    return NewRun(
        job_name=job_name,
        trigger=Trigger.API,
        args={"cancellation": cancellation.document()},
        inherits=FOLLOWED,
        carried={**handed_on(run.carried), FAILURE_OF: run.id},
        parent_labels=run.labels,
    )
