"""Ends are counted by the minute in the transaction that writes them, so that the overview never counts the log."""

from collections.abc import Sequence

from sqlalchemy import Connection

from . import statements


def count_ends(conn: Connection, execution_ids: Sequence[int]) -> None:
    """Count executions that this transaction has closed; each must be counted once."""
    if execution_ids:
        statements.execute(conn, "count_ends", {"executions": list(execution_ids)})
