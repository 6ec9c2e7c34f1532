"""Whose turn it is on the API's event loop: who has kept it busy waits, the others pass."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from itertools import count

import pytest
from starlette.requests import HTTPConnection

from cronograph.graphql.base.errors import UserFacingError
from cronograph.graphql.guard.admission import LONGEST, Admission, LoopLane
from cronograph.graphql.guard.limits import Limits
from tests.graphql_api.transport.sample import sample_app
from tests.graphql_api.transport.test_bounds import browser, stream
from tests.support.waiting import eventually

LIMITS = Limits(paced_documents=1)
MUCH = LONGEST * 0.9


class Documents:
    """Documents under one pace, each until it is let go, on a clock that stands still."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.now = 1_000.0
        self.loop = LoopLane(limits, lambda: self.now)
        self.running: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    def use(self, client: str, steps: int) -> None:
        """Let a client keep the loop busy for so many steps, all at this moment."""
        meter = self.loop.meter(client)
        for _ in range(steps):
            meter.end(self.now - MUCH)

    async def begin(self, name: str, client: str, *, event: bool = False) -> None:
        """Ask for a turn, and go on as soon as the document runs or waits."""
        self.ends[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._run(name, client, event))
        await asyncio.sleep(0)

    async def _run(self, name: str, client: str, event: bool) -> None:
        async with self.loop.turn(client, event=event) as turn:
            self.running.append(name)
            while not self.ends[name].is_set():
                # Steps all the while: else it would lose its place.
                turn.meter.end(self.now)
                await asyncio.sleep(0)
        self.running.remove(name)

    async def end(self, name: str) -> None:
        self.ends[name].set()
        await self.tasks[name]

    async def order(self, first: str, number: int) -> list[str]:
        """Return which of those that wait run after one another, once ``first`` has ended."""
        found: list[str] = []
        for _ in range(number):
            await self.end(first)
            await eventually(lambda: bool(self.running))
            (first,) = self.running
            found.append(first)
        return found


@asynccontextmanager
async def documents(limits: Limits = LIMITS) -> AsyncGenerator[Documents]:
    found = Documents(limits)
    try:
        yield found
    finally:
        for task in found.tasks.values():
            task.cancel()
        await asyncio.gather(*found.tasks.values(), return_exceptions=True)


async def test_who_has_used_little_never_waits() -> None:
    async with documents() as ours:
        ours.use("busy", 10)
        await ours.begin("of the busy one", "busy")
        await ours.begin("its next", "busy")
        for number in range(20):
            await ours.begin(f"{number}", "calm")
        assert "its next" not in ours.running
        assert len(ours.running) == 21


async def test_the_next_place_is_for_who_has_used_least() -> None:
    async with documents() as ours:
        ours.use("most", 9)
        ours.use("less", 6)
        ours.use("least", 3)
        await ours.begin("under way", "most")
        for client in ("most", "less", "least"):
            for number in (1, 2):
                await ours.begin(f"{client} {number}", client)
        assert await ours.order("under way", 6) == ["least 1", "least 2", "less 1", "less 2", "most 1", "most 2"]


async def test_many_clients_who_share_the_loop_are_paced_though_none_uses_much() -> None:
    async with documents() as ours:
        for number in range(20):
            # A twentieth of the loop each: half of what one alone may use at any time.
            ours.use(f"client {number}", 1)
        await ours.begin("calm", "somebody else")
        for number in range(20):
            await ours.begin(f"document {number}", f"client {number}")
        assert len(ours.running) == 2


async def test_what_was_used_is_forgotten() -> None:
    async with documents() as ours:
        ours.use("busy", 10)
        ours.now += 10
        for number in range(5):
            await ours.begin(f"{number}", "busy")
        assert len(ours.running) == 5


async def test_events_and_documents_of_a_client_take_turns() -> None:
    async with documents() as ours:
        ours.use("busy", 10)
        await ours.begin("under way", "busy")
        for number in (1, 2, 3):
            await ours.begin(f"document {number}", "busy")
        for number in (1, 2):
            await ours.begin(f"event {number}", "busy", event=True)
        order = await ours.order("under way", 5)
        assert order == ["event 1", "document 1", "event 2", "document 2", "document 3"]


async def test_a_document_that_waits_for_something_else_loses_its_place() -> None:
    async with documents() as ours:
        ours.use("busy", 10)
        away = asyncio.Event()

        async def waiting_for_the_database() -> None:
            async with ours.loop.turn("busy"):
                await away.wait()

        waits = asyncio.create_task(waiting_for_the_database())
        await asyncio.sleep(0)
        await ours.begin("next", "busy")
        assert ours.running == []
        await eventually(lambda: ours.running == ["next"])
        # Its place was given back once, and not a second time at its end.
        away.set()
        await waits
        await ours.begin("third", "busy")
        assert ours.running == ["next"]


