"""Read published changes in their order, number new ones, and delete old ones."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    Connection,
    Row,
    String,
    bindparam,
    delete,
    func,
    literal_column,
    select,
    true,
    update,
)

from ...core.base.errors import UnreadableRow
from ...core.events import Cursor, Event, EventFilter, mark_of, placed
from ..db import dialect
from ..db.unreadable import each, each_named, readable
from ..schema.tables import event, event_publisher
from .listing.keyset import Page, PageRequest, Position
from .prunable import over_event

_UNPUBLISHED = select(event.c.id).where(event.c.seq.is_(None)).limit(1)
_NEWEST = (
    select(event_publisher.c.last_seq, event.c.id, event.c.at)
    .outerjoin_from(event_publisher, event, event.c.seq == event_publisher.c.last_seq)
    .where(event_publisher.c.id == 1)
)


_AFTER = (
    select(event.c.seq, event.c.id, event.c.at, event.c.changes)
    .where(event.c.seq >= bindparam("from_seq"))
    .order_by(event.c.seq)
    .limit(bindparam("batches"))
)
_BACK = (
    select(event.c.seq, event.c.id, event.c.at, event.c.changes)
    .where(event.c.seq <= bindparam("until_seq"))
    .order_by(event.c.seq.desc())
    .limit(bindparam("batches"))
)
BATCHES = 500
"""Transactions per statement."""
MAX_BATCHES = 10_000
"""Transactions that one page looks at, however few of their events are wanted."""


def has_unpublished(conn: Connection) -> bool:
    """Return whether a row waits for its number."""
    return conn.execute(_UNPUBLISHED).first() is not None


def newest(conn: Connection) -> Cursor:
    """Return the cursor of everything published so far: subscribe from it and nothing falls between."""
    seq, batch_id, at = conn.execute(_NEWEST).one()
    # Every event of batch ``seq`` is included, however many there are.
    return Cursor(seq, 10**9 - 1, None if batch_id is None else mark_of(batch_id, at))


def behind_gap(conn: Connection, cursor: Cursor) -> Cursor:
    """Return the place where somebody goes on for whom events behind ``cursor`` are gone: before the next ones.

    Where no number is missing it is behind all of them: they are of another history, or cannot be read.
    """
    following: int | None = conn.execute(select(func.min(event.c.seq)).where(event.c.seq > cursor.seq)).scalar_one()
    return newest(conn) if following in (None, cursor.seq + 1) else Cursor(following - 1, 10**9 - 1)


_NEWEST_BATCHES = (
    select(event.c.seq, event.c.at).where(event.c.seq.is_not(None)).order_by(event.c.seq.desc()).limit(MAX_BATCHES)
).subquery()
_SINCE = select(func.min(_NEWEST_BATCHES.c.seq)).where(
    _NEWEST_BATCHES.c.at >= bindparam("since", type_=event.c.at.type)
)


def place_at(conn: Connection, since: datetime) -> Cursor | None:
    """Return the place before the newest transactions since a time, at most ``MAX_BATCHES``; None = there is none."""
    seq: int | None = conn.execute(_SINCE, {"since": since}).scalar_one()
    return None if seq is None else Cursor(seq - 1, 10**9 - 1)


def after(conn: Connection, cursor: Cursor, limit: int) -> list[Event]:
    """Return published events after ``cursor``, in order, of at most ``limit`` batches."""
    batches = readable(conn, _AFTER, event.c.seq, _batch, {"from_seq": cursor.seq, "batches": limit})
    return [event for batch in batches for event in batch.events if event.cursor > cursor]


def following(conn: Connection, cursor: Cursor, limit: int) -> list[Event] | None:
    """Return events for a reader that has handed out everything up to ``cursor``; None = that is of another history.

    Or the next one is gone: clocks differ, and pruning by age leaves gaps. Before a gap the events end.
    """
    parameters = {"from_seq": cursor.seq, "batches": limit}
    stored = each_named(conn, _AFTER, event.c.seq, _batch, parameters)
    batches = list(_before_gap(stored))
    if not batches or batches[0].seq != cursor.seq:
        # With nothing to compare it with: it was pruned, or never given out in this history.
        if not batches:
            return [] if newest(conn).seq == cursor.seq else None
        if batches[0].seq != cursor.seq + 1:
            return None
    elif cursor.contradicts(Cursor(cursor.seq, 0, batches[0].mark)):
        return None
    found = [event for batch in batches for event in batch.events if event.cursor > cursor]
    return found if found or len(batches) == len(stored) else None


def _before_gap(stored: "Sequence[_Batch | UnreadableRow]") -> "Iterator[_Batch]":
    """Yield the batches before the first missing number. A row that cannot be read is there, and has one."""
    first: int | None = None
    for place, one in enumerate(stored):
        if isinstance(one, _Batch):
            first = one.seq - place if first is None else first
            if one.seq != first + place:
                return
            yield one


class _Batch(NamedTuple):
    """The events of one transaction."""

    seq: int
    mark: str
    events: list[Event]


def _batch(row: Row[Any]) -> _Batch:
    seq, at, changes = row.seq, row.at, row.changes
    mark = mark_of(row.id, at)
    return _Batch(seq, mark, [Event(Cursor(seq, index, mark), at, one) for index, one in placed(changes)])


def position_of(cursor: Cursor) -> Position:
    """Return a cursor's place in the list of stored events: a batch, a place in it, and the mark of the batch."""
    return cursor.seq, cursor.index, cursor.mark


