"""Statements on ``audit_log`` and ``audit_head``: numbered without gaps, chained by their hashes."""

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection, Text, bindparam, insert, select, update

from ...core.actor import Entry, Record
from ...core.events import Change, Listed
from ..schema.tables import audit_head as h
from ..schema.tables import audit_log as a
from ..schema.types import SchemaText, to_text
from . import dialect, outbox

GENESIS: Final = "0" * 64
"""Stands for the hash before the first entry."""
_HEAD = 1
_LOCK_HEAD = select(h.c.last_id, h.c.last_hash).where(h.c.id == _HEAD).with_for_update()
_APPEND = insert(a)
_ADVANCE = update(h).where(h.c.id == _HEAD).values(last_id=bindparam("newest"), last_hash=bindparam("hash"))
_VALUES = [one.name for one in a.columns if one.name not in {"id", "hash"}]
_STORED = {name: {"at": "timestamptz", "actor_id": "bigint"}.get(name, "text") for name in _VALUES}
_FIRST = datetime(1, 1, 1, tzinfo=UTC)
# The places of the number and of the time in the text that is hashed; within a value the quotes would be escaped.
_ID: Final = '"id": '
_AT: Final = '"at": "'
_AT_TEXT: Final = """to_char({at} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""


def linking(at: str, when: str = "true") -> str:
    """Return two parts of a PostgreSQL statement that add one entry to the chain: ``advanced`` and ``audited``.

    The hash is that of ``chained``. Where there is no entry yet that it could follow, neither does anything.

    Args:
        at: The entry's time, an expression without tables of its own.
        when: On which condition.
    """
    head, middle, tail = (f"CAST(:{name} AS text)" for name in ("head", "middle", "tail"))
    text = f"{head} || {_AT_TEXT.format(at=at)} || {middle} || (last_id + 1) || {tail}"
    values = (at if name == "at" else f"CAST(:{name} AS {kind})" for name, kind in _STORED.items())
    return f"""
        advanced AS (
            UPDATE cronograph.audit_head SET last_id = last_id + 1, last_hash = encode(sha256(convert_to(
                last_hash || chr(10) || {text}, 'UTF8')), 'hex')
            WHERE id = {_HEAD} AND {when} RETURNING last_id, last_hash),
        audited AS (
            INSERT INTO cronograph.audit_log (id, hash, {", ".join(_VALUES)})
            SELECT last_id, last_hash, {", ".join(values)} FROM advanced RETURNING id)"""


def link_values(record: Record) -> dict[str, str | int | None]:
    """Return the parameters of ``linking``: all of the entry but its number and its time."""
    entry = _entry(0, _FIRST, record)
    head, _, rest = _hashed(entry).partition(f"{_AT}{to_text(_FIRST)}")
    middle, _, tail = rest.partition(f"{_ID}0")
    around = {"head": head + _AT, "middle": middle + _ID, "tail": tail}
    return {**{name: getattr(entry, name) for name in _VALUES if name != "at"}, **around}


BEGUN: Final = f"AND EXISTS (SELECT FROM cronograph.audit_head WHERE id = {_HEAD})"
"""A condition of a statement that continues the chain: there is an entry that another one could follow."""
AUDITED: Final = (
    f"""{linking("coalesce(CAST(:now AS timestamptz), statement_timestamp())", "EXISTS (SELECT FROM inserted)")},"""
)
"""The same parts for a statement that writes an entry if its part ``inserted`` has inserted anything."""

# What nearly every mutation writes, in one statement; SQLite knows no CTE that writes.
_APPEND_ONE = SchemaText(f"""
    WITH {outbox.APPENDING},
    {linking("CAST(:at AS timestamptz)")}
    SELECT id FROM audited""").bindparams(
    *(bindparam(name, type_=a.c[name].type) for name in _VALUES), bindparam("changes", type_=Text())
)


def append_one(conn: Connection, now: datetime, record: Record, changes: Sequence[Change | Listed]) -> None:
    """Write an entry as ``append`` does, and the changes of the transaction as ``outbox.append`` does."""
    if not dialect.is_postgresql(conn):
        if changes:
            outbox.append(conn, now, changes)
        append(conn, now, [record])
        return
    values = {**link_values(record), "at": now, "changes": outbox.as_text(changes)}
    if conn.execute(_APPEND_ONE, values).first() is None:
        # The first entry of all: nothing is there that it could follow.
        append(conn, now, [record])


def append(conn: Connection, now: datetime, records: Sequence[Record]) -> None:
    """Write entries behind the newest; other writers wait until this transaction ends."""
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
    """Return the hash of an entry, which holds that of the one before it."""
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
        revised=record.revised,
        job_name=record.job_name,
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
