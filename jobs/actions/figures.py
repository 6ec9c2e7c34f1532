"""Count for charts and statistics: the depth of the queue by the minute, the log by the hour; and give it room."""

from collections.abc import Sequence
from datetime import datetime

from ..store.db.transaction import Tx
from ..store.read.figures.depth import KEPT_FOR, Part
from ..store.read.prunable import History
from ..store.write import blocks, figures


def keep_depth(tx: Tx, minute: datetime, parts: Sequence[Part]) -> bool:
    """Keep the depth of the queue at a minute, and forget old minutes; False if another node has kept that minute."""
    if not figures.keep_depth(tx.conn, minute, parts):
        return False
    figures.forget_depth(tx.conn, minute - KEPT_FOR)
    return True


def count_hour(tx: Tx, hour: datetime) -> bool:
    """Count an hour that is over, unless something that began in it still runs; return whether it is counted now."""
    return figures.count_hour(tx.conn, hour)


def make_block(tx: Tx, history: History, newest: int) -> bool:
    """Make the block into which this history will grow if ids will be there soon; return whether it was made."""
    return blocks.cut(tx.conn, history, newest)
