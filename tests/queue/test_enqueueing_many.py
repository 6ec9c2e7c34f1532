"""Many runs in one call inside the user's own transaction, on both databases."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Connection, event, select
from sqlalchemy.ext.asyncio import create_async_engine

from cronograph.jobs import RunSpec, enqueue_many, enqueue_many_sync, enqueue_sync
from cronograph.jobs.core.admission.caps import Cap
from cronograph.jobs.core.admission.holding import Hold, Holding
from cronograph.jobs.core.base.errors import QueueFull, UserError
from cronograph.jobs.core.defaults import JobDefaults, JobInfo
from cronograph.jobs.core.events import EventKind, spread
from cronograph.jobs.core.limits import Limits
from cronograph.jobs.core.model import Priority
from cronograph.jobs.queue.base.new_runs import CHUNK
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.statements import nodes
from tests.support.storage import ANY_ARGS, Stored

LATER = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)


def stored_runs(conn: Connection) -> list[Any]:
    return list(conn.execute(select(tables.run).order_by(tables.run.c.id)))


def test_runs_are_stored_in_their_order_with_what_was_asked(conn: Connection) -> None:
    specs = [
        RunSpec("a", {"n": 1, "text": 'ä"\\'}),
        RunSpec("b", group="g", priority="HIGH", retries=5, retry_delay=1.5, timeout=9.0),
        RunSpec("c", run_at=LATER),
    ]
    ids = enqueue_many_sync(conn, specs)
    rows = stored_runs(conn)
    assert [row.id for row in rows] == ids == sorted(ids)
    assert [(row.job_name, row.args) for row in rows] == [("a", {"n": 1, "text": 'ä"\\'}), ("b", {}), ("c", {})]
    b, c = rows[1:]
    assert (b.group_name, b.priority, b.retries, b.retry_delay, b.timeout) == ("g", Priority.HIGH, 5, 1.5, 9.0)
    assert (c.available_at, rows[0].available_at) == (LATER, rows[0].submitted_at)
    assert {(row.state, row.trigger, row.attempt, row.exclusive) for row in rows} == {("waiting", "api", 0, False)}


def test_the_two_times_that_a_clock_shows_when_it_is_set_back_are_told_apart(conn: Connection) -> None:
    # They are equal, and so are their hashes.
    twice = datetime(2042, 10, 26, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    times = (twice, twice.replace(fold=1))
    enqueue_many_sync(conn, [RunSpec("a", run_at=time) for time in times])
    for time in times:
        enqueue_sync(conn, "a", run_at=time)
    hours = [datetime(2042, 10, 26, hour, 30, tzinfo=UTC) for hour in (0, 1)]
    assert [row.available_at for row in stored_runs(conn)] == hours * 2


def test_each_run_is_one_event(conn: Connection) -> None:
    ids = enqueue_many_sync(conn, [RunSpec("a"), RunSpec("b", group="g")])
    (stored,) = conn.execute(select(tables.event.c.changes)).scalars()
    told = [(one.kind, one.run_id, one.job_name, one.group, one.state) for one in spread(stored)]
    assert told == [
        (EventKind.RUN_CREATED, ids[0], "a", "default", "waiting"),
        (EventKind.RUN_CREATED, ids[1], "b", "g", "waiting"),
    ]


def test_runs_of_several_kinds_keep_their_places(conn: Connection) -> None:
    specs = [
        RunSpec(
            "ab"[place % 2],
            {"n": place} if place % 3 else None,
            group=f"g{place % 4}",
            carried={"c": place} if place % 5 == 0 else None,
        )
        for place in range(40)
    ]
    ids = enqueue_many_sync(conn, specs)
    rows = stored_runs(conn)
    assert [row.id for row in rows] == ids
    stored = [(row.job_name, row.args, row.group_name, row.carried) for row in rows]
    assert stored == [(one.job_name, one.args or {}, one.group, one.carried) for one in specs]
    (changes,) = conn.execute(select(tables.event.c.changes)).scalars()
    # Those that are alike stand together, in the order of the first of each.
    assert len(changes[0]["created"]) == 4
    told = [(one.run_id, one.job_name, one.group) for one in spread(changes)]
    first = [[place for place in range(40) if place % 4 == kind] for kind in range(4)]
    assert told == [(ids[place], specs[place].job_name, specs[place].group) for kind in first for place in kind]


def test_one_run_is_stored_as_one_of_many_is(conn: Connection) -> None:
    one = enqueue_sync(conn, "a", {"n": 1}, group="g", retries=7)
    enqueue_many_sync(conn, [RunSpec("a", {"n": 1}, group="g", retries=7)])
    first, second = (row._asdict() for row in stored_runs(conn))
    differing = {key for key in first if first[key] != second[key]}
    assert differing <= {"id", "submitted_at", "available_at"}
    assert (one.id, one.args, one.group, one.retries, one.node) == (first["id"], {"n": 1}, "g", 7, None)


def test_more_than_one_statement_holds_keep_their_order(conn: Connection) -> None:
    ids = enqueue_many_sync(conn, (RunSpec("a", {"n": place}) for place in range(5003)))
    assert [row.args["n"] for row in stored_runs(conn)] == list(range(5003))
    assert len(set(ids)) == 5003


def test_a_unique_key_gives_the_run_that_has_it(conn: Connection) -> None:
    first, second, third = enqueue_many_sync(
        conn, [RunSpec("a", unique_key="k"), RunSpec("a"), RunSpec("a", unique_key="k")]
    )
    assert first == third != second


def test_nothing_is_nothing(conn: Connection) -> None:
    assert enqueue_many_sync(conn, []) == []
    assert stored_runs(conn) == []


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        (RunSpec("a", {"x": float("nan")}), "args: must be JSON"),
        (RunSpec("a", {"x": "\x00"}), "args: a text must not hold the character U.0000"),
        (RunSpec("a", priority="urgent"), "priority: must be 'high' or 'low'"),
        (RunSpec("a", retries=-1), "retries"),
        (RunSpec("", {}), "job_name"),
    ],
)
def test_a_fault_is_reported_with_its_place_and_nothing_is_stored(conn: Connection, spec: RunSpec, fault: str) -> None:
    with pytest.raises(UserError, match=fault) as refused:
        enqueue_many_sync(conn, [RunSpec("fine"), spec])
    assert refused.value.path[:2] == ("runs", "1")
    assert stored_runs(conn) == []


@pytest.mark.postgres
async def test_an_asynchronous_connection_enqueues_too(postgres_url: str) -> None:
    engine = create_async_engine(postgres_url.replace("postgresql:", "postgresql+psycopg:"))
    async with engine.begin() as conn:
        ids = await enqueue_many(conn, [RunSpec("a"), RunSpec("b")])
    assert len(ids) == 2
    await engine.dispose()


def test_what_was_enqueued_by_many_is_claimed_in_order(stored: Stored) -> None:
    worker = stored.node()
    stored.do(lambda tx: enqueue_many_sync(tx.conn, [RunSpec("work", {"n": n}) for n in range(3)]))
    stored.now = datetime.now(UTC) + timedelta(seconds=1)
    assert [one.run.args["n"] for one in worker.take(3).started] == [0, 1, 2]


def enqueue_while_published(stored: Stored, limits: Limits) -> list[int]:
    """Enqueue more runs than one statement inserts; on PostgreSQL their job says more of them after the first ones."""
    stored.node()
    said = JobInfo("work", args_schema=ANY_ARGS, defaults=JobDefaults(limits=limits))
    other = Stored(stored.database.url.render_as_string(hide_password=False))
    published: list[str] = []

    def publish(conn: Connection, _cursor: object, statement: str, *_: object) -> None:
        if conn.dialect.name == "postgresql" and "INSERT INTO" in statement and not published:
            published.append("work")
            other.do(lambda tx: nodes.publish(tx.conn, [said]))

    def enqueue(tx: Tx) -> list[int]:
        event.listen(tx.conn, "after_cursor_execute", publish)
        try:
            return enqueue_many_sync(tx.conn, [RunSpec("work", {"place": place}) for place in range(CHUNK + 3)])
        except QueueFull:
            # The caller goes on without them, and commits.
            return []
        finally:
            event.remove(tx.conn, "after_cursor_execute", publish)

    ids = stored.do(enqueue)
    other.close()
    return ids


@pytest.mark.costly
@pytest.mark.parametrize("limits", [Limits(max_concurrent=1), Limits(cap=Cap(10_000))])
def test_what_a_job_says_between_two_statements_loses_no_run(stored: Stored, limits: Limits) -> None:
    ids = enqueue_while_published(stored, limits)
    rows = stored.rows(tables.run)
    assert [row.id for row in rows] == ids == sorted(ids)
    assert [row.args["place"] for row in rows] == list(range(CHUNK + 3))
    if not stored.database.is_sqlite and limits.max_concurrent:
        assert [row.concurrency_key for row in rows[-4:]] == [None, "work", "work", "work"]


@pytest.mark.costly
def test_a_queue_that_is_full_by_what_a_job_says_between_two_statements_gets_none(stored: Stored) -> None:
    ids = enqueue_while_published(stored, Limits(cap=Cap(1)))
    assert [row.id for row in stored.rows(tables.run)] == ids
    # On SQLite there is one statement, and nobody publishes while it runs.
    assert stored.database.is_sqlite or ids == []


@pytest.mark.parametrize("unique_key", ["k", None])
def test_runs_of_which_one_is_refused_are_none_for_a_caller_who_goes_on(stored: Stored, unique_key: str | None) -> None:
    stored.node()
    stored.do(lambda tx: enqueue_sync(tx.conn, "other", unique_key="taken"))
    debounced = RunSpec("work", unique_key="taken", hold=Hold(Holding.DEBOUNCE, 5))

    def enqueue(tx: Tx) -> None:
        with pytest.raises(UserError, match="is held by run"):
            enqueue_many_sync(tx.conn, [RunSpec("work", unique_key=unique_key), debounced])

    stored.do(enqueue)
    assert [row.job_name for row in stored.rows(tables.run)] == ["other"]
    created = [row for row in stored.rows(tables.event) if "created" in row.changes[0]]
    assert len(created) == 1
