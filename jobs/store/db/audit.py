"""Statements on ``audit_log`` and ``audit_head``: numbered without gaps, chained by their hashes."""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, bindparam, insert, select, update

from ...core.auth.audit import Entry, Record
from ..schema.naming import SchemaText
from ..schema.tables import audit_head as h
from ..schema.tables import audit_log as a
from ..schema.types import to_text
from . import dialect

GENESIS: Final = "0" * 64
"""What stands for the hash before the first entry."""
_HEAD = 1
_LOCK_HEAD = select(h.c.last_id, h.c.last_hash).where(h.c.id == _HEAD).with_for_update()
_APPEND = insert(a)
_ADVANCE = update(h).where(h.c.id == _HEAD).values(last_id=bindparam("newest"), last_hash=bindparam("hash"))
_COLUMNS = [one.name for one in a.columns]
# What nearly every mutation writes, in one statement; SQLite knows no CTE that writes.
_APPEND_ONE = SchemaText(f"""
    WITH advanced AS (UPDATE cronograph.audit_head SET last_id = :id, last_hash = :hash WHERE id = {_HEAD})
    INSERT INTO cronograph.audit_log ({", ".join(_COLUMNS)}) VALUES ({", ".join(f":{name}" for name in _COLUMNS)})""")


def append(conn: Connection, now: datetime, records: Sequence[Record]) -> None:
    """Write entries behind the newest; whoever else appends waits until this transaction ends."""
    last_id, last_hash = _lock(conn)
    rows: list[dict[str, Any]] = []
    for record in records:
        last_id += 1
        entry = Entry(
            id=last_id,
            at=now,
            actor=record.actor.name,
            actor_id=record.actor.account_id,
            address=record.actor.address,
            action=record.action,
            subject=record.subject,
            before=_text(record.before),
            after=_text(record.after),
        )
        last_hash = chained(last_hash, entry)
        rows.append({**_values(entry), "hash": last_hash})
    if len(rows) == 1 and dialect.is_postgresql(conn):
        conn.execute(_APPEND_ONE, rows[0])
        return
    conn.execute(_APPEND, rows)
    conn.execute(_ADVANCE, {"newest": last_id, "hash": last_hash})


def chained(before: str, entry: Entry) -> str:
    """The hash of an entry, which holds that of the one before it."""
    values = {**_values(entry), "at": to_text(entry.at)}
    return hashlib.sha256(f"{before}\n{json.dumps(values, sort_keys=True)}".encode()).hexdigest()


def _lock(conn: Connection) -> tuple[int, str]:
    row = conn.execute(_LOCK_HEAD).one_or_none()
    if row is None:
        first = {"id": _HEAD, "last_id": 0, "last_hash": GENESIS, "pruned_id": 0, "pruned_hash": GENESIS}
        conn.execute(dialect.insert_or_ignore(conn, h).values(**first))
        row = conn.execute(_LOCK_HEAD).one()
    return row.last_id, row.last_hash


def _values(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "at": entry.at,
        "actor": entry.actor,
        "actor_id": entry.actor_id,
        "address": entry.address,
        "action": entry.action,
        "subject": entry.subject,
        "before": entry.before,
        "after": entry.after,
    }


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(value, sort_keys=True, default=str)
