"""The client for code on an event loop: the same as ``Client``, to be awaited."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Self, TypeVar, cast, overload

import httpx

from . import queries
from .base.errors import ClientError
from .connection.transport import Settings, chosen_url
from .methods import Operations
from .operation import Operation, custom, next_page, pauses
from .records import Run
from .results import Page
from .subscription import Follower, Reconnect, Subscription, custom_subscription

T = TypeVar("T")


class AsyncClient(Operations):
    """Speaks to a server; close it, or use it in an ``async with`` block. It belongs to one event loop.

    Every method raises a ``ClientError`` when something goes wrong. Methods that yield make lost connections again and
    go on where they were; wrap them in ``contextlib.aclosing`` to leave them early.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        silence: float = 40.0,
        reconnect: Reconnect | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Connect on the first request.

        Args:
            url: The address of the server, without ``/graphql``; unless given ``CRONOGRAPH_URL``, or else
                ``http://localhost:8000``.
            token: An API token; unless given ``CRONOGRAPH_TOKEN``, or else the sign-in of ``cronograph login``.
            headers: Further headers of every request.
            timeout: Seconds that an answer may take.
            silence: Seconds without a byte after which a stream counts as lost.
            reconnect: How lost streams are made again.
            transport: The carrier of the requests; TCP unless given.

        Raises:
            InvalidAddressError: ``url`` is none.
        """
        self._settings = Settings(
            url=chosen_url(url), token=token, headers=headers or {}, timeout=timeout, silence=silence
        )
        self._address = self._settings.address
        self._reconnect = reconnect or Reconnect()
        self._http = httpx.AsyncClient(**self._settings.options(), transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    @overload
    async def execute(
        self, document: str, variables: Mapping[str, object] | None = None, operation_name: str | None = None
    ) -> dict[str, Any]: ...
    @overload
    async def execute(
        self,
        document: str,
        variables: Mapping[str, object] | None = None,
        operation_name: str | None = None,
        *,
        result: type[T],
    ) -> T: ...
    async def execute(
        self,
        document: str,
        variables: Mapping[str, object] | None = None,
        operation_name: str | None = None,
        *,
        result: type[Any] = dict[str, Any],
    ) -> Any:
        """Run a query or mutation of one's own.

        Args:
            document: The GraphQL text.
            variables: Their values; times may be ``datetime``.
            operation_name: Which operation of the document, if it has several.
            result: The type that ``data`` is read into, e.g. a dataclass or TypedDict; a plain dict unless given.
        """
        return await self.run_operation(custom(document, variables, operation_name, result))

    def subscribe(
        self,
        document: str,
        variables: Mapping[str, object] | None = None,
        operation_name: str | None = None,
        *,
        resume: tuple[str, str] | None = None,
    ) -> AsyncGenerator[dict[str, Any]]:
        """Follow a subscription of one's own; yields ``data`` of each answer.

        Args:
            document: The GraphQL text.
            variables: Their values.
            operation_name: Which operation of the document, if it has several.
            resume: After a lost connection, which variable takes which field of the last answer, e.g.
                ``("after", "events.cursor")``; unless given, the subscription just starts again.
        """
        return self.follow(custom_subscription(document, variables, operation_name, resume))

    async def run_operation(self, operation: Operation[T]) -> T:
        """Run an operation made by the functions of ``queries`` and ``mutations``."""
        with self._settings.named_errors():
            response = await self._http.post(self._address, json=operation.body())
            if operation.is_unknown(response.json, response.text):
                response = await self._http.post(self._address, json=operation.body(whole=True))
        return operation.answer(response.status_code, response.json, response.text)

    async def wait(self, run: Run | int, timeout: float | None = None) -> Run:
        """Wait until a run has ended, however it ended: see its ``state``, ``result`` and ``error``.

        Args:
            run: The run, or its id.
            timeout: Seconds; None = as long as it takes.

        Raises:
            TimeoutError: it has not ended by then; it goes on.
            LookupError: there is no such run (any more).
        """
        key = run if isinstance(run, int) else run.id
        looks = pauses(str(key), timeout)
        while True:
            found = await self.run_operation(queries.run(key))
            if found is None:
                raise LookupError(f"run {key} does not exist: was it pruned?")
            if found.finished_at is not None:
                return found
            await asyncio.sleep(next(looks))

    async def every(self, operation: Operation[Page[T]]) -> AsyncGenerator[T]:
        """Yield all rows of a list, page by page: ``client.every(queries.tasks(first=200))``."""
        page = await self.run_operation(operation)
        for row in page:
            yield row
        while page.has_next_page:
            operation = next_page(operation, page)
            page = await self.run_operation(operation)
            for row in page:
                yield row

    async def follow(self, subscription: Subscription[T]) -> AsyncGenerator[T]:
        """Follow a subscription made by the functions of ``subscriptions``."""
        follower = Follower(subscription, self._reconnect)
        while not follower.finished:
            try:
                async with aclosing(self._connection(follower)) as results:
                    async for result in results:
                        yield result
            except ClientError as error:
                await asyncio.sleep(follower.lost(error))

    async def _connection(self, follower: Follower[T]) -> AsyncGenerator[T]:
        """Yield the events of one connection, until it is lost."""
        question = follower.question()
        if question is not None:
            follower.begin_at(await self.run_operation(question))
        with self._settings.named_errors():
            request = self._http.build_request(
                "POST", self._address, json=follower.body(), **self._settings.stream_options()
            )
            response = await self._http.send(request, stream=True)
        try:
            if not follower.opened(response.status_code, response.headers.get("content-type", "")):
                with self._settings.named_errors():
                    await response.aread()
                follower.refused(response.status_code, response.json, response.text)
            # httpx makes an async generator but does not say so; it must be closed before the response.
            async with aclosing(cast("AsyncGenerator[bytes]", response.aiter_bytes())) as chunks:
                while not follower.finished:
                    with self._settings.named_errors():
                        chunk = await anext(chunks, None)
                    if chunk is None:
                        raise follower.ended()
                    for result in follower.receive(chunk):
                        yield result
        finally:
            await response.aclose()
