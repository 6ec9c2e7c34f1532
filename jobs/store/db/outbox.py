"""The changes of a transaction, written with it: one row, which gets its number in the order of all later.

On SQLite there is one writer at a time, so that a row gets its number in the transaction that writes it.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, Text, bindparam, insert, update

from ...core.events import Change, Listed
from ..schema.tables import event, event_publisher
from ..schema.types import SchemaText
from . import dialect

_NEXT_NUMBER = (
    update(event_publisher)
    .where(event_publisher.c.id == 1)
    .values(last_seq=event_publisher.c.last_seq + 1)
    .returning(event_publisher.c.last_seq)
)
_INSERT = insert(event).inline()
EVENT_WRITTEN: Final = """event_written AS (
    INSERT INTO cronograph.event (at, changes)"""
"""Begins a part of another statement for PostgreSQL that writes a row: it selects the time and the changes."""
APPENDING: Final = f"""{EVENT_WRITTEN}
    SELECT CAST(:at AS timestamptz), CAST(:changes AS jsonb) WHERE CAST(:changes AS jsonb) IS NOT NULL)"""
"""``append`` as such a part; it takes the time and ``as_text`` of the changes."""
_APPEND: Final = SchemaText(f"WITH {APPENDING} SELECT 1").bindparams(bindparam("changes", type_=Text()))


def append(conn: Connection, now: datetime, changes: Sequence[Change | Listed]) -> None:
    """Write one row for all changes of a transaction; on PostgreSQL ``publish`` gives it its place in the order."""
    if dialect.is_postgresql(conn):
        conn.execute(_APPEND, {"at": now, "changes": as_text(changes)})
        return
    seq = conn.execute(_NEXT_NUMBER).scalar_one()
    conn.execute(_INSERT, {"seq": seq, "at": now, "changes": [change.to_json() for change in changes]})


def as_text(changes: Sequence[Change | Listed]) -> str | None:
    """Return the parameters of ``APPENDING``; None = no row is written."""
    return json.dumps([change.to_json() for change in changes]) if changes else None
