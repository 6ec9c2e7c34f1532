"""Statements on ``provider_identity`` and ``provider_attempt``."""

from datetime import datetime

from sqlalchemy import Connection, delete, insert, update

from ...store.db import dialect
from ...store.schema.tables import provider_attempt as a
from ...store.schema.tables import provider_identity as i
from ..read.providers import identity_from
from ..rules.providers import ATTEMPT_LIFETIME, Profile, ProviderAttempt, ProviderIdentity


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
