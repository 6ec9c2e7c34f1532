"""Devices that ask to be signed in, and refresh tokens."""

from datetime import datetime

from sqlalchemy import Connection, func, select

from ...store.schema.rows import reader_of
from ...store.schema.tables import device_code as d
from ..rules.devices import DeviceRequest


def open_request(conn: Connection, user_code_hash: str, now: datetime) -> DeviceRequest | None:
    """The device that shows a user code, as long as it waits for a decision."""
    row = conn.execute(select(d).where(d.c.user_code_hash == user_code_hash)).one_or_none()
    request = None if row is None else request_from(row)
    return request if request is not None and request.is_open(now) else None


def count_open(conn: Connection, address: str, now: datetime) -> int:
    """Return how many devices of an address wait for a decision."""
    waiting = (d.c.expires_at > now, d.c.consumed_at.is_(None), d.c.approved_at.is_(None), d.c.denied_at.is_(None))
    return int(conn.execute(select(func.count()).where(d.c.address == address, *waiting)).scalar_one())


request_from = reader_of(DeviceRequest, columns={"account_id": "user_id", "interval": "poll_interval"})
"""The request behind a row."""
