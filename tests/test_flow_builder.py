"""``Flow``: typed jobs put together and enqueued in one transaction, the user's own too."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select

from cronograph.jobs import Flow, InvalidInput, JobContext, UserError, connect, job
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.db.address import parse_url
from cronograph.jobs.store.db.connecting import sync_engine
from cronograph.jobs.store.schema import tables

JOBS = Registry()


@job("fetch", registry=JOBS, retries=7)
async def fetch(ctx: JobContext, month: str) -> None: ...


@job("total", registry=JOBS)
def total(orders: list[int], factor: int = 1) -> None: ...


@pytest.fixture
def queue(database_url: str) -> Iterator[str]:
    with connect(database_url, registry=JOBS):
        yield database_url


def rows(url: str, statement: Any) -> list[Any]:
    engine = sync_engine(parse_url(url))
    with engine.connect() as connection:
        found = list(connection.execute(statement))
    engine.dispose()
    return found


def orders_of_march() -> Flow:
    flow = Flow("orders", unique_key="2026-03")
    orders = flow.add("fetch", fetch.options(priority="high"), month="2026-03")
    total_ = flow.add("total", total, orders.result, factor=3)
    flow.add("again", fetch, "x").after(orders, total_, when="always")
    return flow.on_end(fetch.run("told"))


async def test_a_flow_is_enqueued_with_its_arguments_options_and_edges(queue: str) -> None:
    flow_id = await orders_of_march().enqueue()
    runs = {run.job_name + str(run.id): run for run in rows(queue, select(tables.run))}
    first, second, third = sorted(runs.values(), key=lambda run: run.id)
    assert (first.args, first.priority, first.retries, first.state) == ({"month": "2026-03"}, "high", 7, "waiting")
    assert (second.args, second.state) == ({"orders": {"$result": "fetch"}, "factor": 3}, "suspended")
    assert (third.state, third.retries, third.flow_id) == ("suspended", 7, flow_id)
    edges = {(row.run_id, row.after_id) for row in rows(queue, select(tables.flow_edge))}
    assert edges == {(second.id, first.id), (third.id, first.id), (third.id, second.id)}
    places = {row.key: row.condition for row in rows(queue, select(tables.flow_run))}
    assert places == {"fetch": "success", "total": "success", "again": "always"}
    (flow,) = rows(queue, select(tables.flow))
    assert flow.callbacks["on_end"]["args"] == {"month": "told"}


@pytest.mark.parametrize("commits", [True, False])
def test_it_is_a_part_of_the_transaction_of_a_session(queue: str, commits: bool) -> None:
    engine = sync_engine(parse_url(queue))
    with engine.connect() as connection:
        orders_of_march().enqueue_sync(connection)
        if commits:
            connection.commit()
    engine.dispose()
    assert len(rows(queue, select(tables.run))) == (3 if commits else 0)
    assert len(rows(queue, select(tables.event))) == (1 if commits else 0)


def test_a_key_that_is_taken_is_refused(queue: str) -> None:
    orders_of_march().enqueue_sync()
    with pytest.raises(UserError, match="has the key '2026-03'"):
        orders_of_march().enqueue_sync()
    assert len(rows(queue, select(tables.run))) == 3


def test_a_circle_is_refused_with_its_path(queue: str) -> None:
    flow = Flow("circle")
    a = flow.add("a", fetch, "x").after("b")
    flow.add("b", fetch, "x").after(a)
    with pytest.raises(UserError, match="'a' → 'b' → 'a'") as refused:
        flow.enqueue_sync()
    assert refused.value.path == ("runs", "0", "after")
    assert rows(queue, select(tables.flow)) == []


def test_what_is_known_of_the_arguments_is_judged_when_a_run_is_added() -> None:
    flow = Flow("wrong")
    orders = flow.add("fetch", fetch, "2026-03")
    with pytest.raises(InvalidInput, match="argument 'factor' of job 'total'"):
        flow.add("total", total, orders.result, factor="many")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="orders"):
        flow.add("total", total, factor=2)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="of another flow"):
        Flow("other").add("total", total, orders.result)
    with pytest.raises(ValueError, match="must be one of success, failure, always"):
        orders.after("x", when="sometimes")
    with pytest.raises(TypeError, match=r"after: must be runs that flow.add has given, or their keys, got 7"):
        orders.after(7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"on_end: must be a run to be, got .*; write flow.on_end\(job.run\(…\)\)"):
        flow.on_end(fetch)  # type: ignore[arg-type]
    nested = flow.add("nested", total, orders=[1, orders.result])
    assert nested.spec.args == {"orders": [1, {"$result": "fetch"}]}
    assert nested.place[0] == ("fetch",)
