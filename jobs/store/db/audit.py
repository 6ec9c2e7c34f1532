"""Statements on ``audit_log`` and ``audit_head``: numbered without gaps, chained by their hashes."""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Text, bindparam, insert, select, update

from ...core.auth.audit import Entry, Record
from ...core.events import Change, Listed
from ..schema.naming import SchemaText
from ..schema.tables import audit_head as h
from ..schema.tables import audit_log as a
from ..schema.types import to_text
from . import dialect, outbox

GENESIS: Final = "0" * 64
"""What stands for the hash before the first entry."""
_HEAD = 1
_LOCK_HEAD = select(h.c.last_id, h.c.last_hash).where(h.c.id == _HEAD).with_for_update()
_APPEND = insert(a)
_ADVANCE = update(h).where(h.c.id == _HEAD).values(last_id=bindparam("newest"), last_hash=bindparam("hash"))
_VALUES = [one.name for one in a.columns if one.name not in {"id", "hash"}]
# What nearly every mutation writes, in one statement; SQLite knows no CTE that writes. The hash is that of ``chained``.
_APPEND_ONE = SchemaText(f"""
    WITH told AS (
        INSERT INTO cronograph.event (at, changes)
        SELECT :at, CAST(:changes AS jsonb) WHERE CAST(:changes AS jsonb) IS NOT NULL),
    advanced AS (
        UPDATE cronograph.audit_head SET last_id = last_id + 1, last_hash = encode(sha256(convert_to(
            last_hash || chr(10) || CAST(:head AS text) || (last_id + 1) || CAST(:tail AS text), 'UTF8')), 'hex')
        WHERE id = {_HEAD} RETURNING last_id, last_hash)
    INSERT INTO cronograph.audit_log (id, hash, {", ".join(_VALUES)})
    SELECT last_id, last_hash, {", ".join(f":{name}" for name in _VALUES)} FROM advanced
    RETURNING id""").bindparams(
    *(bindparam(name, type_=a.c[name].type) for name in _VALUES), bindparam("changes", type_=Text())
)
_ID: Final = '"id": 0'
"""The place of the number in the text that is hashed; within a value its quotes would be escaped."""


def append_one(conn: Connection, now: datetime, record: Record, changes: Sequence[Change | Listed]) -> None:
    """Write an entry as ``append`` does, and the changes of the transaction as ``outbox.append`` does."""
    if not dialect.is_postgresql(conn):
        if changes:
            outbox.append(conn, now, changes)
        append(conn, now, [record])
        return
    entry = _entry(0, now, record)
    head, _, tail = _hashed(entry).partition(_ID)
    values = {name: getattr(entry, name) for name in _VALUES}
    told = json.dumps([change.to_json() for change in changes]) if changes else None
    around = {"head": head + _ID[:-1], "tail": tail}
    if conn.execute(_APPEND_ONE, {**values, **around, "changes": told}).first() is None:
        # The first entry of all: nothing is there that it could follow.
        append(conn, now, [record])


def append(conn: Connection, now: datetime, records: Sequence[Record]) -> None:
    """Write entries behind the newest; whoever else appends waits until this transaction ends."""
    last_id, last_hash = _lock(conn)
    rows: list[dict[str, Any]] = []
    for record in records:
        last_id += 1
        entry = _entry(last_id, now, record)
        last_hash = chained(last_hash, entry)
        rows.append({**_values(entry), "hash": last_hash})
    conn.execute(_APPEND, rows)
    conn.execute(_ADVANCE, {"newest": last_id, "hash": last_hash})


def chained(before: str, entry: Entry) -> str:
    """The hash of an entry, which holds that of the one before it."""
    return hashlib.sha256(f"{before}\n{_hashed(entry)}".encode()).hexdigest()


def _hashed(entry: Entry) -> str:
    return json.dumps({**_values(entry), "at": to_text(entry.at)}, sort_keys=True)


def _entry(number: int, now: datetime, record: Record) -> Entry:
    return Entry(
        id=number,
        at=now,
        actor=record.actor.name,
        actor_id=record.actor.account_id,
        address=record.actor.address,
        action=record.action,
        subject=record.subject,
        before=_text(record.before),
        after=_text(record.after),
    )


def _lock(conn: Connection) -> tuple[int, str]:
    row = conn.execute(_LOCK_HEAD).one_or_none()
    if row is None:
        first = {"id": _HEAD, "last_id": 0, "last_hash": GENESIS, "pruned_id": 0, "pruned_hash": GENESIS}
        conn.execute(dialect.insert_or_ignore(conn, h).values(**first))
        row = conn.execute(_LOCK_HEAD).one()
    return row.last_id, row.last_hash


def _values(entry: Entry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in ("id", *_VALUES)}


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(value, sort_keys=True, default=str)
