"""The chain of the audit log is the same whichever way an entry was written."""

from datetime import UTC, datetime
from typing import Final

import pytest
from sqlalchemy import Connection, func, select

from cronograph.jobs.core.auth.accounts import Actor
from cronograph.jobs.core.auth.audit import Record
from cronograph.jobs.core.auth.roles import Role
from cronograph.jobs.core.events import Change, EventKind
from cronograph.jobs.store.db.audit import append, append_one
from cronograph.jobs.store.read.auth.audit import chain, verify
from cronograph.jobs.store.schema.tables import event

NOW: Final = datetime(2026, 1, 2, 3, 4, 5, 67, tzinfo=UTC)
ANN: Final = Actor("Ann", Role.ADMIN, 7, "192.0.2.1")
RECORDS: Final = [
    Record(ANN, "task.changed", "nightly", before={"retries": 1}, after={"retries": 2}),
    Record(Actor('"id": 0, \\', Role.VIEWER), "a", '"id": 0', before='"id": 0', after={"id": 0, '"id": 0': "\n\\"}),
    Record(Actor('"at": "0001-01-01T00:00:00.000000Z', Role.VIEWER), '"at": "', "at", after={"at": "0001-01-01"}),
    Record(Actor("Zoë 🙂 :id %(id)s", Role.VIEWER), "b", None, before=None, after=["ä", "\u2028", "'", None, 1.5]),
]


@pytest.mark.parametrize("first", [True, False], ids=["first of all", "behind another"])
def test_an_entry_that_is_written_alone_continues_the_chain(conn: Connection, first: bool) -> None:
    if not first:
        append(conn, NOW, RECORDS[:2])
    for record in RECORDS:
        append_one(conn, NOW, record, [])
    append(conn, NOW, RECORDS)
    verdict = verify(conn)
    assert (verdict.fault, verdict.entries) == (None, 8 if first else 10)
    written = [(entry.actor, entry.action, entry.subject) for entry, _ in chain(conn)][-8:]
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
