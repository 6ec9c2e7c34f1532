"""Sessions and API tokens."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from ....core.auth.accounts import ApiToken, CredentialKind, Session
from ....core.auth.roles import Role
from ...schema.tables import api_token as t
from ...schema.tables import session as s


def sessions_of(conn: Connection, account_ids: Sequence[int], now: datetime) -> list[Session]:
    """The sessions of some accounts that have not ended, the one used last first."""
    statement = select(s).where(s.c.user_id.in_(account_ids), s.c.expires_at > now)
    return [session_from(row) for row in conn.execute(statement.order_by(s.c.last_seen_at.desc(), s.c.id))]


def tokens_of(conn: Connection, account_ids: Sequence[int]) -> list[ApiToken]:
    """The tokens of some accounts that are not revoked, the newest first."""
    statement = select(t).where(t.c.user_id.in_(account_ids), t.c.revoked_at.is_(None)).order_by(t.c.id.desc())
    return [token_from(row) for row in conn.execute(statement)]


def session_from(row: Any) -> Session:
    """The session behind a whole row."""
    return Session(
        id=row.id,
        account_id=row.user_id,
        kind=CredentialKind(row.kind),
        created_at=row.created_at,
        last_seen_at=row.last_seen_at,
        expires_at=row.expires_at,
        address=row.address,
        agent=row.agent,
        access_expires_at=row.access_expires_at,
    )


def token_from(row: Any) -> ApiToken:
    """The token behind a whole row."""
    return ApiToken(
        id=row.id,
        account_id=row.user_id,
        name=row.name,
        shown=row.shown,
        role=Role(row.role),
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
    )
