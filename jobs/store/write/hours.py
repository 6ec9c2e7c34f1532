"""The execution log counted by hours, so that figures over days cost the same however many executions there were.

An hour is counted once, when it is over and nothing that began in it still runs: then its executions do not change any
more, whoever reads them. Nothing is written for it where executions begin and end; readers count the few hours that
are not counted yet in the log itself. What is pruned by number later stays counted; by age the hours go with the log.
"""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, delete, exists, literal, select, tuple_

from ..db import dialect
from ..read.figures.hours import HOUR, AnySelect, figures
from ..schema.figures import HourKind
from ..schema.tables import execution_hour as h
from ..schema.tables import job_execution as e
from ..schema.tables import run
from ..schema.types import UtcDateTime

_NAMES: Final[dict[HourKind, ColumnElement[Any]]] = {
    HourKind.JOB: e.c.job_name,
    HourKind.TASK: e.c.task_name,
    HourKind.GROUP: run.c.group_name,
    HourKind.NODE: e.c.node,
}
"""What is counted by name, beside everything."""


def count(conn: Connection, hour: datetime) -> bool:
    """Count an hour that is over, unless something that began in it still runs; whether it is counted now.

    Counting it twice changes nothing: two nodes may try at once.
    """
    within = (e.c.started_at >= hour, e.c.started_at < hour + HOUR)
    if conn.execute(select(exists().where(e.c.completed_at.is_(None), *within))).scalar_one():
        return False
    for kind, name in _NAMES.items():
        rows = _counted(literal(kind.value), name, hour).where(*within, name.is_not(None)).group_by(name)
        if kind is HourKind.GROUP:
            rows = rows.where(run.c.id == e.c.run_id)
        conn.execute(_inserting(conn, rows))
    # This one last, and also without any execution: it tells that the hour is counted.
    conn.execute(_inserting(conn, _counted(literal(HourKind.ALL.value), literal(""), hour).where(*within)))
    return True


def _counted(kind: ColumnElement[str], name: ColumnElement[Any], hour: datetime) -> AnySelect:
    return select(kind, name, literal(hour, UtcDateTime()), *figures())


def _inserting(conn: Connection, rows: AnySelect) -> Any:
    columns = ["kind", "name", "hour", "executions", "failures", "successes", "records"]
    return dialect.insert_or_ignore(conn, h).from_select(columns, rows)


def prune(conn: Connection, before: datetime, limit: int) -> int:
    """Delete up to ``limit`` rows of hours that ended before ``before``; returns how many."""
    key = (h.c.kind, h.c.name, h.c.hour)
    doomed = select(*key).where(h.c.hour <= before - HOUR).order_by(h.c.hour).limit(limit)
    return conn.execute(delete(h).where(tuple_(*key).in_(doomed))).rowcount
