"""Rows by key, many at once: each function is one statement."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from ...core.model import Group, JobInfo, Node, SkippedOccurrence, Task
from ..schema.tables import job, node, periodic_task, queue_group, skipped_occurrence
from ..write.groups import group_from
from ..write.jobs import job_from
from ..write.nodes import live, node_from
from ..write.skipped import skipped_from
from ..write.tasks import task_from


def tasks_by_names(conn: Connection, names: Sequence[str]) -> dict[str, Task]:
    """The tasks of these names that exist, by name."""
    statement = select(periodic_task).where(periodic_task.c.name.in_(names))
    return {row.name: task_from(row) for row in conn.execute(statement)}


def skipped_by_ids(conn: Connection, ids: Sequence[int]) -> dict[int, SkippedOccurrence]:
    """The skipped stretches of these ids that exist, by id."""
    statement = select(skipped_occurrence).where(skipped_occurrence.c.id.in_(ids))
    return {row.id: skipped_from(row) for row in conn.execute(statement)}


def nodes_by_names(conn: Connection, names: Sequence[str]) -> dict[str, Node]:
    """The newest node of each of these names, live or not, by name."""
    statement = select(node).where(node.c.name.in_(names)).order_by(node.c.id)
    return {row.name: node_from(row) for row in conn.execute(statement)}


def groups_by_names(conn: Connection, names: Sequence[str]) -> dict[str, Group]:
    """The pauses and limits of those of these groups that have any, by name."""
    statement = select(queue_group).where(queue_group.c.name.in_(names))
    return {row.name: group_from(row) for row in conn.execute(statement)}


def jobs_by_names(conn: Connection, names: Sequence[str]) -> dict[str, JobInfo]:
    """The published jobs of these names, each with the live nodes that know it, by name."""
    nodes = live(conn)
    rows = conn.execute(select(job).where(job.c.name.in_(names)))
    return {row.name: job_from(row, [node.name for node in nodes if row.name in node.jobs]) for row in rows}
