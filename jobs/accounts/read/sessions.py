"""Sessions and API tokens."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, select

from ...core.actor import Role
from ...store.schema.rows import reader_of
from ...store.schema.tables import api_token as t
from ...store.schema.tables import session as s
from ..rules.sessions import ApiToken, CredentialKind, Session


def sessions_of(conn: Connection, account_ids: Sequence[int], now: datetime) -> list[Session]:
    """The sessions of some accounts that have not ended, the one used last first."""
    statement = select(s).where(s.c.user_id.in_(account_ids), s.c.expires_at > now)
    return [session_from(row) for row in conn.execute(statement.order_by(s.c.last_seen_at.desc(), s.c.id))]


def tokens_of(conn: Connection, account_ids: Sequence[int]) -> list[ApiToken]:
    """The tokens of some accounts that are not revoked, the newest first."""
    statement = select(t).where(t.c.user_id.in_(account_ids), t.c.revoked_at.is_(None)).order_by(t.c.id.desc())
    return [token_from(row) for row in conn.execute(statement)]


session_from = reader_of(Session, {"kind": CredentialKind}, {"account_id": "user_id"})
"""The session behind a whole row."""


token_from = reader_of(ApiToken, {"role": Role}, {"account_id": "user_id"})
"""The token behind a whole row."""
