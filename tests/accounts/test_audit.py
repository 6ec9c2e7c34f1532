"""The chain of the audit log is the same whichever way an entry was written."""

from datetime import UTC, datetime
from typing import Final

import pytest
from sqlalchemy import Connection, delete, func, select, update

from cronograph.jobs.accounts.statements.audit import AUDIT, chain, verify
from cronograph.jobs.core.actor import Actor, Entry, Record, Role, described
from cronograph.jobs.core.events import Change, EventKind
from cronograph.jobs.store.db.audit import append, append_one
from cronograph.jobs.store.schema.tables import audit_head, audit_log, event
from cronograph.jobs.store.schema.types import SchemaText
from cronograph.jobs.store.statements.listing.keyset import PageRequest
from cronograph.jobs.store.statements.listing.pages import page

NOW: Final = datetime(2026, 1, 2, 3, 4, 5, 67, tzinfo=UTC)
ANN: Final = Actor("Ann", Role.ADMIN, 7, "192.0.2.1")
RECORDS: Final = [
    Record(ANN, "task.changed", "nightly", before={"retries": 1}, after={"retries": 2}),
    Record(Actor('"id": 0, \\', Role.VIEWER), "a", '"id": 0', before='"id": 0', after={"id": 0, '"id": 0': "\n\\"}),
    Record(Actor('"at": "0001-01-01T00:00:00.000000Z', Role.VIEWER), '"at": "', "at", after={"at": "0001-01-01"}),
    Record(Actor("Zoë 🙂 :id %(id)s", Role.VIEWER), "b", None, before=None, after=["ä", "\u2028", "'", None, 1.5]),
]


@pytest.mark.costly
@pytest.mark.parametrize("first", [True, False], ids=["first of all", "behind another"])
def test_an_entry_that_is_written_alone_continues_the_chain(conn: Connection, first: bool) -> None:
    if not first:
        append(conn, NOW, RECORDS[:2])
    for record in RECORDS:
        append_one(conn, NOW, record, [])
    append(conn, NOW, RECORDS)
    verdict = verify(conn)
    assert (verdict.fault, verdict.entries) == (None, 8 if first else 10)
    entries = [entry for entry, _ in chain(conn) if isinstance(entry, Entry)]
    written = [(entry.actor, entry.action, entry.subject) for entry in entries][-8:]
    assert written == [(one.actor.name, one.action, one.subject) for one in RECORDS] * 2


def test_the_changes_of_the_transaction_are_one_event(conn: Connection) -> None:
    for record in RECORDS[:2]:
        append_one(
            conn,
            NOW,
            record,
            [Change(EventKind.GROUP_UPDATED, group="g"), Change(EventKind.GROUP_UPDATED, group="ä\"'")],
        )
        append_one(conn, NOW, record, [])
    stored = conn.execute(select(event.c.at, event.c.changes).order_by(event.c.id)).all()
    assert [at for at, _ in stored] == [NOW, NOW]
    assert [[change["group"] for change in changes] for _, changes in stored] == [["g", "ä\"'"]] * 2
    assert conn.execute(select(func.count()).select_from(event)).scalar_one() == 2


BROKEN = {
    "sqlite": [{"at": "'x'"}, {"actor": "X'ff00'"}, {"actor_id": "'nobody'", "subject": "X'ff'"}],
    "postgresql": [{"at": "'infinity'"}, {"at": "'0044-03-15 BC'"}],
}


def test_one_bad_entry_does_not_hide_the_others_and_is_named(conn: Connection) -> None:
    for values in BROKEN[conn.dialect.name]:
        conn.execute(delete(audit_log))
        conn.execute(delete(audit_head))
        append(conn, NOW, [RECORDS[0]] * 7)
        assert verify(conn).fault is None
        written = ", ".join(f"{column} = {value}" for column, value in values.items())
        conn.execute(SchemaText(f"UPDATE cronograph.audit_log SET {written} WHERE id IN (3, 6)"))
        assert str(verify(conn).fault).startswith("entry 3 cannot be read: ")
        linked = [entry.id if isinstance(entry, Entry) else -entry.id for entry, _ in chain(conn)]
        assert linked == [1, 2, -3, 4, 5, -6, 7]
        first = page(conn, AUDIT, PageRequest(AUDIT.order, 3))
        rest = page(conn, AUDIT, PageRequest(AUDIT.order, 3, after=first.ends[1]))
        assert [one.id for one in first.items] == [7, 5]
        assert ([one.id for one in rest.items], first.has_next, rest.has_next) == ([4, 2], True, True)
        (fault,) = first.unreadable
        assert fault.message.startswith("table audit_log, row id 6: ")


def test_text_that_is_no_json_is_shown_as_it_is(conn: Connection) -> None:
    append(conn, NOW, [RECORDS[0]])
    conn.execute(update(audit_log).values(after="{torn"))
    (entry,) = page(conn, AUDIT, PageRequest(AUDIT.order, 3)).items
    assert (described(entry.before), described(entry.after)) == ({"retries": 1}, "{torn")
    assert described("[" * 100_000) == "[" * 100_000
    assert "entry 1 is not what was written" in str(verify(conn).fault)
