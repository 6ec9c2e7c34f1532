"""An event whose row cannot be read is passed over; readers get all others."""

from collections.abc import Iterable

import pytest
from sqlalchemy import update

from cronograph.jobs.core.events import Change, Cursor, Event, EventFilter, EventKind
from cronograph.jobs.store.db import outbox
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import event
from cronograph.jobs.store.statements import events as stored_events
from cronograph.jobs.store.statements.listing.keyset import OrderKey, PageRequest
from tests.support.storage import Stored

LAST = 10**9 - 1


def names(found: Iterable[Event] | None) -> list[str | None]:
    assert found is not None
    return [one.change.group for one in found]


def three(tx: Tx) -> int:
    """Publish three events, of which the second cannot be read; the number before them."""
    stored_events.publish(tx.conn)
    before = stored_events.newest(tx.conn).seq
    for name in ("a", "b", "c"):
        outbox.append(tx.conn, tx.now, [Change(EventKind.GROUP_UPDATED, group=name)])
    stored_events.publish(tx.conn)
    nonsense = [{"group": "b"}]
    tx.conn.execute(update(event).where(event.c.seq == before + 2).values(changes=nonsense))
    return before


@pytest.mark.parametrize("backwards", [False, True])
def test_readers_get_the_events_before_and_behind_it(stored: Stored, backwards: bool) -> None:
    before = stored.do(three)
    start = Cursor(before, LAST, None)
    assert names(stored.do(lambda tx: stored_events.after(tx.conn, start, 10))) == ["a", "c"]
    first = stored.do(lambda tx: stored_events.after(tx.conn, start, 10))[0].cursor
    assert names(stored.do(lambda tx: stored_events.following(tx.conn, first, 10))) == ["c"]
    request = PageRequest((OrderKey("seq"),), 10, backwards=backwards)
    page = stored.do(lambda tx: stored_events.page(tx.conn, request, EventFilter()))
    assert names(page.items)[-2:] == ["a", "c"]


def test_a_change_that_only_newer_nodes_know_is_passed_over_and_keeps_its_place(stored: Stored) -> None:
    def beside_a_newer_node(tx: Tx) -> Cursor:
        stored_events.publish(tx.conn)
        start = stored_events.newest(tx.conn)
        known = [Change(EventKind.GROUP_UPDATED, group=name) for name in ("a", "b")]
        outbox.append(tx.conn, tx.now, known)
        stored_events.publish(tx.conn)
        first, second = (one.to_json() for one in known)
        newer = [first, {"kind": "sung", "group": "?"}, second]
        tx.conn.execute(update(event).where(event.c.seq == start.seq + 1).values(changes=newer))
        return start

    start = stored.do(beside_a_newer_node)
    found = stored.do(lambda tx: stored_events.after(tx.conn, start, 10))
    assert [(one.change.group, one.cursor.index) for one in found] == [("a", 0), ("b", 2)]
