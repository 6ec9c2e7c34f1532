"""Statements on ``user_account``."""

from datetime import datetime

from sqlalchemy import Connection, delete, insert, select, update

from ...core.actor import Role
from ...store.schema.tables import one_time_link as k
from ...store.schema.tables import user_account as u
from ..read.accounts import Purpose, account_from
from ..rules.accounts import Account, name_key


def replace(
    conn: Connection, purpose: Purpose, token_hash: str, now: datetime, expires_at: datetime, account_id: int | None
) -> None:
    """Keep a link in the place of the older unspent ones of its kind and account."""
    older = delete(k).where(k.c.purpose == purpose.value, k.c.consumed_at.is_(None))
    conn.execute(older.where(k.c.user_id.is_(None) if account_id is None else k.c.user_id == account_id))
    values = {"purpose": purpose.value, "token_hash": token_hash, "user_id": account_id}
    conn.execute(insert(k).values(**values, created_at=now, expires_at=expires_at))


def spend(conn: Connection, purpose: Purpose, token_hash: str, now: datetime) -> tuple[bool, int | None]:
    """Use up a link, once; return whether it was good, and whose it is."""
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
    """Delete all unspent links of a kind."""
    conn.execute(delete(k).where(k.c.purpose == purpose.value, k.c.consumed_at.is_(None)))


def insert_account(conn: Connection, name: str, role: Role, password_hash: str | None, now: datetime) -> Account | None:
    """Return a new account; None if one of such a name exists."""
    taken = select(u.c.id).where(u.c.name_key == name_key(name))
    if conn.execute(taken).first() is not None:
        return None
    values = {"name": name, "name_key": name_key(name), "role": role.value}
    statement = insert(u).values(**values, password_hash=password_hash, created_at=now).returning(u)
    return account_from(conn.execute(statement).one())


def lock(conn: Connection, account_id: int) -> None:
    """Lock an account: others who lock it wait for the end of this transaction."""
    conn.execute(select(u.c.id).where(u.c.id == account_id).with_for_update())


def lock_administrators(conn: Connection) -> int:
    """Return the same, and nobody else changes one of them before this transaction ends."""
    statement = select(u.c.id).where(u.c.role == Role.ADMIN.value, u.c.disabled_at.is_(None)).with_for_update()
    return len(list(conn.execute(statement.order_by(u.c.id))))


def change(conn: Connection, account_id: int, **values: str | datetime | None) -> Account:
    """Set columns of an account: ``role``, ``password_hash``, ``disabled_at``."""
    return account_from(conn.execute(update(u).where(u.c.id == account_id).values(**values).returning(u)).one())
