"""Statements on ``user_account``."""

from datetime import datetime

from sqlalchemy import Connection, insert, select, update

from ...core.actor import Role
from ...store.schema.tables import user_account as u
from ..read.accounts import account_from
from ..rules.accounts import Account, name_key


def insert_account(conn: Connection, name: str, role: Role, password_hash: str | None, now: datetime) -> Account | None:
    """A new account; None if one of such a name exists."""
    taken = select(u.c.id).where(u.c.name_key == name_key(name))
    if conn.execute(taken).first() is not None:
        return None
    values = {"name": name, "name_key": name_key(name), "role": role.value}
    statement = insert(u).values(**values, password_hash=password_hash, created_at=now).returning(u)
    return account_from(conn.execute(statement).one())


def lock(conn: Connection, account_id: int) -> None:
    """Let nobody else who locks this account go on before this transaction ends."""
    conn.execute(select(u.c.id).where(u.c.id == account_id).with_for_update())


def lock_administrators(conn: Connection) -> int:
    """The same, and nobody else changes one of them before this transaction ends."""
    statement = select(u.c.id).where(u.c.role == Role.ADMIN.value, u.c.disabled_at.is_(None)).with_for_update()
    return len(list(conn.execute(statement.order_by(u.c.id))))


def change(conn: Connection, account_id: int, **values: str | datetime | None) -> Account:
    """Set columns of an account: ``role``, ``password_hash``, ``disabled_at``."""
    return account_from(conn.execute(update(u).where(u.c.id == account_id).values(**values).returning(u)).one())
