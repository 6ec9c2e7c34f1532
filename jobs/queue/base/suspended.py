"""Suspended runs are woken: by the awaited thing, or by time.

The end of an attempt suspends a run (``finish``), and no node takes it until it is woken here. The awaited thing may
have come before it was suspended, while its attempt still ran. So code that suspends runs for something that others
bring looks for that in the same transaction, after the end of the attempt is written, and wakes them at once.
"""

from collections.abc import Sequence

from sqlalchemy import CursorResult

from ...core.states import RunState
from ...store.db.transaction import Tx, Wake
from . import statements
from .changes import run_change
from .shapes import reserved_from


def wake(tx: Tx, ids: Sequence[int]) -> list[int]:
    """Wake those of these runs that are suspended; return their ids, ascending. The others are left as they are.

    They wait again, and are due now. The next attempt uses no retry.
    """
    if not ids:
        return []
    return _woken(tx, statements.execute(tx.conn, "wake", {"ids": list(ids), "now": tx.now}))


def wake_due(tx: Tx, limit: int) -> list[int]:
    """Wake up to ``limit`` suspended runs that are due, but none that somebody changes; return their ids."""
    return _woken(tx, statements.execute(tx.conn, "wake_due", {"limit": limit, "now": tx.now}))


def _woken(tx: Tx, rows: CursorResult[tuple[object, ...]]) -> list[int]:
    woken = sorted(map(reserved_from, rows), key=lambda run: run.id)
    tx.emit(run_change(run, RunState.WAITING) for run in woken)
    if woken:
        tx.wake(Wake.RUNS)
    return [run.id for run in woken]
