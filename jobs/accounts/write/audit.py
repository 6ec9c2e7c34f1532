"""Retention of the audit log: the oldest entries go, and the head keeps the hash from which the rest is proved."""

from datetime import datetime
from itertools import takewhile

from sqlalchemy import Connection, delete, select, update

from ...store.schema.tables import audit_head as h
from ...store.schema.tables import audit_log as a


def prune(conn: Connection, before: datetime, limit: int) -> int:
    """Delete up to ``limit`` of the oldest entries, as far as all of them are older than ``before``; how many.

    The order of the chain decides, not the time of each: where a clock was set back nothing is left out in the middle.
    """
    # Writers wait until this transaction ends, and the other way round.
    head = conn.execute(select(h).with_for_update()).one_or_none()
    if head is None:
        return 0
    oldest = conn.execute(select(a.c.id, a.c.at, a.c.hash).order_by(a.c.id).limit(limit)).all()
    doomed = list(takewhile(lambda entry: entry.at < before, oldest))
    if not doomed:
        return 0
    last = doomed[-1]
    conn.execute(delete(a).where(a.c.id <= last.id))
    conn.execute(update(h).where(h.c.id == head.id).values(pruned_id=last.id, pruned_hash=last.hash))
    return len(doomed)
