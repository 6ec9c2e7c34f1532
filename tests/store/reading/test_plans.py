"""The hot reads use the indexes that were made for them: their cost does not grow with the table."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, event, insert, text

from cronograph.jobs.store.database import parse_url, sync_engine
from cronograph.jobs.store.dialect import is_postgresql
from cronograph.jobs.store.reading.criteria import AllOf, Condition, Criteria, Operator, equal
from cronograph.jobs.store.reading.keyset import OrderKey, PageRequest
from cronograph.jobs.store.reading.lists import EXECUTIONS, OCCURRENCES, RUNS, Listing
from cronograph.jobs.store.reading.pages import page, pages_of
from cronograph.jobs.store.tables import job_execution, run
from tests.support.history import LONG_AGO

ROWS = 20_000
NEWEST = (OrderKey("id", descending=True),)
DEEP = (ROWS // 2,)


@pytest.fixture(scope="module")
def numbers() -> list[int]:
    """Row numbers."""
    return list(range(1, ROWS + 1))


@pytest.fixture
def conn(database_url: str, numbers: list[int]) -> Iterator[Connection]:
    """Many finished runs and executions of 50 tasks and 10 jobs; one in a hundred failed."""
    engine = sync_engine(parse_url(database_url))
    with engine.begin() as connection:
        connection.execute(insert(job_execution), [executed(number) for number in numbers])
        connection.execute(insert(run), [ran(number) for number in numbers])
    with engine.begin() as connection:
        connection.execute(text("ANALYZE"))
        yield connection
    engine.dispose()


def executed(number: int) -> dict[str, Any]:
    """An execution."""
    at, good = LONG_AGO + timedelta(seconds=number), number % 100 != 0
    return {
        "job_name": f"job {number % 10}", "task_id": number % 50, "run_id": number, "attempt": 1, "node_id": 1,
        "started_at": at, "completed_at": at, "success": good, "outcome": "success" if good else "failed",
        "error_message": None if good else "no", "node": "n", "trigger": "schedule", "submitted_at": at, "log_lines": 0,
        "log_cut": 0,
    }  # fmt: skip


def ran(number: int) -> dict[str, Any]:
    """A finished run."""
    at = LONG_AGO + timedelta(seconds=number)
    return {
        "task_id": number % 50, "job_name": f"job {number % 10}", "args": {}, "group_name": "default",
        "priority": "low",
        "trigger": "schedule", "scheduled_for": at, "submitted_at": at, "available_at": at, "finished_at": at,
        "attempt": 1, "failures": 0, "retries": 2, "retry_delay": 60, "exclusive": False, "description": "",
        "state": "success",
    }  # fmt: skip


def failed(*more: Criteria) -> AllOf:
    """The condition of `onlyFailures`."""
    return AllOf((equal("success", value=False), *more))


CASES: list[tuple[str, Listing[Any], PageRequest]] = [
    ("the newest", EXECUTIONS, PageRequest(NEWEST, 50)),
    ("a deep page", EXECUTIONS, PageRequest(NEWEST, 50, after=DEEP)),
    ("a deep page backwards", EXECUTIONS, PageRequest(NEWEST, 50, backwards=True, before=DEEP)),
    ("the newest of a job", EXECUTIONS, PageRequest(NEWEST, 50, equal("job_name", "job 3"))),
    ("a deep page of a job", EXECUTIONS, PageRequest(NEWEST, 50, equal("job_name", "job 3"), after=DEEP)),
    ("the newest failures", EXECUTIONS, PageRequest(NEWEST, 50, failed())),
    ("the newest failures of a job", EXECUTIONS, PageRequest(NEWEST, 50, failed(equal("job_name", "job 0")))),
    ("the newest runs in a state", RUNS, PageRequest(NEWEST, 50, equal("state", "success"))),
]


FEW_ROWS, FEW_STEPS = 1_000, 40_000
"""What a page of 50 rows may touch: table and index rows on PostgreSQL, steps of the virtual machine on SQLite."""


def test_pages_touch_few_rows_however_large_the_table(conn: Connection) -> None:
    for name, listing, request in CASES:
        touched = work(conn, partial(page, conn, listing, request))
        assert touched <= (FEW_ROWS if is_postgresql(conn) else FEW_STEPS), name


def test_the_newest_rows_of_many_parents_touch_few_rows_each(conn: Connection) -> None:
    tasks, jobs = list(range(50)), [f"job {number}" for number in range(10)]
    finished = PageRequest(NEWEST, 1, Condition("completed_at", Operator.IS_NULL, value=False))
    cases: list[tuple[str, Listing[Any], list[Any], PageRequest]] = [
        ("task_id", EXECUTIONS, tasks, finished),
        ("task_id", EXECUTIONS, tasks, PageRequest(NEWEST, 5)),
        ("task_id", RUNS, tasks, PageRequest(NEWEST, 5)),
        ("task_id", OCCURRENCES, tasks, PageRequest(OCCURRENCES.order, 5)),
        ("job_name", EXECUTIONS, jobs, PageRequest(NEWEST, 5, after=DEEP)),
        ("job_name", EXECUTIONS, jobs, PageRequest(NEWEST, 2, failed())),
    ]
    for field, listing, parents, request in cases:
        touched = work(conn, partial(pages_of, conn, listing, field, parents, request))
        per_parent = touched / len(parents)
        assert per_parent <= (20 if is_postgresql(conn) else 2_000), (listing.name, field, request)


def test_a_full_scan_would_be_seen(conn: Connection) -> None:
    request = PageRequest(NEWEST, 50, Condition("error_message", Operator.CONTAINS, "nothing has this"))
    assert work(conn, lambda: page(conn, EXECUTIONS, request)) > (FEW_ROWS if is_postgresql(conn) else FEW_STEPS)


def work(conn: Connection, read: Callable[[], object]) -> int:
    """How much a read does, in rows (PostgreSQL) or steps (SQLite)."""
    return rows_touched(conn, read) if is_postgresql(conn) else steps(conn, read)


def steps(conn: Connection, read: Callable[[], object]) -> int:
    """Steps of SQLite's virtual machine, in tens."""
    driver: Any = conn.connection.driver_connection
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += 1
        return 0

    driver.set_progress_handler(count, 10)
    try:
        read()
    finally:
        driver.set_progress_handler(None, 0)
    return taken * 10


def rows_touched(conn: Connection, read: Callable[[], object]) -> int:
    """Rows that PostgreSQL's scans returned or threw away."""
    plans: list[dict[str, Any]] = []

    def explain(_conn: object, cursor: Any, statement: str, parameters: Any, *_rest: object) -> None:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters)
        plans.append(cursor.fetchone()[0][0]["Plan"])

    event.listen(conn, "before_cursor_execute", explain)
    try:
        read()
    finally:
        event.remove(conn, "before_cursor_execute", explain)
    return sum(rows_of(plan) for plan in plans)


def rows_of(plan: dict[str, Any]) -> int:
    """The rows that the scans of a plan touched."""
    scanned = (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * plan["Actual Loops"]
    below = sum(rows_of(part) for part in plan.get("Plans", []))
    return round(scanned if "Scan" in plan["Node Type"] else 0) + below
