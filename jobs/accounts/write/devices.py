"""Statements on ``device_code`` and ``refresh_token``."""

from datetime import datetime

from sqlalchemy import Connection, func, insert, select, update

from ...store.schema.rows import reader_of
from ...store.schema.tables import device_code as d
from ...store.schema.tables import refresh_token as r
from ..rules.devices import DeviceRequest, Followers, RefreshToken


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
