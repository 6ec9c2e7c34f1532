"""Statements on ``skipped_occurrence``: why something did not run."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update

from ...core.dispatch import Skip
from ...core.model import SkippedOccurrence, SkipReason
from ..db import dialect
from ..schema.tables import skipped_occurrence as s


def skipped_from(row: Row[Any]) -> SkippedOccurrence:
    """The skipped stretch behind a whole row."""
    return SkippedOccurrence(
        id=row.id,
        task_id=row.task_id,
        task_name=row.task_name,
        reason=SkipReason(row.reason),
        first_scheduled_for=row.first_scheduled_for,
        last_scheduled_for=row.last_scheduled_for,
        count=row.occurrences,
        policy=row.policy,
        node=row.node,
        run_id=row.run_id,
        at=row.at,
    )


def newest_of_tasks(conn: Connection, task_ids: Sequence[int]) -> dict[int, SkippedOccurrence]:
    """The newest skipped stretch of each of these tasks that has one."""
    wanted, parameters = dialect.batch(conn, {"task_id": dialect.KINDS[int]}, [(task_id,) for task_id in task_ids])
    newest = select(func.max(s.c.id)).where(s.c.task_id == wanted.c.task_id).scalar_subquery()
    statement = select(s).where(s.c.id.in_(select(newest).select_from(wanted)))
    return {row.task_id: skipped_from(row) for row in conn.execute(statement, parameters)}


def add(
    conn: Connection, task_id: int, task_name: str, skip: Skip, *, node: str | None, run_id: int | None, now: datetime
) -> int:
    """Insert a skipped stretch and return its id."""
    statement = (
        insert(s)
        .values(
            task_id=task_id,
            task_name=task_name,
            reason=skip.reason.value,
            first_scheduled_for=skip.first,
            last_scheduled_for=skip.last,
            occurrences=skip.count,
            policy=skip.policy,
            node=node,
            run_id=run_id,
            at=now,
        )
        .returning(s.c.id)
    )
    skipped_id: int = conn.execute(statement).scalar_one()
    return skipped_id


def extend(conn: Connection, skipped_id: int, skip: Skip, now: datetime) -> None:
    """Fold a further stretch of the same reason into a row."""
    statement = (
        update(s)
        .where(s.c.id == skipped_id)
        .values(last_scheduled_for=skip.last, occurrences=s.c.occurrences + skip.count, at=now)
    )
    conn.execute(statement)
