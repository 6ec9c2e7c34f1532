"""Resources of runs that are enqueued by the names of their jobs: refused where nodes say that a job runs on them."""

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from cronograph.jobs import Debounce, JobContext, Resources, RunSpec, connect, enqueue_many_sync, enqueue_sync, job
from cronograph.jobs.actions.nodes import NewNode, join
from cronograph.jobs.connection import Connection
from cronograph.jobs.core.base.errors import InvalidInput
from cronograph.jobs.core.defaults import JobInfo
from cronograph.jobs.core.model import Isolation
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.schema import tables
from tests.support.storage import ANY_ARGS, Stored

JOBS = Registry()
LARGE = Resources(gpus=4)
SAID = r"resources: are for jobs at an engine, and job 'here' runs on a node \(isolation ASYNC\)"


@job(
    registry=JOBS,
    isolation="command",
    resources=Resources(gpus=1),
    unique_key=("data",),
    debounce=Debounce(50, max_wait=60),
)
def train(ctx: JobContext, data: str) -> None: ...


@pytest.fixture
def connection(stored: Stored) -> Iterator[Connection]:
    """Of a process that enqueues what a node has published."""
    places = {"here": Isolation.ASYNC, "away": Isolation.REMOTE, "train": Isolation.REMOTE}
    infos = tuple(JobInfo(name, args_schema=ANY_ARGS, isolation=place) for name, place in places.items())
    stored.do(join, NewNode("n", 20, "1", infos, 60.0), only_node=False)
    with connect(stored.database.url.render_as_string(hide_password=False), registry=JOBS) as opened:
        yield opened


@pytest.fixture
def session(stored: Stored) -> Iterator[Session]:
    """A transaction of the user's."""
    engine = create_engine(stored.database.url)
    with Session(engine) as opened:
        yield opened
    engine.dispose()


def one(session: Session, connection: Connection, name: str) -> object:
    del connection
    return enqueue_sync(session, name, resources=LARGE)


def many(session: Session, connection: Connection, name: str) -> object:
    del connection
    return enqueue_many_sync(session, [RunSpec("unknown"), RunSpec(name, resources=LARGE)])


def without_session(session: Session, connection: Connection, name: str) -> object:
    del session
    return connection.put(RunSpec(name, resources=LARGE))


WAYS = pytest.mark.parametrize("way", [one, many, without_session])


@WAYS
def test_resources_for_a_job_that_runs_on_nodes_are_refused(
    stored: Stored, session: Session, connection: Connection, way: Callable[[Session, Connection, str], object]
) -> None:
    with pytest.raises(InvalidInput, match=SAID):
        way(session, connection, "here")
    session.commit()
    assert stored.rows(tables.run) == []


@WAYS
@pytest.mark.parametrize("name", ["away", "not published yet"])
def test_resources_for_a_job_at_an_engine_and_for_one_that_nobody_knows_are_stored(
    stored: Stored,
    session: Session,
    connection: Connection,
    way: Callable[[Session, Connection, str], object],
    name: str,
) -> None:
    way(session, connection, name)
    session.commit()
    assert [row.carried for row in stored.rows(tables.run) if row.job_name == name] == [{"resources": {"gpus": 4}}]


def test_of_a_debounced_run_the_last_resources_count(stored: Stored, connection: Connection) -> None:
    first = train.options(resources=LARGE).enqueue_sync(None, "a").run
    again = train.options(resources=Resources(gpus=8, queue="long")).enqueue_sync(None, "a").run
    assert again.id == first.id
    (row,) = stored.rows(tables.run)
    assert row.carried == {"resources": {"gpus": 8, "queue": "long"}}
    assert train.enqueue_sync(None, "a").run.id == first.id
    (row,) = stored.rows(tables.run)
    assert row.carried is None
