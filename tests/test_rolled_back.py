"""What is put into the queue in a user's own transaction is gone with it: by every way, on a new and a used queue."""

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Connection, create_engine, select

from cronograph.jobs import (
    Debounce,
    Flow,
    RunSpec,
    Throttle,
    enqueue_many_sync,
    enqueue_sync,
    job,
)
from cronograph.jobs.queue.enqueue.enqueue import Transaction
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.jobs.store.schema.types import metadata

JOBS = Registry()


@job(registry=JOBS)
def plain(shop: str = "a") -> None: ...


@job(registry=JOBS, unique_key=("shop",))
def once(shop: str = "a") -> None: ...


def flow_in(session: Transaction) -> object:
    """Two runs, one after the other."""
    flow = Flow("orders", registry=JOBS)
    flow.add("second", plain).after(flow.add("first", plain))
    return flow.on_end(plain.run()).enqueue_sync(session)


WAYS: dict[str, Callable[[Transaction], object]] = {
    "by name": lambda tx: enqueue_sync(tx, "plain", {"shop": "b"}),
    "by name, with a key": lambda tx: enqueue_sync(tx, "plain", unique_key="k"),
    "by its job": lambda tx: plain.enqueue_sync(tx, "b"),
    "by its job, with a key": lambda tx: once.enqueue_sync(tx, "b"),
    "unique for a time": lambda tx: plain.options(unique_key="t", unique_for="1h").enqueue_sync(tx),
    "unique among those that wait": lambda tx: plain.options(unique_key="w", unique_among=["waiting"]).enqueue_sync(tx),
    "debounced": lambda tx: plain.options(debounce=Debounce(delay=60)).enqueue_sync(tx, "b"),
    "throttled": lambda tx: plain.options(throttle=Throttle(period=3600)).enqueue_sync(tx, "b"),
    "with labels and an end": lambda tx: plain.options(labels={"shop": "7"}, ttl="1h").enqueue_sync(tx),
    "many alike": lambda tx: enqueue_many_sync(tx, [plain.run(str(n)) for n in range(20)]),
    "many with keys": lambda tx: enqueue_many_sync(tx, [once.run(str(n % 3)) for n in range(9)]),
    "many, debounced": lambda tx: enqueue_many_sync(
        tx, [plain.options(debounce=Debounce(delay=60)).run(str(n)) for n in range(3)]
    ),
    "one, as many": lambda tx: enqueue_many_sync(tx, [RunSpec("plain")]),
    "a flow": flow_in,
}


def everything(url: str) -> list[tuple[object, ...]]:
    """Every row of every table."""
    engine = sync_engine(parse_url(url))
    with engine.begin() as conn:
        found = [tuple(row) for table in metadata.sorted_tables for row in conn.execute(select(table)).all()]
    engine.dispose()
    return found


@pytest.fixture
def connected(database_url: str) -> Iterator[Connection]:
    """A connection as a user's program opens it, without any setting of ours."""
    engine = create_engine(database_url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        yield connection
    engine.dispose()


@pytest.mark.costly
@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_left_of_what_was_rolled_back(database_url: str, connected: Connection, way: str) -> None:
    before = everything(database_url)
    WAYS[way](connected)
    connected.rollback()
    assert everything(database_url) == before
    WAYS[way](connected)
    connected.commit()
    used = everything(database_url)
    assert used != before
    # Now some find a run that is there, and change it.
    WAYS[way](connected)
    connected.rollback()
    assert everything(database_url) == used
