"""Read the identities that accounts have at providers."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from ...store.schema.rows import reader_of
from ...store.schema.tables import provider_identity as i
from ..rules.providers import ProviderIdentity


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
