"""Attempts at engines outside of their node: submitted, begun by their code, spoken of, ended once, and handed over.

A row is locked before its run, and nobody who holds a run waits for a row: so code, its node, and a node that takes the
attempt over never wait for each other in a circle.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, bindparam, func, insert, or_, select, update

from ..core.model import Json, Run
from ..core.nodes import LIVE_NODES
from ..core.remote import MAX_ENGINE_TEXT, EngineState, QueuePlace, RemoteAttempt, Seen
from ..core.states import RunState
from ..store.db import dialect
from ..store.db.transaction import Tx, Wake
from ..store.schema.tables import job_execution as x
from ..store.schema.tables import node as n
from ..store.schema.tables import remote_attempt as a
from ..store.schema.tables import run as r
from ..store.statements import runs as stored_runs
from ..store.statements.executions import REMOTE_COLUMNS, attempt_from
from .base import runs as run_store
from .base.changes import run_change
from .base.shapes import HeldRun

TAKEN_OVER_AT_ONCE: Final = 100
"""Attempts that one transaction takes over."""


class Refusal(StrEnum):
    """Say why code at an engine is not heard."""

    UNKNOWN = "unknown"
    OVER = "over"
    TAKEN = "taken"
    OUT_OF_ORDER = "out of order"
    SAID_BEFORE = "said before"


@dataclass(frozen=True, slots=True)
class Submission:
    """Describe an attempt before it is submitted.

    Attributes:
        name: Its name at the engine.
        token_hash: Of the token by which its code speaks.
        begin: The data that its code gets when it begins, without secrets.
        folder: Through which its code speaks; None: it reaches a server.
        resources: Those that it is submitted with, a document; None: it asks for none.
        page: Where a person finds it there; None: nowhere.
    """

    executor: str
    name: str
    token_hash: str
    begin: Mapping[str, Json]
    folder: str | None = None
    resources: Mapping[str, Json] | None = None
    page: str | None = None


@dataclass(frozen=True, slots=True)
class Speaker:
    """Code at an engine that speaks, its row locked.

    Attributes:
        run: The run, which a node holds for it.
        sequence: The number of its last message.
        notes: The results that it asked for and the waits that it began.
        begin: The data that it gets when it begins.
    """

    attempt: RemoteAttempt
    run: Run
    sequence: int
    answer: Json
    notes: Mapping[str, Any]
    begin: Mapping[str, Any]


def note_submission(tx: Tx, run: Run | HeldRun, execution_id: int, new: Submission) -> bool:
    """Store the attempt about to be submitted; False: the run was taken from this node."""
    if not _is_attempt(run_store.lock(tx.conn, [run.id]).get(run.id), run.attempt, run.node_id):
        return False
    columns: dict[str, Any] = {
        "execution_id": execution_id, "run_id": run.id, "attempt": run.attempt, "executor": new.executor,
        "name": new.name, "token_hash": new.token_hash, "node_id": run.node_id, "submitted_at": tx.now,
        "engine_state": EngineState.UNKNOWN.value, "engine_text": "", "engine_since": tx.now, "begin": new.begin,
        "sequence": 0, "log_lines": 0, "folder": new.folder, "resources": new.resources,
        "page": new.page,
    }  # fmt: skip
    if not is_known(tx.conn, new.token_hash):
        tx.conn.execute(insert(a).values(**columns))
    return True


def _is_attempt(run: Run | None, attempt: int, node_id: int | None) -> bool:
    return run is not None and (run.state, run.attempt, run.node_id) == (RunState.RUNNING, attempt, node_id)


def note_handle(tx: Tx, execution_id: int, handle: str) -> None:
    """Store by which handle the engine knows an attempt."""
    _set(tx, a.c.execution_id == execution_id, handle=handle)


_NOWHERE: Final = {"queue_position": None, "queue_length": None}


def note_seen(tx: Tx, seen: Mapping[int, Seen]) -> None:
    """Store the new reports of engines about attempts."""
    same: dict[Seen, list[int]] = {}
    for execution_id, one in sorted(seen.items()):
        same.setdefault(one, []).append(execution_id)
    for one, ids in same.items():
        # Times count from when it came into that state, not from the last word about it.
        _set(tx, a.c.execution_id.in_(ids), a.c.engine_state != one.state.value, engine_since=tx.now)
        waits = {} if one.state is EngineState.PENDING else _NOWHERE
        text = one.text[:MAX_ENGINE_TEXT]
        _set(tx, a.c.execution_id.in_(ids), engine_state=one.state.value, engine_text=text, **waits)


_PLACED: Final = {"execution_id": dialect.KINDS[int], "position": dialect.KINDS[int], "length": dialect.KINDS[int]}


def note_places(tx: Tx, places: Mapping[int, QueuePlace | None]) -> None:
    """Store where attempts wait at their engines, by execution; None: nowhere any more.

    The look that found a place may be older than the begin or the end of the attempt.
    """
    rows = [(one, *(place or (None, None))) for one, place in sorted(places.items())]
    found, parameters = dialect.batch(tx.conn, _PLACED, rows, "placed")
    tx.conn.execute(
        update(a)
        .where(a.c.execution_id == found.c.execution_id, a.c.started_at.is_(None), a.c.ended_at.is_(None))
        .values(queue_position=found.c.position, queue_length=found.c.length),
        parameters,
    )


def note_stop(tx: Tx, execution_id: int, reason: str) -> None:
    """Ask the code of an attempt to stop, by the answer to its next message."""
    _set(tx, a.c.execution_id == execution_id, stop=reason)


def note_over(tx: Tx, execution_ids: Collection[int]) -> None:
    """Write that the ends of attempts are stored and their engine has forgotten them."""
    ended = func.coalesce(a.c.ended_at, bindparam("ended", tx.now, type_=a.c.ended_at.type))
    over = {"ended_at": ended, "over_at": tx.now, "outcome": None, "answer": None, **_NOWHERE}
    _set(tx, a.c.execution_id.in_(execution_ids), **over)


def _set(tx: Tx, *where: ColumnElement[bool], **values: Any) -> int:
    return tx.conn.execute(update(a).where(*where).values(**values)).rowcount


def begin(tx: Tx, token_hash: str, starter: str) -> Speaker | Refusal:
    """Record, once, that code started by an engine begins.

    Args:
        starter: Distinguishes the process: the same one may ask again after a lost answer.
    """
    found = speaker(tx, token_hash)
    if isinstance(found, Refusal):
        return found
    mine = (a.c.execution_id == found.attempt.execution_id, or_(a.c.starter.is_(None), a.c.starter == starter))
    started = func.coalesce(a.c.started_at, bindparam("started", tx.now, type_=a.c.started_at.type))
    if not _set(tx, *mine, starter=starter, started_at=started, heard_at=tx.now, **_NOWHERE):
        return Refusal.TAKEN
    tx.emit([run_change(found.run, RunState.RUNNING, node=found.run.node)])
    return found


def note_life(tx: Tx, token_hash: str) -> RemoteAttempt | Refusal:
    """Note a sign of life of code, and return its attempt."""
    if not _set(tx, a.c.token_hash == token_hash, a.c.ended_at.is_(None), heard_at=tx.now):
        return _why_not(tx.conn, token_hash)
    return attempt_from(tx.conn.execute(select(*REMOTE_COLUMNS).where(a.c.token_hash == token_hash)).one())


def note_lives(tx: Tx, execution_ids: Collection[int]) -> None:
    """Note signs of life of code that reaches no server."""
    _set(tx, a.c.execution_id.in_(execution_ids), a.c.ended_at.is_(None), heard_at=tx.now)


def _why_not(conn: Connection, token_hash: str) -> Refusal:
    known = conn.execute(select(a.c.execution_id).where(a.c.token_hash == token_hash)).first()
    return Refusal.UNKNOWN if known is None else Refusal.OVER


def is_known(conn: Connection, token_hash: str) -> bool:
    """Return whether a token is that of an attempt, over or not."""
    return _why_not(conn, token_hash) is not Refusal.UNKNOWN


def speaker(tx: Tx, token_hash: str) -> Speaker | Refusal:
    """Return the attempt of a token, with its row locked; a token is valid while the attempt is unfinished."""
    more = (a.c.sequence, a.c.answer, a.c.notes, a.c.begin)
    row: Any = tx.conn.execute(
        select(*REMOTE_COLUMNS, *more).where(a.c.token_hash == token_hash, a.c.ended_at.is_(None)).with_for_update()
    ).first()
    if row is None:
        return _why_not(tx.conn, token_hash)
    attempt = attempt_from(row)
    run = stored_runs.by_ids(tx.conn, [attempt.run_id]).get(attempt.run_id)
    if run is None or (run.state, run.attempt) != (RunState.RUNNING, attempt.attempt):
        return Refusal.OVER
    return Speaker(attempt, run, row.sequence, row.answer, row.notes or {}, row.begin)


def last_said(conn: Connection, token_hash: str) -> tuple[int, Json, str | None] | Refusal:
    """Return the number of the last message of code, the answer to it, and why it should stop."""
    last = select(a.c.sequence, a.c.answer, a.c.stop).where(a.c.token_hash == token_hash, a.c.ended_at.is_(None))
    row = conn.execute(last).first()
    return _why_not(conn, token_hash) if row is None else (row.sequence, row.answer, row.stop)


def note_message(tx: Tx, said: Speaker, *, answer: Json, lines: int, notes: Mapping[str, Any]) -> None:
    """Store that the next message of code was carried out, with its answer: to say it again changes nothing."""
    counted = {"sequence": said.sequence + 1, "log_lines": a.c.log_lines + lines, "heard_at": tx.now}
    _set(tx, a.c.execution_id == said.attempt.execution_id, answer=answer, notes=dict(notes) or None, **counted)


def end(tx: Tx, execution_id: int, message: Mapping[str, Json]) -> bool:
    """Accept how an attempt ended; False: another end was faster. Its node stores it like any other end.

    Code that finishes, a node that gives it up, and one that stops it hard meet in this one statement.
    """
    over = {"ended_at": tx.now, "outcome": message, **_NOWHERE}
    accepted = _set(tx, a.c.execution_id == execution_id, a.c.ended_at.is_(None), **over)
    if accepted:
        tx.wake(Wake.REMOTE)
    return bool(accepted)


@dataclass(frozen=True, slots=True)
class AcceptedEnd:
    """An end that was accepted, and the facts that the node needs to store it."""

    message: Mapping[str, Any]
    notes: Mapping[str, Any]
    progress: Json
    log_lines: int


def accepted_end(conn: Connection, execution_id: int) -> AcceptedEnd | None:
    """Return the accepted end of an attempt; None: it has none."""
    statement = (
        select(a.c.outcome, a.c.notes, a.c.log_lines, r.c.progress)
        .join(r, r.c.id == a.c.run_id)
        .where(a.c.execution_id == execution_id, a.c.outcome.is_not(None))
    )
    row = conn.execute(statement).first()
    return None if row is None else AcceptedEnd(row.outcome, row.notes or {}, row.progress, row.log_lines)


def ended_of(conn: Connection, node_id: int) -> list[int]:
    """Return the executions of a node's attempts whose end was accepted, and that are not over."""
    ended = (a.c.node_id == node_id, a.c.over_at.is_(None), a.c.ended_at.is_not(None))
    return list(conn.execute(select(a.c.execution_id).where(*ended).order_by(a.c.execution_id)).scalars())


