"""Devices that ask to be signed in, and refresh tokens."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, select

from ....core.auth.devices import DeviceRequest
from ...schema.tables import device_code as d


def open_request(conn: Connection, user_code_hash: str, now: datetime) -> DeviceRequest | None:
    """The device that shows a user code, as long as it waits for a decision."""
    row = conn.execute(select(d).where(d.c.user_code_hash == user_code_hash)).one_or_none()
    request = None if row is None else request_from(row)
    return request if request is not None and request.is_open(now) else None


def count_open(conn: Connection, address: str, now: datetime) -> int:
    """How many devices of an address wait for a decision."""
    waiting = (d.c.expires_at > now, d.c.consumed_at.is_(None), d.c.approved_at.is_(None), d.c.denied_at.is_(None))
    return int(conn.execute(select(func.count()).where(d.c.address == address, *waiting)).scalar_one())


def request_from(row: Any) -> DeviceRequest:
    """The request behind a row."""
    return DeviceRequest(
        id=row.id,
        account_id=row.user_id,
        address=row.address,
        agent=row.agent,
        created_at=row.created_at,
        expires_at=row.expires_at,
        interval=row.poll_interval,
        polled_at=row.polled_at,
        approved_at=row.approved_at,
        denied_at=row.denied_at,
        consumed_at=row.consumed_at,
    )
