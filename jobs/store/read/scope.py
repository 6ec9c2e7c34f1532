"""Which executions a figure is about."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, func, select

from ..schema.tables import job_execution as e

SLACK = timedelta(hours=1)
"""Ids ascend with the time of the start, but for starts that were committed late and clocks that were set back."""
_NEIGHBOURS = 100


@dataclass(frozen=True, slots=True)
class Scope:
    """Which executions: those that started in ``start <= time < end``, of one job or one task if given."""

    start: datetime
    end: datetime
    job_name: str | None = None
    task_name: str | None = None

    def condition(self) -> ColumnElement[bool]:
        """The SQL of it."""
        conditions = [e.c.started_at >= self.start, e.c.started_at < self.end]
        if self.job_name is not None:
            conditions.append(e.c.job_name == self.job_name)
        if self.task_name is not None:
            conditions.append(e.c.task_name == self.task_name)
        if len(conditions) > 2:
            conditions.append(self.ids())
        return and_(*conditions)

    def ids(self) -> ColumnElement[bool]:
        """The ids between which the executions of the span lie.

        Says little new, but an index over something else and the id can begin and end there: else it would be read
        through the whole history of a job.
        """
        later = e.c.started_at >= _shifted(self.start, -SLACK)
        earlier = e.c.started_at < _shifted(self.end, SLACK)
        begin = select(e.c.id).where(later).order_by(e.c.started_at).limit(_NEIGHBOURS).subquery("begin_of_span")
        end = select(e.c.id).where(earlier).order_by(e.c.started_at.desc()).limit(_NEIGHBOURS).subquery("end_of_span")
        # Nothing lies in the span at all if there is no neighbour.
        first = select(func.min(begin.c.id)).scalar_subquery()
        last = select(func.max(end.c.id)).scalar_subquery()
        return and_(e.c.id >= first, e.c.id <= last)


def _shifted(instant: datetime, by: timedelta) -> datetime:
    """A time so much later, within what the calendar has."""
    try:
        return instant + by
    except OverflowError:
        return instant
