"""Statements on ``one_time_link``: links that make the first administrator, or set a forgotten password."""

from datetime import datetime

from sqlalchemy import Connection, delete, insert, update

from ...store.schema.tables import one_time_link as k
from ..read.links import Purpose


def replace(
    conn: Connection, purpose: Purpose, token_hash: str, now: datetime, expires_at: datetime, account_id: int | None
) -> None:
    """Keep a link in the place of the older unspent ones of its kind and account."""
    older = delete(k).where(k.c.purpose == purpose.value, k.c.consumed_at.is_(None))
    conn.execute(older.where(k.c.user_id.is_(None) if account_id is None else k.c.user_id == account_id))
    values = {"purpose": purpose.value, "token_hash": token_hash, "user_id": account_id}
    conn.execute(insert(k).values(**values, created_at=now, expires_at=expires_at))


def spend(conn: Connection, purpose: Purpose, token_hash: str, now: datetime) -> tuple[bool, int | None]:
    """Use a link up, once: whether it was good, and whose it is."""
    statement = (
        update(k)
        .where(k.c.token_hash == token_hash, k.c.purpose == purpose.value)
        .where(k.c.consumed_at.is_(None), k.c.expires_at > now)
        .values(consumed_at=now)
        .returning(k.c.user_id)
    )
    row = conn.execute(statement).one_or_none()
    return (False, None) if row is None else (True, row.user_id)


def drop_unspent(conn: Connection, purpose: Purpose) -> None:
    """Make all unspent links of a kind useless."""
    conn.execute(delete(k).where(k.c.purpose == purpose.value, k.c.consumed_at.is_(None)))
