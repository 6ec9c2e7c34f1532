"""Skipped stretches of occurrences."""

from collections.abc import Sequence

from sqlalchemy import Connection, func, select

from ...core.model import SkippedOccurrence, SkipReason
from ..db import dialect
from ..db.unreadable import every
from ..schema.rows import reader_of
from ..schema.tables import skipped_occurrence as s

skipped_from = reader_of(SkippedOccurrence, {"reason": SkipReason}, {"count": "occurrences"})
"""The skipped stretch behind a whole row."""


def newest_of_tasks(conn: Connection, task_ids: Sequence[int]) -> dict[int, SkippedOccurrence]:
    """Return the newest skipped stretch of each of these tasks that has one."""
    wanted, parameters = dialect.batch(conn, {"task_id": dialect.KINDS[int]}, [(task_id,) for task_id in task_ids])
    newest = select(func.max(s.c.id)).where(s.c.task_id == wanted.c.task_id).scalar_subquery()
    statement = select(s).where(s.c.id.in_(select(newest).select_from(wanted)))
    return dict(every(conn, statement, s.c.id, lambda row: (row.task_id, skipped_from(row)), parameters))


def by_ids(conn: Connection, ids: Sequence[int]) -> dict[int, SkippedOccurrence]:
    """Return the skipped stretches of these ids that exist, by id."""
    statement = select(s).where(s.c.id.in_(ids))
    return {one.id: one for one in every(conn, statement, s.c.id, skipped_from)}
