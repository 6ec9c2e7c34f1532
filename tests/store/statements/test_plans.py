"""The hot reads use the indexes that were made for them: their cost does not grow with the table."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

from cronograph.jobs.core.defaults import Keeping
from cronograph.jobs.core.limits import NEVER
from cronograph.jobs.core.model import FAILURES, Outcome, Trigger
from cronograph.jobs.core.states import UNFINISHED, RunState
from cronograph.jobs.queue.claims.candidates import Want, candidates, next_available
from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.jobs.store.db.dialect import is_postgresql
from cronograph.jobs.store.schema.tables import execution_log, job_execution, queue_depth, run, run_label
from cronograph.jobs.store.statements import executions, facts, groups, logs, prunable, runs
from cronograph.jobs.store.statements.figures import depth, failures, reports
from cronograph.jobs.store.statements.figures import hours as stored_hours
from cronograph.jobs.store.statements.figures.hours import count_hour
from cronograph.jobs.store.statements.figures.scope import Scope
from cronograph.jobs.store.statements.figures.statistics import Series, percentiles
from cronograph.jobs.store.statements.figures.strips import strips_of_tasks
from cronograph.jobs.store.statements.listing.criteria import (
    AllOf,
    Condition,
    Criteria,
    LabelMatch,
    Operator,
    equal,
    one_of,
    with_spreads,
)
from cronograph.jobs.store.statements.listing.keyset import OrderKey, PageRequest
from cronograph.jobs.store.statements.listing.listing import Listing
from cronograph.jobs.store.statements.listing.pages import count, page, page_with_newest, pages_of
from cronograph.jobs.store.statements.lists import EXECUTIONS, OCCURRENCES, RUNS, TASKS
from cronograph.jobs.store.statements.runs import label_spreads
from tests.support.databases import sqlite_address
from tests.support.history import LONG_AGO, add_many, add_run, add_task
from tests.support.plans import work
from tests.support.postgres import PostgresServer
from tests.support.schema import migrate

ROWS = 20_000
NEWEST = (OrderKey("id", descending=True),)
NEXT = (OrderKey("available_at"), OrderKey("id"))
DEEP = (ROWS // 2,)


@pytest.fixture(scope="session")
def large_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The rows in a SQLite file. Workers take tests from each other: per module it would be made again and again."""
    url = sqlite_address(tmp_path_factory.mktemp("plans") / "large.db")
    migrate(url)
    with filled(url) as engine:
        yield engine


@pytest.fixture(scope="session")
def large_postgres(postgres_server: PostgresServer) -> Iterator[Engine]:
    """The same on PostgreSQL."""
    with filled(
        postgres_server.url(postgres_server.create_database(postgres_server.template("migrated", migrate)))
    ) as engine:
        yield engine


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def large(request: pytest.FixtureRequest) -> Engine:
    """Many finished runs and executions of 50 tasks and 10 jobs; one in a hundred failed."""
    engine: Engine = request.getfixturevalue(f"large_{request.param}")
    return engine


@contextmanager
def filled(url: str) -> Iterator[Engine]:
    """A database with these rows."""
    engine = sync_engine(parse_url(url))
    with engine.begin() as connection:
        add_many(connection, job_execution, [executed(number) for number in range(1, ROWS + 1)])
        add_many(connection, run, [ran(number) for number in range(1, ROWS + 1)])
    with engine.begin() as connection:
        connection.execute(text("ANALYZE"))
    yield engine
    engine.dispose()


@pytest.fixture
def conn(large: Engine) -> Iterator[Connection]:
    """A connection to the large database; what the test writes is rolled back."""
    with large.connect() as connection:
        yield connection
    if large.dialect.name == "postgresql":
        # Else an index leads the next test to rows that were never committed.
        with large.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM cronograph.run, cronograph.job_execution"))


