"""The publisher of changes: committed events get their numbers, one publisher at a time, and are read in that order."""

from datetime import datetime

from sqlalchemy import BigInteger, Connection, String, bindparam, delete, func, literal_column, select, true, update

from ..db import dialect
from ..read.events import has_unpublished
from ..read.prunable import over_event
from ..schema.tables import event, event_publisher

_LOCK_PUBLISHER = select(event_publisher.c.last_seq).where(event_publisher.c.id == 1).with_for_update()
# To find the oldest rows without a number in several blocks, PostgreSQL would sort all of them, if it expects few.
_IN_ORDER = "set_config('enable_sort', 'off', true) || set_config('enable_seqscan', 'off', true)"
_LOCK_AND_PLAN = _LOCK_PUBLISHER.add_columns(literal_column(_IN_ORDER, String()))
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
    last: int = conn.execute(_LOCK_AND_PLAN if dialect.is_postgresql(conn) else _LOCK_PUBLISHER).scalar_one()
    numbered = conn.execute(_NUMBER, {"last": last, "rows": limit}).rowcount
    if numbered:
        advance_publisher(conn, last + numbered)
    return numbered


def lock_publisher(conn: Connection) -> int:
    """Return the last number given out; holds the publisher's row until the end of the transaction."""
    last: int = conn.execute(_LOCK_PUBLISHER).scalar_one()
    return last


def advance_publisher(conn: Connection, last: int) -> None:
    """Remember the last number given out."""
    conn.execute(_ADVANCE, {"last": last})


def prune(conn: Connection, before: datetime, end: int | None, limit: int) -> int:
    """Delete up to ``limit`` published batches older than ``before``, with an id below ``end``; returns how many."""
    below = true() if end is None else event.c.id < end
    doomed = select(event.c.id).where(over_event(before), below).order_by(event.c.id).limit(limit)
    return conn.execute(delete(event).where(event.c.id.in_(doomed))).rowcount
