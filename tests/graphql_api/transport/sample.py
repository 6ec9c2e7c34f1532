"""A small schema that has what the front door must deal with: pages, recursion, faults and endless streams."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import strawberry
from starlette.applications import Starlette
from starlette.requests import HTTPConnection

from cronograph.graphql.app import graphql_routes
from cronograph.graphql.base.errors import UserFacingError
from cronograph.graphql.base.fields import PAGE, Size, resolved
from cronograph.graphql.execution.schema_factory import GuardedSchema, build_schema
from cronograph.graphql.guard.limits import Limits
from cronograph.graphql.transport.engine import Engine
from cronograph.graphql.transport.streams import OpenStreams


class EventLog:
    """Numbered events that can be read from any place on, as those of the real server."""

    def __init__(self) -> None:
        self.count = 0
        self._grown = asyncio.Event()

    def publish(self, events: int = 1) -> None:
        """Append events."""
        self.count += events
        self._grown.set()
        self._grown = asyncio.Event()

    async def read(self, after: int) -> AsyncGenerator[int, None]:
        """The numbers behind `after`, for ever."""
        while True:
            while after < self.count:
                after += 1
                yield after
            await self._grown.wait()


@dataclass
class SampleContext:
    """What the resolvers of the sample share, kept by the test."""

    token: str | None = None
    opened: int = 0
    closed: int = 0
    waiting: int = 0
    release: asyncio.Event = field(default_factory=asyncio.Event)
    rights: str = "all"
    log: EventLog = field(default_factory=EventLog)
    source: asyncio.Queue[int | None] = field(default_factory=asyncio.Queue[int | None])


Info = strawberry.Info[SampleContext, None]


@strawberry.type
class Task:
    """A task that knows its followers."""

    name: str

    @resolved(size=PAGE, description="Who follows it.")
    def followers(self, first: int = 50, after: str | None = None) -> "TaskConnection":
        return _page(first, after)

    @strawberry.field
    def parent(self) -> "Task":
        return Task(name="parent")


@strawberry.type
class TaskEdge:
    """One row of a page."""

    cursor: str
    node: Task


@strawberry.type
class TaskConnection:
    """A page of tasks."""

    edges: list[TaskEdge]
    nodes: list[Task]
    total_count: int


def _page(first: int, after: str | None) -> TaskConnection:
    if after is not None and not after.startswith("c"):
        raise UserFacingError(f"'{after[:40]}' is no cursor of this list.", code="INVALID_CURSOR")
    tasks = [Task(name=f"task {number}") for number in range(min(first, 3))]
    edges = [TaskEdge(cursor=f"c{number}", node=task) for number, task in enumerate(tasks)]
    return TaskConnection(edges=edges, nodes=tasks, total_count=3)


@strawberry.input
class Box:
    """An input that contains itself."""

    inner: "Box | None" = None
    text: str | None = None


@strawberry.type
class Query:
    """Reading."""

    @strawberry.field
    def hello(self, name: str = "world") -> str:
        return f"Hello {name}"

    @strawberry.field
    def number(self, value: int) -> int:
        return value

    @strawberry.field
    def box(self, box: Box) -> bool:
        return box.inner is None

    @strawberry.field
    def task(self) -> Task:
        return Task(name="root")

    @resolved(size=PAGE, description="All of them.")
    def tasks(self, first: int = 50, after: str | None = None) -> TaskConnection:
        return _page(first, after)

    @resolved(description="The newest.", size=Size(("limit",), default=100, most=1_000))
    def logs(self, limit: int = 100) -> list[Task]:
        return [Task(name=f"log {number}") for number in range(min(limit, 3))]

    @strawberry.field
    def boom(self) -> str | None:
        raise ValueError("the password is hunter2")

    @strawberry.field
    def refused(self) -> str | None:
        raise UserFacingError("Only operators may do this.", code="FORBIDDEN")

    @strawberry.field
    async def blocked(self, info: Info) -> str:
        info.context.waiting += 1
        await info.context.release.wait()
        return "released"


@strawberry.type
class Mutation:
    """Writing."""

    @strawberry.mutation
    def bump(self) -> int:
        return 1


@strawberry.type
class Tick:
    """One event."""

    cursor: str
    value: int
    text: str = ""

    @strawberry.field
    async def late(self, info: Info) -> str:
        await info.context.release.wait()
        return "released"


@strawberry.type
class Subscription:
    """Events."""

    @strawberry.subscription
    async def ticks(self, info: Info, after: str | None = None, count: int = 3) -> AsyncGenerator[Tick, None]:
        info.context.opened += 1
        first = int(after.removeprefix("c")) + 1 if after else 0
        try:
            for number in range(first, first + count):
                yield Tick(cursor=f"c{number}", value=number)
        finally:
            info.context.closed += 1

    @strawberry.subscription
    async def queue(self, info: Info) -> AsyncGenerator[Tick, None]:
        info.context.opened += 1
        try:
            while (value := await info.context.source.get()) is not None:
                yield Tick(cursor=f"c{value}", value=value)
        finally:
            info.context.closed += 1

    @strawberry.subscription
    async def flood(self, info: Info, size: int = 10_000) -> AsyncGenerator[Tick, None]:
        info.context.opened += 1
        number = 0
        try:
            while True:
                yield Tick(cursor=f"c{number}", value=number, text="x" * size)
                number += 1
                await asyncio.sleep(0)
        finally:
            info.context.closed += 1

    @strawberry.subscription
    async def log(
        self, info: Info, after: str | None = None, snapshot: bool = False, name: str = ""
    ) -> AsyncGenerator[Tick, None]:
        if name == "refused":
            raise UserFacingError("There is no such log.", code="UNKNOWN_LOG")
        context = info.context
        place = context.log.count if after is None else int(after.removeprefix("c"))
        context.opened += 1
        try:
            if snapshot:
                yield Tick(cursor=f"c{place}", value=place, text="snapshot")
            async with aclosing(context.log.read(place)) as numbers:
                async for number in numbers:
                    yield Tick(cursor=f"c{number}", value=number, text=name)
        finally:
            context.closed += 1

    @strawberry.subscription
    async def broken(self) -> AsyncGenerator[Tick, None]:
        yield Tick(cursor="c0", value=0)
        raise ValueError("the password is hunter2")


def sample_schema(limits: Limits | None = None) -> GuardedSchema:
    """The sample schema under `limits`."""
    return build_schema(Query, Mutation, Subscription, limits=limits)


@dataclass
class Sample:
    """An application with the sample schema, and what a test needs to look inside."""

    app: Starlette
    context: SampleContext
    streams: OpenStreams
    schema: GuardedSchema


def sample_app(limits: Limits | None = None, **options: Any) -> Sample:
    """An application that serves the sample schema; `options` are those of `graphql_routes`."""
    context = SampleContext()
    schema = sample_schema(limits)
    streams = OpenStreams(schema.limits)

    async def get_context(connection: HTTPConnection) -> SampleContext:
        authorization = connection.headers.get("authorization")
        if authorization == "wrong":
            raise UserFacingError("The token is unknown.", code="UNAUTHENTICATED", http_status=401)
        if authorization == "early":
            raise UserFacingError("The server is starting.", code="STARTING", http_status=503)
        if authorization == "crash":
            raise RuntimeError("the password is hunter2")
        return context

    routes = graphql_routes(Engine(schema), get_context, streams=streams, **options)
    return Sample(Starlette(routes=routes), context, streams, schema)
