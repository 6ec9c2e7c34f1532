"""Many new runs on PostgreSQL in one statement: their time, rows and event, and the notification of all nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Connection, Float, Integer, Text, TextualSelect, bindparam, column, text
from sqlalchemy.dialects.postgresql import ARRAY, TIMESTAMP
from sqlalchemy.types import TypeEngine

from ...core.defaults import NOTHING_SAID, RUN_POLICIES, value_of
from ...core.events import CREATED
from ...core.model import Run
from ..db.transaction import Wake
from ..read.runs import run_from
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


def _inserting(returned: str, answered: str) -> str:
    arrays = ", ".join(f"CAST(:{name} AS {_CASTS.get(name, 'text')}[])" for name in _COLUMNS)
    return f"""
        WITH moment AS MATERIALIZED (SELECT statement_timestamp() AS at),
        inserted AS (
            INSERT INTO run (job_name, args, group_name, priority, available_at, retries, retry_delay, timeout,
                submitted_at, state, trigger, attempt, failures, exclusive, description)
            SELECT n.job_name, CAST(n.args AS jsonb), {_OF_JOB["group"]}, {_OF_JOB["priority"]},
                coalesce(n.available_at, m.at), {_OF_JOB["retries"]}, {_OF_JOB["retry_delay"]}, {_OF_JOB["timeout"]},
                m.at, 'waiting', 'api', 0, 0, false, ''
            FROM unnest({arrays}) WITH ORDINALITY AS n({", ".join(_COLUMNS)}, place)
                LEFT JOIN job j ON j.name = n.job_name, moment m
            ORDER BY n.place RETURNING {returned}),
        told AS (
            INSERT INTO event (at, changes) SELECT m.at, jsonb_build_array(jsonb_build_object('{CREATED}', (
                SELECT jsonb_agg(jsonb_build_array(id, job_name, group_name) ORDER BY id) FROM inserted)))
            FROM moment m)
        SELECT {answered} FROM inserted i, (SELECT pg_notify('cronograph', '{_WAKES}')) AS notified ORDER BY i.id"""


def _bound(statement: str) -> Any:
    arrays = [bindparam(name, type_=ARRAY[Any](kind)) for name, kind in _COLUMNS.items()]
    return text(statement).bindparams(*arrays)


_NAMES = [one.name for one in r.columns]
_IDS: TextualSelect = _bound(_inserting("id, job_name, group_name", "i.id")).columns(column("id", BigInteger()))
_STORED = ", ".join(f"i.{name}" for name in _NAMES)
_ROWS: TextualSelect = _bound(_inserting(", ".join(_NAMES), f"{_STORED}, CAST(NULL AS text) AS node_name")).columns(
    *r.columns, column("node_name", Text())
)


@dataclass(frozen=True, slots=True)
class PlainRun:
    """A new run of a job that is available at once or later; ``args`` is the text of a JSON object.

    What is None is as its job says.
    """

    job_name: str
    args: str
    group: str | None
    priority: str | None
    available_at: datetime | None
    retries: int | None
    retry_delay: float | None
    timeout: float | None


def insert_plain(conn: Connection, runs: Sequence[PlainRun]) -> list[int]:
    """Insert runs, their event and a notification; their ids, in the same order."""
    ids: list[int] = []
    for first in range(0, len(runs), CHUNK):
        ids += conn.execute(_IDS, _parameters(runs[first : first + CHUNK])).scalars()
    return ids


def insert_one(conn: Connection, run: PlainRun) -> Run:
    """Insert a run, its event and a notification; what is stored."""
    return run_from(conn.execute(_ROWS, _parameters([run])).one())


def _parameters(runs: Sequence[PlainRun]) -> dict[str, Any]:
    return {
        "job_name": [run.job_name for run in runs],
        "args": [run.args for run in runs],
        "group_name": [run.group for run in runs],
        "priority": [run.priority for run in runs],
        "available_at": [run.available_at for run in runs],
        "retries": [run.retries for run in runs],
        "retry_delay": [run.retry_delay for run in runs],
        "timeout": [run.timeout for run in runs],
    }
