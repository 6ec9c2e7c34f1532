"""What indexes find and order is read at once; what they do not is searched among so many rows, page after page."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, insert

from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.states import UNFINISHED, RunState
from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.jobs.store.schema.tables import job_execution
from cronograph.jobs.store.statements.listing.criteria import (
    EVERYTHING,
    AllOf,
    AnyOf,
    Condition,
    Criteria,
    Operator,
    equal,
    one_of,
)
from cronograph.jobs.store.statements.listing.keyset import OrderKey, Page, PageRequest
from cronograph.jobs.store.statements.listing.listing import NARROWED, Listing, Search
from cronograph.jobs.store.statements.listing.searching import (
    Counted,
    Keys,
    is_bounded,
    keys_of,
    search_for,
    search_to_count,
    searched,
    searched_number,
)
from cronograph.jobs.store.statements.lists import EXECUTIONS, RUNS, TASKS
from tests.support.history import LONG_AGO

NEWEST = (OrderKey("id", descending=True),)
TEXT = Condition("error_message", Operator.CONTAINS, "x")
SINCE = Condition("started_at", Operator.GTE, LONG_AGO)

FREE: list[tuple[str, Listing[Any], Criteria, tuple[OrderKey, ...]]] = [
    ("everything", EXECUTIONS, EVERYTHING, NEWEST),
    ("the oldest", EXECUTIONS, EVERYTHING, (OrderKey("id"),)),
    ("by start", EXECUTIONS, EVERYTHING, (OrderKey("started_at"),)),
    ("a job", EXECUTIONS, equal("job_name", "j"), NEWEST),
    ("a job in a span", EXECUTIONS, AllOf((equal("job_name", "j"), SINCE)), NEWEST),
    ("failures of a job", EXECUTIONS, AllOf((equal("job_name", "j"), equal("success", value=False))), NEWEST),
    ("a span", EXECUTIONS, SINCE, NEWEST),
    ("a rare outcome", EXECUTIONS, equal("outcome", Outcome.LOST), NEWEST),
    ("what runs", EXECUTIONS, equal("outcome", None), NEWEST),
    ("a run, by any order", EXECUTIONS, AllOf((equal("run_id", 1), TEXT)), (OrderKey("duration"),)),
    ("the queue", RUNS, one_of("state", tuple(UNFINISHED)), NEWEST),
    ("a state", RUNS, equal("state", RunState.FAILED), NEWEST),
    ("a task by its name", TASKS, equal("name", "t"), NEWEST),
    ("tasks by name", TASKS, EVERYTHING, (OrderKey("name"),)),
]
SEARCHED: list[tuple[str, Listing[Any], Criteria, tuple[OrderKey, ...], int]] = [
    ("a text", EXECUTIONS, TEXT, NEWEST, 3_000_000),
    ("a text of a job", EXECUTIONS, AllOf((equal("job_name", "j"), TEXT)), NEWEST, 3 * NARROWED),
    ("sixty texts", EXECUTIONS, AnyOf((TEXT,) * 60), NEWEST, 180_000_000),
    ("by duration", EXECUTIONS, EVERYTHING, (OrderKey("duration"),), 1_000_000),
    ("by three", EXECUTIONS, TEXT, (OrderKey("node"), OrderKey("duration"), OrderKey("id")), 5_000_000),
    ("a job by duration", EXECUTIONS, equal("job_name", "j"), (OrderKey("duration"),), NARROWED),
    ("success, which is common", EXECUTIONS, equal("outcome", Outcome.SUCCESS), NEWEST, 1_000_000),
    ("one of two jobs", EXECUTIONS, one_of("job_name", ("a", "b")), NEWEST, 1_000_000),
    ("not of a job", EXECUTIONS, Condition("job_name", Operator.NE, "a"), NEWEST, 1_000_000),
    ("a task of a job", EXECUTIONS, AllOf((equal("job_name", "j"), equal("task_id", 1))), NEWEST, NARROWED),
    ("either of two", EXECUTIONS, AnyOf((equal("job_name", "j"), equal("run_id", 1))), NEWEST, 2_000_000),
    ("the queue by its time", RUNS, one_of("state", tuple(UNFINISHED)), (OrderKey("available_at"),), NARROWED),
    ("runs by state", RUNS, EVERYTHING, (OrderKey("state"),), 1_000_000),
    ("two directions", EXECUTIONS, EVERYTHING, (OrderKey("started_at"), OrderKey("id", True)), 1_000_000),
]


@pytest.mark.parametrize(("name", "listing", "criteria", "order"), FREE, ids=[case[0] for case in FREE])
def test_what_indexes_find_and_order_is_no_search(
    name: str, listing: Listing[Any], criteria: Criteria, order: tuple[OrderKey, ...]
) -> None:
    assert search_for(listing, PageRequest(listing.complete(order), 50, criteria)) is None, name


@pytest.mark.parametrize(("name", "listing", "criteria", "order", "steps"), SEARCHED, ids=[one[0] for one in SEARCHED])
def test_a_search_weighs_what_it_looks_at(
    name: str, listing: Listing[Any], criteria: Criteria, order: tuple[OrderKey, ...], steps: int
) -> None:
    search = search_for(listing, PageRequest(listing.complete(order), 50, criteria))
    assert search is not None, name
    assert search.steps(1_000_000) == steps


def test_counting_is_a_search_only_by_what_no_index_finds() -> None:
    assert search_to_count(EXECUTIONS, EVERYTHING) is None
    assert search_to_count(EXECUTIONS, equal("job_name", "j")) is None
    assert search_to_count(EXECUTIONS, TEXT) == Search((("error_message", Operator.CONTAINS),))
    assert search_to_count(EXECUTIONS, equal("success", value=False), owned=True) is not None


def test_a_search_is_bounded_along_the_key_alone() -> None:
    text, of_job = search_to_count(EXECUTIONS, TEXT), search_to_count(EXECUTIONS, AllOf((equal("job_name", "j"), TEXT)))
    assert text is not None
    assert of_job is not None
    assert is_bounded(text, NEWEST)
    assert not is_bounded(of_job, NEWEST)
    assert not is_bounded(text, (OrderKey("started_at"), OrderKey("id")))


@pytest.fixture
def conn(database_url: str) -> Iterator[Connection]:
    """A log of thirty executions, of which every tenth has failed."""
    engine = sync_engine(parse_url(database_url))
    with engine.connect() as connection:
        fill(connection)
        yield connection
    engine.dispose()


def fill(connection: Connection) -> None:
    for number in range(1, 31):
        at, good = LONG_AGO + timedelta(seconds=number), number % 10 != 0
        connection.execute(
            insert(job_execution).values(
                job_name="j", run_id=number, attempt=1, node_id=1, started_at=at, completed_at=at, success=good,
                outcome="success" if good else "failed", error_message=None if good else "x", node="n", trigger="api",
                submitted_at=at, log_lines=0, log_cut=0,
            )
        )  # fmt: skip


def ids(page: Page[Any]) -> list[int]:
    return [int(str(place[0])) for place in page.positions]


def test_a_search_goes_on_where_it_ended(conn: Connection) -> None:
    found: list[list[int]] = []
    ends: list[object] = []
    request = PageRequest(NEWEST, 2, TEXT)
    while True:
        page = searched(conn, EXECUTIONS, request, reach=8)
        found.append(ids(page))
        ends.append(page.ends[1])
        if not page.has_next:
            break
        request = PageRequest(NEWEST, 2, TEXT, after=page.ends[1])
    assert found == [[30], [20], [10], []]
    assert ends == [(23,), (15,), (7,), None]


def test_a_search_goes_on_backwards_and_the_other_way_round(conn: Connection) -> None:
    last = searched(conn, EXECUTIONS, PageRequest(NEWEST, 2, TEXT, backwards=True), reach=8)
    assert (ids(last), last.has_previous, last.ends) == ([], True, ((8,), None))
    before = searched(conn, EXECUTIONS, PageRequest(NEWEST, 2, TEXT, backwards=True, before=(8,)), reach=8)
    assert (ids(before), before.ends) == ([10], ((16,), (10,)))
    oldest = searched(conn, EXECUTIONS, PageRequest((OrderKey("id"),), 2, TEXT), reach=12)
    assert (ids(oldest), oldest.has_next, oldest.ends) == ([10], True, ((10,), (12,)))


def test_a_full_page_is_no_partial_one(conn: Connection) -> None:
    page = searched(conn, EXECUTIONS, PageRequest(NEWEST, 1, TEXT), reach=12)
    assert (ids(page), page.has_next, page.reached) == ([30], True, None)


def test_a_count_says_whether_it_has_seen_everything(conn: Connection) -> None:
    assert searched_number(conn, EXECUTIONS, TEXT, reach=30) == Counted(3, is_complete=True)
    assert searched_number(conn, EXECUTIONS, TEXT, reach=12) == Counted(2, is_complete=False)
    assert searched_number(conn, EXECUTIONS, TEXT, reach=30, cap=2) == Counted(3, is_complete=False)


def test_the_length_of_a_list_is_known_by_its_keys(conn: Connection) -> None:
    assert keys_of(conn, [EXECUTIONS, RUNS]) == {"executions": Keys(1, 30), "runs": Keys(0, 0)}
    assert (Keys(1, 30).rows, Keys(0, 0).rows) == (30, 0)
