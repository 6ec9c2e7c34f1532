"""Statements on ``passkey`` and ``webauthn_challenge``."""

from datetime import datetime

from sqlalchemy import Connection, delete, insert, update

from ...store.db import dialect
from ...store.schema.tables import passkey as p
from ...store.schema.tables import webauthn_challenge as c
from ..read.passkeys import passkey_from
from ..rules.passkeys import CHALLENGE_LIFETIME, Ceremony, DeviceKey, Passkey


def insert_passkey(conn: Connection, account_id: int, new: DeviceKey, name: str, now: datetime) -> Passkey | None:
    """Keep a passkey; None if one of its credential id is known."""
    statement = dialect.insert_or_ignore(conn, p).values(
        user_id=account_id,
        credential_id=new.credential_id,
        public_key=new.public_key,
        sign_count=new.sign_count,
        name=name,
        created_at=now,
    )
    row = conn.execute(statement.returning(p)).one_or_none()
    return None if row is None else passkey_from(row)


def rename_passkey(conn: Connection, passkey_id: int, account_id: int, name: str) -> Passkey | None:
    """Call a passkey of an account something else; None if it has no such passkey."""
    statement = update(p).where(p.c.id == passkey_id, p.c.user_id == account_id).values(name=name)
    row = conn.execute(statement.returning(p)).one_or_none()
    return None if row is None else passkey_from(row)


def delete_passkey(conn: Connection, passkey_id: int, account_id: int) -> Passkey | None:
    """Forget a passkey of an account, and say which; None if it has no such passkey."""
    statement = delete(p).where(p.c.id == passkey_id, p.c.user_id == account_id)
    row = conn.execute(statement.returning(p)).one_or_none()
    return None if row is None else passkey_from(row)


def use_passkey(conn: Connection, passkey: Passkey, sign_count: int, now: datetime) -> bool:
    """Note that a passkey was used; False if it is gone, or was used meanwhile."""
    same = (p.c.id == passkey.id, p.c.sign_count == passkey.key.sign_count)
    statement = update(p).where(*same).values(sign_count=sign_count, last_used_at=now)
    return conn.execute(statement).rowcount > 0


def replace_challenge(
    conn: Connection, challenge_hash: str, bound_to: str, ceremony: Ceremony, now: datetime, account_id: int | None
) -> None:
    """Keep a challenge in the place of the unspent one that the same browser got before."""
    older = delete(c).where(c.c.bound_to == bound_to, c.c.purpose == ceremony.value, c.c.consumed_at.is_(None))
    conn.execute(older)
    values = {"challenge_hash": challenge_hash, "bound_to": bound_to, "purpose": ceremony.value, "user_id": account_id}
    conn.execute(insert(c).values(**values, created_at=now, expires_at=now + CHALLENGE_LIFETIME))


def spend_challenge(conn: Connection, challenge_hash: str, bound_to: str, ceremony: Ceremony, now: datetime) -> bool:
    """Use up a challenge, once; return whether it was good for this browser and this ceremony."""
    statement = (
        update(c)
        .where(c.c.challenge_hash == challenge_hash, c.c.bound_to == bound_to, c.c.purpose == ceremony.value)
        .where(c.c.consumed_at.is_(None), c.c.expires_at > now)
        .values(consumed_at=now)
    )
    return conn.execute(statement).rowcount > 0
