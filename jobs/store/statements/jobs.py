"""Read the jobs that nodes have published: in force, by name, their schemas, defaults and rates."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, bindparam, exists, func, select

from ...core.admission.caps import Rate
from ...core.arguments.judging import Judge
from ...core.defaults import NO_DEFAULTS, JobDefaults, JobInfo
from ...core.limits import Limits
from ...core.model import Isolation
from ...core.nodes import Node
from ..db import dialect
from ..db.unreadable import every, readable
from ..schema.rows import defaults_from
from ..schema.tables import job as j
from ..schema.tables import queue_group
from .nodes import live

# Runs are enqueued one by one, too: statements that stand are put together once.
_ANY_CAP = exists().where(queue_group.c.cap.is_not(None)).label("any_cap")
_IS_NAMED = j.c.name.in_(bindparam("names", expanding=True))
_DEFAULTS = select(j.c.name, j.c.defaults).where(_IS_NAMED)
_DEFAULTS_AND_CAPS = _DEFAULTS.add_columns(_ANY_CAP)


def job_from(row: Row[Any], nodes: Sequence[str] = ()) -> JobInfo:
    """Return the job behind a whole row, with the live nodes that take it."""
    kind, defaults = Isolation(row.isolation), defaults_from(row.defaults)
    tags, declared, limits = tuple(row.tags), None, defaults.limits
    rate = _in_force(limits, row.rate)
    if limits is not None and rate != limits.rate:
        declared, defaults = limits.rate, replace(defaults, limits=replace(limits, rate=rate))
    return JobInfo(
        row.name,
        row.description,
        row.schedule,
        kind,
        row.args_schema,
        tuple(nodes),
        defaults,
        tags,
        declared,
        row.slots,
    )


def _in_force(limits: Limits | None, of_operator: dict[str, Any] | None) -> Rate | None:
    """Return the rate in force: an operator's only where the code declares one, as other runs have no bucket."""
    if limits is None or limits.rate is None or of_operator is None:
        return None if limits is None else limits.rate
    return Rate.from_json(of_operator)


def rates_of(conn: Connection, names: Collection[str]) -> dict[str, Rate]:
    """Return the rates that hold for those of these jobs that have one, by the job's name."""
    statement = select(j.c.name, j.c.defaults, j.c.rate).where(j.c.name.in_(sorted(names)))
    found = {row.name: _in_force(defaults_from(row.defaults).limits, row.rate) for row in conn.execute(statement)}
    return {name: rate for name, rate in found.items() if rate is not None}


def published_defaults(conn: Connection, names: Collection[str]) -> dict[str, JobDefaults]:
    """Return the jobs of these names that any node has published, with the defaults of their runs and tasks."""
    return dict(every(conn, _DEFAULTS, j.c.name, _defaults_of, {"names": sorted(names)}))


def _defaults_of(row: Row[Any]) -> tuple[str, JobDefaults]:
    return row.name, defaults_from(row.defaults)


def published_defaults_and_caps(conn: Connection, names: Collection[str]) -> tuple[dict[str, JobDefaults], bool]:
    """Return ``published_defaults``, and whether any group at all has a cap."""
    asked = {"names": sorted(names)}
    rows = every(conn, _DEFAULTS_AND_CAPS, j.c.name, lambda row: (*_defaults_of(row), row.any_cap), asked)
    found = {name: defaults for name, defaults, _ in rows}
    return found, bool(rows[0][2] if rows else conn.execute(select(_ANY_CAP)).scalar_one())


def all_names(conn: Connection) -> list[str]:
    """Return the names of all published jobs."""
    return list(conn.execute(select(j.c.name).order_by(j.c.name)).scalars())


class Schema(NamedTuple):
    """Describe a published job: the JSON Schema of its arguments, its signature, and the defaults of its runs.

    ``judge`` is the job's own code in this process, if it is of that version. ``others``: other versions that nodes
    have at the same time. ``isolation``: where it runs.
    """

    args_schema: dict[str, Any]
    signature: str
    defaults: JobDefaults = NO_DEFAULTS
    judge: Judge | None = None
    others: "tuple[Schema, ...]" = ()
    isolation: Isolation = Isolation.ASYNC


