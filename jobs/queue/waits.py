"""Waits of runs: they begin, what fulfils them is taken, and runs are woken that signals came for.

A wait is stored before its attempt ends, so none is forgotten, whoever dies when. What it waits for may come at any
moment: before the wait begins (it lies in the run's box), while its attempt ends (``finish`` looks again), or later
(``send`` wakes the run). All three lock the run first, so one of them sees what the other has done.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, union, update

from ..core.actor import RANK
from ..core.durable.steps import StepKind, StepState, StoredStep
from ..core.durable.waits import Signal, Wait
from ..core.events import STEPS, Listed
from ..core.model import Run
from ..core.states import RunState
from ..store.db.transaction import Tx
from ..store.read import steps as stored_steps
from ..store.schema.tables import flow as f
from ..store.schema.tables import run_signal as g
from ..store.schema.tables import run_step as s
from . import runs as run_store
from .children import begin as begin_runs
from .children import ended as ended_runs
from .children import unfinished
from .shapes import HeldRun
from .suspended import wake


def wait(tx: Tx, held: Run | HeldRun, asked: Wait) -> StoredStep | None:
    """Begin a wait unless it has begun, and end it if what it waits for is there; how it stands.

    None: the run was taken from its node. What has ended stays as it ended.
    """
    run = run_store.lock(tx.conn, [held.id]).get(held.id)
    fence = (RunState.RUNNING, held.attempt, held.node_id)
    if run is None or (run.state, run.attempt, run.node_id) != fence:
        return None
    found = stored_steps.result(tx.conn, run.id, asked.label)
    if found is None:
        found = _begin(tx, run, asked)
    if found.state is not StepState.WAITING or found.kind is not asked.kind:
        return found
    ended = _ended(tx, run, asked, found)
    if ended.state is not StepState.WAITING:
        listed = (run.id, run.job_name, run.group, run.task_id, run.task_name, asked.label, ended.state.value)
        tx.emit([Listed(STEPS, [listed], held.node)])
    return ended


def _begin(tx: Tx, run: Run, asked: Wait) -> StoredStep:
    until = asked.until if asked.seconds is None else tx.now + timedelta(seconds=asked.seconds)
    flow_id = begin_runs(tx, run, asked) if asked.runs else None
    columns: dict[str, Any] = {
        "flow_id": flow_id,
        "run_id": run.id, "step": asked.label, "failure": 0, "kind": asked.kind.value, "attempt": run.attempt,
        "state": StepState.WAITING.value, "started_at": tx.now, "wake_at": until, "used": True, "signal": asked.signal,
        "rank": None if asked.signal is None else RANK[asked.role], "form": asked.form,
    }  # fmt: skip
    tx.conn.execute(insert(s).values(**columns))
    return StoredStep(asked.label, run.attempt, None, asked.kind, StepState.WAITING, until, flow_id=flow_id)


def _ended(tx: Tx, run: Run, asked: Wait, found: StoredStep) -> StoredStep:
    """The wait as it is after a look at what it waits for."""
    signal = None if asked.signal is None else _take(tx.conn, run.id, asked.signal, RANK[asked.role])
    if signal is not None:
        state = StepState.DONE if signal.rejects is None else StepState.REJECTED
        _end(tx, run, found, state, value=signal.payload, error=signal.rejects, signal_id=signal.id)
        return replace(found, state=state, value=signal.payload, error=signal.rejects, attempt=run.attempt)
    if found.flow_id is not None:
        ends = ended_runs(tx.conn, found.flow_id)
        if ends is None:
            return replace(found, runs=unfinished(tx.conn, found.flow_id))
        _end(tx, run, found, StepState.DONE, value=ends)
        return replace(found, state=StepState.DONE, value=ends, attempt=run.attempt)
    if found.wake_at is None or found.wake_at > tx.now:
        return found
    state = StepState.DONE if asked.kind is StepKind.SLEEP else StepState.TIMED_OUT
    _end(tx, run, found, state)
    return replace(found, state=state, attempt=run.attempt)


def _take(conn: Connection, run_id: int, name: str, rank: int) -> Any:
    """The oldest signal in a box from somebody who may send it, which leaves the box."""
    mine = (g.c.run_id == run_id, g.c.name == name, g.c.rank >= rank)
    oldest = select(func.min(g.c.id)).where(*mine).scalar_subquery()
    taken = delete(g).where(g.c.id == oldest).returning(g.c.id, g.c.payload, g.c.rejects)
    return conn.execute(taken).first()


def _end(tx: Tx, run: Run, found: StoredStep, state: StepState, **brought: Any) -> None:
    mine = (s.c.run_id == run.id, s.c.step == found.label, s.c.failure == 0)
    ended = {"state": state.value, "finished_at": tx.now, "attempt": run.attempt, **brought}
    tx.conn.execute(update(s).where(*mine).values(**ended))


def send(tx: Tx, run: Run, signal: Signal) -> int:
    """Put a signal into the box of a locked unfinished run, and wake the run if it waits for it; the signal's id."""
    columns = {"payload": signal.payload, "rejects": signal.rejects, "sender": signal.sender, "rank": signal.rank}
    statement = insert(g).values(run_id=run.id, name=signal.name, sent_at=tx.now, **columns).returning(g.c.id)
    signal_id: int = tx.conn.execute(statement).scalar_one()
    if run.state is RunState.SUSPENDED:
        wake(tx, fulfilled(tx.conn, [run.id]))
    return signal_id


def fulfilled(conn: Connection, run_ids: Collection[int]) -> list[int]:
    """Those of these runs that wait for a signal that is there, or for runs that have all ended."""
    comes = (g.c.run_id == s.c.run_id) & (g.c.name == s.c.signal) & (g.c.rank >= s.c.rank)
    waiting = (s.c.run_id.in_(run_ids), s.c.state == StepState.WAITING.value, s.c.kind == StepKind.SIGNAL.value)
    signalled = select(s.c.run_id).distinct().join_from(s, g, comes).where(*waiting)
    over = (s.c.run_id.in_(run_ids), s.c.state == StepState.WAITING.value, f.c.finished_at.is_not(None))
    joined = select(s.c.run_id).distinct().join_from(s, f, f.c.id == s.c.flow_id).where(*over)
    return sorted(conn.execute(union(signalled, joined)).scalars())


def waiting_for(conn: Connection, run_id: int, name: str) -> list[Any]:
    """The waits of a run that take signals of this name: their rank and form."""
    mine = (s.c.run_id == run_id, s.c.signal == name, s.c.state == StepState.WAITING.value)
    return list(conn.execute(select(s.c.step, s.c.rank, s.c.form).where(*mine)).all())


def in_box(conn: Connection, run_id: int) -> int:
    """How many signals of a run nobody has taken yet."""
    statement = select(func.count()).select_from(g).where(g.c.run_id == run_id)
    return int(conn.execute(statement).scalar_one())
