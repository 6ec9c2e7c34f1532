"""The outbox of changes: written with the change, numbered by one publisher at a time, read in that order.

On SQLite there is one writer at a time, so that a row gets its number in the transaction that writes it.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import BigInteger, Connection, bindparam, delete, func, insert, select, text, update

from ...core.events import Change, Cursor, Event, spread
from ..db import dialect
from ..schema.tables import event, event_publisher

_NEXT_NUMBER = (
    update(event_publisher)
    .where(event_publisher.c.id == 1)
    .values(last_seq=event_publisher.c.last_seq + 1)
    .returning(event_publisher.c.last_seq)
)
_APPEND = insert(event).inline()
_UNPUBLISHED = select(event.c.id).where(event.c.seq.is_(None)).limit(1)
_LOCK_PUBLISHER = select(event_publisher.c.last_seq).where(event_publisher.c.id == 1).with_for_update()
_oldest = select(event.c.id).where(event.c.seq.is_(None)).order_by(event.c.id).limit(bindparam("rows")).subquery()
_ranked = select(
    _oldest.c.id, (func.row_number().over(order_by=_oldest.c.id) + bindparam("last", type_=BigInteger)).label("seq")
).subquery("ranked")
_NUMBER = update(event).where(event.c.id == _ranked.c.id).values(seq=_ranked.c.seq)
_ADVANCE = update(event_publisher).where(event_publisher.c.id == 1).values(last_seq=bindparam("last"))
_NEWEST = select(event_publisher.c.last_seq).where(event_publisher.c.id == 1)
_AFTER = (
    select(event.c.seq, event.c.at, event.c.changes)
    .where(event.c.seq >= bindparam("from_seq"))
    .order_by(event.c.seq)
    .limit(bindparam("batches"))
)


def append(conn: Connection, now: datetime, changes: Sequence[Change]) -> None:
    """Write one row for all changes of a transaction; on PostgreSQL ``publish`` gives it its place in the order."""
    seq = None if dialect.is_postgresql(conn) else conn.execute(_NEXT_NUMBER).scalar_one()
    conn.execute(_APPEND, {"seq": seq, "at": now, "changes": [change.to_json() for change in changes]})


def publish(conn: Connection, limit: int = 500) -> int:
    """Number what is committed and has no number yet, oldest first; returns how many rows.

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


def has_unpublished(conn: Connection) -> bool:
    """Whether a row waits for its number."""
    return conn.execute(_UNPUBLISHED).first() is not None


def newest(conn: Connection) -> Cursor:
    """The cursor of everything published so far: subscribe from it and nothing falls between."""
    seq = conn.execute(_NEWEST).scalar_one()
    # Every event of batch ``seq`` is included, however many there are.
    return Cursor(seq, 10**9 - 1)


def oldest_seq(conn: Connection) -> int | None:
    """The smallest number still stored, or None if no published event is."""
    oldest: int | None = conn.execute(select(func.min(event.c.seq))).scalar_one()
    return oldest


def after(conn: Connection, cursor: Cursor, limit: int) -> list[Event]:
    """Published events after ``cursor``, in order, of at most ``limit`` batches."""
    return [
        Event(Cursor(seq, index), at, change)
        for seq, at, changes in conn.execute(_AFTER, {"from_seq": cursor.seq, "batches": limit})
        for index, change in enumerate(spread(changes))
        if Cursor(seq, index) > cursor
    ]


def prune(conn: Connection, before: datetime, limit: int) -> int:
    """Delete up to ``limit`` published batches older than ``before``; returns how many."""
    doomed = select(event.c.id).where(event.c.at < before, event.c.seq.is_not(None)).order_by(event.c.id).limit(limit)
    return conn.execute(delete(event).where(event.c.id.in_(doomed))).rowcount


def ensure_publisher(conn: Connection) -> None:
    """Make the publisher's row if it is missing."""
    conn.execute(
        text("INSERT INTO event_publisher (id, last_seq) SELECT 1, 0 WHERE NOT EXISTS (SELECT 1 FROM event_publisher)")
    )
