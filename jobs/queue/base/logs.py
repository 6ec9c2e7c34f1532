"""Keeping the log lines of executions, bounded."""

from collections.abc import Sequence

from ...core.model import KEPT_LINES
from ...store.db.transaction import Tx, Wake
from ...store.read.logs import LogLine
from ...store.write import logs


def append_lines(tx: Tx, lines: Sequence[LogLine], *, cut_at_most: int | None = None) -> None:
    """Store lines of any executions, in order, and cut those beyond the bound. Repeating it changes nothing.

    ``cut_at_most`` limits the lines that are cut of one execution, so that the transaction stays short; the rest is cut
    by later ones, at last by ``cut_lines``.
    """
    logs.append(tx.conn, lines)
    newest = {one.execution_id: one.line for one in lines}
    for execution_id, line in newest.items():
        if line > KEPT_LINES:
            logs.cut(tx.conn, execution_id, line - KEPT_LINES + 1, cut_at_most)
    tx.wake(Wake.LOGS)


def cut_lines(tx: Tx, execution_id: int, written: int, limit: int) -> bool:
    """Cut up to ``limit`` lines beyond the bound of an execution that has ``written`` lines; whether more are left."""
    before = written - KEPT_LINES + 1
    return before > 1 and logs.cut(tx.conn, execution_id, before, limit) == limit