def executed(number: int) -> dict[str, Any]:
    """An execution."""
    at, good = LONG_AGO + timedelta(seconds=number), number % 100 != 0
    return {
        "job_name": f"job {number % 10}", "task_id": number % 50,
        "task_name": f"task {number % 50}", "run_id": number, "attempt": 1, "node_id": 1,
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


def as_job_logs(*more: Criteria) -> AllOf:
    """The condition of `jobLogs(onlyFailures: true)`."""
    return AllOf((one_of("outcome", tuple(FAILURES)), *more))


CASES: list[tuple[str, Listing[Any], PageRequest]] = [
    ("the newest", EXECUTIONS, PageRequest(NEWEST, 50)),
    ("a deep page", EXECUTIONS, PageRequest(NEWEST, 50, after=DEEP)),
    ("a deep page backwards", EXECUTIONS, PageRequest(NEWEST, 50, backwards=True, before=DEEP)),
    ("the newest of a job", EXECUTIONS, PageRequest(NEWEST, 50, equal("job_name", "job 3"))),
    ("a deep page of a job", EXECUTIONS, PageRequest(NEWEST, 50, equal("job_name", "job 3"), after=DEEP)),
    ("the newest failures", EXECUTIONS, PageRequest(NEWEST, 50, failed())),
    ("the newest failures of a job", EXECUTIONS, PageRequest(NEWEST, 50, failed(equal("job_name", "job 0")))),
    ("the newest failures, as jobLogs asks", EXECUTIONS, PageRequest(NEWEST, 50, as_job_logs())),
    ("a deep page of the failures", EXECUTIONS, PageRequest(NEWEST, 50, as_job_logs(), after=DEEP)),
    (
        "a deep page of the failures of a job",
        EXECUTIONS,
        PageRequest(NEWEST, 50, as_job_logs(equal("job_name", "job 0")), after=DEEP),
    ),
    ("the unfinished runs, next first", RUNS, PageRequest(NEXT, 50, one_of("state", tuple(UNFINISHED)))),
    *((f"the next runs that are {one}", RUNS, PageRequest(NEXT, 50, equal("state", one))) for one in UNFINISHED),
    *((f"the newest runs that are {one}", RUNS, PageRequest(NEWEST, 50, equal("state", one))) for one in RunState),
    ("executions that are there no more", EXECUTIONS, PageRequest(NEWEST, 50, equal("task_name", "task 77"))),
    ("an outcome that is rare", EXECUTIONS, PageRequest(NEWEST, 50, equal("outcome", Outcome.LOST))),
    ("all failures", EXECUTIONS, PageRequest(NEWEST, 50, one_of("outcome", tuple(FAILURES)))),
    ("what runs", EXECUTIONS, PageRequest(NEWEST, 50, Condition("outcome", Operator.IS_NULL, value=True))),
    ("what was started by hand", EXECUTIONS, PageRequest(NEWEST, 50, equal("trigger", Trigger.MANUAL))),
    ("the retries", EXECUTIONS, PageRequest(NEWEST, 50, equal("trigger", Trigger.RETRY))),
    ("what hooks started", EXECUTIONS, PageRequest(NEWEST, 50, equal("trigger", Trigger.HOOK))),
]


FEW_ROWS, FEW_STEPS = 1_000, 40_000
"""What a page of 50 rows may touch: table and index rows on PostgreSQL, steps of the virtual machine on SQLite."""


@pytest.mark.costly
def test_pages_touch_few_rows_however_large_the_table(conn: Connection) -> None:
    for name, listing, request in CASES:
        touched = work(conn, partial(page, conn, listing, request))
        assert touched <= (FEW_ROWS if is_postgresql(conn) else FEW_STEPS), name


@pytest.mark.costly
def test_a_search_in_log_lines_reads_those_of_its_executions_and_no_others(conn: Connection) -> None:
    add_many(
        conn,
        execution_log,
        [
            {"execution_id": number, "line": 1, "at": LONG_AGO, "level": "info", "message": f"line of {number}"}
            for number in range(1, ROWS + 1)
        ],
    )
    conn.execute(text("ANALYZE"))
    span = LONG_AGO + timedelta(seconds=ROWS // 2), LONG_AGO + timedelta(seconds=ROWS // 2 + 60)
    for searched in (logs.Searched(job_name="job 3"), logs.Searched(job_name="job 3", start=span[0], end=span[1])):
        found = logs.logged(conn, searched, None, 50)
        assert found
        asked = partial(logs.logged, conn, searched, None, 50)
        assert work(conn, asked) <= (FEW_ROWS if is_postgresql(conn) else FEW_STEPS), searched
        ids = [one.execution_id for one in found]
        for wanted, hits in (("LINE OF", len(ids)), ("nothing like that", 0)):
            read = partial(logs.holding, conn, wanted, ids, None, 100)
            assert len(read()) == hits
            assert work(conn, read) <= (FEW_ROWS if is_postgresql(conn) else FEW_STEPS), (searched, wanted)


@pytest.mark.costly
def test_the_next_of_a_long_queue_are_found_by_their_place_in_it(conn: Connection) -> None:
    many = {
        "job_name": "j", "args": {}, "group_name": "default", "priority": "low", "trigger": "api",
        "submitted_at": LONG_AGO, "attempt": 0, "failures": 0, "retries": 2, "retry_delay": 60, "exclusive": False,
        "description": "", "state": "waiting",
    }  # fmt: skip
    later = [LONG_AGO + timedelta(seconds=second) for second in range(10_000)]
    add_many(conn, run, [{**many, "available_at": at} for at in later])
    # It waits for a slot: it is shown where it would be by its own time.
    held = add_run(conn, None, available_at=NEVER, due_at=LONG_AGO + timedelta(seconds=1.5), attempt=0)
    conn.execute(text("ANALYZE"))
    for states in (equal("state", RunState.WAITING), one_of("state", (RunState.WAITING, RunState.STUCK))):
        listed = partial(page, conn, RUNS, PageRequest(NEXT, 50, states))
        assert [one.id for one in listed().items].index(held) == 2
        assert work(conn, listed) <= (FEW_ROWS if is_postgresql(conn) else FEW_STEPS), states
    first = partial(next_available, conn, LONG_AGO + timedelta(seconds=1))
    assert first() == LONG_AGO + timedelta(seconds=2)
    assert work(conn, first) <= (FEW_ROWS if is_postgresql(conn) else FEW_STEPS)


@pytest.mark.costly
def test_counting_the_runs_of_a_state_does_not_look_at_those_that_succeeded(conn: Connection) -> None:
    for state in set(RunState) - {RunState.SUCCESS}:
        touched = work(conn, partial(count, conn, RUNS, equal("state", state)))
        assert touched <= (FEW_ROWS if is_postgresql(conn) else FEW_STEPS), state


@pytest.mark.costly
def test_the_few_rows_with_a_label_are_found_by_it(conn: Connection) -> None:
    add_many(conn, run_label, [{"key": "order", "value": f"o{n % 2_000}", "run_id": n} for n in range(1, ROWS + 1)])
    conn.execute(text("ANALYZE"))
    label = LabelMatch("order", ("o42",))
    listings: list[Any] = [RUNS, EXECUTIONS]
    wanted = Condition("labels", Operator.LABELLED, label)
    for more in ((), (equal("job_name", "job 2"),)):
        criteria = with_spreads(AllOf((wanted, *more)), label_spreads(conn, [label]))
        for listing in listings:
            listed = partial(page, conn, listing, PageRequest(NEWEST, 50, criteria))
            for read in (listed, partial(count, conn, listing, criteria)):
                assert work(conn, read) <= (FEW_ROWS if is_postgresql(conn) else FEW_STEPS), (listing.name, more, read)
            assert len(listed().items) == 10


def test_what_is_kept_briefly_is_looked_for_from_where_the_last_pruning_came_to(conn: Connection) -> None:
    place = prunable.RunPlace(LONG_AGO + timedelta(seconds=ROWS // 2))
    kept = Keeping(LONG_AGO + timedelta(days=2), timedelta(days=30), {"job 3": 86400.0})
    read = partial(prunable.briefly_kept, conn, timedelta(days=1), kept, place, 50)
    assert [len(read().runs), len(read().executions)] == [5, 5]
    assert work(conn, read) <= (FEW_ROWS if is_postgresql(conn) else FEW_STEPS)


def test_the_depth_of_groups_does_not_look_at_what_is_over(conn: Connection) -> None:
    waiting = add_run(conn, None, 1, group_name="default", available_at=LONG_AGO)
    assert waiting > ROWS
    read = partial(groups.depths, conn, ["default", "none"], LONG_AGO + timedelta(minutes=1))
    assert work(conn, read) <= (FEW_ROWS if is_postgresql(conn) else FEW_STEPS)
    found = read()
    assert found["default"] == groups.Depth({RunState.WAITING: 1}, 60.0)
    assert found["none"] == groups.Depth({}, None)


@pytest.mark.costly
def test_an_hour_of_the_queue_over_time_looks_at_its_minutes_and_one_job_at_its_own_rows(conn: Connection) -> None:
    minutes, parts = 300, ("", *(f"job {number}" for number in range(30)))
    add_many(
        conn,
        queue_depth,
        [
            {
                "at": LONG_AGO + timedelta(minutes=minute),
                "job_name": part,
                "group_name": part,
                "state": "waiting",
                "runs": 3,
            }
            for minute in range(minutes)
            for part in parts
        ],
    )
    conn.execute(text("ANALYZE"))
    start = LONG_AGO + timedelta(minutes=minutes - 60)
    for job_name, group, read_parts in ((None, None, len(parts)), ("job 1", None, 1), (None, "job 2", 1)):
        read = partial(depth.over_time, conn, start, start + timedelta(hours=1), 60, job_name=job_name, group=group)
        assert len(read()) == 60
        # Beside them, a row of each minute that was kept; PostgreSQL's scans count a row twice.
        rows = 2 * 60 * (read_parts + 1)
        assert work(conn, read) <= (rows if is_postgresql(conn) else 50 * rows), (job_name, group)


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
        # An empty block of the history costs a look of its own.
        assert per_parent <= (24 if is_postgresql(conn) else 2_000), (listing.name, field, request)


def test_a_strip_reads_no_more_occurrences_than_it_shows(conn: Connection) -> None:
    tasks = list(range(1, 41))
    shown = strips_of_tasks(conn, tasks, 20)
    assert {len(strip.ids) for strip in shown.values()} == {20}
    per_task = work(conn, partial(strips_of_tasks, conn, tasks, 20)) / len(tasks)
    # Of 400 occurrences of each. An empty block of the history costs a look of its own.
    assert per_task <= (40 if is_postgresql(conn) else 1_000)


@pytest.mark.parametrize("order", [NEWEST, (OrderKey("name"),), (OrderKey("group"), OrderKey("id"))])
def test_the_newest_executions_are_looked_for_by_task_and_only_for_the_page(
    conn: Connection, order: tuple[OrderKey, ...]
) -> None:
    for number in range(1, 50):
        add_task(conn, number)
    read = partial(page_with_newest, conn, TASKS.only(("id", "name")), EXECUTIONS, PageRequest(order, 10))
    assert work(conn, read) <= (10 * 20 if is_postgresql(conn) else 10 * 200 + 2_000)
    shown = [(task[0], newest.task_id if newest else None) for task, newest in read().items]
    assert len(shown) == 10
    assert all(task_id == of for task_id, of in shown)


def test_explaining_tasks_and_runs_does_not_look_at_what_is_over(conn: Connection) -> None:
    now = LONG_AGO + timedelta(seconds=ROWS)
    waiting = [
        add_run(conn, None, number, group_name="g", available_at=now - timedelta(seconds=9 - number))
        for number in range(8)
    ]
    for number in range(8):
        add_task(conn, number + 100)
    tasks = page(conn, TASKS, PageRequest(TASKS.order, 50)).items
    runs = page(conn, RUNS, PageRequest(NEWEST, 8)).items
    assert [run.id for run in runs] == waiting[::-1]
    few = (FEW_ROWS if is_postgresql(conn) else FEW_STEPS) // 2
    assert work(conn, partial(facts.of_tasks, conn, tasks, now)) <= few
    assert work(conn, partial(facts.of_runs, conn, runs, now)) <= few


def test_figures_over_all_of_the_log_look_at_the_hours_that_are_counted(conn: Connection) -> None:
    # A row a second for five and a half hours.
    end = LONG_AGO + timedelta(seconds=ROWS)
    for number in range(5):
        assert count_hour(conn, LONG_AGO + number * stored_hours.HOUR)
    for job_name, task_name in ((None, None), ("job 3", None), (None, "task 7")):
        scope = Scope(LONG_AGO, end, job_name, task_name)
        read = partial(
            reports.statistics, conn, scope, 3600, end, reports.Wanted(total=False, points=False, lateness=False)
        )
        # What is left is half an hour; of a job or a task it may be looked for by id, an hour to either side.
        assert work(conn, read) <= (8_000 if is_postgresql(conn) else 250_000), scope
        assert sum(point.figures.count for point in read().points) == len(mine(job_name, task_name))
    # Of the rows the overview reads half an hour, to count it, and the last whole hour by minutes.
    assert work(conn, partial(reports.overview, conn, end)) <= (8_000 if is_postgresql(conn) else 250_000)


def mine(job_name: str | None, task_name: str | None) -> list[int]:
    """The numbers of the executions of a job, a task, or of all."""
    return [
        number
        for number in range(1, ROWS)
        if job_name in (None, f"job {number % 10}") and task_name in (None, f"task {number % 50}")
    ]


@pytest.mark.costly
def test_figures_of_an_hour_long_ago_look_at_its_rows_alone(conn: Connection) -> None:
    start = LONG_AGO + 2 * stored_hours.HOUR
    of_job = Scope(start, start + stored_hours.HOUR, "job 3")
    cases: list[tuple[str, Callable[[], object], int]] = [
        ("the failures", partial(failures.failures, conn, Scope(start, start + stored_hours.HOUR), 50), 200),
        ("the percentiles of a job", partial(percentiles, conn, of_job, 3600, [Series.TOTAL]), 3 * 3_600),
    ]
    for name, read, rows in cases:
        # An hour before and one after may hold neighbours by id.
        assert work(conn, read) <= (rows + 500 if is_postgresql(conn) else 100 * (rows + 500)), name


def test_whether_the_failures_of_a_page_were_made_good_is_found_by_their_runs(conn: Connection) -> None:
    page = range(ROWS - 60, ROWS - 10)
    assert work(conn, partial(runs.recovered, conn, page)) <= (FEW_ROWS if is_postgresql(conn) else FEW_STEPS)


def test_what_a_node_left_open_is_found_among_what_is_over(conn: Connection) -> None:
    few = FEW_ROWS if is_postgresql(conn) else FEW_STEPS
    assert work(conn, partial(executions.open_of_node, conn, 1)) <= few


@pytest.mark.costly
def test_a_node_that_chose_groups_does_not_look_at_the_queue_of_the_others(conn: Connection) -> None:
    waiting = [{**ran(number), "state": "waiting", "finished_at": None, "attempt": 0} for number in range(2_000)]
    add_many(conn, run, [{**one, "trigger": "api", "group_name": f"group {i % 20}"} for i, one in enumerate(waiting)])
    conn.execute(text("ANALYZE"))
    want = Want(LONG_AGO + timedelta(days=1), [f"job {number}" for number in range(10)], 10, groups=("group 7", "none"))
    found = candidates(conn, want, None)
    assert {one.group for one in found} == {"group 7"}
    assert len(found) == want.depth
    # Three lanes of its own 100 runs, at worst; 2,000 wait.
    assert work(conn, lambda: candidates(conn, want, None)) <= (400 if is_postgresql(conn) else FEW_STEPS)


def test_a_full_scan_would_be_seen(conn: Connection) -> None:
    request = PageRequest(NEWEST, 50, Condition("error_message", Operator.CONTAINS, "nothing has this"))
    assert work(conn, lambda: page(conn, EXECUTIONS, request)) > (FEW_ROWS if is_postgresql(conn) else FEW_STEPS)
