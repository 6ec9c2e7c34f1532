"""Many new runs on PostgreSQL in one statement: their time, rows and event, and the notification of all nodes."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Connection, Float, Integer, Text, TextualSelect, bindparam, column
from sqlalchemy.dialects.postgresql import ARRAY, TIMESTAMP
from sqlalchemy.types import TypeEngine

from ...core.defaults import NOTHING_SAID, RUN_POLICIES, value_of
from ...core.events import CREATED
from ...core.model import Priority, Run, Trigger
from ...core.states import RunState
from ..db.database import ThreadLine
from ..db.transaction import Wake
from ..schema.naming import SchemaText
from ..schema.tables import run as r

CHUNK = 5000
"""Runs of one statement."""

_COLUMNS: dict[str, TypeEngine[Any]] = {
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
_CASTS = {"available_at": "timestamptz", "retries": "int", "retry_delay": "float8", "timeout": "float8"}


def _of_job(name: str) -> str:
    """A policy of a new run: as it says, else as its job says, else the product's default."""
    column = "group_name" if name == "group" else name
    said = f"CAST(j.defaults->>'{name}' AS {_CASTS.get(column, 'text')})"
    product = value_of(NOTHING_SAID, name)
    literal = f"'{product}'" if isinstance(product, str) else product
    return f"coalesce(n.{column}, {said})" if product is None else f"coalesce(n.{column}, {said}, {literal})"


OF_JOB = {name: _of_job(name) for name in RUN_POLICIES}
"""The expression for each policy of a new run ``n`` whose job is ``j``."""
TOLD = f"""told AS (
            INSERT INTO cronograph.event (at, changes)
            SELECT m.at, jsonb_build_array(jsonb_build_object('{CREATED}', (
                SELECT jsonb_agg(jsonb_build_array(id, job_name, group_name) ORDER BY id) FROM inserted)))
            FROM moment m WHERE EXISTS (SELECT FROM inserted))"""
"""The part of a statement that writes the event of the runs which its part ``inserted`` has returned."""
_WAKES = (Wake.RUNS | Wake.EVENTS).value


def _typed(name: str, parameter: str) -> str:
    return f"CAST({parameter} AS {_CASTS.get(name, 'text')})"


def _many() -> str:
    """Many runs: of each column a list, or where all of them have the same value, that value and an empty list.

    The shorter lists are filled up with nulls; the last one numbers the runs.
    """
    lists = ", ".join(f"unnest(CAST(:{name} AS {_CASTS.get(name, 'text')}[]))" for name in _COLUMNS)
    values = ", ".join(f"coalesce(l.{name}, {_typed(name, f':each_{name}')})" for name in _COLUMNS)
    rows = f"ROWS FROM ({lists}, generate_series(1, CAST(:runs AS int))) AS l({', '.join(_COLUMNS)}, place)"
    return f"(SELECT {values}, l.place FROM {rows})"


def _one(mark: str) -> str:
    """One run, each of whose columns is a parameter that is marked in the way of the driver or of SQLAlchemy."""
    values = (_typed(name, mark.format(name)) for name in _COLUMNS)
    return f"(SELECT {', '.join(values)}, 1)"


def _inserting(source: str, returned: str, answered: str, conflict: str = "") -> str:
    return f"""
        WITH moment AS MATERIALIZED (SELECT statement_timestamp() AS at),
        inserted AS (
            INSERT INTO cronograph.run (job_name, args, group_name, priority, available_at, retries, retry_delay,
                timeout, carried, unique_key, submitted_at, state, trigger, attempt, failures, exclusive, description)
            SELECT n.job_name, CAST(n.args AS jsonb), {OF_JOB["group"]}, {OF_JOB["priority"]},
                coalesce(n.available_at, m.at), {OF_JOB["retries"]}, {OF_JOB["retry_delay"]}, {OF_JOB["timeout"]},
                CAST(n.carried AS jsonb), n.unique_key, m.at, 'waiting', 'api', 0, 0, false, ''
            FROM {source} AS n({", ".join(_COLUMNS)}, place)
                LEFT JOIN cronograph.job j ON j.name = n.job_name, moment m
            ORDER BY n.place {conflict} RETURNING {returned}),
        {TOLD}
        SELECT {answered} FROM inserted i, (SELECT pg_notify('cronograph', '{_WAKES}')) AS notified"""


_LISTS = [bindparam(name, type_=ARRAY[Any](kind)) for name, kind in _COLUMNS.items()]
_EACH = [bindparam(f"each_{name}", type_=kind) for name, kind in _COLUMNS.items()]
_IDS: TextualSelect = (
    SchemaText(_inserting(_many(), "id, job_name, group_name", "array_agg(i.id ORDER BY i.id)"))
    .bindparams(*_LISTS, *_EACH)
    .columns(column("ids", ARRAY(BigInteger())))
)
_IF_FREE = "ON CONFLICT DO NOTHING"
_SINGLE = [bindparam(name, type_=kind) for name, kind in _COLUMNS.items()]


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
_ROW: TextualSelect = (
    SchemaText(_inserting(_one(":{}"), _RETURNED, _ANSWERED, _IF_FREE))
    .bindparams(*_SINGLE)
    .columns(*(r.c[name] for name in Decided._fields))
)
_ALONE = _inserting(_one("%({})s"), _RETURNED, _ANSWERED, _IF_FREE)


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


def insert_plain(conn: Connection, runs: Sequence[PlainRun]) -> list[int]:
    """Insert runs without unique keys, their event and a notification; their ids, in the same order."""
    ids: list[int] = []
    for first in range(0, len(runs), CHUNK):
        ids += conn.execute(_IDS, _parameters(runs[first : first + CHUNK])).scalar_one()
    return ids


def insert_one(conn: Connection, run: PlainRun) -> Run | None:
    """Insert a run, its event and a notification; what is stored; None if an unfinished run has its unique key."""
    row = conn.execute(_ROW, _values(run)).one_or_none()
    return None if row is None else _stored(run, Decided(*row))


def insert_alone(line: ThreadLine, run: PlainRun) -> Run | None:
    """``insert_one`` in a transaction of its own, which is one round trip."""
    rows = line.execute(_ALONE, _values(run))
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


def _parameters(runs: Sequence[PlainRun]) -> dict[str, Any]:
    parameters: dict[str, Any] = {"runs": len(runs)}
    for name, values in zip(_COLUMNS, zip(*runs, strict=True), strict=True):
        same = values.count(values[0]) == len(values)
        parameters[name] = [] if same else list(values)
        parameters[f"each_{name}"] = values[0] if same else None
    return parameters


def _values(run: PlainRun) -> dict[str, Any]:
    return dict(zip(_COLUMNS, run, strict=True))
