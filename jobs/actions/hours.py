"""Counting the execution log by the hour, for statistics."""

from datetime import datetime

from ..store.db.transaction import Tx
from ..store.write import hours


def count_hour(tx: Tx, hour: datetime) -> bool:
    """Count an hour that is over, unless something that began in it still runs; whether it is counted now."""
    return hours.count(tx.conn, hour)
