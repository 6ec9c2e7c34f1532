"""One-time links that are still good."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import Connection, select

from ...store.schema.tables import one_time_link as k


class Purpose(StrEnum):
    """What a link is for."""

    SETUP = "setup"
    RECOVERY = "recovery"


def is_good(conn: Connection, purpose: Purpose, token_hash: str, now: datetime) -> bool:
    """Whether a link could be spent now."""
    statement = select(k.c.id).where(k.c.token_hash == token_hash, k.c.purpose == purpose.value)
    return conn.execute(statement.where(k.c.consumed_at.is_(None), k.c.expires_at > now)).first() is not None
