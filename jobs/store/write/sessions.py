"""Statements on ``session`` and ``api_token``."""

from datetime import datetime

from sqlalchemy import Connection, delete, insert, update

from ...core.accounts import ApiToken, Session
from ..read.sessions import token_from
from ..schema.tables import api_token as t
from ..schema.tables import session as s


def insert_session(conn: Connection, account_id: int, token_hash: str, new: Session) -> int:
    """Keep a sign-in; returns its key. ``new.id`` is ignored."""
    statement = insert(s).values(
        token_hash=token_hash,
        user_id=account_id,
        kind=new.kind.value,
        created_at=new.created_at,
        last_seen_at=new.last_seen_at,
        expires_at=new.expires_at,
        address=new.address,
        agent=new.agent,
    )
    return int(conn.execute(statement.returning(s.c.id)).scalar_one())


def see_session(conn: Connection, session_id: int, now: datetime, expires_at: datetime) -> None:
    """Note that a session is used, and when it ends now. An older note never undoes a newer one."""
    newer = s.c.last_seen_at < now
    conn.execute(update(s).where(s.c.id == session_id, newer).values(last_seen_at=now, expires_at=expires_at))


def delete_session(conn: Connection, session_id: int, account_id: int) -> bool:
    """End a session of an account; False if there is none."""
    return conn.execute(delete(s).where(s.c.id == session_id, s.c.user_id == account_id)).rowcount > 0


def delete_sessions_of(conn: Connection, account_id: int, *, but: int | None = None) -> int:
    """End all sessions of an account, but one if named; returns how many."""
    kept = [] if but is None else [s.c.id != but]
    return conn.execute(delete(s).where(s.c.user_id == account_id, *kept)).rowcount


def insert_token(conn: Connection, token_hash: str, new: ApiToken) -> ApiToken:
    """Keep an API token. ``new.id`` is ignored."""
    statement = insert(t).values(
        token_hash=token_hash,
        user_id=new.account_id,
        name=new.name,
        shown=new.shown,
        role=new.role.value,
        created_at=new.created_at,
        expires_at=new.expires_at,
    )
    return token_from(conn.execute(statement.returning(t)).one())


def use_token(conn: Connection, token_id: int, now: datetime) -> None:
    """Note that a token is used."""
    conn.execute(update(t).where(t.c.id == token_id).values(last_used_at=now))


def revoke_token(conn: Connection, token_id: int, account_id: int | None, now: datetime) -> ApiToken | None:
    """Revoke a token, of one account if named; None if there is none that is not revoked."""
    whose = [] if account_id is None else [t.c.user_id == account_id]
    statement = update(t).where(t.c.id == token_id, t.c.revoked_at.is_(None), *whose).values(revoked_at=now)
    row = conn.execute(statement.returning(t)).one_or_none()
    return None if row is None else token_from(row)
