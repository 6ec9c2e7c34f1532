"""The publisher of changes: committed events get their numbers, one publisher at a time, and are read in that order."""

from datetime import datetime

from sqlalchemy import BigInteger, Connection, bindparam, delete, func, select, update

from ..read.events import has_unpublished
from ..schema.tables import event, event_publisher

_LOCK_PUBLISHER = select(event_publisher.c.last_seq).where(event_publisher.c.id == 1).with_for_update()
_oldest = select(event.c.id).where(event.c.seq.is_(None)).order_by(event.c.id).limit(bindparam("rows")).subquery()
_ranked = select(
    _oldest.c.id, (func.row_number().over(order_by=_oldest.c.id) + bindparam("last", type_=BigInteger)).label("seq")
).subquery("ranked")
_NUMBER = update(event).where(event.c.id == _ranked.c.id).values(seq=_ranked.c.seq)
_ADVANCE = update(event_publisher).where(event_publisher.c.id == 1).values(last_seq=bindparam("last"))


def publish(conn: Connection, limit: int = 500) -> int:
    """Number committed events that have no number yet, oldest first; returns how many rows.

    The publisher's row is locked meanwhile, so numbers ascend in the order in which readers can see them.
    """
    if not has_unpublished(conn):
        return 0
    last = lock_publisher(conn)
    numbered = conn.execute(_NUMBER, {"last": last, "rows": limit}).rowcount
    if numbered:
        advance_publisher(conn, last + numbered)
    return numbered


def lock_publisher(conn: Connection) -> int:
    """The last number given out; holds the publisher's row until the end of the transaction."""
    last: int = conn.execute(_LOCK_PUBLISHER).scalar_one()
    return last


def advance_publisher(conn: Connection, last: int) -> None:
    """Remember the last number given out."""
    conn.execute(_ADVANCE, {"last": last})


def prune(conn: Connection, before: datetime, limit: int) -> int:
    """Delete up to ``limit`` published batches older than ``before``; returns how many."""
    doomed = select(event.c.id).where(event.c.at < before, event.c.seq.is_not(None)).order_by(event.c.id).limit(limit)
    return conn.execute(delete(event).where(event.c.id.in_(doomed))).rowcount