_SCHEMAS = select(j.c.name, j.c.args_schema, j.c.signature, j.c.defaults, j.c.versions, j.c.isolation)
_NAMED = _SCHEMAS.where(_IS_NAMED)
_NAMED_AND_NOW = _NAMED.add_columns(func.statement_timestamp().label("now"))


def schemas(conn: Connection, names: Collection[str]) -> tuple[dict[str, Schema], datetime | None]:
    """Return the argument schemas of these published jobs, by name, and the time if the database returns it.

    If one of them is not published, the result has those of all published jobs: to find one with a name like it.
    """
    statement = _NAMED_AND_NOW if dialect.is_postgresql(conn) else _NAMED
    rows = every(
        conn,
        statement,
        j.c.name,
        lambda row: (row.name, _schema(row), getattr(row, "now", None)),
        {"names": sorted(names)},
    )
    now = rows[0][2] if rows else None
    found = {name: schema for name, schema, _ in rows}
    if len(found) < len(names):
        found = dict(readable(conn, _SCHEMAS.order_by(j.c.name), j.c.name, lambda row: (row.name, _schema(row))))
    return found, now


def isolations(conn: Connection, names: Collection[str]) -> dict[str, Isolation]:
    """Return where those of these jobs run that nodes have published, by name."""
    rows = conn.execute(select(j.c.name, j.c.isolation).where(j.c.name.in_(sorted(names))))
    return {row.name: Isolation(row.isolation) for row in rows}


def _schema(row: Row[Any]) -> Schema:
    versions: dict[str, Any] = row.versions or {}
    isolation = Isolation(row.isolation)
    others = tuple(
        Schema(one["args_schema"], signature, defaults_from(one["defaults"]), isolation=isolation)
        for signature, one in sorted(versions.items())
    )
    return Schema(row.args_schema, row.signature, defaults_from(row.defaults), others=others, isolation=isolation)


def defaults(conn: Connection, names: Collection[str]) -> dict[str, JobDefaults]:
    """Return the declared defaults of each of these jobs; nothing for one that nobody has published."""
    found = published_defaults(conn, names)
    return {name: found.get(name, NO_DEFAULTS) for name in names}


def declaring(
    conn: Connection, names: Collection[str] | None = None, known_nodes: Sequence[Node] | None = None
) -> dict[str, list[str]]:
    """Return the live nodes whose code declares a schedule of these jobs, by job name; jobs without any are left out.

    Args:
        names: Which jobs; all unless given.
        known_nodes: The live nodes, where they were read already.
    """
    statement = select(j.c.name).where(j.c.schedule.is_not(None))
    if names is not None:
        statement = statement.where(j.c.name.in_(sorted(names)))
    nodes = live(conn) if known_nodes is None else known_nodes
    found = {name: [node.name for node in nodes if name in node.jobs] for name in conn.execute(statement).scalars()}
    return {name: declared_by for name, declared_by in found.items() if declared_by}


def everything(conn: Connection) -> list[JobInfo]:
    """Return all published jobs by name, each with the live nodes that take it."""
    nodes = live(conn)
    return readable(conn, select(j).order_by(j.c.name), j.c.name, partial(_job_of, nodes))


def _job_of(nodes: Sequence[Node], row: Row[Any]) -> JobInfo:
    return job_from(row, [node.name for node in nodes if row.name in node.signatures])


def by_names(conn: Connection, names: Sequence[str], known_nodes: Sequence[Node] | None = None) -> dict[str, JobInfo]:
    """Return the published jobs of these names, each with the live nodes that take it, by name.

    Args:
        known_nodes: The live nodes, where they were read already.
    """
    nodes = live(conn) if known_nodes is None else known_nodes
    found = every(conn, select(j).where(j.c.name.in_(names)), j.c.name, partial(_job_of, nodes))
    return {job.name: job for job in found}
