"""A job that declares its unique key by its arguments has it for each run, made by code, API, schedule or test kit."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import create_engine

from cronograph.graphql.client import Client, NewRun, RefusedError, UniqueKey, interval
from cronograph.jobs import RunSpec, connect, enqueue_many_sync, enqueue_sync, job
from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.registry import Registry
from cronograph.jobs.testing import Queue, drain
from tests.at_home import till
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until


@pytest.fixture
def paused(processes: ProcessStarter, database_url: str) -> Iterator[tuple[Client, str]]:
    """A server that knows the till and starts nothing, so that runs stay unfinished."""
    shutil.copy(till.__file__, processes.folder / "till.py")
    server = processes.serve(database_url, "--jobs", "till")
    with Client(server.url) as client:
        client.pause_group("default")
        yield client, database_url


@pytest.mark.costly
def test_a_second_click_answers_the_first_run(paused: tuple[Client, str]) -> None:
    client, _ = paused
    first = client.trigger_job("charge", {"order_id": 7})
    again = client.trigger_job("charge", {"order_id": 7, "currency": "USD"})
    other = client.trigger_job("charge", {"order_id": 8})
    assert first.run is not None
    assert again.run is not None
    assert other.run is not None
    assert first.run.unique_key == "charge(order_id=7)"
    assert (again.success, again.run.id) == (True, first.run.id)
    assert again.message == f"Job charge was not triggered again: run {first.run.id} with its unique key is unfinished"
    assert other.run.id != first.run.id
    named = [client.trigger_job("charge", {"order_id": 9}, unique_key="mine").run for _ in range(2)]
    assert {(one.id, one.unique_key) for one in named if one} == {(named[0].id if named[0] else 0, "mine")}
    with pytest.raises(RefusedError, match="uniqueKey: must have at most 200"):
        client.trigger_job("charge", {"order_id": 9}, unique_key="x" * 201)


@pytest.mark.costly
def test_all_ways_to_make_a_run_share_the_key(paused: tuple[Client, str]) -> None:
    client, url = paused
    (first,) = client.enqueue_runs([NewRun(job_name="print_receipt", args={"order_id": 7})])
    assert first.unique_key == "receipt-7-de"
    with connect(url):
        same = [
            till.print_receipt.enqueue_sync(None, 7).run_id,
            till.print_receipt.enqueue_sync(None, 7, lang="de").run_id,
        ]
        without = till.print_receipt.options(unique_key=None).enqueue_sync(None, 7)
        assert without.run_id not in same
        assert without.status_sync() == "waiting"
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as session:
        same.append(enqueue_sync(session, "print_receipt", {"order_id": 7}).id)
        same += enqueue_many_sync(session, [till.print_receipt.run(7), RunSpec("print_receipt", {"order_id": 7.0})])
    with engine.begin() as session:
        two = enqueue_many_sync(session, [RunSpec("print_receipt", {"order_id": 7, "lang": "fr"})] * 2)
    engine.dispose()
    triggered = client.trigger_job("print_receipt", {"lang": "de", "order_id": 7}).run
    assert triggered is not None
    assert {*same, triggered.id} == {first.id}
    assert set(two) == {two[0]}
    assert two[0] != first.id


def test_a_task_obeys_the_key_and_writes_down_what_it_skips(paused: tuple[Client, str]) -> None:
    client, _ = paused
    first = client.trigger_job("charge", {"order_id": 7}).run
    assert first is not None
    client.create_task("charges", "charge", interval(1), args={"order_id": 7}, overlap=None)
    skipped = wait_until(lambda: client.skipped_occurrences(filter={"taskName": {"eq": "charges"}}).items)[0]
    assert (skipped.reason.value, skipped.policy) == ("UNIQUE_KEY", {"uniqueKey": "charge(order_id=7)"})
    with pytest.raises(RefusedError, match=f"run {first.id} is waiting and holds the unique key of this one"):
        client.trigger_task("charges")


@pytest.mark.costly
def test_the_api_says_what_it_knows_of_the_key(paused: tuple[Client, str]) -> None:
    client, _ = paused
    declared = {one.name: one.unique_key for one in client.available_jobs()}
    assert declared["charge"] == UniqueKey(arguments=("order_id",), template=None, is_in_code=False)
    template = "receipt-{order_id}-{lang}"
    assert declared["print_receipt"] == UniqueKey(arguments=("order_id", "lang"), template=template, is_in_code=False)
    assert declared["ship"] == UniqueKey(arguments=(), template=None, is_in_code=True)
    assert declared["http_request"] is None
    runs = [client.trigger_job("ship", {"parcel_id": "p"}).run for _ in range(2)]
    assert len({one.id for one in runs if one}) == 2


async def test_the_test_kit_obeys_the_key_too() -> None:
    async with Queue() as queue:
        first = await queue.enqueue(till.charge, {"order_id": 7})
        assert await queue.enqueue("charge", {"order_id": 7}) == first
        assert (await till.charge.enqueue(None, 7)).run_id == first
        await queue.schedule(till.charge, "* * * * * *", {"order_id": 7}, name="every second", overlap="allow")
        await drain(queue, until=queue.clock.now() + timedelta(seconds=10))
        runs = queue.enqueued(till.charge)
        assert {one.unique_key for one in runs} == {"charge(order_id=7)"}
        # Nothing was skipped while none was unfinished, and a finished run gives its key back.
        assert len(runs) > 1
        assert await queue.enqueue(till.ship, {"parcel_id": "p"}) == await queue.enqueue(till.ship, {"parcel_id": "p"})


async def test_one_value_that_can_be_written_in_two_ways_makes_one_key() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    async with Queue() as queue:
        ids = [
            (await till.report.enqueue(None, noon)).run_id,
            await queue.enqueue(till.report, {"day": "2026-01-01T12:00:00Z"}),
            await queue.enqueue("report", {"day": "2026-01-01T12:00:00.000+00:00"}),
        ]
        keys = {one.unique_key for one in queue.enqueued(till.report)}
    assert len(set(ids)) == 1
    assert keys == {'report(day="2026-01-01T12:00:00Z")'}


async def test_a_key_of_no_argument_lets_one_run_of_the_job_be_unfinished() -> None:
    async with Queue() as queue:
        handles = [await till.count_stock.enqueue() for _ in range(2)]
        assert handles[0].run_id == handles[1].run_id
        await drain(queue)
        assert (await till.count_stock.enqueue()).run_id != handles[0].run_id


async def plain(order_id: int, lang: str = "de") -> None: ...


async def awaited(order_id: int) -> str:
    return str(order_id)


def of_order(order: int) -> str:
    return str(order)


REFUSED: list[tuple[Any, str]] = [
    (("ordr_id",), "unique_key: the job has no argument 'ordr_id'; did you mean 'order_id'?"),
    (("customer",), "unique_key: the job has no argument 'customer'; it takes order_id, lang"),
    ("orders-{ordr_id}", "unique_key: the job has no argument 'ordr_id'; did you mean 'order_id'?"),
    ("order_id", r"'order_id' is the same text for every run; write \('order_id',\)"),
    ("orders-{order_id", "the braces in 'orders-{order_id' must each hold the name of an argument"),
    ("orders-{order_id:03d}", r"the name of an argument \({order_id:03d}\); use a function"),
    ("orders-{order.id}", r"the name of an argument \({order.id}\)"),
    ("", "unique_key: must not be empty"),
    (7, "unique_key: must be names of arguments, a text or a function, e.g. .*, got 7"),
    (("order_id", 7), r"unique_key: must be names of arguments, .*, got \('order_id', 7\)"),
    (of_order, r"by name \(order_id, lang\), but its parameter 'order' is none of them"),
    (awaited, "unique_key: must be a plain function, got an 'async def'"),
]


@pytest.mark.parametrize(("option", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_a_key_that_cannot_be_made_is_refused_at_the_import(option: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        job(registry=Registry(), unique_key=option)(plain)
    assert f"test_unique_keys.py:{plain.__code__.co_firstlineno})" in str(caught.value)
