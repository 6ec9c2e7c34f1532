"""Read and change nodes: their registration, lease, state, and the jobs that they publish."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, case, delete, func, insert, or_, select, text, update
from sqlalchemy.dialects import postgresql

from ...core.admission.caps import Rate
from ...core.base.signature import foreign_to
from ...core.defaults import JobInfo
from ...core.model import Json
from ...core.nodes import EVERYTHING, LIVE_NODES, TAKING_NODES, Blockage, Node, NodeChoice, NodeState
from ..db import dialect
from ..db.unreadable import every, readable
from ..schema.rows import defaults_document, reader_of
from ..schema.tables import job as j
from ..schema.tables import node as n
from ..schema.types import from_text, to_text

LIVE = sorted(state.value for state in LIVE_NODES)
TAKING = sorted(state.value for state in TAKING_NODES)


def choice_from(stored: Json) -> NodeChoice:
    """Return a node's choice of runs, as it is stored: the parts that leave something out."""
    return NodeChoice(**{name: tuple(names) for name, names in stored.items()}) if stored else EVERYTHING


def _blockage_from(stored: Json) -> Blockage | None:
    return stored and Blockage(from_text(stored["since"]), stored["run"], stored["job"], tuple(stored["stack"]))


node_from = reader_of(Node, {"state": NodeState, "jobs": tuple, "blockage": _blockage_from, "choice": choice_from})
"""The node behind a whole row."""


def live(conn: Connection) -> list[Node]:
    """Return all nodes not known to have stopped or died, by id."""
    return readable(conn, select(n).where(n.c.state.in_(LIVE)).order_by(n.c.id), n.c.id, node_from)


def _signatures_from(row: Row[Any]) -> tuple[int, dict[str, str], NodeChoice, datetime, datetime]:
    return row.id, row.signatures, choice_from(row.choice), row.heartbeat_at, row.expires_at


def _may_go_on(heartbeat_at: datetime, expires_at: datetime, now: datetime) -> bool:
    """Return whether a node's lease holds, or ended no more than a lease ago."""
    return now - expires_at <= expires_at - heartbeat_at


def taking(conn: Connection, now: datetime) -> list[Node]:
    """Return the nodes that take runs, by id, without those whose lease ended more than a lease ago."""
    rows = conn.execute(select(n).where(n.c.state.in_(TAKING)).order_by(n.c.id))
    return [node_from(row) for row in rows if _may_go_on(row.heartbeat_at, row.expires_at, now)]


def foreign_signatures(conn: Connection, node_id: int, now: datetime) -> frozenset[str]:
    """Return the signatures that other nodes which take runs have for jobs of which this node has another version.

    Nodes count that take runs of all the groups of which this one does: who leaves runs to them knows that they come.
    One whose lease ended more than a lease ago comes no more, though nobody may be able to declare it dead.
    """
    columns = (n.c.id, n.c.signatures, n.c.choice, n.c.heartbeat_at, n.c.expires_at)
    rows = readable(conn, select(*columns).where(n.c.state.in_(TAKING)), n.c.id, _signatures_from)
    found = {
        key: (signatures, choice)
        for key, signatures, choice, heartbeat_at, expires_at in rows
        if key == node_id or _may_go_on(heartbeat_at, expires_at, now)
    }
    own, choice = found.pop(node_id, ({}, EVERYTHING))
    others = (signatures for signatures, theirs in found.values() if theirs.covers_groups_of(choice))
    return frozenset[str]().union(*(foreign_to(own, one) for one in others))


def seen_since(conn: Connection, since: datetime) -> list[Node]:
    """Return the nodes, live or not, whose newest sign of life is no older, by id."""
    return readable(conn, select(n).where(n.c.heartbeat_at >= since).order_by(n.c.id), n.c.id, node_from)


def expired(conn: Connection, now: datetime) -> list[Node]:
    """Return the live nodes whose lease has run out by the database's time.

    A heartbeat that is still to come by that time was given before somebody set the clock back: it says nothing.
    """
    over = or_(n.c.expires_at < now, n.c.heartbeat_at > now)
    statement = select(n).where(n.c.state.in_(LIVE), over).order_by(n.c.id)
    return readable(conn, statement, n.c.id, node_from)


