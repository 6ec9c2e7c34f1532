"""Many new runs on PostgreSQL in one statement: their time, rows and event, and the notification of all nodes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from sqlalchemy import BigInteger, Connection, Integer, Text, TextualSelect, bindparam, column
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import TypeEngine

from ...core.defaults import RUN_POLICIES
from ...core.events import CREATED
from ..schema.naming import SchemaText
from .enqueueing import CASTS, COLUMNS, INSERT, NEW, NOTIFIED, NOW, OF_JOB, PlainRun

T = TypeVar("T")

CHUNK: Final = 5000
"""Runs of one statement."""


NOTHING: Final = "null"
"""What a run carries that carries nothing."""


@dataclass(slots=True)
class ManyRuns:
    """Runs without unique keys: the settings that are different, and of each run those that it has, and the rest.

    Attributes:
        settings: What several runs have in common; the arguments and what is carried are not read.
        kinds: Of each run the place of its settings.
        args: Of each run its arguments, the text of a JSON object.
        carried: Of each run what it carries, likewise, or ``NOTHING``.
    """

    settings: list[PlainRun] = field(default_factory=list[PlainRun])
    kinds: list[int] = field(default_factory=list[int])
    args: list[str] = field(default_factory=list[str])
    carried: list[str] = field(default_factory=list[str])


_SETTINGS: Final = tuple(name for name in COLUMNS if name not in {"args", "carried", "unique_key"})
_OWN: Final[dict[str, TypeEngine[Any]]] = {"kind": Integer(), "args": Text(), "carried": Text()}


def _inserting() -> str:
    """Of each column of the runs a list, or where all have the same value, that value and no list.

    The shorter lists are filled up with nulls; the last one numbers the runs. JSON objects travel as one JSON array,
    which costs the driver a tenth of what a list of texts does. What follows the job is found out once for all runs
    of the same settings.
    """
    settings = ", ".join(f"unnest(CAST(:{name} AS {CASTS.get(name, 'text')}[]))" for name in _SETTINGS)
    objects = ", ".join(f"json_array_elements(CAST(:{name} AS json))" for name in ("args", "carried"))
    policies = ", ".join(f"{OF_JOB[name]} AS {name}" for name in RUN_POLICIES if name != "group")
    return f"""
        WITH settled AS MATERIALIZED (
            SELECT n.kind, n.job_name, {OF_JOB["group"]} AS group_name, {policies}, n.available_at
            FROM ROWS FROM ({settings}) WITH ORDINALITY AS n({", ".join(_SETTINGS)}, kind)
                LEFT JOIN cronograph.job j ON j.name = n.job_name),
        inserted AS (
            {INSERT}
            SELECT s.job_name, CAST(coalesce(CAST(l.args AS text), :each_args) AS jsonb), s.group_name, s.priority,
                coalesce(s.available_at, {NOW}), s.retries, s.retry_delay, s.timeout,
                CAST(nullif(coalesce(CAST(l.carried AS text), :each_carried), '{NOTHING}') AS jsonb), NULL, {NEW}
            FROM ROWS FROM (unnest(CAST(:kind AS int[])), {objects}, generate_series(1, CAST(:runs AS int)))
                AS l(kind, args, carried, place)
                JOIN settled s ON s.kind = coalesce(l.kind, :each_kind)
            ORDER BY l.place RETURNING id, job_name, group_name),
        event_written AS (
            INSERT INTO cronograph.event (at, changes)
            SELECT {NOW}, jsonb_build_array(jsonb_build_object('{CREATED}', (
                SELECT jsonb_agg(jsonb_build_array(ids, job_name, group_name) ORDER BY first)
                FROM (SELECT array_agg(id ORDER BY id) AS ids, min(id) AS first, job_name, group_name
                    FROM inserted GROUP BY job_name, group_name) AS alike))))
        SELECT array_agg(i.id ORDER BY i.id) FROM inserted i, {NOTIFIED}"""


_IDS: Final[TextualSelect] = (
    SchemaText(_inserting())
    .bindparams(
        *(bindparam(name, type_=ARRAY[Any](COLUMNS[name])) for name in _SETTINGS),
        bindparam("kind", type_=ARRAY(Integer())),
        *(bindparam(name, type_=Text()) for name in ("args", "carried")),
        *(bindparam(f"each_{name}", type_=kind) for name, kind in _OWN.items()),
    )
    .columns(column("ids", ARRAY(BigInteger())))
)


def insert_many(conn: Connection, runs: ManyRuns) -> list[int]:
    """Insert runs, their event and a notification; their ids, in the same order."""
    settings = _settings(runs.settings)
    kinds = [kind + 1 for kind in runs.kinds]
    ids: list[int] = []
    for first in range(0, len(kinds), CHUNK):
        some = slice(first, first + CHUNK)
        own = {
            **_listed("kind", kinds[some], lambda each: each),
            **_listed("args", runs.args[some], _array),
            **_listed("carried", runs.carried[some], _array),
        }
        ids += conn.execute(_IDS, {**settings, **own, "runs": len(kinds[some])}).scalar_one()
    return ids


def _settings(settings: Sequence[PlainRun]) -> dict[str, list[Any]]:
    columns = zip(COLUMNS, zip(*settings, strict=True), strict=True) if settings else ()
    return {name: list(values) for name, values in columns if name in _SETTINGS}


def _listed(name: str, values: list[T], listed: Callable[[list[T]], Any]) -> dict[str, Any]:
    same = values.count(values[0]) == len(values)
    return {name: None if same else listed(values), f"each_{name}": values[0] if same else None}


def _array(texts: list[str]) -> str:
    return f"[{','.join(texts)}]"
