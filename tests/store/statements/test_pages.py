"""Pages, counts and batches against the same rows sorted and filtered in Python."""

import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, insert

from cronograph.jobs.core.model import Execution
from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.jobs.store.schema.tables import job_execution
from cronograph.jobs.store.statements.listing.criteria import (
    EVERYTHING,
    AllOf,
    AnyOf,
    Condition,
    Criteria,
    Not,
    Operator,
    equal,
    one_of,
)
from cronograph.jobs.store.statements.listing.keyset import OrderKey, Page, PageRequest
from cronograph.jobs.store.statements.listing.pages import count, counts_of, ids, page, pages_of
from cronograph.jobs.store.statements.lists import EXECUTIONS, RUNS, TASKS
from tests.support.history import LONG_AGO, add_run

SEED = 20_260_301
ROWS = 60
ORDERS = [
    ("id",),
    ("-id",),
    ("completed_at",),
    ("-completed_at",),
    ("job_name", "-started_at"),
    ("-task_name", "duration"),
    ("-duration", "job_name"),
    ("success", "-error_message", "attempt"),
    ("records_processed",),
]


@pytest.fixture
def conn(database_url: str) -> Iterator[Connection]:
    engine = sync_engine(parse_url(database_url))
    with engine.begin() as connection:
        connection.execute(insert(job_execution), rows(random.Random(SEED)))
        yield connection
    engine.dispose()


def rows(chance: random.Random) -> list[dict[str, Any]]:
    """Executions with many equal and many missing values."""
    made: list[dict[str, Any]] = []
    for number in range(ROWS):
        started = LONG_AGO + timedelta(seconds=chance.randrange(10), microseconds=chance.choice([0, 1, 999_999]))
        done, good = chance.random() < 0.7, chance.random() < 0.5
        made.append(
            {
                "job_name": chance.choice("abc"), "started_at": started, "run_id": number,
                "attempt": chance.randrange(3),
                "completed_at": started + timedelta(seconds=chance.randrange(3), microseconds=7) if done else None,
                "success": good if done else None, "outcome": ("success" if good else "failed") if done else None,
                "error_message": "no" if done and not good else None, "task_id": chance.choice([1, 2, 3, None]),
                "task_name": chance.choice(["x", "y", None]), "records_processed": chance.choice([None, 0, 2**40]),
                "node_id": 1, "node": "n", "trigger": "api", "submitted_at": LONG_AGO, "log_lines": 0, "log_cut": 0,
            }
        )  # fmt: skip
    return made


def keys(order: tuple[str, ...]) -> tuple[OrderKey, ...]:
    """`-id` is the key, descending."""
    return EXECUTIONS.complete([OrderKey(name.lstrip("-"), name.startswith("-")) for name in order])


def value(row: Execution, field: str) -> Any:
    """The value that the list orders by."""
    if field == "duration":
        return None if row.completed_at is None else (row.completed_at - row.started_at).total_seconds()
    return getattr(row, field)


def in_order(found: list[Execution], order: tuple[OrderKey, ...]) -> list[Execution]:
    """Sorted in Python: a missing value is greater than all others."""
    for key in reversed(order):
        present = [row for row in found if value(row, key.field) is not None]
        missing = [row for row in found if value(row, key.field) is None]
        present.sort(key=partial(value, field=key.field), reverse=key.descending)
        found = missing + present if key.descending else present + missing
    return found


def walk(read: Callable[[PageRequest], Page[Execution]], request: PageRequest) -> list[Execution]:
    """All pages, as one list in the list's order."""
    found: list[Execution] = []
    position: Any = None
    while True:
        bounds = {"before": position} if request.backwards else {"after": position}
        got = read(PageRequest(request.order, request.limit, request.criteria, request.backwards, **bounds))
        found = [*got.items, *found] if request.backwards else [*found, *got.items]
        if not (got.has_previous if request.backwards else got.has_next):
            return found
        position = got.positions[0 if request.backwards else -1]


@pytest.mark.costly
@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
def test_pages_of_any_size_and_direction_are_the_sorted_list(conn: Connection, order: tuple[str, ...]) -> None:
    complete = keys(order)
    expected = in_order(list(page(conn, EXECUTIONS, PageRequest((OrderKey("id"),), 1000)).items), complete)
    for limit in (1, 7, 59, 60, 61):
        for backwards in (False, True):
            request = PageRequest(complete, limit, backwards=backwards)
            found = walk(lambda one: page(conn, EXECUTIONS, one), request)
            assert [row.id for row in found] == [row.id for row in expected], (limit, backwards)


