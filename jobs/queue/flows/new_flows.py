"""Flows are put into the queue: all runs and their order, in one transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType

from sqlalchemy import Connection, insert, select, update

from ...core.admission.labels import inherited
from ...core.base.errors import AlreadyExists, InvalidInput, python_names
from ...core.defaults import JobDefaults, run_of_job
from ...core.events import EventKind
from ...core.flows import (
    FlowSpec,
    FlowState,
    NewFlow,
    NewMember,
    When,
    check_flow,
    ordered,
    references,
    unknown_in,
)
from ...core.limits import key_of_flow
from ...core.model import Json, NewRun, Run
from ...core.states import FINAL
from ...store.db import dialect, outbox
from ...store.db.transaction import Tx, Wake
from ...store.schema.flows import callback_document
from ...store.schema.tables import flow as f
from ...store.schema.tables import flow_edge as e
from ...store.schema.tables import flow_run as m
from ...store.schema.tables import run as r
from ...store.statements import jobs
from ..base.changes import created_changes
from ..base.new_runs import WAKES, NewRuns
from ..base.new_runs import insert as insert_runs
from ..enqueue.enqueue import Transaction, joined
from ..enqueue.requests import new_runs
from .flow_ends import emit_flow, end_if_over


def enqueue_flow_sync(session: Transaction, spec: FlowSpec, *, schema: str | None = None) -> int:
    """Put a flow into the queue as part of ``session``'s transaction, all of its runs or none. The caller commits.

    Any job name is accepted: the node that knows it may not have started yet.

    Returns:
        The id of the flow.

    Raises:
        UserError: its faults, each with its path. Nothing was added.
    """
    with joined(session, schema) as conn:
        tx = Tx(conn)
        flow_id = put_spec(tx, spec)
        outbox.append(conn, tx.now, tx.changes)
        dialect.notify(conn, str(WAKES.value))
    return flow_id


def put_spec(tx: Tx, spec: FlowSpec) -> int:
    """Put a flow into the queue as its caller describes it, all of its runs or none; return its id.

    Raises:
        UserError: see ``enqueue_flow_sync``.
    """
    new = new_flow(spec)
    with python_names():
        return put_flow(tx, new)


def new_flow(spec: FlowSpec) -> NewFlow:
    """Return the flow that a description means.

    Raises:
        UserError: its faults, each with its path.
    """
    check_flow(
        spec.name,
        spec.unique_key,
        spec.labels,
        is_open=spec.is_open,
        max_concurrent=spec.max_concurrent,
        deadline=spec.deadline,
    )
    if not spec.members and not spec.is_open:
        raise InvalidInput("runs: must be at least one, got none; add runs, or say open=True", path=("runs",))
    runs = new_runs(one.run for one in spec.members)
    members = [NewMember(one.key, run, one.after, one.when) for one, run in zip(spec.members, runs, strict=True)]
    callbacks = dict(zip(spec.callbacks, new_runs(spec.callbacks.values()), strict=True))
    labels = dict(spec.labels) if spec.labels else None
    return NewFlow(
        spec.name,
        tuple(ordered(members)),
        spec.is_open,
        spec.unique_key,
        callbacks,
        labels=labels,
        max_concurrent=spec.max_concurrent,
        deadline=spec.deadline,
        started_by=spec.started_by,
    )


def put_flow(
    tx: Tx,
    new: NewFlow,
    submitter: str | None = None,
    submitter_id: int | None = None,
    *,
    adopted: Mapping[str, Run] = MappingProxyType({}),
) -> int:
    """Insert a flow whose members are in order (see ``shape.ordered``); return its id.

    Args:
        submitter: Who has asked for it.
        adopted: New runs of this transaction that become members too, by their key.

    Raises:
        AlreadyExists: an unfinished flow has the unique key.
    """
    if new.unique_key is not None:
        refuse_taken(tx.conn, new.unique_key)
    run_id, task_id = new.started_by or (None, None)
    values = {
        "name": new.name,
        "state": FlowState.RUNNING.value,
        "unique_key": new.unique_key,
        "submitted_at": tx.now,
        "closed_at": None if new.is_open else tx.now,
        "submitter": submitter,
        "submitter_id": submitter_id,
        "parent_id": new.parent_id,
        "labels": new.labels or None,
        "started_by_run_id": run_id,
        "started_by_task_id": task_id,
        "deadline_at": None if new.deadline is None else tx.now + timedelta(seconds=new.deadline),
        "callbacks": {end.value: callback_document(run) for end, run in new.callbacks.items()},
    }
    flow_id: int = tx.conn.execute(insert(f).values(**values).returning(f.c.id)).scalar_one()
    emit_flow(tx, flow_id, FlowState.RUNNING, EventKind.FLOW_CREATED)
    put_members(tx, flow_id, new.members, {}, new.labels, new.max_concurrent)
    if adopted:
        _adopt(tx, flow_id, adopted, new.max_concurrent)
    # A full queue may have dropped all of them.
    if not new.members and all(one.state in FINAL for one in adopted.values()):
        end_if_over(tx, {flow_id})
    return flow_id


def _adopt(tx: Tx, flow_id: int, runs: Mapping[str, Run], max_concurrent: int | None) -> None:
    placed: dict[str, object] = {"flow_id": flow_id}
    if max_concurrent is not None:
        for one in runs.values():
            if one.concurrency_key is not None:
                raise _bounded_twice(one.job_name)
        placed |= {"concurrency_key": key_of_flow(flow_id), "max_concurrent": max_concurrent}
    tx.conn.execute(update(r).where(r.c.id.in_([one.id for one in runs.values()])).values(**placed))
    same = {"flow_id": flow_id, "condition": When.SUCCESS.value, "uses": None, "chain": None}
    dialect.insert_rows(
        tx.conn, m, [{**same, "run_id": run.id, "key": key} for key, run in runs.items()], (m.c.run_id,)
    )


def refuse_taken(conn: Connection, unique_key: str) -> None:
    """Refuse a key that an unfinished flow has.

    Raises:
        AlreadyExists: with the flow.
    """
    other = conn.execute(select(f.c.id).where(f.c.unique_key == unique_key, f.c.finished_at.is_(None))).scalar()
    if other is not None:
        raise AlreadyExists(
            f"uniqueKey: flow {other} has the key '{unique_key}' and is unfinished; wait for its end, cancel it, or "
            "take another key",
            path=("uniqueKey",),
        )


def put_members(
    tx: Tx,
    flow_id: int,
    members: Sequence[NewMember],
    known: dict[str, int],
    labels: dict[str, str] | None,
    max_concurrent: int | None = None,
) -> list[Run]:
    """Insert runs of a flow, those that come after others suspended; in their order.

    Args:
        flow_id: The flow, locked or new.
        members: In order. Their predecessors are among them or known.
        known: The runs that are in the flow already, by key.
        labels: Those of the flow.
        max_concurrent: How many of them run at once.

    Raises:
        InvalidInput: the flow bounds its runs, and a job of one bounds them, too.
    """
    if not members:
        return []
    bounded = max_concurrent is not None
    defaults = jobs.defaults(tx.conn, {one.run.job_name for one in members if one.run.inherits or bounded})
    new = NewRuns.of(
        as_member(one.run, flow_id, defaults, labels, suspended=bool(one.after), max_concurrent=max_concurrent)
        for one in members
    )
    runs = insert_runs(tx.conn, new, tx.now, defaults).stored(new)
    ids = {**known, **{one.key: run.id for one, run in zip(members, runs, strict=True)}}
    rows = [
        {
            "run_id": run.id,
            "flow_id": flow_id,
            "key": one.key,
            "condition": one.when.value,
            "uses": _uses(one.run.args),
            "chain": None,
        }
        for one, run in zip(members, runs, strict=True)
    ]
    edges = [
        {"run_id": run.id, "after_id": ids[key]}
        for one, run in zip(members, runs, strict=True)
        for key in dict.fromkeys(one.after)
    ]
    dialect.insert_rows(tx.conn, m, rows, (m.c.run_id,))
    dialect.insert_rows(tx.conn, e, edges, (e.c.run_id,))
    waiting = [run for one, run in zip(members, runs, strict=True) if not one.after]
    others = [run for one, run in zip(members, runs, strict=True) if one.after]
    tx.emit(replace(created_changes(waiting), flow_id=flow_id) for _ in waiting[:1])
    tx.emit(replace(created_changes(others), suspended=True, flow_id=flow_id) for _ in others[:1])
    tx.wake(Wake.RUNS)
    return runs


def put_again(tx: Tx, old_id: int, new: NewRun, published: Mapping[str, JobDefaults]) -> int:
    """Insert a run that takes the place of another one in its flow: its key, its predecessors and its successors.

    Args:
        tx: The transaction, which has locked the flow.
        old_id: The other one.
        new: The run, as ``as_member`` makes it.
        published: Its job's defaults.
    """
    kinds = NewRuns.of([new])
    (run,) = insert_runs(tx.conn, kinds, tx.now, published).stored(kinds)
    tx.conn.execute(update(m).where(m.c.run_id == old_id).values(run_id=run.id, chain=None, uses=_uses(new.args)))
    tx.conn.execute(update(e).where(e.c.run_id == old_id).values(run_id=run.id))
    tx.conn.execute(update(e).where(e.c.after_id == old_id).values(after_id=run.id))
    created = created_changes([run])
    tx.emit([replace(created, suspended=new.suspended, flow_id=new.flow_id)])
    tx.wake(Wake.RUNS)
    return run.id


def forget_uses(conn: Connection, run_id: int) -> None:
    """Keep the arguments that a run of a flow was given by hand, also when the flow is retried."""
    conn.execute(update(m).where(m.c.run_id == run_id).values(uses=None))


def _uses(args: dict[str, Json]) -> dict[str, Json] | None:
    """Return the keys whose results arguments take, and the arguments as they are before these are filled in."""
    keys = sorted({str(key) for key in references(args).values()})
    return {"keys": keys, "args": args} if keys else None


def _bounded_twice(job_name: str) -> InvalidInput:
    return InvalidInput(
        f"maxConcurrent: job '{job_name}' has a max_concurrent of its own, and a run has one such bound; leave one of "
        "the two out",
        path=("maxConcurrent",),
    )


def as_member(
    run: NewRun,
    flow_id: int,
    defaults: Mapping[str, JobDefaults],
    labels: dict[str, str] | None = None,
    *,
    suspended: bool,
    max_concurrent: int | None = None,
) -> NewRun:
    """Return a run as it is put into a flow, with the inherited settings that do not depend on unknown arguments.

    Args:
        defaults: The defaults of jobs, by name.
        labels: Those of the flow.
        suspended: Whether it comes after others.
        max_concurrent: How many runs of the flow run at once.

    Raises:
        InvalidInput: the flow bounds its runs, and the job does, too.
    """
    of_job = run_of_job(run, defaults[run.job_name], unknown=unknown_in(run.args)) if run.inherits else run
    # No other run stands for a run of a flow: its key there is what makes it unique.
    placed = replace(of_job, flow_id=flow_id, suspended=suspended, unique_key=None)
    if max_concurrent is not None:
        limits = defaults[run.job_name].limits
        if placed.concurrency_key is not None or (limits is not None and limits.max_concurrent is not None):
            raise _bounded_twice(run.job_name)
        placed = replace(placed, concurrency_key=key_of_flow(flow_id), max_concurrent=max_concurrent)
    return placed if not labels else replace(placed, parent_labels=inherited(run.parent_labels, labels))
