"""Statements on ``secret``."""

from datetime import datetime

from sqlalchemy import Connection, delete, select, update

from ...store.db import dialect
from ...store.schema.tables import secret as s
from ..read.secrets import secret_from
from ..rules.secrets import Sealed, Secret


def lock(conn: Connection, name: str) -> Secret | None:
    """Return a secret that nobody else changes before this transaction ends."""
    row = conn.execute(select(s).where(s.c.name == name).with_for_update()).one_or_none()
    return None if row is None else secret_from(row)


def lock_all(conn: Connection) -> dict[str, Sealed]:
    """Return all encrypted values, which nobody else changes before this transaction ends, by name."""
    statement = select(s.c.name, s.c.key_id, s.c.sealed).order_by(s.c.name).with_for_update()
    return {row.name: Sealed(*row) for row in conn.execute(statement)}


def keep(conn: Connection, sealed: Sealed, now: datetime, by: str) -> Secret:
    """Set a secret, whether it was there or not."""
    values = {"name": sealed.name, "sealed": sealed.text, "key_id": sealed.key_id, "updated_at": now, "updated_by": by}
    statement = dialect.upsert(conn, s, ["name"], ["sealed", "key_id", "updated_at", "updated_by"])
    row = conn.execute(statement.values(**values, created_at=now, created_by=by).returning(s)).one()
    return secret_from(row)


def reseal(conn: Connection, sealed: Sealed) -> None:
    """Store the same value under another key."""
    conn.execute(update(s).where(s.c.name == sealed.name).values(sealed=sealed.text, key_id=sealed.key_id))


def delete_secret(conn: Connection, name: str) -> None:
    """Delete a secret."""
    conn.execute(delete(s).where(s.c.name == name))
