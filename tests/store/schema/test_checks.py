"""What the database itself refuses, whoever writes it; parts of PostgreSQL's tables divide the checks among them."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from cronograph.jobs.core.model import SkipReason
from cronograph.jobs.core.states import FINAL, OCCUPYING, RunState
from tests.support.history import LONG_AGO, add_execution, add_run

ENDS = (None, LONG_AGO)


def is_refused(conn: Connection, end: Any, execution: bool, values: dict[str, Any]) -> bool:
    """Return whether such a row is refused; it is not there afterwards."""
    savepoint = conn.begin_nested()
    try:
        if execution:
            add_execution(conn, 1, LONG_AGO, end, **values)
        else:
            add_run(conn, end, **values)
    except IntegrityError:
        return True
    finally:
        savepoint.rollback()
    return False


def wrong_runs() -> Iterator[tuple[Any, dict[str, Any], bool]]:
    """Yield the ends of runs, their other values, and whether that must not be."""
    states = (*map(str, RunState), "odd")
    documents: tuple[dict[str, Any] | None, ...] = None, {}
    for state, end, node, awaits, wake, skip in product(states, ENDS, (None, 1), documents, ENDS, (None, "paused")):
        values = {"state": state, "node_id": node, "awaits": awaits, "wake_at": wake, "skip_reason": skip}
        yield (
            end,
            values,
            state == "odd"
            or (end is not None) != (state in FINAL)
            or (node is None and state in OCCUPYING)
            or (awaits is not None) != (state == RunState.SUSPENDED)
            or (wake is not None and state != RunState.SUSPENDED)
            or (skip is not None and end is None),
        )
    for column in ("priority", "trigger", "skip_reason"):
        yield LONG_AGO, {"state": "success", column: "odd"}, True
        yield None, {"state": "waiting", column: "odd"}, True
    for reason in SkipReason:
        yield LONG_AGO, {"state": "skipped", "skip_reason": str(reason)}, False


def test_a_run_that_cannot_be_is_refused(conn: Connection) -> None:
    for end, values, wrong in wrong_runs():
        assert is_refused(conn, end, False, values) == wrong, (end, values)


def test_an_execution_that_cannot_be_is_refused(conn: Connection) -> None:
    outcomes = (None, "success", "failed", "odd")
    for end, success, outcome, message in product(ENDS, (None, True, False), outcomes, (None, "no")):
        values = {"success": success, "outcome": outcome, "error_message": message}
        wrong = (
            (end is None) != (success is None)
            or (end is None) != (outcome is None)
            or (success is False and message is None)
            or outcome == "odd"
        )
        assert is_refused(conn, end, True, values) == wrong, (end, values)
    assert is_refused(conn, None, True, {"trigger": "odd"})
    assert is_refused(conn, LONG_AGO, True, {"trigger": "odd"})
