"""Statements on ``session``, with the refresh tokens that end with it, and on ``api_token``."""

from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from ...store.schema.tables import api_token as t
from ...store.schema.tables import refresh_token as r
from ...store.schema.tables import session as s
from ..read.sessions import token_from
from ..rules.sessions import ApiToken, Session


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
        access_expires_at=new.access_expires_at,
    )
    return int(conn.execute(statement.returning(s.c.id)).scalar_one())


def see_session(conn: Connection, session_id: int, now: datetime, expires_at: datetime | None) -> None:
    """Note that a session is used, and when it ends now, if that changes. An older note never undoes a newer one."""
    changes = {"last_seen_at": now} if expires_at is None else {"last_seen_at": now, "expires_at": expires_at}
    conn.execute(update(s).where(s.c.id == session_id, s.c.last_seen_at < now).values(**changes))


def renew_access(
    conn: Connection, session_id: int, token_hash: str, access_expires_at: datetime, now: datetime, expires_at: datetime
) -> None:
    """Give a sign-in of the command line its next access token; the one before is no longer valid."""
    lasting = {"access_expires_at": access_expires_at, "expires_at": expires_at, "last_seen_at": now}
    conn.execute(update(s).where(s.c.id == session_id).values(token_hash=token_hash, **lasting))


def delete_session(conn: Connection, session_id: int, account_id: int, now: datetime) -> bool:
    """End a session of an account, and its refresh tokens; False if there is none."""
    return _delete(conn, now, s.c.id == session_id, s.c.user_id == account_id) > 0


def delete_sessions_of(conn: Connection, account_id: int, now: datetime, *, but: int | None = None) -> int:
    """End all sessions of an account, but one if named, and their refresh tokens; returns how many."""
    return _delete(conn, now, s.c.user_id == account_id, *([] if but is None else [s.c.id != but]))


def session_by_access(conn: Connection, token_hash: str) -> tuple[int, int] | None:
    """Return the keys of a session and of its account, by the stored form of its access token."""
    found = conn.execute(select(s.c.id, s.c.user_id).where(s.c.token_hash == token_hash)).one_or_none()
    return None if found is None else (found.id, found.user_id)


def _delete(conn: Connection, now: datetime, *which: ColumnElement[bool]) -> int:
    ended = select(s.c.id).where(*which)
    conn.execute(update(r).where(r.c.session_id.in_(ended), r.c.revoked_at.is_(None)).values(revoked_at=now))
    return conn.execute(delete(s).where(*which)).rowcount


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
