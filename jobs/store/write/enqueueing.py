"""A new run on PostgreSQL in one statement: its time, row and event, and the notification of all nodes."""

import json
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Float, Integer, Text, TextualSelect, bindparam
from sqlalchemy.dialects.postgresql import TIMESTAMP
from sqlalchemy.types import TypeEngine

from ...core.defaults import NOTHING_SAID, RUN_POLICIES, value_of
from ...core.events import CREATED
from ...core.model import Priority, Run, Trigger
from ...core.states import RunState
from ..db.database import SyncAutocommitConnection
from ..db.transaction import Wake
from ..schema.naming import SchemaText
from ..schema.tables import run as r

COLUMNS: dict[str, TypeEngine[Any]] = {
    "job_name": Text(),
    "args": Text(),
    "group_name": Text(),
    "priority": Text(),
    "available_at": TIMESTAMP(timezone=True),
    "retries": Integer(),
    "retry_delay": Float(),
    "timeout": Float(),
    "carried": Text(),
    "unique_key": Text(),
}
"""What is said of a new run, with the types of the parameters."""
CASTS = {"available_at": "timestamptz", "retries": "int", "retry_delay": "float8", "timeout": "float8"}
"""The types of those that are no texts, as PostgreSQL calls them."""


def _of_job(name: str) -> str:
    """A policy of a new run: as it says, else as its job says, else the product's default."""
    column = "group_name" if name == "group" else name
    said = f"CAST(j.defaults->>'{name}' AS {CASTS.get(column, 'text')})"
    product = value_of(NOTHING_SAID, name)
    literal = f"'{product}'" if isinstance(product, str) else product
    return f"coalesce(n.{column}, {said})" if product is None else f"coalesce(n.{column}, {said}, {literal})"


OF_JOB = {name: _of_job(name) for name in RUN_POLICIES}
"""The expression for each policy of a new run ``n`` whose job is ``j``."""
NOW = "statement_timestamp()"
"""The time of a statement, which is the same wherever it stands in it."""
EVENT_WRITTEN = f"""event_written AS (
            INSERT INTO cronograph.event (at, changes)
            SELECT {NOW}, jsonb_build_array(jsonb_build_object('{CREATED}', jsonb_build_array(
                jsonb_build_array(id, job_name, group_name))))
            FROM inserted)"""
"""The part of a statement that writes the event of the run which its part ``inserted`` has returned."""
_WAKES = (Wake.RUNS | Wake.EVENTS).value


def _typed(name: str, parameter: str) -> str:
    return f"CAST({parameter} AS {CASTS.get(name, 'text')})"


INSERT = """INSERT INTO cronograph.run (job_name, args, group_name, priority, available_at, retries, retry_delay,
            timeout, carried, unique_key, submitted_at, state, trigger, attempt, failures, exclusive, description)"""
"""The beginning of an insertion of runs, whose last seven values are ``NEW``."""
NEW = f"{NOW}, 'waiting', 'api', 0, 0, false, ''"
"""What is the same of all new runs."""
NOTIFIED = f"(SELECT pg_notify('cronograph', '{_WAKES}')) AS notified"
"""What a statement reads from in order to wake the nodes once it is committed."""


class Decided(NamedTuple):
    """What the database decides of a new run; the rest is known."""

    id: int
    submitted_at: datetime
    available_at: datetime
    group_name: str
    priority: str
    retries: int
    retry_delay: float
    timeout: float | None


_RETURNED = ", ".join(["job_name", *Decided._fields])
_ANSWERED = ", ".join(f"i.{name}" for name in Decided._fields)


def _inserting_one(mark: str) -> str:
    """A run, each of whose columns is a parameter that is marked in the way of the driver or of SQLAlchemy."""
    values = ", ".join(_typed(name, mark.format(name)) for name in COLUMNS)
    return f"""
        WITH inserted AS (
            {INSERT}
            SELECT n.job_name, CAST(n.args AS jsonb), {OF_JOB["group"]}, {OF_JOB["priority"]},
                coalesce(n.available_at, {NOW}), {OF_JOB["retries"]}, {OF_JOB["retry_delay"]}, {OF_JOB["timeout"]},
                CAST(n.carried AS jsonb), n.unique_key, {NEW}
            FROM (SELECT {values}) AS n({", ".join(COLUMNS)})
                LEFT JOIN cronograph.job j ON j.name = n.job_name
            ON CONFLICT DO NOTHING RETURNING {_RETURNED}),
        {EVENT_WRITTEN}
        SELECT {_ANSWERED} FROM inserted i, {NOTIFIED}"""


_SINGLE = [bindparam(name, type_=kind) for name, kind in COLUMNS.items()]


_ROW: TextualSelect = (
    SchemaText(_inserting_one(":{}")).bindparams(*_SINGLE).columns(*(r.c[name] for name in Decided._fields))
)
_ALONE = _inserting_one("%({})s")


class PlainRun(NamedTuple):
    """A new run that is available at once or later; ``args`` and ``carried`` are texts of JSON objects.

    What is None is as its job says. The fields are the columns that a statement gets, in their order.
    """

    job_name: str
    args: str
    group: str | None
    priority: str | None
    available_at: datetime | None
    retries: int | None
    retry_delay: float | None
    timeout: float | None
    carried: str | None = None
    unique_key: str | None = None


def insert_one(conn: Connection, run: PlainRun) -> Run | None:
    """Insert a run, its event and a notification; what is stored; None if an unfinished run has its unique key."""
    row = conn.execute(_ROW, _values(run)).one_or_none()
    return None if row is None else _stored(run, Decided(*row))


def insert_autocommit(connection: SyncAutocommitConnection, run: PlainRun) -> Run | None:
    """``insert_one`` in a transaction of its own, which is one round trip."""
    rows = connection.execute(_ALONE, _values(run))
    return _stored(run, Decided(*rows[0])) if rows else None


def _stored(run: PlainRun, decided: Decided) -> Run:
    """A new run as it is read from the database."""
    return Run(
        id=decided.id,
        job_name=run.job_name,
        state=RunState.WAITING,
        trigger=Trigger.API,
        args=json.loads(run.args),
        group=decided.group_name,
        priority=Priority(decided.priority),
        task_id=None,
        task_name=None,
        scheduled_for=None,
        # The driver gives times in the zone of its connection.
        submitted_at=decided.submitted_at.astimezone(UTC),
        available_at=decided.available_at.astimezone(UTC),
        started_at=None,
        finished_at=None,
        attempt=0,
        failures=0,
        retries=decided.retries,
        retry_delay=decided.retry_delay,
        timeout=decided.timeout,
        exclusive=False,
        node_id=None,
        node=None,
        cancel_requested_at=None,
        cancel_reason=None,
        unique_key=run.unique_key,
        retried_from=None,
        progress=None,
        checkpoint=None,
        result=None,
        error=None,
        submitter=None,
        submitter_id=None,
        description="",
        signature=None,
        carried=None if run.carried is None else json.loads(run.carried),
    )


def _values(run: PlainRun) -> dict[str, Any]:
    return dict(zip(COLUMNS, run, strict=True))