class Open(NamedTuple):
    """List the attempts of a node that are not over: all ids of executions, when the code of some began, the time."""

    now: datetime
    ids: frozenset[int]
    began: Mapping[int, datetime]


def open_attempts(conn: Connection, node_id: int, since: datetime | None) -> Open:
    """Return the attempts that a node looks after; ``began`` has those whose code began later than ``since``."""
    mine = (a.c.node_id == node_id, a.c.over_at.is_(None))
    began = select(a.c.execution_id, a.c.started_at).where(*mine, a.c.started_at.is_not(None))
    if since is not None:
        began = began.where(a.c.started_at > since)
    ids = frozenset(conn.execute(select(a.c.execution_id).where(*mine)).scalars())
    return Open(dialect.database_now(conn), ids, {row.execution_id: row.started_at for row in conn.execute(began)})


def over_among(conn: Connection, names: Collection[str]) -> list[RemoteAttempt]:
    """Return those of the attempts with these names at an engine that are over."""
    runs = {int(run) for name in names if (run := name.rpartition("-")[0].rpartition("-")[2]).isdecimal()}
    rows = conn.execute(select(*REMOTE_COLUMNS).where(a.c.run_id.in_(runs), a.c.over_at.is_not(None)))
    return [one for one in map(attempt_from, rows) if one.name in names]


