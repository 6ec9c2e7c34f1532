"""What all transports share: the engine, the checks before it, and the hooks of the application."""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from starlette.requests import HTTPConnection

from ..errors import UserFacingError
from ..guard.document import Prepared
from ..guard.limits import Limits
from .body import BodyReader
from .bounds import Bounds
from .engine import Engine
from .members import Encoded
from .persisted import PersistedDocuments
from .request import GraphQLRequest, as_object
from .sharing import SharedStreams
from .site import SitePolicy
from .streams import OpenStreams

GetContext = Callable[[HTTPConnection], Awaitable[Any]]
Watch = Callable[[Any, Callable[[UserFacingError], None]], AbstractContextManager[None]]
"""Watches the rights behind the context of a stream while a block runs; calls back once when they are lost."""


@contextmanager
def unwatched(_context: object, _lost: Callable[[UserFacingError], None]) -> Generator[None]:
    """For servers without sign-in: nobody loses anything."""
    yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """The parts a transport works with.

    Attributes:
        engine: prepares and runs operations.
        get_context: makes the context of one operation from its connection, and raises `UserFacingError` to refuse it
            (with `http_status`). For WebSockets it is called once at `connection_init`, where an error closes the
            socket, and again for every operation; the payload of `connection_init` is
        `connection.state.connection_params`. site: hosts and origins accepted.
        persisted: documents by hash.
        streams: the open streams.
        shared: runs subscriptions, those of equal subscribers once.
        watch: tells a stream when its reader has lost the right to it.
        bounds: who may execute now, and within what.
        bodies: reads the bodies of requests.
        resume_variable: the variable that `Last-Event-ID` sets when the operation declares it.
    """

    engine: Engine
    get_context: GetContext
    site: SitePolicy
    persisted: PersistedDocuments
    streams: OpenStreams
    shared: SharedStreams
    bounds: Bounds
    bodies: BodyReader
    watch: Watch = unwatched
    resume_variable: str = "after"

    @property
    def limits(self) -> Limits:
        """The limits in force."""
        return self.engine.limits

    def prepare(self, request: GraphQLRequest) -> Prepared:
        """Find the document of a request and check it.

        Raises:
            RequestRefused: it will not be executed.
        """
        resolved = self.persisted.resolve(request)
        prepared = self.engine.prepare(resolved)
        self.persisted.remember(resolved)
        return prepared

    async def execute(self, prepared: Prepared, context: Any, connection: HTTPConnection) -> dict[str, Any]:  # noqa: ANN401
        """Run a query or a mutation once the budget has room for it; the answer.

        Raises:
            UserFacingError: the server is busy, see `Budget.admitted`.
        """
        client = self.bounds.client_of(context, connection)
        async with self.bounds.admitted(client, prepared.measure.cost, context) as admitted:
            began = time.perf_counter()
            answer = await self.engine.execute(prepared, admitted)
            self.bounds.count(prepared, time.perf_counter() - began, failed="errors" in answer)
            return answer

    def stream(self, prepared: Prepared, context: Any, connection: HTTPConnection) -> AsyncGenerator[Encoded, None]:  # noqa: ANN401
        """The answers of a subscription, each made once the budget has room for it.

        Raises:
            RequestRefused: while iterating, see `SharedStreams.stream`.
        """
        bounds = self.bounds.of_events(self.bounds.client_of(context, connection), prepared.measure.cost)
        return self.shared.stream(prepared, self.bounds.of_source(context), bounds)


def cursor_of_answer(answer: Mapping[str, Any]) -> str | None:
    """The default `event_id`: the `cursor` of the answer's only root field, if it has one."""
    data = as_object(answer.get("data"))
    if data is None or len(data) != 1:
        return None
    (value,) = data.values()
    cursor = (as_object(value) or {}).get("cursor")
    return cursor if isinstance(cursor, str) else None
