"""Keeping the log lines of executions, bounded."""

from collections.abc import Sequence

from ..store import logs
from ..store.logs import LogLine
from ..store.transaction import Tx, Wake

KEPT_LINES = 10_000
"""How many lines of one execution are kept; of more, the newest."""


def append_lines(tx: Tx, lines: Sequence[LogLine]) -> None:
    """Store lines of any executions, in order, and cut what is beyond the bound. Repeating it changes nothing."""
    logs.append(tx.conn, lines)
    newest = {line.execution_id: line.line for line in lines}
    for execution_id, line in newest.items():
        if line > KEPT_LINES:
            logs.cut(tx.conn, execution_id, line - KEPT_LINES + 1)
    tx.wake(Wake.LOGS)
