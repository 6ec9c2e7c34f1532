"""Giving committed changes their place in the one order of events."""

from ..store.db.transaction import Tx
from ..store.write import events


def publish(tx: Tx, limit: int) -> int:
    """Number up to ``limit`` transactions whose changes have no place yet, oldest first; returns how many."""
    return events.publish(tx.conn, limit)
