"""Select the executions of a figure."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, exists

from ...schema.tables import job_execution as e
from ...schema.tables import run
from ..listing.criteria import LabelMatch, began_after, began_before

_PRIME, _STEP = 1_000_003, 618_034
"""Multiples of the golden ratio, modulo one: every stretch of ids has its share, and so has each of two jobs that
alternate, which those ids that a number divides would not give."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Select executions that started in ``start <= time < end``, of one job, task, group or node if given.

    ``label``: of runs that have it. With ``every`` above one it is an even sample of these, by their
    ids: about one of so many.
    """

    start: datetime
    end: datetime
    job_name: str | None = None
    task_name: str | None = None
    group: str | None = None
    node: str | None = None
    every: int = 1
    label: LabelMatch | None = None

    def condition(self) -> ColumnElement[bool]:
        """Return the SQL of it."""
        conditions = [e.c.started_at >= self.start, e.c.started_at < self.end]
        if self.job_name is not None:
            conditions.append(e.c.job_name == self.job_name)
        if self.task_name is not None:
            conditions.append(e.c.task_name == self.task_name)
        if self.node is not None:
            conditions.append(e.c.node == self.node)
        if self.every > 1:
            conditions.append(e.c.id % _PRIME * _STEP % _PRIME < _PRIME // self.every)
        if self.group is not None:
            # Run by run: there are far fewer in a span of time than runs of a group.
            conditions.append(exists().where(run.c.id == e.c.run_id, run.c.group_name == self.group))
        if self.label is not None:
            conditions.append(self.label.sql(e.c.run_id))
        if self.job_name is not None or self.task_name is not None:
            conditions.append(self.ids())
        return and_(*conditions)

    def ids(self) -> ColumnElement[bool]:
        """Return the ids between which the executions of the span lie."""
        return and_(began_after(self.start), began_before(self.end))
