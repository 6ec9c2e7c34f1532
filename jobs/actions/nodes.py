"""Change nodes in the order of their life: they join, beat, are drained, leave, and are rescued from."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from ..core.actor import CODE
from ..core.arguments.revisions import Revised, RevisedKind, job_values
from ..core.base.errors import InvalidState
from ..core.defaults import JobInfo
from ..core.events import Change, EventKind
from ..core.nodes import EVERYTHING, LIVE_NODES, SILENT, TAKING_NODES, Blockage, Node, NodeChoice, NodeState
from ..core.outcome import JobOutcome
from ..core.rules import unknown
from ..queue import finish
from ..queue.base.apart import in_halves, reason_of
from ..queue.losses import release, rescue
from ..store.db.transaction import Tx, Wake
from ..store.statements import jobs as stored_jobs
from ..store.statements import nodes as stored_nodes
from .tasks import follow_defaults

LEFT_BEHIND_SENTENCE = "its code could not be stopped and went on"
"""Of a lost execution."""
FORGET_AFTER = timedelta(hours=24)
"""A job that no node has known for this long is forgotten when a node starts (at once on SQLite)."""


@dataclass(frozen=True, slots=True)
class NewNode:
    """A process that is about to become a node.

    ``jobs``: all that it knows; ``choice``: which runs it takes; ``thread_slots``,
    ``process_slots``: None = all slots; ``remote_slots``: None = no runs at engines; ``lease``: seconds; ``seq``: the
    number that its heartbeats count from.
    """

    name: str
    slots: int
    version: str
    jobs: tuple[JobInfo, ...]
    lease: float
    thread_slots: int | None = None
    process_slots: int | None = None
    choice: NodeChoice = EVERYTHING
    seq: int = 1
    remote_slots: int | None = None


def join(tx: Tx, new: NewNode, *, only_node: bool) -> Node:
    """Register a node and publish its jobs.

    Args:
        only_node: No other process can hold the database (the SQLite file lock): a node that is recorded as live is
            dead and is rescued at once, and jobs that this node does not know are forgotten.
    """
    if only_node:
        for dead in stored_nodes.live(tx.conn):
            rescue(tx, dead, reason="its process ended without a clean stop")
    known = [job.name for job in new.jobs]
    _publish(tx, new.jobs)
    others = [] if only_node else stored_nodes.seen_since(tx.conn, tx.now - FORGET_AFTER)
    stored_nodes.forget(tx.conn, keep={name for node in others for name in node.jobs}.union(known))
    node = stored_nodes.register(
        tx.conn,
        name=new.name,
        slots=(new.slots, new.thread_slots, new.process_slots, new.remote_slots),
        version=new.version,
        jobs={job.name: job.signature if new.choice.takes_job(job.name, job.tags) else None for job in new.jobs},
        choice=new.choice,
        seq=new.seq,
        clock_skew=_skew(tx.now),
        now=tx.now,
        lease=new.lease,
    )
    stored_nodes.forget_versions(tx.conn)
    tx.emit([_change(EventKind.NODE_STARTED, node.name, node.state)])
    tx.wake(Wake.NODES)
    return node


def _publish(tx: Tx, infos: Sequence[JobInfo]) -> None:
    """Write the jobs that a node can run; tasks follow a job that says something else about its runs than before."""
    names = [job.name for job in infos]
    before = stored_jobs.defaults(tx.conn, names)
    known = stored_jobs.by_names(tx.conn, names)
    stored_nodes.publish(tx.conn, infos)
    for job in infos:
        if job.name in known:
            code = replace(known[job.name], defaults=before[job.name])
            tx.revise(Revised(RevisedKind.JOB, job.name, job.name), job_values(code), job_values(job), actor=CODE)
    changed = [job.name for job in infos if before[job.name] != job.defaults]
    if changed:
        follow_defaults(tx, changed)


def live_names(tx: Tx) -> set[str]:
    """Return the names that live nodes have."""
    return {node.name for node in stored_nodes.live(tx.conn)}


def set_state(tx: Tx, node: Node, state: NodeState, sources: Collection[NodeState] = LIVE_NODES) -> bool:
    """Change the state of a node that is in one of ``sources`` (``leave`` ends it); False if it is in another one."""
    changed = stored_nodes.set_state(tx.conn, node.id, state, sources)
    if changed:
        tx.emit([_change(EventKind.NODE_UPDATED, node.name, state)])
        tx.wake(Wake.NODES)
    return changed


def leave(tx: Tx, node: Node, state: NodeState, *, unfinished: JobOutcome, left_behind: Collection[int] = ()) -> int:
    """End this process' own node: write its last state, and end the runs that it still holds as ``unfinished``.

    Nothing may be left to a node that is not live any more, because only live nodes are rescued.

    Args:
        state: Its last one.
        unfinished: How the open attempts end.
        left_behind: The executions whose code could not be stopped, also those that others have closed.

    Returns:
        How many runs it still held.
    """
    # A claim whose caller has gone may still be on its way to its commit.
    stored_nodes.lock(tx.conn, node.id)
    stopped = stored_nodes.set_state(tx.conn, node.id, state)
    stored_nodes.forget_versions(tx.conn)
    released = release(tx, node.id, node.name, unfinished)
    if left_behind:
        finish.note_left_behind(tx.conn, node.id, sorted(left_behind), LEFT_BEHIND_SENTENCE)
    if stopped:
        tx.emit([_change(EventKind.NODE_STOPPED, node.name, state)])
    tx.wake(Wake.RUNS | Wake.NODES)
    return released


def note_blockage(
    tx: Tx, node: Node, *, seconds: float, run_id: int | None, job_name: str | None, stack: Sequence[str]
) -> None:
    """Record for how many seconds something has blocked the event loop of this process' jobs.

    Args:
        node: This process' node.
        seconds: Since when, counted back from now.
        run_id: The run whose code is at work, if it is a job's.
        job_name: The job of that run.
        stack: Where that code is, the innermost place last.
    """
    since = tx.now - timedelta(seconds=seconds)
    _emit_update(tx, node, stored_nodes.set_blockage(tx.conn, node.id, Blockage(since, run_id, job_name, tuple(stack))))


def end_blockage(tx: Tx, node: Node) -> None:
    """Record that the event loop of this process' jobs turns again."""
    _emit_update(tx, node, stored_nodes.set_blockage(tx.conn, node.id, None))


