"""The budget of costly operations: per client, for all, with a queue that ends."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import httpx
import pytest

from cronograph.graphql.base.errors import UserFacingError
from cronograph.graphql.guard.admission import CostlyLane
from cronograph.graphql.guard.limits import Limits
from tests.graphql_api.transport.sample import Sample, sample_app
from tests.support.waiting import eventually

LIMITS = Limits(cheap_cost=10, budget=100, client_budget=60, queued_operations=16, queue_seconds=3600)


class Operations:
    """Operations under one budget, each until it is let go."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.used = 0.0
        self.budget = CostlyLane(limits, lambda: self.used)
        self.running: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def begin(self, name: str, cost: int, client: str = "a") -> None:
        """Ask for admission, and go on as soon as the operation runs or waits."""
        self.ends[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._run(name, cost, client))
        await asyncio.sleep(0)

    async def _run(self, name: str, cost: int, client: str) -> None:
        async with self.budget.admitted(client, cost):
            self.running.append(name)
            await self.ends[name].wait()
        self.running.remove(name)

    async def end(self, name: str) -> None:
        self.ends[name].set()
        await self.tasks[name]
        await asyncio.sleep(0)

    async def begin_after_a_costly_one(self, name: str) -> None:
        """Ask for the share of one that took much processor time and has just ended."""
        await self.begin("costly", 60)
        self.used += 1_000
        await self.end("costly")
        await self.begin(name, 60)


@asynccontextmanager
async def operations(limits: Limits = LIMITS) -> AsyncGenerator[Operations]:
    found = Operations(limits)
    try:
        yield found
    finally:
        for task in found.tasks.values():
            task.cancel()
        await asyncio.gather(*found.tasks.values(), return_exceptions=True)


async def test_cheap_operations_never_wait() -> None:
    async with operations() as ours:
        await ours.begin("all there is", 60)
        await ours.begin("of the other", 40, "b")
        for number in range(50):
            await ours.begin(f"cheap {number}", 10)
        assert len(ours.running) == 52


async def test_a_client_uses_no_more_than_its_share_and_leaves_the_rest_to_others() -> None:
    async with operations() as ours:
        await ours.begin("first", 50)
        await ours.begin("second", 50)
        assert ours.running == ["first"]
        await ours.begin("of another", 50, "b")
        assert ours.running == ["first", "of another"]
        await ours.end("first")
        assert ours.running == ["of another", "second"]


async def test_clients_that_wait_take_turns() -> None:
    async with operations() as ours:
        await ours.begin("under way", 60, "z")
        for name in ("a1", "a2", "a3"):
            await ours.begin(name, 60, "a")
        await ours.begin("b1", 60, "b")
        order: list[str] = []
        last = "under way"
        for _ in range(4):
            await ours.end(last)
            await eventually(lambda: len(ours.running) == 1)
            (last,) = ours.running
            order.append(last)
        assert order == ["a1", "b1", "a2", "a3"]


async def test_what_costs_more_than_the_budget_runs_alone() -> None:
    async with operations() as ours:
        await ours.begin("enormous", 5_000)
        assert ours.running == ["enormous"]
        await ours.begin("of the same client", 11)
        assert ours.running == ["enormous"]


async def test_a_full_queue_refuses_with_the_limit() -> None:
    async with operations() as ours:
        await ours.begin("under way", 60)
        for name in ("one", "two", "three", "four"):
            await ours.begin(name, 60)
        with pytest.raises(UserFacingError, match="limit of queued_operations is 16") as refused:
            async with ours.budget.admitted("a", 60):
                pass
        assert (refused.value.code, refused.value.http_status) == ("LIMIT_QUEUED_OPERATIONS", 503)
        await ours.begin("of another", 40, "b")
        assert "of another" in ours.running


async def test_who_waits_for_too_long_is_refused_and_leaves_no_trace() -> None:
    limits = Limits(cheap_cost=10, budget=100, client_budget=60, queue_seconds=0.01)
    async with operations(limits) as ours:
        await ours.begin("under way", 60)
        with pytest.raises(UserFacingError, match=r"limit of queue_seconds is 0\.01") as refused:
            async with ours.budget.admitted("a", 60):
                pass
        assert refused.value.code == "LIMIT_QUEUE_SECONDS"
        await ours.end("under way")
        await ours.begin("next", 60)
        assert ours.running == ["next"]


async def test_one_that_is_cancelled_while_it_waits_gives_its_place_up() -> None:
    async with operations() as ours:
        await ours.begin("under way", 60)
        await ours.begin("impatient", 60)
        await ours.begin("patient", 60)
        ours.tasks["impatient"].cancel()
        await asyncio.gather(ours.tasks["impatient"], return_exceptions=True)
        await ours.end("under way")
        assert ours.running == ["patient"]


async def ask(client: httpx.AsyncClient, document: str) -> httpx.Response:
    return await client.post("/graphql", json={"query": document})


async def test_a_busy_server_answers_503_and_cheap_operations_as_ever() -> None:
    sample: Sample = sample_app(Limits(cheap_cost=5, budget=6, client_budget=6, queued_operations=1))
    slow = "{ blocked " + " ".join(f"h{number}: hello" for number in range(9)) + " }"
    transport = httpx.ASGITransport(sample.app)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url="http://localhost"))
        asked = [asyncio.create_task(ask(client, slow)) for _ in range(3)]
        done, under_way = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        (answer,) = [one.result() for one in done]
        assert answer.status_code == 503
        (error,) = answer.json()["errors"]
        assert error["extensions"]["code"] == "LIMIT_QUEUED_OPERATIONS"
        assert error["extensions"]["classification"] == "UNAVAILABLE"
        assert (await ask(client, "{ hello }")).json() == {"data": {"hello": "Hello world"}, "extensions": ANY_COST}
        sample.context.release.set()
        assert [one.status_code for one in await asyncio.gather(*under_way)] == [200, 200]


ANY_COST = {"cost": {"requested": 1, "maximum": 20_000}}


async def test_what_took_processor_time_keeps_its_share_for_a_while_and_cheap_operations_pass() -> None:
    async with operations(replace(LIMITS, rest=3, rest_seconds=3600)) as ours:
        await ours.begin_after_a_costly_one("next")
        await ours.begin("cheap", 10)
        await ours.begin("of another client", 40, "b")
        assert ours.running == ["cheap", "of another client"]


async def test_what_rested_gives_its_share_back() -> None:
    async with operations(replace(LIMITS, rest=3, rest_seconds=0.05)) as ours:
        await ours.begin_after_a_costly_one("next")
        await eventually(lambda: "next" in ours.running)


async def test_what_took_hardly_any_processor_time_gives_its_share_back_at_once() -> None:
    async with operations() as ours:
        await ours.begin("waits for the database", 60)
        await ours.end("waits for the database")
        await ours.begin("next", 60)
        assert ours.running == ["next"]
