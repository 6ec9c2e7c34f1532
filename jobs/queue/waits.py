"""Waits of runs: begin them, fulfil them, and wake the runs that signals came for.

A wait is stored before its attempt ends, so none is forgotten if a process dies. The awaited thing may come at any
moment: before the wait begins (it is in the run's box), while its attempt ends (``finish`` looks again), or later
    (``send`` ends the wait and wakes the run). All three lock the run first, so one of them sees the work of the other.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, union, update

from ..core.actor import RANK
from ..core.events import STEPS, Listed
from ..core.model import Json, Run
from ..core.states import RunState
from ..core.steps import StepKind, StepState, StoredStep
from ..core.waits import MAX_BOX, AwaitedKind, Signal, Wait
from ..store.db import dialect
from ..store.db.transaction import Tx, Wake
from ..store.schema.tables import run as r
from ..store.schema.tables import run_signal as g
from ..store.schema.tables import run_step as s
from ..store.statements import runs as stored_runs
from ..store.statements.runs import HOLDING, run_from, select_runs
from .base import runs as run_store
from .base import statements
from .base.changes import run_change, wake
from .base.shapes import HeldRun
from .flows import children


def wait(tx: Tx, held: Run | HeldRun, asked: Wait) -> StoredStep | None:
    """Begin a wait unless it has begun, and end it if the awaited thing is there; returns its state.

    None: the run was taken from its node. An ended wait stays as it ended.
    """
    run = run_store.lock(tx.conn, [held.id]).get(held.id)
    fence = (RunState.RUNNING, held.attempt, held.node_id)
    if run is None or (run.state, run.attempt, run.node_id) != fence:
        return None
    found = stored_runs.step_result(tx.conn, run.id, asked.label)
    if found is None:
        found = _begin(tx, run, asked)
    if found.state is not StepState.WAITING or found.kind is not asked.kind:
        return found
    ended = _ended(tx, run, asked, found)
    if ended.state is not StepState.WAITING:
        listed = (run.id, run.job_name, run.group, run.task_id, run.task_name, asked.label, ended.state.value)
        tx.emit([Listed(STEPS, [listed], held.node)])
    elif asked.signal is not None and found.attempt < run.attempt:
        # The code may have another model or another role now, and signals are judged by it from here on.
        tx.conn.execute(update(s).where(*_mine(run, found)).values(**_rules(asked)))
    return ended


def _rules(asked: Wait) -> dict[str, Any]:
    return {"rank": None if asked.signal is None else RANK[asked.role], "form": asked.form}


def _mine(run: Run, found: StoredStep) -> tuple[ColumnElement[bool], ...]:
    return s.c.run_id == run.id, s.c.step == found.label, s.c.failure == 0


def _begin(tx: Tx, run: Run, asked: Wait) -> StoredStep:
    until = asked.until if asked.seconds is None else tx.now + timedelta(seconds=asked.seconds)
    flow_id = children.begin(tx, run, asked) if asked.runs else None
    columns: dict[str, Any] = {
        "flow_id": flow_id,
        "run_id": run.id, "step": asked.label, "failure": 0, "kind": asked.kind.value, "attempt": run.attempt,
        "state": StepState.WAITING.value, "started_at": tx.now, "wake_at": until, "used": True, "signal": asked.signal,
        **_rules(asked),
    }  # fmt: skip
    tx.conn.execute(insert(s).values(**columns))
    return StoredStep(
        asked.label, run.attempt, None, asked.kind, StepState.WAITING, until, flow_id=flow_id, began=tx.now
    )


def _ended(tx: Tx, run: Run, asked: Wait, found: StoredStep) -> StoredStep:
    """Return the wait as it is after a look at the awaited thing. It stays with the attempt in which it began."""
    signal = None if asked.signal is None else _take(tx.conn, run.id, asked.signal, RANK[asked.role])
    if signal is not None:
        state = StepState.DONE if signal.rejects is None else StepState.REJECTED
        _end(tx, run, found, state, value=signal.payload, error=signal.rejects, signal_id=signal.id)
        return replace(found, state=state, value=signal.payload, error=signal.rejects)
    if asked.kind is StepKind.RUNS:
        ends = children.ended(tx.conn, run.id, found.label, found.flow_id)
        if ends is None:
            return replace(found, runs=children.unfinished(tx.conn, run.id, found.label, found.flow_id))
        _end(tx, run, found, StepState.DONE, value=ends)
        children.forget(tx.conn, run.id, found.label)
        return replace(found, state=StepState.DONE, value=ends)
    if found.wake_at is None or found.wake_at > tx.now:
        return found
    state = StepState.DONE if asked.kind is StepKind.SLEEP else StepState.TIMED_OUT
    _end(tx, run, found, state)
    return replace(found, state=state)


def _take(conn: Connection, run_id: int, name: str, rank: int) -> Any:
    """Return the oldest signal in a box from somebody who may send it, which leaves the box."""
    mine = (g.c.run_id == run_id, g.c.name == name, g.c.rank >= rank)
    oldest = select(func.min(g.c.id)).where(*mine).scalar_subquery()
    taken = delete(g).where(g.c.id == oldest).returning(g.c.id, g.c.payload, g.c.rejects)
    return conn.execute(taken).first()


def _end(tx: Tx, run: Run, found: StoredStep, state: StepState, **brought: Any) -> None:
    ended = {"state": state.value, "finished_at": tx.now, **brought}
    tx.conn.execute(update(s).where(*_mine(run, found)).values(**ended))


@dataclass(frozen=True, slots=True)
class Addressed:
    """A run that a signal is sent to, locked.

    Attributes:
        in_box: How many signals of it nobody has taken yet, counted to ``MAX_BOX``.
        waiting: Of each of its waits for this signal the rank that a sender needs, and the form of its payload.
    """

    run: Run
    in_box: int
    waiting: tuple[tuple[int, dict[str, Json] | None], ...]


def addressed(tx: Tx, name: str, *, run_id: int | None = None, unique_key: str | None = None) -> Addressed | None:
    """Return the run of an id, or the unfinished one with a unique key, locked; with the rules for its signal."""
    boxed = select(g.c.id).where(g.c.run_id == r.c.id).limit(MAX_BOX).correlate(r).subquery()
    waits_for_it = (s.c.run_id == r.c.id) & (s.c.signal == name) & (s.c.state == StepState.WAITING.value)
    statement = (
        select_runs()
        .add_columns(
            select(func.count()).select_from(boxed).scalar_subquery().label("in_box"),
            s.c.rank.label("needed_rank"),
            s.c.form.label("taken_form"),
            *((func.statement_timestamp().label("asked_at"),) if dialect.is_postgresql(tx.conn) else ()),
        )
        .outerjoin(s, waits_for_it)
        .where(*((r.c.unique_key == unique_key, *HOLDING) if run_id is None else (r.c.id == run_id,)))
        .order_by(s.c.started_at)
        .with_for_update(of=r)
    )
    rows = tx.conn.execute(statement).all()
    if not rows:
        return None
    tx.learn_now(getattr(rows[0], "asked_at", None))
    waiting = tuple((row.needed_rank, row.taken_form) for row in rows if row.needed_rank is not None)
    return Addressed(run_from(rows[0]), rows[0].in_box, waiting)


def send(tx: Tx, run: Run, signal: Signal) -> Run:
    """Send a signal to a locked unfinished run; return the run afterwards.

    If the run is suspended and waits for it, the wait has it at once, and the run is woken. Else it is in the box.
    """
    if not dialect.is_postgresql(tx.conn):
        return _send_on_sqlite(tx, run, signal)
    with_event = not tx.changes
    asked = {
        "run_id": run.id, "name": signal.name, "payload": _text(signal.payload), "rejects": signal.rejects,
        "sender": signal.sender, "rank": signal.rank, "now": tx.now, "with_event": with_event,
    }  # fmt: skip
    sent = statements.execute(tx.conn, "send_signal", asked).one()
    return _after_send(tx, run, sent.step, sent.state, with_event=with_event) if sent.woken else run


def _text(payload: Json) -> str | None:
    return None if payload is None else json.dumps(payload)


def _send_on_sqlite(tx: Tx, run: Run, signal: Signal) -> Run:
    columns = {"payload": signal.payload, "rejects": signal.rejects, "sender": signal.sender, "rank": signal.rank}
    tx.conn.execute(insert(g).values(run_id=run.id, name=signal.name, sent_at=tx.now, **columns))
    if run.state is not RunState.SUSPENDED:
        return run
    mine = (s.c.run_id == run.id, s.c.signal == signal.name, s.c.state == StepState.WAITING.value)
    waiting = select(s.c.step, s.c.rank).where(*mine, s.c.rank <= signal.rank).order_by(s.c.started_at, s.c.step)
    found = tx.conn.execute(waiting.limit(1)).first()
    if found is None:
        return run
    taken = _take(tx.conn, run.id, signal.name, found.rank)
    state = StepState.DONE if taken.rejects is None else StepState.REJECTED
    ended = StoredStep(found.step, run.attempt, taken.payload)
    _end(tx, run, ended, state, value=taken.payload, error=taken.rejects, signal_id=taken.id)
    run_store.wake(tx.conn, run.id, tx.now)
    return _after_send(tx, run, found.step, state.value, with_event=False)


def _after_send(tx: Tx, run: Run, step: str | None, state: str | None, *, with_event: bool) -> Run:
    """Record the events of a run that a signal has woken, and of its fulfilled wait; return the run as it is now."""
    if not with_event:
        listed = (run.id, run.job_name, run.group, run.task_id, run.task_name, step, state)
        tx.emit([] if step is None else [Listed(STEPS, [listed])])
        tx.emit([run_change(run, RunState.WAITING)])
    tx.wake(Wake.RUNS | Wake.EVENTS)
    return replace(run, state=RunState.WAITING, available_at=tx.now, awaits=None, wake_at=None)


def ask_for(tx: Tx, run_id: int, labels: Collection[str]) -> None:
    """Note the waits at which the suspended attempt stood: other signals do not wake the run.

    Others are left from earlier attempts. The awaited thing may be there, and the run would be woken for ever.
    """
    waiting = (s.c.run_id == run_id, s.c.state == StepState.WAITING.value)
    asked = s.c.step.in_(labels)
    tx.conn.execute(update(s).where(*waiting, s.c.used != asked).values(used=asked))


def fulfilled(conn: Connection, run_ids: Collection[int]) -> list[int]:
    """Return the runs whose awaited signal is there, or whose awaited runs have all ended."""
    mine = (s.c.run_id.in_(run_ids), s.c.state == StepState.WAITING.value, s.c.used)
    signalled = select(s.c.run_id).distinct().join_from(s, g, _COMES).where(*mine, s.c.kind == StepKind.SIGNAL.value)
    over = children.all_over(s.c.run_id, s.c.step, s.c.flow_id)
    joined = select(s.c.run_id).distinct().where(*mine, s.c.kind == StepKind.RUNS.value, over)
    return sorted(conn.execute(union(signalled, joined)).scalars())


def overlooked(conn: Connection) -> list[int]:
    """Return suspended runs whose wait is fulfilled although nothing has woken them.

    The one who fulfils a wait wakes the run in the same transaction, but for runs that several wait for. Looked at are
    waits for runs, and the newest signals.
    """
    newest = select(func.max(g.c.id)).scalar_subquery() - _NEWEST_SIGNALS
    waits = (s.c.state == StepState.WAITING.value, s.c.used)
    asleep = (r.c.id == s.c.run_id, r.c.state == RunState.SUSPENDED.value)
    over = children.all_over(s.c.run_id, s.c.step, s.c.flow_id)
    joined = select(s.c.run_id).distinct().where(*waits, *asleep, s.c.kind == "runs", over)
    signalled = select(s.c.run_id).distinct().join_from(g, s, _COMES).where(g.c.id > newest, *waits, *asleep)
    return sorted(conn.execute(union(joined, signalled)).scalars())[:MOST_OVERLOOKED]


def wake_overlooked(tx: Tx, run_ids: Collection[int]) -> list[int]:
    """Wake those of these runs whose wait is fulfilled; return their ids."""
    locked = run_store.lock(tx.conn, sorted(run_ids))
    # A run that no node can read waits for something else.
    asleep = [one.id for one in locked.values() if one.awaits and one.awaits["kind"] != AwaitedKind.VERSION.value]
    return wake(tx, fulfilled(tx.conn, asleep)) if asleep else []


def bring_forward(tx: Tx, seen: datetime, now: datetime) -> int:
    """Make runs due that were due already at ``seen``, before the clock was set back to ``now``; return how many."""
    brought = run_store.bring_forward(tx.conn, seen, now)
    if brought:
        tx.wake(Wake.RUNS)
    return brought


_COMES = (g.c.run_id == s.c.run_id) & (g.c.name == s.c.signal) & (g.c.rank >= s.c.rank)
_NEWEST_SIGNALS: Final = 10_000
MOST_OVERLOOKED: Final = 500
"""Runs that one look wakes."""
