"""Statements on ``job``: what the nodes have published that they can run."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, delete, select

from ...core.model import JobInfo
from ..db import dialect
from ..schema.tables import job as j
from .nodes import live

_PUBLISHED = ("description", "schedule", "isolation", "args_schema", "signature")


def job_from(row: Row[Any], nodes: Sequence[str] = ()) -> JobInfo:
    """The job behind a whole row, with the live nodes that know it."""
    return JobInfo(row.name, row.description, row.schedule, row.isolation, row.args_schema, tuple(nodes))


def publish(conn: Connection, jobs: Sequence[JobInfo]) -> None:
    """Write what this node can run; the newest node's description counts."""
    if not jobs:
        return
    statement = dialect.upsert(conn, j, ["name"], list(_PUBLISHED))
    rows = [
        {
            "name": job.name,
            "description": job.description,
            "schedule": job.schedule,
            "isolation": job.isolation,
            "args_schema": job.args_schema,
            "signature": job.signature,
        }
        # In one order everywhere, so that two starting nodes never wait for each other.
        for job in sorted(jobs, key=lambda job: job.name)
    ]
    conn.execute(statement, rows)


def forget(conn: Connection, *, keep: Collection[str]) -> list[str]:
    """Delete the jobs outside ``keep``; returns their names."""
    return sorted(conn.execute(delete(j).where(j.c.name.not_in(sorted(keep))).returning(j.c.name)).scalars())


def known(conn: Connection, names: Collection[str]) -> set[str]:
    """Which of these jobs any node has published."""
    return set(conn.execute(select(j.c.name).where(j.c.name.in_(sorted(names)))).scalars())


def all_names(conn: Connection) -> list[str]:
    """The names of all published jobs."""
    return list(conn.execute(select(j.c.name).order_by(j.c.name)).scalars())


def by_names(conn: Connection, names: Collection[str]) -> dict[str, JobInfo]:
    """The published jobs of these names, by name."""
    return {job.name: job for job in everything(conn) if job.name in names}


class Schema(NamedTuple):
    """What arguments a published job takes: a JSON Schema, and its signature."""

    args_schema: dict[str, Any]
    signature: str


def schemas(conn: Connection) -> dict[str, Schema]:
    """What arguments every published job takes, by name."""
    statement = select(j.c.name, j.c.args_schema, j.c.signature).order_by(j.c.name)
    return {row.name: Schema(row.args_schema, row.signature) for row in conn.execute(statement)}


def everything(conn: Connection) -> list[JobInfo]:
    """All published jobs by name, each with the live nodes that know it."""
    nodes = live(conn)
    return [
        job_from(row, [node.name for node in nodes if row.name in node.jobs])
        for row in conn.execute(select(j).order_by(j.c.name))
    ]