def note_launcher_fault(tx: Tx, node: Node, fault: str | None) -> None:
    """Record why this process can start no child process, or that it can again (None)."""
    _emit_update(tx, node, stored_nodes.set_launcher_fault(tx.conn, node.id, None if fault is None else fault[:500]))


def note_stall(tx: Tx, node: Node, part: str | None) -> None:
    """Record which part of this process has made no progress for a whole lease, or that all do again (None)."""
    _emit_update(tx, node, stored_nodes.set_stall(tx.conn, node.id, part))


def _emit_update(tx: Tx, node: Node, state: NodeState | None) -> None:
    if state is not None:
        tx.emit([_change(EventKind.NODE_UPDATED, node.name, state)])


def drain_node(tx: Tx, name: str) -> Node:
    """Ask a live node to take nothing new and to end once its running jobs have ended, as SIGTERM does.

    One that drains or stops already is left as it is.

    Raises:
        NotFound: no live node has this name.
    """
    node = _live_node(tx, name)
    tx.note_before(name, state=node.state.value)
    set_state(tx, node, NodeState.DRAINING, TAKING_NODES)
    return stored_nodes.by_ids(tx.conn, [node.id])[node.id]


def resume_node(tx: Tx, name: str) -> Node:
    """Take ``drain_node`` back; a node that does not drain is left as it is.

    Raises:
        NotFound: no live node has this name.
        InvalidState: it is too late, the node stops.
    """
    node = _live_node(tx, name)
    tx.note_before(name, state=node.state.value)
    set_state(tx, node, NodeState.ACTIVE, {NodeState.DRAINING})
    resumed = stored_nodes.by_ids(tx.conn, [node.id])[node.id]
    if resumed.state not in TAKING_NODES:
        raise InvalidState(
            f"node '{name}' is {resumed.state.value} and ends; start its process again once it has", path=("name",)
        )
    return resumed


def _live_node(tx: Tx, name: str) -> Node:
    node = stored_nodes.live_by_name(tx.conn, name)
    if node is None:
        raise unknown("live node", name, sorted(live_names(tx)))
    return node


@dataclass(frozen=True, slots=True)
class Beat:
    """Answer a node's heartbeat.

    Attributes:
        state: As others may have set it; None = it was declared dead.
        foreign: Signatures of other versions of its jobs that other nodes have: runs with these are left to them.
    """

    state: NodeState | None
    foreign: frozenset[str] = frozenset()


def heartbeat(tx: Tx, node_id: int, *, lease: float, running: int) -> Beat:
    """Prolong the lease, and read the changes around the node."""
    state = stored_nodes.beat(tx.conn, node_id, now=tx.now, lease=lease, running=running, clock_skew=_skew(tx.now))
    if state is NodeState.STALLED:
        node = stored_nodes.by_ids(tx.conn, [node_id])[node_id]
        if node.stall == SILENT:
            note_stall(tx, node, None)
    return Beat(state, frozenset() if state is None else stored_nodes.foreign_signatures(tx.conn, node_id, tx.now))


def rescue_expired(tx: Tx, dead: Sequence[Node]) -> int:
    """Rescue the runs of nodes that the caller has watched for a full lease; return how many runs."""
    rescued: dict[int, int] = {}

    def take(nodes_left: Sequence[Node]) -> None:
        for node in nodes_left:
            rescued[node.id] = rescue(tx, node, reason="no heartbeat within its lease")

    for node, error in in_halves(tx, dead, take):
        rescued.pop(node.id, None)
        reason_of(f"the runs of node {node.name}, which is dead, could not be taken back", error)
    return sum(rescued.values())


def _skew(now: datetime) -> float:
    """Return this process' clock minus the database's, in seconds."""
    return (datetime.now(UTC) - now).total_seconds()


def _change(kind: EventKind, name: str, state: NodeState) -> Change:
    return Change(kind, node=name, state=state.value)
