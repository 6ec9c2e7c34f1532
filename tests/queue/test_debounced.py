"""Many callers enqueue one debounced key by ``connect``: one run waits, with what came last, and each hears of it."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import update

from cronograph.jobs import Debounce, connect, job
from cronograph.jobs.connection import Connection
from cronograph.jobs.core.run_spec import RunTarget
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.schema import tables
from tests.support.storage import Stored

JOBS = Registry()


@job(registry=JOBS, unique_key=("page",), debounce=Debounce(50, max_wait=60), ttl=30, labels_from=("page",))
async def index(page: int, text: str) -> None: ...


@pytest.fixture
def connection(stored: Stored) -> Iterator[Connection]:
    """Of the process that enqueues."""
    stored.node()
    with connect(stored.database.url.render_as_string(hide_password=False), registry=JOBS) as opened:
        yield opened


def change_all(stored: Stored, **values: object) -> None:
    """Set columns of all runs."""
    stored.do(lambda tx: tx.conn.execute(update(tables.run).values(**values)))


async def test_of_many_callers_at_once_each_is_answered_with_the_run_and_the_last_has_its_arguments(
    stored: Stored, connection: Connection
) -> None:
    handles = await asyncio.gather(*(index.enqueue(None, 1, str(n)) for n in range(60)))
    assert len({handle.run_id for handle in handles}) == 1
    (last, other) = [index.enqueue_sync(None, page, "last").run for page in (1, 2)]
    assert (last.id, last.args, last.labels) == (handles[0].run_id, {"page": 1, "text": "last"}, {"page": "1"})
    assert other.id != last.id
    assert [row.args["text"] for row in stored.rows(tables.run)] == ["last", "last"]


def test_what_one_statement_renews_is_answered_as_it_is_stored(stored: Stored, connection: Connection) -> None:
    first = index.enqueue_sync(None, 1, "a").run
    change_all(stored, state="scheduled", node_id=1)
    before = len(stored.rows(tables.event))
    again = index.enqueue_sync(None, 1, "b").run
    assert again == connection.find(RunTarget(first.id))
    assert (again.state, again.node_id, again.args["text"]) == ("waiting", None, "b")
    assert timedelta() < again.available_at - first.available_at < timedelta(seconds=11)
    assert again.expires_at == again.available_at + timedelta(seconds=30)
    (event,) = stored.rows(tables.event)[before:]
    assert event.changes == [
        {"kind": "run_updated", "run_id": first.id, "job_name": "index", "group": "default", "state": "waiting"}
    ]


def test_a_run_waits_no_longer_than_the_most(stored: Stored, connection: Connection) -> None:
    first = index.enqueue_sync(None, 1, "a").run
    earlier = first.submitted_at - timedelta(seconds=55)
    change_all(stored, submitted_at=earlier)
    assert index.enqueue_sync(None, 1, "b").run.available_at == earlier + timedelta(seconds=60)


def test_one_that_has_begun_is_left_alone(stored: Stored, connection: Connection) -> None:
    first = index.enqueue_sync(None, 1, "a").run
    change_all(stored, state="scheduled", node_id=1)
    change_all(stored, state="running", attempt=1)
    second = index.enqueue_sync(None, 1, "b").run
    assert second.id != first.id
    assert [row.args["text"] for row in stored.rows(tables.run)] == ["a", "b"]
