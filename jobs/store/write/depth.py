"""Keeping how many runs are in the queue, minute by minute."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, delete, insert

from ...core.states import RunState
from ..db import dialect
from ..read.figures.depth import UNNAMED, Part
from ..schema.tables import queue_depth as d

MOST_PARTS = 200
"""Rows of a minute beside the sums of what is beyond: two days of them are half a million at the very most."""


def keep(conn: Connection, minute: datetime, parts: Sequence[Part]) -> bool:
    """Keep a minute; False if somebody has, or is just about to: then nothing is written.

    Args:
        conn: In a transaction.
        minute: The beginning of it.
        parts: The queue as it is, the largest parts first.
    """
    first, *others = _rows(minute, parts)
    # On PostgreSQL another node's row of the same minute is waited for, so only one of them goes on.
    mark = dialect.insert_or_ignore(conn, d).values(first).returning(d.c.at)
    if conn.execute(mark).first() is None:
        return False
    if others:
        conn.execute(insert(d), others)
    return True


def forget(conn: Connection, before: datetime) -> int:
    """Delete the minutes before ``before``; returns how many rows they had."""
    return conn.execute(delete(d).where(d.c.at < before)).rowcount


def _rows(minute: datetime, parts: Sequence[Part]) -> list[dict[str, object]]:
    """The rows of a minute, the one that tells of the others first."""
    sums = {RunState.WAITING: Part(UNNAMED, UNNAMED, RunState.WAITING, 0, None)}
    for part in parts[MOST_PARTS:]:
        before = sums.get(part.state)
        runs = part.runs + (before.runs if before else 0)
        oldest = min((one.oldest_at for one in (part, before) if one and one.oldest_at is not None), default=None)
        sums[part.state] = Part(UNNAMED, UNNAMED, part.state, runs, oldest)
    return [
        {
            "at": minute,
            "job_name": part.job_name,
            "group_name": part.group_name,
            "state": part.state.value,
            "runs": part.runs,
            "oldest_at": part.oldest_at,
        }
        for part in (*sums.values(), *parts[:MOST_PARTS])
    ]
