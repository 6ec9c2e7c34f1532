"""Read and change the other ways to sign in: passkeys, and accounts at identity providers."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from ...store.db import dialect
from ...store.schema.rows import reader_of
from ...store.schema.tables import passkey as p
from ...store.schema.tables import provider_attempt as a
from ...store.schema.tables import provider_identity as i
from ...store.schema.tables import webauthn_challenge as c
from ..rules.accounts import ATTEMPT_LIFETIME, Profile, ProviderAttempt, ProviderIdentity
from ..rules.credentials import CHALLENGE_LIFETIME, Ceremony, DeviceKey, Passkey


def passkeys_of(conn: Connection, account_ids: Sequence[int]) -> list[Passkey]:
    """Return the passkeys of some accounts, the oldest first."""
    statement = select(p).where(p.c.user_id.in_(account_ids)).order_by(p.c.id)
    return [passkey_from(row) for row in conn.execute(statement)]


def by_credential(conn: Connection, credential_id: str) -> Passkey | None:
    """Return the passkey that a device means."""
    row = conn.execute(select(p).where(p.c.credential_id == credential_id)).one_or_none()
    return None if row is None else passkey_from(row)


def passkey_from(row: Row[Any]) -> Passkey:
    """Return the passkey behind a whole row."""
    return Passkey(
        id=row.id,
        account_id=row.user_id,
        key=DeviceKey(row.credential_id, row.public_key, row.sign_count),
        name=row.name,
        created_at=row.created_at,
        last_used_at=row.last_used_at,
    )


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


def identities_of(conn: Connection, account_ids: Sequence[int]) -> list[ProviderIdentity]:
    """Return who some accounts are at providers, the oldest first."""
    statement = select(i).where(i.c.user_id.in_(account_ids)).order_by(i.c.id)
    return [identity_from(row) for row in conn.execute(statement)]


def by_subject(conn: Connection, issuer: str, subject: str) -> ProviderIdentity | None:
    """Return the account of somebody at a provider."""
    row = conn.execute(select(i).where(i.c.issuer == issuer, i.c.subject == subject)).one_or_none()
    return None if row is None else identity_from(row)


identity_from = reader_of(ProviderIdentity, columns={"account_id": "user_id"})
"""The identity behind a whole row."""


def insert_identity(conn: Connection, account_id: int, profile: Profile, now: datetime) -> ProviderIdentity | None:
    """Connect an account to an identity at a provider; None if another account has it."""
    statement = dialect.insert_or_ignore(conn, i).values(
        user_id=account_id,
        provider=profile.provider,
        issuer=profile.issuer,
        subject=profile.subject,
        created_at=now,
    )
    row = conn.execute(statement.returning(i)).one_or_none()
    return None if row is None else identity_from(row)


def use_identity(conn: Connection, identity_id: int, now: datetime) -> None:
    """Note that an identity was used to sign in."""
    conn.execute(update(i).where(i.c.id == identity_id).values(last_used_at=now))


def delete_identity(conn: Connection, identity_id: int, account_id: int) -> ProviderIdentity | None:
    """Forget an account's identity at a provider, and return it; None if it has no such identity."""
    statement = delete(i).where(i.c.id == identity_id, i.c.user_id == account_id)
    row = conn.execute(statement.returning(i)).one_or_none()
    return None if row is None else identity_from(row)


def insert_attempt(
    conn: Connection, state_hash: str, bound_to: str, provider: str, attempt: ProviderAttempt, now: datetime
) -> None:
    """Keep a sign-in that goes on at a provider."""
    values = {"state_hash": state_hash, "bound_to": bound_to, "provider": provider, "next_path": attempt.next_path}
    times = {"created_at": now, "expires_at": now + ATTEMPT_LIFETIME}
    conn.execute(insert(a).values(**values, **times, user_id=attempt.account_id))


def spend_attempt(
    conn: Connection, state_hash: str, bound_to: str, provider: str, now: datetime
) -> ProviderAttempt | None:
    """Use up a sign-in that comes back from a provider, once; None if this browser did not begin it."""
    statement = (
        update(a)
        .where(a.c.state_hash == state_hash, a.c.bound_to == bound_to, a.c.provider == provider)
        .where(a.c.consumed_at.is_(None), a.c.expires_at > now)
        .values(consumed_at=now)
        .returning(a.c.next_path, a.c.user_id)
    )
    row = conn.execute(statement).one_or_none()
    return None if row is None else ProviderAttempt(row.next_path, row.user_id)
