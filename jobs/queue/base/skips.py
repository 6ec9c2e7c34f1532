"""Writing down why an occurrence did not become a run; equal stretches fold into one row."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection, insert, update

from ...core.events import Change, EventKind
from ...core.model import SkippedOccurrence, SkipReason, Task
from ...core.occurrences import DueTask, Skip, due_of
from ...store.db.transaction import Tx
from ...store.schema.tables import skipped_occurrence as s
from ...store.statements import tasks as stored_tasks


def record_skips(
    tx: Tx,
    task: DueTask,
    skips: tuple[Skip, ...],
    newest: SkippedOccurrence | None,
    *,
    node: str | None,
    blockers: Mapping[SkipReason, int | None],
) -> None:
    """Write the skips of one visit of ``task``; the first folds into its newest row if it continues it.

    Args:
        tx: The dispatching transaction.
        task: The task as it was before the visit.
        skips: Oldest first.
        newest: The task's newest skipped row.
        node: The node that decides.
        blockers: The unfinished run that a skip names, by its reason.
    """
    for skip in skips:
        if newest is not None and _continues(task, newest, skip):
            _extend(tx.conn, newest.id, skip, tx.now)
        else:
            run_id = blockers.get(skip.reason)
            _add(tx.conn, task.id, task.name, skip, node=node, run_id=run_id, now=tx.now)
        newest = None
        tx.emit([_change(task, skip, node)])


def record_drop(tx: Tx, task: Task, skip: Skip, *, node: str | None, run_id: int) -> None:
    """Write down that a run was dropped before its start; it folds into the task's newest row if that is its equal.

    The policy values name the last start that decided it, so no run started between two drops that are equal. The row
    names the first dropped run.
    """
    newest = stored_tasks.newest_skipped(tx.conn, [task.id]).get(task.id)
    if newest is not None and _is_equal(newest, skip) and newest.last_scheduled_for < skip.first:
        _extend(tx.conn, newest.id, skip, tx.now)
    else:
        _add(tx.conn, task.id, task.name, skip, node=node, run_id=run_id, now=tx.now)
    tx.emit([_change(due_of(task), skip, node, run_id)])


def _continues(task: DueTask, newest: SkippedOccurrence, skip: Skip) -> bool:
    """Return whether nothing became a run between the stored stretch and this one, and both have one cause."""
    return (
        _is_equal(newest, skip)
        and newest.last_scheduled_for == task.last_due_at
        # Nor within this visit: the skip is about the first occurrence that it found.
        and skip.first == task.next_nominal
    )


def _is_equal(stored: SkippedOccurrence, skip: Skip) -> bool:
    return stored.reason is skip.reason and stored.policy == skip.policy


def _change(task: DueTask, skip: Skip, node: str | None, run_id: int | None = None) -> Change:
    return Change(
        EventKind.OCCURRENCE_SKIPPED,
        task_id=task.id,
        task_name=task.name,
        run_id=run_id,
        job_name=task.job_name,
        group=task.group,
        node=node,
        state=skip.reason.value,
    )


def _add(
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


def _extend(conn: Connection, skipped_id: int, skip: Skip, now: datetime) -> None:
    """Fold a further stretch of the same reason into a row."""
    statement = (
        update(s)
        .where(s.c.id == skipped_id)
        .values(last_scheduled_for=skip.last, occurrences=s.c.occurrences + skip.count, at=now)
    )
    conn.execute(statement)
