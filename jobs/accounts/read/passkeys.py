"""Passkeys of accounts."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from ...store.schema.tables import passkey as p
from ..rules.passkeys import DeviceKey, Passkey


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