async def test_what_is_cancelled_while_it_waits_leaves_no_trace() -> None:
    async with documents() as ours:
        ours.use("busy", 10)
        await ours.begin("under way", "busy")
        await ours.begin("cancelled", "busy")
        await ours.begin("next", "busy")
        ours.tasks["cancelled"].cancel()
        assert await ours.order("under way", 1) == ["next"]
        await ours.begin("last", "busy")
        assert await ours.order("next", 1) == ["last"]


async def test_what_is_cancelled_just_when_its_turn_has_come_hands_it_on() -> None:
    async with documents() as ours:
        ours.use("busy", 10)
        async with ours.loop.turn("busy"):
            await ours.begin("cancelled", "busy")
            await ours.begin("next", "busy")
        ours.tasks["cancelled"].cancel()
        await eventually(lambda: ours.running == ["next"])


@pytest.mark.parametrize(
    ("limits", "code", "message"),
    [
        (Limits(paced_documents=1, queued_documents=4), "LIMIT_QUEUED_DOCUMENTS", "limit of queued_documents is 4"),
        (Limits(paced_documents=1, operation_seconds=0.01), "LIMIT_QUEUE_SECONDS", r"limit of queue_seconds is 0\.01"),
    ],
)
async def test_who_cannot_wait_is_refused_with_the_limit(limits: Limits, code: str, message: str) -> None:
    async with documents(limits) as ours:
        ours.use("busy", 10)
        await ours.begin("under way", "busy")
        if limits.queued_documents == 4:
            await ours.begin("one", "busy")
            await ours.begin("two", "busy")
        with pytest.raises(UserFacingError, match=message) as refused:
            async with ours.loop.turn("busy"):
                pass
        assert (refused.value.code, refused.value.http_status) == (code, 503)
        assert (refused.value.extensions or {})["classification"] == "UNAVAILABLE"
        assert "retryAfter" in (refused.value.extensions or {})


async def test_those_who_are_away_are_forgotten() -> None:
    lane = LoopLane(Limits(), lambda: 0.0)
    for number in range(3_000):
        async with lane.turn(f"address {number}"):
            pass
    assert lane.remembered <= 1_000


def test_callers_who_are_busy_are_no_more_than_that_either() -> None:
    found = Documents(LIMITS)
    for number in range(3_000):
        found.use(f"address {number}", 1)
    assert found.loop.remembered <= 1_000
    # Whoever came last is still known.
    assert found.loop.used("address 2999") > 0


def by_header(_context: object, connection: HTTPConnection) -> str:
    return connection.headers.get("x-name", "")


@pytest.mark.parametrize(
    "document",
    ["{ tasks(first: 200) { nodes { name parent { name } } } }", "{ unknown }", "{ {", "{ refused }"],
    ids=["answered", "invalid", "no GraphQL", "refused by its resolver"],
)
async def test_whatever_becomes_of_a_document_its_caller_is_charged(document: str) -> None:
    bounds = Admission(Limits(), client_of=by_header)
    async with browser(sample_app(admission=bounds).app) as client:
        for _ in range(2):
            await client.post("/graphql", json={"query": document}, headers={"x-name": "ada"})
    assert bounds.loop.used("ada") > 0
    assert bounds.loop.used("bob") == 0


async def test_events_of_a_subscription_are_charged_as_documents_are() -> None:
    bounds = Admission(Limits(), client_of=lambda _context, _connection: "ada")
    # A clock that takes a step with each look: what was used is forgotten by it, however slow the machine is.
    bounds.loop = LoopLane(Limits(), partial(next, count(0.0, 0.001)))
    async with browser(sample_app(admission=bounds).app) as client:
        await client.post("/graphql", json={"query": "subscription { ticks(count: 1) { cursor value } }"})
        before = bounds.loop.used("ada")
        assert len(await stream(client, "subscription { ticks(count: 3) { cursor value } }")) == 3
    assert bounds.loop.used("ada") > before


async def test_documents_of_one_client_beside_its_waiting_ones_are_all_answered() -> None:
    limits = Limits(loop_share=1e-9, paced_documents=1)
    bounds = Admission(limits, client_of=by_header)
    bodies = [{"query": f"{{ number(value: {number % 7}) hello }}"} for number in range(60)]
    async with browser(sample_app(limits, admission=bounds).app) as client:
        answers = await asyncio.gather(*(client.post("/graphql", json=body) for body in bodies))
    assert [answer.json()["data"]["number"] for answer in answers] == [number % 7 for number in range(60)]


async def test_a_long_body_waits_for_its_turn_before_it_is_parsed() -> None:
    limits = Limits(loop_share=1e-9, paced_documents=1)
    bounds = Admission(limits, client_of=by_header)
    long = {"query": "{ hello }", "variables": {"unused": "x" * 20_000}}
    async with browser(sample_app(limits, admission=bounds).app) as client:
        await client.post("/graphql", json=long)
        async with bounds.loop.turn("") as turn:

            def waits() -> bool:
                # A step, so that this one keeps its place.
                turn.meter.end(turn.meter.clock())
                return bounds.loop.waiting == 1

            asked = asyncio.create_task(client.post("/graphql", json=long))
            await eventually(waits, interval=0.01)
        assert (await asked).json()["data"] == {"hello": "Hello world"}
