"""Statements on ``signal_link``: addresses by which somebody without an account sends one signal to a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from ..schema.tables import signal_link as k


@dataclass(frozen=True, slots=True)
class SignalLink:
    """Hold the stored part of an address."""

    id: int
    run_id: int
    step: str
    used_at: datetime | None
    page: dict[str, Any] | None


def count(conn: Connection, run_id: int) -> int:
    """Return how many addresses a run has made."""
    return int(conn.execute(select(func.count()).select_from(k).where(k.c.run_id == run_id)).scalar_one())


def keep(
    conn: Connection, token_hash: str, run_id: int, step: str, page: Mapping[str, Any] | None, now: datetime
) -> None:
    """Keep a new one, with what its page shows."""
    shown = None if page is None else dict(page)
    conn.execute(insert(k).values(token_hash=token_hash, run_id=run_id, step=step, page=shown, created_at=now))


def find(conn: Connection, token_hash: str, *, lock: bool = False) -> SignalLink | None:
    """The one with this token; with ``lock`` nobody else uses it before the transaction ends."""
    statement = select(k.c.id, k.c.run_id, k.c.step, k.c.used_at, k.c.page).where(k.c.token_hash == token_hash)
    row = conn.execute(statement.with_for_update() if lock else statement).one_or_none()
    return None if row is None else SignalLink(row.id, row.run_id, row.step, row.used_at, row.page)


def spend(conn: Connection, link_id: int, now: datetime) -> None:
    """Use one up that is locked."""
    conn.execute(update(k).where(k.c.id == link_id).values(used_at=now))
