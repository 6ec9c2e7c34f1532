"""Published changes in their order."""

from sqlalchemy import Connection, bindparam, func, select

from ...core.events import Cursor, Event, spread
from ..schema.tables import event, event_publisher

_UNPUBLISHED = select(event.c.id).where(event.c.seq.is_(None)).limit(1)
_NEWEST = select(event_publisher.c.last_seq).where(event_publisher.c.id == 1)


_AFTER = (
    select(event.c.seq, event.c.at, event.c.changes)
    .where(event.c.seq >= bindparam("from_seq"))
    .order_by(event.c.seq)
    .limit(bindparam("batches"))
)


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
