"""Statements on ``job``: what the nodes have published that they can run."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, case, delete, func, select, text, update
from sqlalchemy.dialects import postgresql

from ...core.admission.caps import Rate
from ...core.defaults import JobInfo
from ..db import dialect
from ..read.nodes import live
from ..schema.specs import defaults_document
from ..schema.tables import job as j

_PUBLISHED = ("description", "schedule", "isolation", "args_schema", "defaults", "tags", "signature")


def publish(conn: Connection, jobs: Sequence[JobInfo]) -> None:
    """Write what this node can run; the newest node's description counts.

    What another version takes is kept with it, until no node has that version (``forget_versions``).
    """
    if not jobs:
        return
    statement = dialect.upsert(conn, j, ["name"], list(_PUBLISHED))
    if dialect.is_postgresql(conn):
        # On SQLite there is one node, and so one version.
        before = func.jsonb_build_object(
            j.c.signature, func.jsonb_build_object("args_schema", j.c.args_schema, "defaults", j.c.defaults)
        )
        known = func.coalesce(j.c.versions, text("'{}'::jsonb")).op("-")(statement.excluded.signature)
        others = case((j.c.signature == statement.excluded.signature, j.c.versions), else_=known.op("||")(before))
        published = {name: statement.excluded[name] for name in _PUBLISHED}
        statement = postgresql.insert(j)
        statement = statement.on_conflict_do_update(index_elements=["name"], set_={**published, "versions": others})
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


def forget_versions(conn: Connection) -> None:
    """Forget versions that no node has any more, running or stopping; a job whose newest one has gone has another."""
    rows = conn.execute(select(j).where(j.c.versions.is_not(None)).order_by(j.c.name).with_for_update()).all()
    if not rows:
        return
    had = [node.signatures for node in live(conn)]
    for row in rows:
        signatures = {one.get(row.name) for one in had}
        versions: dict[str, Any] = row.versions
        left = {name: version for name, version in versions.items() if name in signatures}
        newest: dict[str, Any] = {}
        if left and row.signature not in signatures:
            signature = min(left)
            newest = {"signature": signature, **left.pop(signature)}
        if newest or left != versions:
            conn.execute(update(j).where(j.c.name == row.name).values(versions=left or None, **newest))