def still_running(conn: Connection, one: RemoteAttempt) -> Run | None:
    """Return the run of an attempt that is still under way for the database."""
    run = stored_runs.by_ids(conn, [one.run_id]).get(one.run_id)
    return run if _is_attempt(run, one.attempt, one.node_id) else None


def unattended(conn: Connection, run_ids: Collection[int]) -> set[int]:
    """Return those of these runs whose attempt is at an engine: the end of a node does not end them."""
    statement = (
        select(a.c.run_id)
        .join(r, (r.c.id == a.c.run_id) & (r.c.attempt == a.c.attempt))
        .where(a.c.run_id.in_(run_ids), a.c.over_at.is_(None))
    )
    return set(conn.execute(statement).scalars())


def let_go(tx: Tx, node_id: int) -> int:
    """Leave the attempts that a node looks after to other nodes; return how many."""
    left = _set(tx, a.c.node_id == node_id, a.c.over_at.is_(None), node_id=None)
    if left:
        tx.wake(Wake.REMOTE)
    return left


@dataclass(frozen=True, slots=True)
class TakenOver:
    """Attempts that a node looks after from now on: those that go on, with their runs, and those to be tidied up."""

    going_on: tuple[tuple[RemoteAttempt, Run], ...] = ()
    over: tuple[RemoteAttempt, ...] = ()


