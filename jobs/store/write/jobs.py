"""Statements on ``job``: what the nodes have published that they can run."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, delete, update

from ...core.base.rates import Rate
from ...core.defaults import JobInfo
from ..db import dialect
from ..schema.specs import defaults_document
from ..schema.tables import job as j

_PUBLISHED = ("description", "schedule", "isolation", "args_schema", "defaults", "tags", "signature")


def publish(conn: Connection, jobs: Sequence[JobInfo]) -> None:
    """Write what this node can run; the newest node's description counts."""
    if not jobs:
        return
    statement = dialect.upsert(conn, j, ["name"], list(_PUBLISHED))
    rows = [
        {name: getattr(job, name) for name in ("name", *_PUBLISHED)}
        | {"isolation": job.isolation.value, "defaults": defaults_document(job.defaults), "tags": list(job.tags)}
        # In one order everywhere, so that two starting nodes never wait for each other.
        for job in sorted(jobs, key=lambda job: job.name)
    ]
    conn.execute(statement, rows)


def set_rate(conn: Connection, name: str, rate: Rate | None) -> None:
    """Let this rate hold instead of the one that the code of a job says; None = that one."""
    conn.execute(update(j).where(j.c.name == name).values(rate=None if rate is None else rate.to_json()))


def forget(conn: Connection, *, keep: Collection[str]) -> list[str]:
    """Delete the jobs outside ``keep``; returns their names."""
    return sorted(conn.execute(delete(j).where(j.c.name.not_in(sorted(keep))).returning(j.c.name)).scalars())