def cursor_of(position: Position) -> Cursor:
    """Return the cursor of a place in the list, see ``position_of``."""
    seq, index, mark = position
    assert isinstance(seq, int), "the order of events begins with the number of a batch"
    assert isinstance(index, int), "and goes on with a place in it"
    assert mark is None or isinstance(mark, str), "the mark distinguishes the batch from another one of its number"
    return Cursor(seq, index, mark)


def page(conn: Connection, request: PageRequest, wanted: EventFilter) -> Page[Event]:
    """Return a page of the stored events that pass a filter, the oldest first; for positions see ``position_of``.

    Of a page that looked at ``MAX_BATCHES`` transactions there is more, even if nothing was found.
    """
    found: list[Event] = []
    exhausted = True
    for looked, one in enumerate(_walk(conn, request)):
        if looked >= MAX_BATCHES or len(found) > request.limit:
            exhausted = False
            break
        found += [each for each in one if wanted.matches(each.change) and _inside(each.cursor, request)]
    kept = found[: request.limit]
    more = not exhausted or len(found) > len(kept)
    ordered = kept[::-1] if request.backwards else kept
    return Page(
        tuple(ordered),
        tuple(position_of(one.cursor) for one in ordered),
        has_next=request.before is not None if request.backwards else more,
        has_previous=more if request.backwards else request.after is not None,
    )


def _walk(conn: Connection, request: PageRequest) -> Iterator[list[Event]]:
    """Yield the events of one transaction after the other, in the direction of the request and from where it begins."""
    after, before = _bounds(request)
    place = (before.seq if before else newest(conn).seq) if request.backwards else (after.seq if after else 0)
    while True:
        parameters = {"until_seq" if request.backwards else "from_seq": place, "batches": BATCHES}
        found = each(conn, _BACK if request.backwards else _AFTER, event.c.seq, _batch, parameters)
        batches = [one for one in found if isinstance(one, _Batch)]
        for batch in batches:
            yield batch.events[::-1] if request.backwards else batch.events
        if len(found) < BATCHES or not batches:
            return
        place = batches[-1].seq + (-1 if request.backwards else 1)


def _inside(cursor: Cursor, request: PageRequest) -> bool:
    after, before = _bounds(request)
    return (after is None or cursor > after) and (before is None or cursor < before)


def _bounds(request: PageRequest) -> tuple[Cursor | None, Cursor | None]:
    after, before = request.after, request.before
    return None if after is None else cursor_of(after), None if before is None else cursor_of(before)


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
