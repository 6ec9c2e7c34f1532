"""Read and change sessions, API tokens, and the requests and refresh tokens of devices."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, delete, func, insert, or_, select, update

from ...core.actor import Role, lesser
from ...store.schema.rows import reader_of
from ...store.schema.tables import api_token as t
from ...store.schema.tables import device_code as d
from ...store.schema.tables import refresh_token as r
from ...store.schema.tables import session as s
from ...store.schema.tables import user_account as u
from ..rules.sessions import ApiToken, CredentialKind, DeviceRequest, Followers, Identity, RefreshToken, Session

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


def insert_request(conn: Connection, device_code_hash: str, user_code_hash: str, new: DeviceRequest) -> None:
    """Keep a device that waits for a decision; ``new.id`` is ignored."""
    conn.execute(
        insert(d).values(
            device_code_hash=device_code_hash,
            user_code_hash=user_code_hash,
            address=new.address,
            agent=new.agent,
            created_at=new.created_at,
            expires_at=new.expires_at,
            poll_interval=new.interval,
        )
    )


def lock_request(conn: Connection, device_code_hash: str) -> DeviceRequest | None:
    """Return the device of a device code; nobody else changes it before this transaction ends."""
    row = conn.execute(select(d).where(d.c.device_code_hash == device_code_hash).with_for_update()).one_or_none()
    return None if row is None else request_from(row)


def decide(conn: Connection, request_id: int, account_id: int, now: datetime, *, approve: bool) -> bool:
    """Approve or deny a device, once; return whether it was still open."""
    decided = {"user_id": account_id, "approved_at" if approve else "denied_at": now}
    still_open = (d.c.approved_at.is_(None), d.c.denied_at.is_(None), d.c.consumed_at.is_(None), d.c.expires_at > now)
    return conn.execute(update(d).where(d.c.id == request_id, *still_open).values(**decided)).rowcount > 0


def change_request(conn: Connection, request_id: int, **values: int | datetime) -> None:
    """Set columns of a device that is locked: ``polled_at``, ``poll_interval``, ``consumed_at``."""
    conn.execute(update(d).where(d.c.id == request_id).values(**values))


def insert_refresh(
    conn: Connection, token_hash: str, new: RefreshToken, account_id: int, now: datetime, *, parent: int | None
) -> None:
    """Keep a refresh token; ``new.id`` is ignored."""
    conn.execute(
        insert(r).values(
            token_hash=token_hash,
            family=new.family,
            session_id=new.session_id,
            user_id=account_id,
            parent_id=parent,
            created_at=now,
            expires_at=new.expires_at,
        )
    )


def lock_refresh(conn: Connection, token_hash: str) -> tuple[RefreshToken, int] | None:
    """Return a refresh token and the key of its account; others of its family wait until this transaction ends."""
    family = select(r.c.family).where(r.c.token_hash == token_hash).scalar_subquery()
    conn.execute(select(r.c.id).where(r.c.family == family).order_by(r.c.id).with_for_update()).all()
    row = conn.execute(select(r).where(r.c.token_hash == token_hash)).one_or_none()
    if row is None:
        return None
    token = RefreshToken(row.id, row.family, row.session_id, row.expires_at, row.used_at, row.revoked_at)
    return token, row.user_id


def followers_of(conn: Connection, token_id: int) -> Followers:
    """Return the successors of a refresh token of a locked family."""
    one, child, grandchild, sibling = (r.alias(name) for name in ("one", "child", "grandchild", "sibling"))
    used = (
        select(grandchild.c.id)
        .join(child, child.c.id == grandchild.c.parent_id)
        .where(child.c.parent_id == one.c.id)
        .exists()
    )
    replaced = select(sibling.c.id).where(sibling.c.parent_id == one.c.parent_id, sibling.c.id > one.c.id).exists()
    row = conn.execute(select(used.label("used"), replaced.label("replaced")).where(one.c.id == token_id)).one()
    return Followers(bool(row.used), bool(row.replaced))


def use_refresh(conn: Connection, token_id: int, now: datetime) -> None:
    """Note that a token was exchanged; its former successor is no longer valid."""
    mine = (r.c.id == token_id) | (r.c.parent_id == token_id)
    conn.execute(update(r).where(mine, r.c.used_at.is_(None)).values(used_at=now))


def revoke_family(conn: Connection, family: str, now: datetime) -> None:
    """Revoke all tokens of a sign-in."""
    conn.execute(update(r).where(r.c.family == family, r.c.revoked_at.is_(None)).values(revoked_at=now))


def open_request(conn: Connection, user_code_hash: str, now: datetime) -> DeviceRequest | None:
    """Return the device that shows a user code, as long as it waits for a decision."""
    row = conn.execute(select(d).where(d.c.user_code_hash == user_code_hash)).one_or_none()
    request = None if row is None else request_from(row)
    return request if request is not None and request.is_open(now) else None


def count_open(conn: Connection, address: str, now: datetime) -> int:
    """Return how many devices of an address wait for a decision."""
    waiting = (d.c.expires_at > now, d.c.consumed_at.is_(None), d.c.approved_at.is_(None), d.c.denied_at.is_(None))
    return int(conn.execute(select(func.count()).where(d.c.address == address, *waiting)).scalar_one())


request_from = reader_of(DeviceRequest, columns={"account_id": "user_id", "interval": "poll_interval"})
"""The request behind a row."""
