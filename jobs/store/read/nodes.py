"""Nodes: which live, and which lease has run out."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, or_, select

from ...core.base.signature import foreign_to
from ...core.model import Json
from ...core.nodes import EVERYTHING, LIVE_NODES, TAKING_NODES, Blockage, Node, NodeChoice, NodeState
from ..db.unreadable import every, readable
from ..schema.rows import reader_of
from ..schema.tables import node as n
from ..schema.types import from_text

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
