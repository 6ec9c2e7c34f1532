"""Subscribers that share an execution: one source, every event once and in order for each, and bounded queues."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronograph.graphql.guard.admission import Admission
from cronograph.graphql.guard.document import RequestRefused
from cronograph.graphql.guard.limits import Limits
from cronograph.graphql.transport.engine import Engine
from cronograph.graphql.transport.gateway import cursor_of_answer
from cronograph.graphql.transport.sharing import Encoded, SharedField, SharedStreams, SharePolicy
from tests.graphql_api.transport.sample import SampleContext, sample_schema
from tests.graphql_api.transport.serving import served
from tests.support.waiting import eventually

POLICY = SharePolicy(
    fields={
        "log": SharedField(resume_argument="after", private_arguments=frozenset({"snapshot"})),
        "broken": SharedField(),
        "queue": SharedField(),
    },
    rights=lambda context: context.rights,
)
LOG = "subscription L($after: String) { log(after: $after) { cursor value } }"


@dataclass
class Hub:
    """Shared streams with the context of their subscribers."""

    streams: SharedStreams
    context: SampleContext
    engine: Engine

    @classmethod
    def of(cls, limits: Limits | None = None, policy: SharePolicy | None = POLICY) -> "Hub":
        """A hub for the sample schema."""
        engine = Engine(sample_schema(limits))
        return cls(SharedStreams(engine, cursor_of_answer, policy), SampleContext(), engine)

    def subscribe(self, text: str = LOG, **variables: object) -> AsyncGenerator[Encoded, None]:
        """The answers of one subscriber."""
        return self.streams.stream(self.engine.schema.documents.prepare(text, variables, None), self.context)


@dataclass
class Reader:
    """Reads a subscription in the background."""

    answers: AsyncGenerator[Encoded, None]
    texts: list[str] = field(default_factory=list[str])
    task: "asyncio.Task[None] | None" = None

    async def _read(self) -> None:
        async with aclosing(self.answers) as answers:
            async for answer in answers:
                self.texts.append(answer.text)

    async def __aenter__(self) -> Self:
        self.task = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self.task is not None
        self.task.cancel()
        await asyncio.wait({self.task})

    @property
    def values(self) -> list[int]:
        """The numbers of the events received."""
        return [next(iter(json.loads(text)["data"].values()))["value"] for text in self.texts]


async def test_equal_subscribers_share_one_execution_and_one_serialisation() -> None:
    hub = Hub.of()
    async with Reader(hub.subscribe()) as first, Reader(hub.subscribe()) as second, Reader(hub.subscribe()) as third:
        await eventually(lambda: hub.context.opened == 1)
        hub.context.log.publish(5)
        await eventually(lambda: len(third.texts) == 5)
        assert first.values == second.values == third.values == [1, 2, 3, 4, 5]
        assert all(one is other for one, other in zip(first.texts, second.texts, strict=True))
        assert (hub.context.opened, len(hub.streams)) == (1, 1)
    assert (hub.context.closed, len(hub.streams)) == (1, 0)


async def test_subscribers_that_differ_do_not_share() -> None:
    hub = Hub.of()
    named = "subscription L($after: String, $name: String!) { log(after: $after, name: $name) { cursor value } }"
    async with AsyncExitStack() as readers:
        for text, variables in ((LOG, {}), (LOG + " ", {}), (named, {"name": "a"}), (named, {"name": "b"})):
            await readers.enter_async_context(Reader(hub.subscribe(text, **variables)))
        hub.context = SampleContext(rights="few")
        await readers.enter_async_context(Reader(hub.subscribe()))
        await eventually(lambda: len(hub.streams) == 5)


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ('subscription { log(after: "c0") { cursor value } }', {}),
        ("subscription { log(snapshot: true) { cursor value } }", {}),
        ("subscription L($s: Boolean!) { log(snapshot: $s) { cursor value } }", {"s": True}),
        ("subscription L($after: String!) { log(after: $after) { cursor value } }", {"after": "c0"}),
        ("subscription L($after: String!) { log(after: $after, name: $after) { cursor value } }", {"after": "c0"}),
        ("subscription { ...all } fragment all on Subscription { log { cursor value } }", {}),
        ("subscription { ticks { cursor value } }", {}),
    ],
)
async def test_what_cannot_be_shared_runs_alone(text: str, variables: dict[str, Any]) -> None:
    hub = Hub.of()
    hub.context.log.publish()
    async with Reader(hub.subscribe(text, **variables)) as reader:
        await eventually(lambda: hub.context.opened == 1)
        hub.context.log.publish()
        await eventually(lambda: len(reader.texts) > 0)
        assert len(hub.streams) == 0


@pytest.mark.parametrize(
    "text",
    [LOG]
    + [f"subscription {{ log{arguments} {{ value }} }}" for arguments in ("", "(after: null)", "(snapshot: false)")],
)
async def test_subscriptions_from_now_on_are_shared_however_they_say_so(text: str) -> None:
    hub = Hub.of()
    async with Reader(hub.subscribe(text)):
        await eventually(lambda: len(hub.streams) == 1)


async def test_one_that_resumes_gets_what_it_missed_and_then_shares() -> None:
    hub = Hub.of()
    hub.context.log.publish(3)
    async with Reader(hub.subscribe()) as live, Reader(hub.subscribe(after="c1")) as late:
        await eventually(lambda: late.values == [2, 3])
        assert (hub.context.opened, hub.context.closed) == (2, 0)
        hub.context.log.publish()
        await eventually(lambda: live.values == [4] and late.values == [2, 3, 4])
        # Its own execution has met the shared one, now or with one of the next events.
        for _ in range(20):
            hub.context.log.publish()
            count = hub.context.log.count
            await eventually(lambda count=count: live.values[-1] == late.values[-1] == count)  # type: ignore[misc]
        assert (hub.context.opened, hub.context.closed) == (2, 1)
        assert late.values == list(range(2, 25))


@pytest.mark.costly
@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10), st.integers(0, 4)), min_size=1, max_size=8), st.integers(1, 5))
def test_every_subscriber_gets_every_event_once_and_in_order(joins: list[tuple[int, int]], queue: int) -> None:
    async def scenario() -> None:
        hub = Hub.of(Limits(queue_events=queue))
        hub.context.log.publish(10)
        async with AsyncExitStack() as stack:
            readers: list[tuple[int, Reader]] = []
            for after, published in joins:
                readers.append((after, await stack.enter_async_context(Reader(hub.subscribe(after=f"c{after}")))))
                hub.context.log.publish(published)
                for _ in range(published):
                    # Lets the tasks proceed to some place between the events.
                    await asyncio.sleep(0)
            total = hub.context.log.count
            for after, reader in readers:
                await eventually(lambda after=after, reader=reader: len(reader.texts) >= total - after)  # type: ignore[misc]
                assert reader.values == list(range(after + 1, total + 1))
        assert hub.context.opened == hub.context.closed

    asyncio.run(scenario())


async def test_a_slow_subscriber_overflows_alone_and_resumes_without_a_gap() -> None:
    hub = Hub.of(Limits(queue_events=3))
    slow = hub.subscribe()
    async with Reader(hub.subscribe()) as quick:
        hub.context.log.publish()
        first = asyncio.ensure_future(anext(slow))
        await eventually(lambda: hub.context.opened == 1)
        hub.context.log.publish()
        values = [json.loads((await first).text)["data"]["log"]["value"]]
        for _ in range(30):
            hub.context.log.publish()
            count = hub.context.log.count
            await eventually(lambda count=count: quick.values[-1] == count)  # type: ignore[misc]
        while values[-1] < hub.context.log.count:
            values.append(json.loads((await anext(slow)).text)["data"]["log"]["value"])
        assert values == list(range(values[0], hub.context.log.count + 1))
        assert quick.values == list(range(quick.values[0], hub.context.log.count + 1))
    await slow.aclose()


async def test_a_slow_subscriber_that_cannot_resume_is_informed() -> None:
    hub = Hub.of(Limits(queue_events=2))
    text = "subscription { queue { value } }"
    slow = hub.subscribe(text)
    async with Reader(hub.subscribe(text)) as quick:
        await eventually(lambda: hub.context.opened == 1)
        first = asyncio.ensure_future(anext(slow))
        for number in range(6):
            hub.context.source.put_nowait(number)
            await eventually(lambda number=number: len(quick.texts) > number)  # type: ignore[misc]
        await first
        reader = Reader(slow)
        async with reader:
            await eventually(lambda: reader.task is not None and reader.task.done())
        assert reader.task is not None
        with pytest.raises(RequestRefused, match="more than 2 events were waiting"):
            reader.task.result()
        assert len(reader.texts) <= 2
        assert quick.values == list(range(6))


async def test_a_source_that_fails_or_ends_notifies_all_its_subscribers() -> None:
    hub = Hub.of()
    ended = [Reader(hub.subscribe("subscription { queue { value } }")) for _ in range(2)]
    async with ended[0], ended[1]:
        await eventually(lambda: hub.context.opened == 1)
        hub.context.source.put_nowait(None)
        await eventually(lambda: all(one.task is not None and one.task.done() for one in ended))
        assert len(hub.streams) == 0
    text = 'subscription L($after: String) { log(after: $after, name: "refused") { cursor value } }'
    for _ in range(2):
        with pytest.raises(RequestRefused, match="There is no such log"):
            await anext(hub.subscribe(text))
    broken = hub.subscribe("subscription { broken { value } }")
    assert json.loads((await anext(broken)).text)["data"] == {"broken": {"value": 0}}
    with pytest.raises(RequestRefused, match="Internal error, id "):
        await anext(broken)


async def test_shared_events_go_at_the_pace_of_who_has_used_least_and_never_wait_for_a_busy_reader() -> None:
    hub, bounds = Hub.of(), Admission(Limits(paced_documents=1))
    prepared = hub.engine.schema.documents.prepare(LOG, {}, None)

    def subscribe(client: str) -> AsyncGenerator[Encoded, None]:
        return hub.streams.stream(prepared, hub.context, client, partial(bounds.of_events, cost=1))

    for busy in ("ada", "carl"):
        meter = bounds.loop.meter(busy)
        for _ in range(100):
            meter.end(meter.clock() - 1)
    async with bounds.loop.turn("carl") as turn, Reader(subscribe("ada")) as first:
        await eventually(lambda: hub.context.opened == 1)
        async with Reader(subscribe("bob")) as second:

            def arrived() -> bool:
                # A step, so that this one keeps its place, and a busy reader would wait for it.
                turn.meter.end(turn.meter.clock())
                return first.values == second.values == [1, 2, 3]

            await eventually(lambda: second.task is not None and len(hub.streams) == 1)
            hub.context.log.publish(3)
            await eventually(arrived, interval=0.01)
            assert bounds.loop.used("bob") > 0
            assert hub.context.opened == 1


async def test_sockets_and_event_streams_share_too() -> None:
    async with served(share=POLICY) as server, server.socket() as one, server.socket() as other:
        await one.subscribe("1", LOG)
        await other.subscribe("2", LOG)
        headers = {"accept": "text/event-stream"}
        async with server.client.stream("POST", "/graphql", json={"query": LOG}, headers=headers) as events:
            await eventually(lambda: server.sample.context.opened == 1)
            lines = events.aiter_lines()
            assert await anext(lines) == ":"
            # The stream joins when it has sent its first comment; the sockets may be on their way still.
            server.sample.context.log.publish()
            await eventually(lambda: server.sample.context.log.count == 1)
            for socket, operation in ((one, "1"), (other, "2")):
                message = await socket.receive()
                assert message["id"] == operation
                assert message["payload"]["data"] == {"log": {"cursor": "c1", "value": 1}}
            received = [line async for line in take_until_data(lines)]
            assert "id: c1" in received
        assert server.sample.context.opened == 1
    await eventually(lambda: server.sample.context.closed == 1)


async def take_until_data(lines: Any) -> AsyncGenerator[str, None]:
    """Lines up to the first with data."""
    async for line in lines:
        yield line
        if line.startswith("data:"):
            return
