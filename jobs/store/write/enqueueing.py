"""Many new runs on PostgreSQL in one statement: their time, rows and event, and the notification of all nodes."""

from collections.abc import Sequence
from dataclasses import fields, replace
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
from ..read.runs import run_from
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


_OF_JOB = {name: _of_job(name) for name in RUN_POLICIES}
_WAKES = (Wake.RUNS | Wake.EVENTS).value

_LISTS = ", ".join(f"CAST(:{name} AS {_CASTS.get(name, 'text')}[])" for name in _COLUMNS)
_MANY = f"unnest({_LISTS}) WITH ORDINALITY"


def _one(mark: str) -> str:
    """One run, each of whose columns is a parameter that is marked in the way of the driver or of SQLAlchemy."""
    values = (f"CAST({mark.format(name)} AS {_CASTS.get(name, 'text')})" for name in _COLUMNS)
    return f"(SELECT {', '.join(values)}, 1)"


def _inserting(source: str, returned: str, answered: str, conflict: str = "") -> str:
    return f"""
        WITH moment AS MATERIALIZED (SELECT statement_timestamp() AS at),
        inserted AS (
            INSERT INTO cronograph.run (job_name, args, group_name, priority, available_at, retries, retry_delay,
                timeout, carried, unique_key, submitted_at, state, trigger, attempt, failures, exclusive, description)
            SELECT n.job_name, CAST(n.args AS jsonb), {_OF_JOB["group"]}, {_OF_JOB["priority"]},
                coalesce(n.available_at, m.at), {_OF_JOB["retries"]}, {_OF_JOB["retry_delay"]}, {_OF_JOB["timeout"]},
                CAST(n.carried AS jsonb), n.unique_key, m.at, 'waiting', 'api', 0, 0, false, ''
            FROM {source} AS n({", ".join(_COLUMNS)}, place)
                LEFT JOIN cronograph.job j ON j.name = n.job_name, moment m
            ORDER BY n.place {conflict} RETURNING {returned}),
        told AS (
            INSERT INTO cronograph.event (at, changes)
            SELECT m.at, jsonb_build_array(jsonb_build_object('{CREATED}', (
                SELECT jsonb_agg(jsonb_build_array(id, job_name, group_name) ORDER BY id) FROM inserted)))
            FROM moment m WHERE EXISTS (SELECT FROM inserted))
        SELECT {answered} FROM inserted i, (SELECT pg_notify('cronograph', '{_WAKES}')) AS notified ORDER BY i.id"""


_ARRAYS = [bindparam(name, type_=ARRAY[Any](kind)) for name, kind in _COLUMNS.items()]
_IDS: TextualSelect = (
    SchemaText(_inserting(_MANY, "id, job_name, group_name", "i.id"))
    .bindparams(*_ARRAYS)
    .columns(column("id", BigInteger()))
)
_IF_FREE = "ON CONFLICT DO NOTHING"
_NAMES = [one.name for one in r.columns]
_STORED = ", ".join(f"i.{name}" for name in _NAMES)
_SINGLE = [bindparam(name, type_=kind) for name, kind in _COLUMNS.items()]
_ROW: TextualSelect = (
    SchemaText(_inserting(_one(":{}"), ", ".join(_NAMES), f"{_STORED}, CAST(NULL AS text) AS node", _IF_FREE))
    .bindparams(*_SINGLE)
    .columns(*r.columns, column("node", Text()))
)
# The fields of ``Run`` in their order.
_FIELDS = ["group_name" if field.name == "group" else field.name for field in fields(Run)]
_OF_RUN = ", ".join("CAST(NULL AS text)" if name == "node" else f"i.{name}" for name in _FIELDS)
_ALONE = _inserting(_one("%({})s"), ", ".join(_NAMES), _OF_RUN, _IF_FREE)


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
        ids += conn.execute(_IDS, _parameters(runs[first : first + CHUNK])).scalars().all()
    return ids


def insert_one(conn: Connection, run: PlainRun) -> Run | None:
    """Insert a run, its event and a notification; what is stored; None if an unfinished run has its unique key."""
    row = conn.execute(_ROW, _values(run)).one_or_none()
    return None if row is None else run_from(row)


def insert_alone(line: ThreadLine, run: PlainRun) -> Run | None:
    """``insert_one`` in a transaction of its own, which is one round trip."""
    rows = line.execute(_ALONE, _values(run))
    if not rows:
        return None
    stored = Run(*rows[0])
    # The driver knows no words of ours, and gives times in the zone of its connection.
    return replace(
        stored,
        state=RunState(stored.state),
        trigger=Trigger(stored.trigger),
        priority=Priority(stored.priority),
        submitted_at=stored.submitted_at.astimezone(UTC),
        available_at=stored.available_at.astimezone(UTC),
    )


def _parameters(runs: Sequence[PlainRun]) -> dict[str, Any]:
    # Of a column that nobody uses nothing is sent: the shorter lists of an unnest are filled up with nulls.
    columns = zip(*runs, strict=True)
    return {
        name: [] if values.count(None) == len(values) else list(values)
        for name, values in zip(_COLUMNS, columns, strict=True)
    }


def _values(run: PlainRun) -> dict[str, Any]:
    return dict(zip(_COLUMNS, run, strict=True))
