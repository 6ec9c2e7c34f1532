"""How long a notification of PostgreSQL takes from one connection to another, if it arrives at all."""

import secrets
import time

import psycopg
from psycopg import sql

from ...db.base.address import libpq_url, parse_url


def notification_delay(database_url: str, patience: float = 2.0) -> float | None:
    """Seconds from a ``NOTIFY`` to its arrival on another connection; None if it did not arrive.

    It goes by a channel of its own, so no node wakes up.

    Args:
        database_url: Of a PostgreSQL database that can be reached.
        patience: Seconds to wait for it.
    """
    address, channel = libpq_url(parse_url(database_url)), f"cronograph_trial_{secrets.token_hex(6)}"
    with psycopg.connect(address, autocommit=True) as listener, psycopg.connect(address, autocommit=True) as sender:
        listener.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        began = time.perf_counter()
        sender.execute("SELECT pg_notify(%s, '')", (channel,))
        received = list(listener.notifies(timeout=patience, stop_after=1))
        return time.perf_counter() - began if received else None
