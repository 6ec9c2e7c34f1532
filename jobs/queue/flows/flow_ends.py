"""Follow up ended runs of flows: start or skip their successors, and end flows.

This is a part of the transaction in which the runs end. Nothing is counted: whether a run may start is read from the
states of those that it comes after. The flow is locked first, so that of two transactions that end the last runs before
another one, the second sees the work of the first.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, bindparam, func, or_, select, union, update

from ...core.defaults import JobDefaults
from ...core.events import Change, EventKind
from ...core.flows import Before, Ending, FlowState, Standing, When, chained, end_of, filled, standing
from ...core.limits import Keys
from ...core.model import Run
from ...core.states import FINAL, RunState
from ...store.db import dialect
from ...store.db.transaction import Tx, Wake
from ...store.schema.flows import callback_from
from ...store.schema.tables import flow as f
from ...store.schema.tables import flow_run as m
from ...store.schema.tables import run as r
from ...store.statements import jobs
from ...store.statements import runs as stored_runs
from ..base import runs as run_store
from ..base import statements
from ..base.apart import CALLBACK, FLOW, in_halves, note_lost, reason_of
from ..base.changes import run_change, wake
from ..base.runs import lock
from ..base.shapes import HeldRun, Reserved
from ..enqueue.enqueue import FinalFailure, FollowUp, enqueue_failure_jobs, put_following

NOTHING: Final[Mapping[int, int]] = MappingProxyType({})
_NEWEST: Final = select(func.max(m.c.run_id)).where(m.c.flow_id == bindparam("id"))


class Ended(NamedTuple):
    """A run of a flow that has reached a final state in this transaction."""

    run_id: int
    flow_id: int
    state: RunState


_KEPT: Final = "PREDECESSOR: "
"""Begins the error of a run that those that it comes after have kept from starting."""


def was_kept(run: Run) -> bool:
    """Return whether a run is skipped since those that it comes after ended otherwise than it needs."""
    return run.state is RunState.SKIPPED and (run.error or "").startswith(_KEPT)


def ended_of(ends: Iterable[tuple[Run | HeldRun, RunState]]) -> list[Ended]:
    """Return the ends that concern a flow, since they are final."""
    return [Ended(run.id, run.flow_id, state) for run, state in ends if run.flow_id is not None and state in FINAL]


def hold(conn: Connection, flow_ids: Collection[int | None], to_cancel: Sequence[int] = ()) -> None:
    """Lock flows before their runs are changed, in ascending order. SQLite's single writer needs no locks.

    Args:
        to_cancel: Runs with which those that they wait for may be cancelled: their flows, and so on, are locked too.
    """
    ids = sorted({one for one in flow_ids if one is not None})
    if not (ids or to_cancel) or not dialect.is_postgresql(conn):
        return
    these = f.c.id.in_(ids) if not to_cancel else or_(f.c.id.in_(ids), f.c.id.in_(_reached(to_cancel)))
    conn.execute(select(f.c.id).where(these).order_by(f.c.id).with_for_update())


_MAY_BE_OVERDUE: Final = (f.c.deadline_at.is_not(None), f.c.finished_at.is_(None))
"""As the index of those that have to end by a time says it."""


def next_deadline(conn: Connection) -> datetime | None:
    """Return when the next flow has to have ended that was not asked to stop; None = none has to."""
    earliest = select(func.min(f.c.deadline_at)).where(*_MAY_BE_OVERDUE, f.c.cancel_requested_at.is_(None))
    return conn.execute(earliest).scalar()


def overdue(conn: Connection, now: datetime) -> int | None:
    """Lock a flow that had to end before now and was not asked to stop, the longest overdue; None = there is none."""
    these = (
        select(f.c.id)
        .where(f.c.deadline_at <= now, *_MAY_BE_OVERDUE, f.c.cancel_requested_at.is_(None))
        .order_by(f.c.deadline_at, f.c.id)
        .limit(1)
    )
    return conn.execute(these.with_for_update(skip_locked=True)).scalar()


def hold_of(conn: Connection, *which: ColumnElement[bool]) -> None:
    """Lock the flows of the runs that meet these conditions, before the runs themselves are locked.

    Everybody locks flows first and runs after them, both in ascending order. So of two transactions one waits for the
    other, and none waits for each other.
    """
    if dialect.is_postgresql(conn):
        theirs = select(r.c.flow_id).where(*which, r.c.flow_id.is_not(None))
        conn.execute(select(f.c.id).where(f.c.id.in_(theirs)).order_by(f.c.id).with_for_update())


def busy_members(conn: Connection, run_ids: Sequence[int]) -> set[int]:
    """Lock the flows of these runs; return the runs whose flows somebody else has locked."""
    if not dialect.is_postgresql(conn):
        return set()
    wanted = {row.id: row.flow_id for row in conn.execute(select(r.c.id, r.c.flow_id).where(r.c.id.in_(run_ids)))}
    flows = sorted({one for one in wanted.values() if one is not None})
    if not flows:
        return set()
    tried = select(f.c.id).where(f.c.id.in_(flows)).order_by(f.c.id).with_for_update(skip_locked=True)
    held = set(conn.execute(tried).scalars())
    return {run_id for run_id, flow_id in wanted.items() if flow_id is not None and flow_id not in held}


def _reached(run_ids: Sequence[int]) -> Select[tuple[int]]:
    own = select(r.c.flow_id.label("id")).where(r.c.id.in_(run_ids), r.c.flow_id.is_not(None))
    begun = select(f.c.id).where(f.c.parent_id.in_(run_ids), f.c.finished_at.is_(None))
    reached = begun.cte("begun", recursive=True)
    below = select(f.c.id).join_from(reached, m, m.c.flow_id == reached.c.id).join(f, f.c.parent_id == m.c.run_id)
    reached = reached.union(below.where(f.c.finished_at.is_(None)))
    return select(union(own, select(reached.c.id)).subquery().c.id)


def settle(tx: Tx, ended: Sequence[Ended]) -> None:
    """Start or skip the successors of these runs, whose flows are locked; end the flows of which nothing is left.

    The runs have ended in any case: a failure in one flow is recorded on the runs that ended there.
    """
    by_flow: dict[int, list[Ended]] = {}
    for one in ended:
        by_flow.setdefault(one.flow_id, []).append(one)
    lost = in_halves(tx, list(by_flow.values()), lambda flows: _settle(tx, [one for some in flows for one in some]))
    for some, error in lost:
        note_lost(tx, some[-1].run_id, FLOW, None, error)


def _settle(tx: Tx, ended: Sequence[Ended]) -> None:
    unsuccessful = [one.run_id for one in ended if one.state is not RunState.SUCCESS]
    unfinished = release(tx, [one.run_id for one in ended], unsuccessful)
    over = {one.flow_id for one in ended} - unfinished
    if over:
        end_if_over(tx, over, {one.flow_id: one.run_id for one in ended})


def release(tx: Tx, ended: Sequence[int], unsuccessful: Sequence[int]) -> set[int]:
    """Start or skip the runs that waited for ended runs; a skipped run has ended as well.

    Returns the flows of which a run was seen that is unfinished; others may have one too.

    Args:
        tx: The transaction, which has locked the flows.
        unsuccessful: Those of them that have not succeeded.
    """
    chains: dict[int, tuple[str, ...]] = {}
    unfinished: set[int] = set()
    while ended:
        doomed = _doomed(tx.conn, unsuccessful, chains) if unsuccessful else {}
        _skip(tx, doomed)
        ready: list[Any] = []
        never: dict[int, str] = {}
        for row in statements.execute(tx.conn, "flow_following", {"ids": [*ended, *doomed]}):
            before = Before(bool(row.unfinished), bool(row.failed), bool(row.unsuccessful))
            match standing(When(row.condition), before):
                case Standing.START:
                    ready.append(row)
                case Standing.SKIP:
                    never[row.run_id] = "none of the runs that it comes after failed"
                case Standing.WAIT:
                    unfinished.add(row.flow_id)
        failed = _start(tx, ready)
        unfinished |= {row.flow_id for row in ready if row.run_id not in failed}
        chains |= dict.fromkeys((*never, *failed), ())
        _skip(tx, never)
        ended = unsuccessful = [*never, *failed]
    return unfinished


def _doomed(conn: Connection, unsuccessful: Sequence[int], chains: dict[int, tuple[str, ...]]) -> dict[int, str]:
    """Return the runs that can never start since these did not succeed, directly or not; of each the reason.

    ``chains`` gains the chain of each.
    """
    rows = {row.run_id: row for row in statements.execute(conn, "flow_doomed", {"ids": list(unsuccessful)})}
    found: dict[int, str] = {}
    pending = sorted(rows)
    while pending:
        later: list[int] = []
        for run_id in pending:
            row = rows[run_id]
            if row.cause_id in rows and row.cause_id not in found:
                later.append(run_id)
                continue
            chains[run_id] = chain = chained(chains.get(row.cause_id, ()), row.cause_key)
            first = "" if len(chain) == 1 else f", because '{chain[0]}' did not succeed"
            state = RunState.SKIPPED.value if row.cause_id in found else row.cause_state
            found[run_id] = f"'{row.cause_key}', which it comes after, was {state}{first}".replace(
                "was failed", "failed"
            )
        pending = later
    for chunk in _chunks([(run_id, list(chains[run_id])) for run_id in found]):
        columns = {"id": dialect.KINDS[int], "chain": dialect.KINDS[dict]}
        batch, parameters = dialect.batch(conn, columns, chunk)
        conn.execute(update(m).where(m.c.run_id == batch.c.id).values(chain=batch.c.chain), parameters)
    return found


def _skip(tx: Tx, reasons: Mapping[int, str]) -> None:
    columns = {"id": dialect.KINDS[int], "error": dialect.KINDS[str]}
    for chunk in _chunks([(run_id, f"{_KEPT}{reason}") for run_id, reason in reasons.items()]):
        batch, parameters = dialect.batch(tx.conn, columns, chunk)
        ended = {"state": RunState.SKIPPED.value, "finished_at": tx.now, "awaits": None, "wake_at": None}
        statement = (
            update(r)
            .where(r.c.id == batch.c.id)
            .values(**ended, error=batch.c.error)
            .returning(r.c.id, r.c.task_id, r.c.task_name, r.c.job_name, r.c.group_name, r.c.flow_id)
        )
        rows = sorted((Reserved(*row) for row in tx.conn.execute(statement, parameters)), key=lambda run: run.id)
        tx.emit(run_change(run, RunState.SKIPPED) for run in rows)


def _chunks(rows: list[tuple[Any, ...]]) -> Iterable[list[tuple[Any, ...]]]:
    return (rows[first : first + 1000] for first in range(0, len(rows), 1000))


def _start(tx: Tx, ready: Sequence[Any]) -> frozenset[int]:
    """Let runs wait for a node, with the results in their arguments that they take from others.

    Returns those that failed instead, since their arguments cannot hold these results.
    """
    filling = [row for row in ready if row.uses is not None]
    lost = in_halves(tx, filling, partial(_fill_in, tx.conn))
    failed = frozenset(row.run_id for row, _ in lost)
    wake(tx, [row.run_id for row in ready if row.run_id not in failed])
    failures: list[FinalFailure] = []
    for row, error in lost:
        what = f"the results that run {row.run_id} takes from others of flow {row.flow_id} do not become its arguments"
        sentence = f"the results that it takes from others do not become its arguments: {reason_of(what, error)}"
        run_store.fail(tx.conn, row.run_id, sentence, tx.now)
        run = stored_runs.by_ids(tx.conn, [row.run_id])[row.run_id]
        tx.emit([run_change(run, RunState.FAILED)])
        failures.append(FinalFailure(run, sentence, type(error).__name__))
    enqueue_failure_jobs(tx, failures)
    return failed


def end_alone(tx: Tx, run_id: int, state: RunState, sentence: str) -> None:
    """End a locked run of which no more can be read than its id, or cannot be ended in the usual way, and its flow.

    Args:
        tx: The transaction; its flow is locked.
        run_id: The run, which no node executes any more.
        state: ``FAILED`` or ``SKIPPED``.
        sentence: Why.
    """
    flow_id = run_store.end_unread(tx.conn, run_id, state, sentence, tx.now)
    tx.emit([Change(EventKind.RUN_UPDATED, run_id=run_id, state=state.value, flow_id=flow_id)])
    tx.wake(Wake.RUNS | Wake.PLACES)
    if flow_id is not None:
        settle(tx, [Ended(run_id, flow_id, state)])


def _fill_in(conn: Connection, rows: Sequence[Any]) -> None:
    known: dict[str, JobDefaults] = {}
    for row in rows:
        _fill_in_one(conn, row.run_id, row.flow_id, known)


def _fill_in_one(conn: Connection, run_id: int, flow_id: int, known: dict[str, JobDefaults]) -> None:
    """Give a run its results, and the keys and labels that follow from them, as its job says now.

    Args:
        known: The known defaults of jobs; gains those that are read here.
    """
    its = (
        select(m.c.uses, r.c.job_name, r.c.labels, *(r.c[name] for name in Keys._fields))
        .join_from(m, r, r.c.id == m.c.run_id)
        .where(m.c.run_id == run_id)
    )
    row: Any = conn.execute(its).one()
    uses, job_name, labels = row.uses, row.job_name, row.labels
    if job_name not in known:
        known |= jobs.defaults(conn, {job_name})
    results = (
        select(m.c.key, r.c.result)
        .join_from(m, r, r.c.id == m.c.run_id)
        .where(m.c.flow_id == flow_id, m.c.key.in_(uses["keys"]))
    )
    values = {row.key: row.result for row in conn.execute(results)}
    args = filled(uses["args"], values)
    limits, rule = known[job_name].limits, known[job_name].labels
    keys = {} if limits is None else limits.keys_of(job_name, args, Keys.of(row))._asdict()
    conn.execute(update(r).where(r.c.id == run_id).values(args=args, **keys))
    made = labels if rule is None else rule.as_far_as_possible(args, labels or {})
    if (made or {}) != (labels or {}):
        run_store.relabel(conn, run_id, labels or {}, made)


def end_if_over(tx: Tx, flow_ids: Collection[int], last: Mapping[int, int] = NOTHING) -> None:
    """End those of these locked flows that are closed and whose runs are all over.

    Args:
        last: By flow the run that ended last, on which a callback that is refused is recorded; unless given, the
            newest of the flow.
    """
    for row in statements.execute(tx.conn, "flows_over", {"ids": sorted(flow_ids)}).all():
        states = _states(tx.conn, row.id)
        state = end_of(states)
        tx.conn.execute(update(f).where(f.c.id == row.id).values(state=state.value, finished_at=tx.now))
        emit_flow(tx, row.id, state)
        found, parent, labels = tx.conn.execute(
            select(f.c.callbacks, f.c.parent_id, f.c.labels).where(f.c.id == row.id)
        ).one()
        if parent is not None:
            # Locked: if its attempt is ending at this moment, one of the two transactions sees the other.
            lock(tx.conn, [parent])
            wake(tx, [parent])
        ends = (Ending.END, Ending.SUCCESS if state is FlowState.SUCCESS else Ending.FAILURE)
        callbacks = [found[end.value] for end in ends if end.value in found]
        if callbacks:
            of = last.get(row.id) or tx.conn.execute(_NEWEST, {"id": row.id}).scalar_one()
            put_following(
                tx,
                [FollowUp(of, CALLBACK, one["job_name"], partial(callback_from, one, labels)) for one in callbacks],
            )


def emit_flow(tx: Tx, flow_id: int, state: FlowState, kind: EventKind = EventKind.FLOW_UPDATED) -> None:
    """Emit the event of a flow that is now in ``state``."""
    tx.emit([Change(kind, flow_id=flow_id, state=state.value)])
    tx.wake(Wake.EVENTS)


def _states(conn: Connection, flow_id: int) -> dict[RunState, int]:
    statement = (
        select(r.c.state, func.count())
        .join_from(m, r, r.c.id == m.c.run_id)
        .where(m.c.flow_id == flow_id)
        .group_by(r.c.state)
    )
    return {RunState(state): count for state, count in conn.execute(statement)}
