"""Runs whose arguments one version of their job cannot read wait for another one.

A node that cannot bind a run's arguments leaves it suspended: no failure, no retry. Each node looks for such runs that
its own versions have not tried, and takes them for itself: their signature is then that of its version, so nodes with
other versions leave them to it. The wait is limited; see ``EngineSettings.version_wait``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import Connection, select, update

from ..core.base.signature import UnreadBy, unread_by
from ..core.explain.facts import span
from ..core.model import Run
from ..core.nodes import Node
from ..core.outcome import INVALID_ARGUMENTS, Failed, Unread
from ..core.states import RunState
from ..store.db.transaction import Tx, Wake
from ..store.read import nodes as stored_nodes
from ..store.read.runs import run_from, select_runs
from ..store.schema.tables import IS_OPEN
from ..store.schema.tables import run as r
from .base.changes import run_change
from .base.shapes import HeldRun

_LEAST: Final = 60.0
"""Seconds that a live version has at least, whatever the limit says."""


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


def unread_for(conn: Connection, node: Node) -> list[int]:
    """Return some runs that wait for another version of their job than those that tried, and that this node may read.

    Runs that its version could not read are among them if that was before the node started: its code may have changed.
    """
    waiting = (r.c.unread_by.is_not(None), IS_OPEN, r.c.state == RunState.SUSPENDED.value)
    columns = (r.c.id, r.c.job_name, r.c.group_name, r.c.unread_by)
    found = conn.execute(select(*columns).where(*waiting).order_by(r.c.job_name, r.c.id))
    return [row.id for row in found if _may_read(node, row.job_name, row.group_name, UnreadBy.from_json(row.unread_by))]


def take_unread(tx: Tx, node: Node, ids: Sequence[int]) -> int:
    """Let those of these runs that still wait for a version be run by this node's; how many.

    They keep their places in the queue. Those that others change at this moment are left alone.
    """
    statement = select_runs().where(r.c.id.in_(ids), r.c.state == RunState.SUSPENDED.value).order_by(r.c.id)
    locked = [run_from(row) for row in tx.conn.execute(statement.with_for_update(of=r, skip_locked=True))]
    taken = [
        run
        for run in locked
        if run.unread_by is not None and _may_read(node, run.job_name, run.group, UnreadBy.from_json(run.unread_by))
    ]
    for run in taken:
        by = UnreadBy.from_json(run.unread_by or {})
        values: dict[str, Any] = {
            "state": RunState.WAITING.value,
            "signature": node.signatures[run.job_name],
            "awaits": None,
        }
        if run.max_duration is not None and by.count == run.attempt:
            values["deadline_at"] = tx.now + timedelta(seconds=run.max_duration)
        tx.conn.execute(update(r).where(r.c.id == run.id).values(**values, wake_at=None))
    tx.emit(run_change(run, RunState.WAITING) for run in taken)
    if taken:
        tx.wake(Wake.RUNS)
    return len(taken)


def _may_read(node: Node, job_name: str, group: str, by: UnreadBy) -> bool:
    if not node.takes(job_name, group):
        return False
    return by.at < node.started_at or node.signatures[job_name] not in by.versions