def take_over(
    tx: Tx, node_id: int, node: str, *, jobs: Collection[str], executors: Collection[str], limit: int
) -> TakenOver:
    """Start to look after attempts that no live node looks after.

    Args:
        node_id: The caller's own node.
        limit: How many attempts at most.
    """
    live = select(n.c.id).where(n.c.state.in_(sorted(state.value for state in LIVE_NODES)))
    nobodys = or_(a.c.node_id.is_(None), a.c.node_id.not_in(live))
    found = (
        select(*REMOTE_COLUMNS)
        .join(r, r.c.id == a.c.run_id)
        .where(a.c.over_at.is_(None), nobodys, a.c.executor.in_(sorted(executors)))
        .where(or_(r.c.job_name.in_(sorted(jobs)), r.c.state != RunState.RUNNING.value, r.c.attempt != a.c.attempt))
        .order_by(a.c.execution_id)
        .limit(min(limit, TAKEN_OVER_AT_ONCE))
        .with_for_update(of=a, skip_locked=True)
    )
    rows = [attempt_from(row) for row in tx.conn.execute(found)]
    if not rows:
        return TakenOver()
    runs = run_store.lock(tx.conn, sorted({one.run_id for one in rows}))
    going_on = [
        (one, runs[one.run_id])
        for one in rows
        if one.run_id in runs and _is_attempt(runs[one.run_id], one.attempt, runs[one.run_id].node_id)
    ]
    _set(tx, a.c.execution_id.in_([one.execution_id for one in rows]), node_id=node_id)
    _move(tx, node_id, node, going_on)
    held = stored_runs.by_ids(tx.conn, [run.id for _, run in going_on])
    kept = {one.execution_id for one, _ in going_on}
    over = tuple(one for one in rows if one.execution_id not in kept)
    return TakenOver(tuple((one, held[run.id]) for one, run in going_on), over)


def _move(tx: Tx, node_id: int, node: str, attempts: Sequence[tuple[RemoteAttempt, Run]]) -> None:
    if not attempts:
        return
    run_store.move(tx.conn, [run.id for _, run in attempts], node_id)
    executions = [one.execution_id for one, _ in attempts]
    tx.conn.execute(update(x).where(x.c.id.in_(executions)).values(node_id=node_id, node=node))
    tx.emit(run_change(run, RunState.RUNNING, node=node) for _, run in attempts)
