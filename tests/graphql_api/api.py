"""The API as a client in this process sees it: documents in, plain data out."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from sqlalchemy import Engine, event
from strawberry.types import ExecutionResult

from cronograph.graphql.base.raised import RAISED
from cronograph.graphql.execution.schema_factory import GuardedSchema
from cronograph.graphql.resolving.context import Context
from cronograph.jobs.runtime.live.bus import EventBus
from cronograph.jobs.runtime.live.feeds import LogFeed
from cronograph.jobs.store.db.database import Database
from tests.support.storage import Stored


class Api:
    """Executes documents against a database whose contents and clock the test sets through `stored`."""

    def __init__(
        self, schema: GuardedSchema, stored: Stored, database: Database, bus: EventBus, log_feed: LogFeed
    ) -> None:
        self.schema = schema
        self.stored = stored
        self.database = database
        self.bus = bus
        self.log_feed = log_feed

    def context(self) -> Context:
        """A fresh context, as for each operation."""
        return Context(self.database, self.bus, self.log_feed)

    async def execute(self, document: str, **variables: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Data and errors."""
        result = await self.schema.execute(document, variable_values=variables, context_value=self.context())
        assert isinstance(result, ExecutionResult)
        data: dict[str, Any] = result.data or {}
        for name in RAISED.keys() & data.keys():
            payload: dict[str, Any] = data[name] or {}
            errors: list[dict[str, str]] = payload.get("errors", [])
            known = {None, *RAISED[name]}
            assert all(error.get("code") in known for error in errors), f"{name} gives more codes than it says"
        return result.data or {}, [dict(error.formatted) for error in result.errors or []]

    async def ask(self, document: str, **variables: Any) -> dict[str, Any]:
        """The data of an operation that meets no error."""
        data, errors = await self.execute(document, **variables)
        assert errors == [], errors
        return data

    async def refused(self, document: str, **variables: Any) -> tuple[str, str]:
        """Code and message of the only error of an operation."""
        _, errors = await self.execute(document, **variables)
        (error,) = errors
        return error.get("extensions", {}).get("code", ""), error["message"]

    @asynccontextmanager
    async def subscribed(self, document: str, **variables: Any) -> AsyncGenerator[AsyncGenerator[Any, None], None]:
        """The results of a subscription; it is closed at the end of the block."""
        source = await self.schema.subscribe(document, variable_values=variables, context_value=self.context())
        assert isinstance(source, AsyncGenerator), source
        try:
            yield source
        finally:
            await source.aclose()

    def publish(self) -> None:
        """Let the bus and the log feed see what was written past this API's own connections."""
        self.bus.poke()
        self.log_feed.poke()


@contextmanager
def counted_statements() -> Generator[list[str], None, None]:
    """The statements that any engine of this process sends within the block, tables without their schema."""
    sent: list[str] = []

    def note(_conn: object, _cursor: object, statement: str, *_rest: object) -> None:
        sent.append(statement.replace("cronograph.", "").replace("main.", ""))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(Engine, "before_cursor_execute", note)


async def next_of(source: AsyncGenerator[Any, None]) -> dict[str, Any]:
    """The data of a subscription's next result."""
    result = await anext(source)
    assert result.errors is None
    assert result.data is not None
    data: dict[str, Any] = result.data
    return data


async def take(source: AsyncGenerator[Any, None], count: int, field: str = "events") -> list[dict[str, Any]]:
    """A field of the next results."""
    return [(await next_of(source))[field] for _ in range(count)]
