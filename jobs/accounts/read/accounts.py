"""Accounts: who may sign in."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import Connection, func, select

from ...core.actor import Role
from ...store.read.listing.keyset import OrderKey
from ...store.read.listing.listing import Listing, columns
from ...store.schema.rows import reader_of
from ...store.schema.tables import one_time_link as k
from ...store.schema.tables import user_account as u
from ..rules.accounts import Account, name_key


class Purpose(StrEnum):
    """Name the purpose of a link."""

    SETUP = "setup"
    RECOVERY = "recovery"


def is_good(conn: Connection, purpose: Purpose, token_hash: str, now: datetime) -> bool:
    """Return whether a link could be spent now."""
    statement = select(k.c.id).where(k.c.token_hash == token_hash, k.c.purpose == purpose.value)
    return conn.execute(statement.where(k.c.consumed_at.is_(None), k.c.expires_at > now)).first() is not None


def by_name(conn: Connection, name: str) -> Account | None:
    """Return the account that a name means, in any case."""
    row = conn.execute(select(u).where(u.c.name_key == name_key(name))).one_or_none()
    return None if row is None else account_from(row)


def by_id(conn: Connection, account_id: int) -> Account | None:
    """Return the account of a key."""
    row = conn.execute(select(u).where(u.c.id == account_id)).one_or_none()
    return None if row is None else account_from(row)


def everybody(conn: Connection) -> list[Account]:
    """Return all accounts, by name."""
    return [account_from(row) for row in conn.execute(select(u).order_by(u.c.name_key))]


def names(conn: Connection) -> list[str]:
    """Return the names of all accounts."""
    return list(conn.execute(select(u.c.name).order_by(u.c.name)).scalars())


def password_hash(conn: Connection, account_id: int) -> str | None:
    """Return the stored hash of an account's password."""
    found: str | None = conn.execute(select(u.c.password_hash).where(u.c.id == account_id)).scalar_one_or_none()
    return found


def active_administrators(conn: Connection) -> int:
    """Return how many accounts may administrate and sign in."""
    statement = select(func.count()).where(u.c.role == Role.ADMIN.value, u.c.disabled_at.is_(None))
    return int(conn.execute(statement).scalar_one())


account_from = reader_of(
    Account, {"role": Role, "password_hash": lambda stored: stored is not None}, {"has_password": "password_hash"}
)
"""The account behind a whole row."""

ACCOUNTS: Listing[Account] = Listing(
    name="accounts",
    rows=select(u),
    key=u.c.id,
    fields=columns(u, "id name name_key role disabled_at created_at"),
    order=(OrderKey("name_key"),),
    model=account_from,
)
"""All accounts, by name."""
