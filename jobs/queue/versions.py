"""Runs whose arguments one version of their job cannot read wait for another one.

A node that cannot bind a run's arguments leaves it suspended: no failure, no retry. Each node looks for such runs that
its own versions have not tried, and takes them for itself: their signature is then that of its version, so nodes with
other versions leave them to it. The wait is limited; see ``EngineSettings.version_wait``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, select, update

from ..core.base.signature import UnreadBy, unread_by
from ..core.explain.facts import span
from ..core.model import Run
from ..core.nodes import Node
from ..core.outcome import INVALID_ARGUMENTS, Failed, Unread
from ..core.states import RunState
from ..store.db.transaction import Tx, Wake
from ..store.schema.tables import IS_OPEN
from ..store.schema.tables import run as r
from ..store.statements import nodes as stored_nodes
from ..store.statements.runs import run_from, select_runs
from .base.changes import run_change
from .base.shapes import HeldRun
from .claims.candidates import skip_expired
from .flows.flow_ends import hold_of

_LEAST: Final = 60.0
"""Seconds that a live version has at least, even if the limit is shorter."""

_SUSPENDED: Final = (r.c.unread_by.is_not(None), IS_OPEN, r.c.state == RunState.SUSPENDED.value)
"""That a run is suspended that some version could not read once; whether it waits for that still, ``_tried`` says."""
AT_ONCE: Final = 500
"""Runs that one transaction takes or skips."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """An attempt that ended because its arguments did not fit: its run, why, and the longest wait in seconds."""

    run: Run | HeldRun
    reason: str
    wait: float


def left_to_versions(tx: Tx, node_id: int, node: str, misfits: Sequence[Misfit]) -> dict[int, Unread | Failed]:
    """Decide how these attempts end, by run: the run waits for another version of its job, or fails.

    It fails if the wait is over, or if the version that accepted its arguments has tried. As long as a live version
    has not tried, it never fails.
    """
    rows = tx.conn.execute(select(r.c.id, r.c.unread_by).where(r.c.id.in_([one.run.id for one in misfits])))
    before = {row.id: row.unread_by for row in rows}
    nodes = stored_nodes.taking(tx.conn, tx.now)
    own = stored_nodes.by_ids(tx.conn, [node_id])[node_id].signatures
    decided: dict[int, Unread | Failed] = {}
    for one in misfits:
        run = one.run
        tried = unread_by(
            before.get(run.id),
            version=own.get(run.job_name, ""),
            node=node,
            attempt=run.attempt,
            checked=run.signature,
            reason=one.reason,
            now=tx.now,
        )
        until = tried.until(one.wait)
        live = {each.signatures[run.job_name] for each in nodes if each.takes(run.job_name, run.group)}
        if tried.unasked(live):
            decided[run.id] = Unread(tried, max(until, tx.now + timedelta(seconds=max(one.wait, _LEAST))))
        elif tried.is_final or one.wait <= 0:
            decided[run.id] = Failed(INVALID_ARGUMENTS, one.reason, permanent=True)
        elif until <= tx.now:
            waited = span((tx.now - tried.since).total_seconds())
            message = f"{one.reason}; it waited {waited} for a node with another version of job '{run.job_name}'"
            decided[run.id] = Failed(INVALID_ARGUMENTS, message, permanent=True)
        else:
            decided[run.id] = Unread(tried, until)
    return decided


def keep_unread(tx: Tx, unread: Sequence[tuple[Run | HeldRun, UnreadBy]]) -> None:
    """Store with these runs, which the transaction has locked, which versions could not read their arguments.

    The time of a whole run (``max_duration``) is not counted before its code has run once.
    """
    for run, by in unread:
        begun = {} if by.count < run.attempt else {"deadline_at": None}
        tx.conn.execute(update(r).where(r.c.id == run.id).values(unread_by=by.to_json(), **begun))
    # Nodes with other versions look for them, and this one learns of those that it has not heard of.
    tx.wake(Wake.NODES)


def may_expire_unread(conn: Connection) -> bool:
    """Return whether any run that some version could not read is suspended and had to start by a certain time."""
    statement = select(r.c.id).where(*_SUSPENDED, r.c.expires_at.is_not(None)).limit(1)
    return conn.execute(statement).first() is not None


def skip_unread(tx: Tx, node: Node) -> int:
    """Skip runs that wait for a version and had to start by a time that has passed; return how many."""
    late = (*_SUSPENDED, r.c.expires_at <= tx.now)
    ids = [row.id for row in tx.conn.execute(select(r.c.id, r.c.attempt, r.c.unread_by).where(*late)) if _is_new(row)]
    if not ids:
        return 0
    chosen = (r.c.id.in_(ids[:AT_ONCE]), *late)
    hold_of(tx.conn, *chosen)
    runs = _locked(tx, *chosen)
    skip_expired(tx, runs, node=node.name)
    return len(runs)


def unread_for(conn: Connection, node: Node) -> list[int]:
    """Return runs that wait for another version of their job than those that tried, and that this node may read.

    Runs that its version could not read are among them if that was before the node started: its code may have changed.
    """
    columns = (r.c.id, r.c.job_name, r.c.group_name.label("group"), r.c.attempt, r.c.unread_by)
    found = conn.execute(select(*columns).where(*_SUSPENDED).order_by(r.c.job_name, r.c.id))
    return [row.id for row in found if _may_read(node, row)][:AT_ONCE]


def take_unread(tx: Tx, node: Node, ids: Sequence[int]) -> int:
    """Let this node's version run those of these runs that still wait for a version; return how many.

    They keep their places in the queue. Those that others change at this moment are left alone.
    """
    taken = [run for run in _locked(tx, r.c.id.in_(ids), *_SUSPENDED) if _may_read(node, run)]
    for name in sorted({run.job_name for run in taken}):
        of_job = [run.id for run in taken if run.job_name == name]
        waits = {"state": RunState.WAITING.value, "signature": node.signatures[name], "awaits": None, "wake_at": None}
        tx.conn.execute(update(r).where(r.c.id.in_(of_job)).values(waits))
    for run in taken:
        if run.max_duration is not None and _is_new(run):
            ends = tx.now + timedelta(seconds=run.max_duration)
            tx.conn.execute(update(r).where(r.c.id == run.id).values(deadline_at=ends))
    tx.emit(run_change(run, RunState.WAITING) for run in taken)
    if taken:
        tx.wake(Wake.RUNS)
    return len(taken)


def _locked(tx: Tx, *which: ColumnElement[bool]) -> list[Run]:
    statement = select_runs().where(*which).order_by(r.c.id).with_for_update(of=r, skip_locked=True)
    return [run_from(row) for row in tx.conn.execute(statement)]


def _tried(run: Any) -> UnreadBy | None:
    """Return the versions that have tried a run or row; None = it is now suspended for another reason."""
    by = UnreadBy.from_json(run.unread_by)
    return by if by.attempt == run.attempt else None


def _is_new(run: Any) -> bool:
    by = _tried(run)
    return by is not None and by.count == by.attempt


def _may_read(node: Node, run: Any) -> bool:
    by = _tried(run)
    if by is None or not node.takes(run.job_name, run.group):
        return False
    return by.at < node.started_at or node.signatures[run.job_name] not in by.versions
