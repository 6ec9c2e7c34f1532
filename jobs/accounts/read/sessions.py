"""Sessions and API tokens."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, or_, select

from ...core.actor import Role, lesser
from ...store.schema.rows import reader_of
from ...store.schema.tables import api_token as t
from ...store.schema.tables import session as s
from ...store.schema.tables import user_account as u
from ..rules.sessions import ApiToken, CredentialKind, Identity, Session

_SESSION = (
    select(s.c.id, s.c.kind, s.c.created_at, s.c.last_seen_at, s.c.expires_at, u.c.id.label("account"), u.c.name)
    .add_columns(u.c.role)
    .join(u, u.c.id == s.c.user_id)
    .where(u.c.disabled_at.is_(None))
)
_TOKEN = (
    select(t.c.id, t.c.role.label("own_role"), t.c.last_used_at, t.c.expires_at, u.c.id.label("account"), u.c.name)
    .add_columns(u.c.role)
    .join(u, u.c.id == t.c.user_id)
    .where(u.c.disabled_at.is_(None), t.c.revoked_at.is_(None))
)


@dataclass(frozen=True, slots=True)
class Found:
    """An identity, and when its credential was made and last used."""

    identity: Identity
    created_at: datetime | None
    seen_at: datetime | None


def by_session(conn: Connection, token_hash: str, now: datetime) -> Found | None:
    """Find the sign-in of a browser or command line by the hash of its secret."""
    row = conn.execute(_SESSION.where(s.c.token_hash == token_hash, *_open(now))).one_or_none()
    return None if row is None else Found(_of_session(row), row.created_at, row.last_seen_at)


def by_token(conn: Connection, token_hash: str, now: datetime) -> Found | None:
    """Find the owner of an API token by its hash."""
    row = conn.execute(_lasting(_TOKEN, now).where(t.c.token_hash == token_hash)).one_or_none()
    return None if row is None else Found(_of_token(row), None, row.last_used_at)


def still_good(conn: Connection, identities: Iterable[Identity], now: datetime) -> set[Identity]:
    """Return the identities whose credential still stands for the same person with the same rights."""
    asked = list(identities)
    sessions = {one.credential_id for one in asked if one.kind is not CredentialKind.TOKEN}
    tokens = {one.credential_id for one in asked if one.kind is CredentialKind.TOKEN}
    found: dict[tuple[bool, int], Identity] = {}
    if sessions:
        for row in conn.execute(_SESSION.where(s.c.id.in_(sessions), s.c.expires_at > now)):
            found[False, row.id] = _of_session(row)
    if tokens:
        for row in conn.execute(_lasting(_TOKEN, now).where(t.c.id.in_(tokens))):
            found[True, row.id] = _of_token(row)
    return {one for one in asked if _same(found.get((one.kind is CredentialKind.TOKEN, one.credential_id)), one)}


def _open(now: datetime) -> tuple[ColumnElement[bool], ...]:
    return s.c.expires_at > now, or_(s.c.access_expires_at.is_(None), s.c.access_expires_at > now)


def _same(now: Identity | None, before: Identity) -> bool:
    return now is not None and (now.account_id, now.role) == (before.account_id, before.role)


def _lasting(statement: Select[Any], now: datetime) -> Select[Any]:
    return statement.where(or_(t.c.expires_at.is_(None), t.c.expires_at > now))


def _of_session(row: Row[Any]) -> Identity:
    role = Role(row.role)
    return Identity(row.account, row.name, role, role, CredentialKind(row.kind), row.id, row.expires_at)


def _of_token(row: Row[Any]) -> Identity:
    role = Role(row.role)
    own = lesser(role, Role(row.own_role))
    return Identity(row.account, row.name, own, role, CredentialKind.TOKEN, row.id, row.expires_at)


def sessions_of(conn: Connection, account_ids: Sequence[int], now: datetime) -> list[Session]:
    """Return the sessions of some accounts that have not ended, the one used last first."""
    statement = select(s).where(s.c.user_id.in_(account_ids), s.c.expires_at > now)
    return [session_from(row) for row in conn.execute(statement.order_by(s.c.last_seen_at.desc(), s.c.id))]


def tokens_of(conn: Connection, account_ids: Sequence[int]) -> list[ApiToken]:
    """Return the tokens of some accounts that are not revoked, the newest first."""
    statement = select(t).where(t.c.user_id.in_(account_ids), t.c.revoked_at.is_(None)).order_by(t.c.id.desc())
    return [token_from(row) for row in conn.execute(statement)]


session_from = reader_of(Session, {"kind": CredentialKind}, {"account_id": "user_id"})
"""The session behind a whole row."""


token_from = reader_of(ApiToken, {"role": Role}, {"account_id": "user_id"})
"""The token behind a whole row."""