def by_ids(conn: Connection, ids: Sequence[int]) -> dict[int, Node]:
    """Return the nodes of these ids that exist, by id."""
    return {node.id: node for node in every(conn, select(n).where(n.c.id.in_(ids)), n.c.id, node_from)}


def live_by_name(conn: Connection, name: str) -> Node | None:
    """Return the live node of this name."""
    statement = select(n).where(n.c.name == name, n.c.state.in_(LIVE))
    return next(iter(every(conn, statement, n.c.id, node_from)), None)


def newest_by_names(conn: Connection, names: Sequence[str]) -> dict[str, Node]:
    """Return the newest node of each of these names, live or not, by name."""
    statement = select(n).where(n.c.name.in_(names)).order_by(n.c.id)
    return {node.name: node for node in every(conn, statement, n.c.id, node_from)}


_PUBLISHED = ("description", "schedule", "isolation", "args_schema", "defaults", "tags", "signature", "slots")


def publish(conn: Connection, jobs: Sequence[JobInfo]) -> None:
    """Write the jobs that this node can run; the newest node's description counts.

    The schema of another version is kept with it, until no node has that version (``forget_versions``).
    """
    if not jobs:
        return
    statement = dialect.upsert(conn, j, ["name"], list(_PUBLISHED))
    if dialect.is_postgresql(conn):
        # On SQLite there is one node, and so one version.
        before = func.jsonb_build_object(
            j.c.signature, func.jsonb_build_object("args_schema", j.c.args_schema, "defaults", j.c.defaults)
        )
        known = func.coalesce(j.c.versions, text("'{}'::jsonb")).op("-")(statement.excluded.signature)
        others = case((j.c.signature == statement.excluded.signature, j.c.versions), else_=known.op("||")(before))
        published = {name: statement.excluded[name] for name in _PUBLISHED}
        statement = postgresql.insert(j)
        statement = statement.on_conflict_do_update(index_elements=["name"], set_={**published, "versions": others})
    rows = [
        {name: getattr(job, name) for name in ("name", *_PUBLISHED)}
        | {"isolation": job.isolation.value, "defaults": defaults_document(job.defaults), "tags": list(job.tags)}
        # In one order everywhere, so that two starting nodes never wait for each other.
        for job in sorted(jobs, key=lambda job: job.name)
    ]
    conn.execute(statement, rows)


def set_rate(conn: Connection, name: str, rate: Rate | None) -> None:
    """Set a rate in place of the one in the code of a job; None = use the code's rate."""
    conn.execute(update(j).where(j.c.name == name).values(rate=None if rate is None else rate.to_json()))


def forget(conn: Connection, *, keep: Collection[str]) -> list[str]:
    """Delete the jobs outside ``keep``; returns their names."""
    return sorted(conn.execute(delete(j).where(j.c.name.not_in(sorted(keep))).returning(j.c.name)).scalars())


def forget_versions(conn: Connection) -> None:
    """Forget versions that no node has any more, running or stopping; a job whose newest one has gone has another."""
    rows = conn.execute(select(j).where(j.c.versions.is_not(None)).order_by(j.c.name).with_for_update()).all()
    if not rows:
        return
    had = [node.signatures for node in live(conn)]
    for row in rows:
        signatures = {one.get(row.name) for one in had}
        versions: dict[str, Any] = row.versions
        left = {name: version for name, version in versions.items() if name in signatures}
        newest: dict[str, Any] = {}
        if left and row.signature not in signatures:
            signature = min(left)
            newest = {"signature": signature, **left.pop(signature)}
        if newest or left != versions:
            conn.execute(update(j).where(j.c.name == row.name).values(versions=left or None, **newest))


def _blockage_values(blockage: Blockage) -> Json:
    return {
        "since": to_text(blockage.since),
        "run": blockage.run_id,
        "job": blockage.job_name,
        "stack": list(blockage.stack),
    }