@pytest.mark.costly
@pytest.mark.parametrize("order", ORDERS[:6], ids=" ".join)
def test_pages_of_many_parents_are_those_of_each_alone(conn: Connection, order: tuple[str, ...]) -> None:
    complete = keys(order)
    for backwards in (False, True):
        request = PageRequest(complete, 4, Not(equal("job_name", "c")), backwards)
        together = pages_of(conn, EXECUTIONS, "task_id", [1, 2, 3, 99], request)
        for parent, found in together.items():
            mine = AllOf((equal("task_id", parent), request.criteria))
            alone = page(conn, EXECUTIONS, PageRequest(complete, 4, mine, backwards))
            assert found == alone
        assert together[99].items == ()


CRITERIA: list[tuple[Criteria, Callable[[Execution], bool]]] = [
    (EVERYTHING, lambda _: True),
    (AnyOf(()), lambda _: False),
    (equal("job_name", "a"), lambda row: row.job_name == "a"),
    (Condition("task_name", Operator.NE, "x"), lambda row: row.task_name != "x"),
    (Condition("task_name", Operator.NOT_IN, ("x", "z")), lambda row: row.task_name not in ("x", "z")),
    (one_of("task_id", (1, 2)), lambda row: row.task_id in (1, 2)),
    (equal("task_id", None), lambda row: row.task_id is None),
    (Condition("success", Operator.IS_NULL, value=True), lambda row: row.success is None),
    (Not(equal("success", value=True)), lambda row: row.success is not True),
    (Condition("started_at", Operator.GTE, LONG_AGO + timedelta(seconds=5)), lambda row: row.started_at.second >= 5),
    (Condition("records_processed", Operator.GT, 2**33), lambda row: (row.records_processed or 0) > 2**33),
    (
        Condition("duration", Operator.LT, 1.0),
        lambda row: value(row, "duration") is not None and value(row, "duration") < 1,
    ),
    (Condition("error_message", Operator.CONTAINS, "O"), lambda row: "o" in (row.error_message or "")),
    (
        AnyOf((AllOf((equal("job_name", "a"), equal("attempt", 1))), Not(Condition("attempt", Operator.LTE, 1)))),
        lambda row: (row.job_name == "a" and row.attempt == 1) or row.attempt > 1,
    ),
]


def test_conditions_find_the_rows_that_they_describe(conn: Connection) -> None:
    everything = page(conn, EXECUTIONS, PageRequest((OrderKey("id"),), 1000)).items
    for criteria, meets in CRITERIA:
        expected = [row.id for row in everything if meets(row)]
        assert ids(conn, EXECUTIONS, criteria, 1000) == expected, criteria
        assert count(conn, EXECUTIONS, criteria) == len(expected)
        counted = counts_of(conn, EXECUTIONS, "task_id", [1, 3], criteria)
        assert counted == {one: len([row for row in everything if meets(row) and row.task_id == one]) for one in (1, 3)}


def test_counting_stops_at_the_cap(conn: Connection) -> None:
    assert count(conn, EXECUTIONS, EVERYTHING, cap=10) == 11
    assert counts_of(conn, EXECUTIONS, "job_name", ["a", "zz"], EVERYTHING, cap=3) == {"a": 4, "zz": 0}
    assert len(ids(conn, EXECUTIONS, EVERYTHING, 5)) == 5


def test_rows_of_joined_lists_are_paged_too(conn: Connection) -> None:
    waiting = add_run(conn, None, task_id=1)
    found = pages_of(
        conn, RUNS, "task_id", [1, 2], PageRequest(RUNS.order, 1, Condition("node", Operator.IS_NULL, True))
    )
    assert [run.id for run in found[1].items] == [waiting]
    assert found[1].items[0].node is None


def test_an_order_that_is_unique_needs_no_further_key() -> None:
    assert TASKS.complete([OrderKey("name", descending=True), OrderKey("group")]) == (
        OrderKey("name", descending=True),
    )
    assert RUNS.complete([OrderKey("state", descending=True)]) == (
        OrderKey("state", descending=True),
        OrderKey("id", descending=True),
    )
    assert RUNS.complete([]) == (OrderKey("id", descending=True),)
