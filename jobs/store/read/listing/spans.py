"""Where in the execution log the executions of a span of time stand: between which ids."""

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, func, select

from ...schema.tables import job_execution as e

SLACK = timedelta(hours=1)
"""Ids ascend with the time of the start, but for starts that were committed late and clocks that were set back."""
_NEIGHBOURS = 100


def began_after(instant: datetime) -> ColumnElement[bool]:
    """What follows for the id of an execution that began at a time or later.

    Says little new, but an index over something else and the id can begin or end there: else it would be read through
    the whole history. Nothing began so late if there is no neighbour.
    """
    later = e.c.started_at >= instant - SLACK
    neighbours = select(e.c.id).where(later).order_by(e.c.started_at).limit(_NEIGHBOURS).subquery("begin_of_span")
    return e.c.id >= select(func.min(neighbours.c.id)).scalar_subquery()


def began_before(instant: datetime) -> ColumnElement[bool]:
    """What follows for the id of an execution that began at a time or earlier, see ``began_after``."""
    earlier = e.c.started_at < instant + SLACK
    neighbours = (
        select(e.c.id).where(earlier).order_by(e.c.started_at.desc()).limit(_NEIGHBOURS).subquery("end_of_span")
    )
    return e.c.id <= select(func.max(neighbours.c.id)).scalar_subquery()
