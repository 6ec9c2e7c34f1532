"""Statements on ``skipped_occurrence``: why something did not run."""

from datetime import datetime

from sqlalchemy import Connection, insert, update

from ..core.misfire import Skip
from ..store.schema.tables import skipped_occurrence as s


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
