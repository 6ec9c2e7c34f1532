"""Read and change accounts, the links by which one is set up or recovered, and counts of failed sign-ins."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Connection, delete, func, insert, select, update

from ...core.actor import Role
from ...store.db import dialect
from ...store.schema.rows import reader_of
from ...store.schema.tables import login_throttle as t
from ...store.schema.tables import one_time_link as k
from ...store.schema.tables import user_account as u
from ...store.statements.listing.keyset import OrderKey
from ...store.statements.listing.listing import Listing, columns
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


@dataclass(frozen=True, slots=True)
class Failures:
    """Hold the failures of one subject."""

    failures: int
    last_failed_at: datetime
    blocked_until: datetime


def lock_failures(conn: Connection, subject: str, now: datetime) -> Failures:
    """Return the failures of a subject, zeros if there are none; lock it for this transaction."""
    fresh = {"subject": subject, "failures": 0, "last_failed_at": now, "blocked_until": now}
    conn.execute(dialect.insert_or_ignore(conn, t).values(**fresh))
    row = conn.execute(select(t).where(t.c.subject == subject).with_for_update()).one()
    return Failures(row.failures, row.last_failed_at, row.blocked_until)


def keep_failures(conn: Connection, subject: str, new: Failures) -> None:
    """Write down the failures of a subject that is locked."""
    values = {"failures": new.failures, "last_failed_at": new.last_failed_at, "blocked_until": new.blocked_until}
    conn.execute(update(t).where(t.c.subject == subject).values(**values))


def forgive_failures(conn: Connection, subject: str) -> None:
    """Forget the failures of a subject."""
    conn.execute(delete(t).where(t.c.subject == subject))