def register(
    conn: Connection,
    *,
    name: str,
    slots: tuple[int, int | None, int | None, int | None],
    version: str,
    jobs: Mapping[str, str | None],
    choice: NodeChoice,
    seq: int,
    clock_skew: float,
    now: datetime,
    lease: float,
) -> Node:
    """Insert a node that is about to start and return it.

    It knows ``jobs``, by their names; of those that it takes, the signature is said. ``slots``: how many in all, and
    how many of them runs in threads and those in child processes may take, None = all; how many runs at engines it has
    besides, None = none.
    """
    statement = (
        insert(n)
        .values(
            name=name,
            state=NodeState.STARTING.value,
            slots=slots[0],
            thread_slots=slots[1],
            process_slots=slots[2],
            remote_slots=slots[3],
            running=0,
            version=version,
            seq=seq,
            started_at=now,
            heartbeat_at=now,
            expires_at=now + timedelta(seconds=lease),
            clock_skew=clock_skew,
            jobs=list(jobs),
            signatures={name: signature for name, signature in jobs.items() if signature is not None},
            choice={name: list(names) for name, names in asdict(choice).items() if names},
        )
        .returning(n)
    )
    return node_from(conn.execute(statement).one())


def beat(
    conn: Connection, node_id: int, *, now: datetime, lease: float, running: int, clock_skew: float
) -> NodeState | None:
    """Prolong a live node's lease; return its state, or None if it was declared dead meanwhile."""
    expires_at = now + timedelta(seconds=lease)
    beaten = {"seq": n.c.seq + 1, "heartbeat_at": now, "expires_at": expires_at}
    return _set(conn, node_id, **beaten, running=running, clock_skew=clock_skew)


def set_state(conn: Connection, node_id: int, state: NodeState, sources: Collection[NodeState] = LIVE_NODES) -> bool:
    """Change the state of a node that is in one of ``sources``; False if it is in another one."""
    statement = (
        update(n)
        .where(n.c.id == node_id, n.c.state.in_(sorted(source.value for source in sources)))
        .values(state=state.value, running=n.c.running if state in LIVE_NODES else 0)
    )
    return conn.execute(statement).rowcount == 1


def set_blockage(conn: Connection, node_id: int, blockage: Blockage | None) -> NodeState | None:
    """Store the blockage of a live node's loop, None = it turns; return the node's state, None if not live."""
    return _set(conn, node_id, blockage=None if blockage is None else _blockage_values(blockage))


def set_launcher_fault(conn: Connection, node_id: int, fault: str | None) -> NodeState | None:
    """Store why a live node can start no child process, None = it can; return the node's state, None if not live."""
    return _set(conn, node_id, launcher_fault=fault)


def set_stall(conn: Connection, node_id: int, part: str | None) -> NodeState | None:
    """Store which part of a live node makes no progress, None = all do; return the node's state, None if not live."""
    serves = n.c.state.in_([NodeState.ACTIVE.value, NodeState.STALLED.value])
    served = NodeState.ACTIVE if part is None else NodeState.STALLED
    return _set(conn, node_id, stall=part, state=case((serves, served.value), else_=n.c.state))


def _set(conn: Connection, node_id: int, **values: Any) -> NodeState | None:
    statement = update(n).where(n.c.id == node_id, n.c.state.in_(LIVE)).values(values).returning(n.c.state)
    state = conn.execute(statement).scalar_one_or_none()
    return None if state is None else NodeState(state)


def fence(conn: Connection, node_id: int, seq: int) -> bool:
    """Declare a node dead, if its heartbeat has not moved since ``seq`` was read.

    False too for one that is in the middle of a claim (``claims.live_node``), or that somebody else declares dead now.
    """
    condition = (n.c.id == node_id, n.c.seq == seq, n.c.state.in_(LIVE))
    if conn.execute(select(n.c.id).where(*condition).with_for_update(skip_locked=True)).first() is None:
        return False
    conn.execute(update(n).where(n.c.id == node_id).values(state=NodeState.EXPIRED.value, running=0))
    return True


def lock(conn: Connection, node_id: int) -> None:
    """Wait until no claim of this node is under way (``claims.live_node``), and let none begin before the commit."""
    conn.execute(select(n.c.id).where(n.c.id == node_id).with_for_update())
