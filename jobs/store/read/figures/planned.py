"""The tasks whose next occurrences are planned in a span of time."""

from datetime import datetime

from sqlalchemy import Connection, exists

from ....core.base.errors import UnreadableRow
from ....core.model import Task
from ...db.unreadable import each
from ...schema.tables import job
from ...schema.tables import periodic_task as t
from ..listing.criteria import EVERYTHING, Criteria
from ..lists import TASKS


def planned(
    conn: Connection, start: datetime, end: datetime, first: int, cap: int, criteria: Criteria = EVERYTHING
) -> list[Task | UnreadableRow]:
    """Return the tasks that can have one of the ``first`` earliest occurrences in ``start <= time < end``.

    These are the tasks due before ``start`` (their later occurrences may lie in the span) and, of those due in the
    span, the ``first`` earliest. Paused tasks and those whose job no node has published are left out. In the place of
    one that cannot be read is its fault.

    Args:
        start: The beginning of the span.
        first: How many occurrences are wanted.
        cap: Most tasks of the first kind; of more, those that are due earliest count.
        criteria: Which tasks, by the fields of the list of tasks.
    """
    due = t.c.next_execution
    alive = exists().where(job.c.name == t.c.job_name)
    active = TASKS.rows.where(t.c.enabled, alive, TASKS.condition(criteria)).order_by(due, t.c.id)
    earlier = each(conn, active.where(due < start, due < end).limit(cap), t.c.id, TASKS.model)
    in_range = each(conn, active.where(due >= start, due < end).limit(first), t.c.id, TASKS.model)
    return [*earlier, *in_range]
