"""Keeping the depth of the queue, for the charts of it."""

from collections.abc import Sequence
from datetime import datetime

from ..store.db.transaction import Tx
from ..store.read.figures.depth import KEPT_FOR, Part
from ..store.write import depth


def keep_depth(tx: Tx, minute: datetime, parts: Sequence[Part]) -> bool:
    """Keep what the queue is at a minute, and forget what is too old; False if another node has kept that minute."""
    if not depth.keep(tx.conn, minute, parts):
        return False
    depth.forget(tx.conn, minute - KEPT_FOR)
    return True
