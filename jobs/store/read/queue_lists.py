"""What serves and shares the queue as lists: groups and nodes."""

from sqlalchemy import Subquery, func, literal, select, union

from ...core.model import DEFAULT_GROUP, Group, Node
from ...core.states import CLAIMABLE, OCCUPYING
from ..db.words import words
from ..schema.tables import node, periodic_task, queue_group, run
from .groups import group_from
from .keyset import OrderKey
from .lists import Listing
from .nodes import node_from


def _names() -> Subquery:
    """The names of all groups: of tasks, of unfinished runs, of those with a row of their own, and of the default one.

    The queue may be long and have few groups, so its index is walked by jumps from each name to the next: what that
    costs depends on the groups and not on the runs. What nodes hold is bounded by their slots.
    """
    claimable = run.c.state.in_(words(CLAIMABLE))
    walk = select(func.min(run.c.group_name).label("name")).where(claimable).cte("pending", recursive=True)
    following = select(func.min(run.c.group_name)).where(claimable, run.c.group_name > walk.c.name).scalar_subquery()
    walk = walk.union_all(select(following).where(walk.c.name.is_not(None)))
    return union(
        select(queue_group.c.name),
        select(literal(DEFAULT_GROUP)),
        select(periodic_task.c.group_name),
        select(run.c.group_name).where(run.c.state.in_(words(OCCUPYING))),
        select(walk.c.name).where(walk.c.name.is_not(None)),
    ).subquery("named")


_NAMED = _names()

GROUPS: Listing[Group] = Listing(
    name="groups",
    rows=select(
        _NAMED.c.name,
        queue_group.c.paused_at,
        queue_group.c.paused_by,
        queue_group.c.pause_reason,
        queue_group.c.max_running,
    ).join_from(_NAMED, queue_group, queue_group.c.name == _NAMED.c.name, isouter=True),
    key=_NAMED.c.name,
    fields={
        "name": _NAMED.c.name,
        "paused": queue_group.c.paused_at.is_not(None),
        "max_running": queue_group.c.max_running,
    },
    order=(OrderKey("name"),),
    model=group_from,
)
"""All groups that a task or an unfinished run names, those that were once paused or limited, and the default one."""

NODES: Listing[Node] = Listing(
    name="nodes",
    rows=select(node),
    key=node.c.id,
    fields={
        "id": node.c.id,
        "name": node.c.name,
        "state": node.c.state,
        "version": node.c.version,
        "started_at": node.c.started_at,
    },
    order=(OrderKey("id", descending=True),),
    model=node_from,
)
"""All nodes, live or not, that were not pruned."""
