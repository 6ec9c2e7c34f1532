"""Share between all transports: the engine, the checks before it, and the hooks of the application."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from starlette.requests import HTTPConnection

from graphql import OperationType

from ...jobs.core.base.tracing import TRACED
from ...jobs.own.threads import briefly_in_thread
from ..base.errors import UserFacingError
from ..guard.admission import Admission, Admitted
from ..guard.document import Prepared
from ..guard.limits import Limits
from ..guard.metered import Meter
from .body import Body, BodyReader, PersistedDocuments
from .engine import Answer, Engine
from .request import GraphQLRequest, SitePolicy, as_object, decode, parse_json, parse_request
from .sharing import Encoded, SharedStreams
from .streams import OpenStreams

KEPT: Final = 4
"""Answers that are kept: the explorer and each kind of client asks in its own words, again and again in the same."""


class Introspections:
    """Answers operations that ask for the schema alone (``Prepared.is_introspection``).

    The schema as the explorer asks for it takes half a second of a processor. On the event loop nothing else would be
    answered meanwhile.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: OrderedDict[tuple[str, str | None], Answer] = OrderedDict()

    async def answer(self, prepared: Prepared, context: Any, meter: Meter) -> Answer:  # noqa: ANN401 - the schema's own type
        """Return the answer; the time of a new one is charged to its client as that of any other."""
        key = (prepared.document.text, prepared.operation_name)
        known = self._kept.pop(key, None)
        if known is None:
            began = meter.clock()
            known = await briefly_in_thread(self._made, prepared, context)
            meter.end(began)
            if "errors" in known.content:
                return known
        self._kept[key] = known
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return known

    def _made(self, prepared: Prepared, context: Any) -> Answer:  # noqa: ANN401
        content = asyncio.run(self._engine.execute(prepared, context))
        return Answer(content, self._engine.encode(content))


SHORT: Final = 16 * 1024
"""Bytes of a body that are parsed in well under a millisecond."""

GetContext = Callable[[HTTPConnection], Awaitable[Any]]
Watch = Callable[[Any, HTTPConnection, Callable[[UserFacingError], None]], AbstractContextManager[None]]
"""Watches the rights behind the context and the connection of a stream while a block runs; calls back once when they
are lost."""


@contextmanager
def unwatched(_context: object, _connection: object, _lost: Callable[[UserFacingError], None]) -> Generator[None]:
    """Watch nothing, for servers without sign-in: nobody can lose rights."""
    yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """The parts a transport works with.

    Attributes:
        engine: Prepares and runs operations.
        introspections: Answers those that ask for the schema alone.
        get_context: Makes the context of one operation from its connection, and raises ``UserFacingError`` to refuse it
            (with ``http_status``). For WebSockets it is called once at ``connection_init``, where an error closes the
            socket, and again for every operation; the payload of ``connection_init`` is
            ``connection.state.connection_params``.
        site: Hosts and origins accepted.
        persisted: Documents by hash.
        shared: Runs subscriptions, those of equal subscribers once.
        watch: Notifies a stream when its reader has lost the right to it.
        admission: Decides which operations run now and which wait.
        bodies: Reads the bodies of requests.
        resume_variable: The variable that ``Last-Event-ID`` sets when the operation declares it.
    """

    engine: Engine
    introspections: Introspections
    get_context: GetContext
    site: SitePolicy
    persisted: PersistedDocuments
    streams: OpenStreams
    shared: SharedStreams
    admission: Admission
    bodies: BodyReader
    watch: Watch = unwatched
    resume_variable: str = "after"

    @property
    def limits(self) -> Limits:
        """The limits in force."""
        return self.engine.limits

    async def parse(self, body: Body, context: Any, connection: HTTPConnection) -> GraphQLRequest:  # noqa: ANN401
        """Read a body as JSON; a long one once it is its client's turn.

        Raises:
            UserFacingError: see ``parse_json`` and ``parse_request``.
        """
        loop, client = self.admission.loop, self.admission.client_of(context, connection)
        if body.wide:
            # What is that long takes its time; others are answered meanwhile.
            return await briefly_in_thread(self._parsed, body)
        if len(body.content) <= SHORT:
            with loop.meter(client).measured():
                return self._parsed(body)
        async with loop.turn(client) as turn:
            with turn.meter.measured():
                return self._parsed(body)

    def _parsed(self, body: Body) -> GraphQLRequest:
        return parse_request(parse_json(decode(body.content), self.limits))

    async def prepare(self, request: GraphQLRequest, context: Any, connection: HTTPConnection) -> Prepared:  # noqa: ANN401
        """Find the document of a request and check it; one that is new once it is its client's turn.

        Raises:
            RequestRefused: it will not be executed.
        """
        loop, client = self.admission.loop, self.admission.client_of(context, connection)
        resolved = self.persisted.resolve(request)
        if self.engine.knows(resolved):
            with loop.meter(client).measured():
                return self._checked(resolved)
        async with loop.turn(client) as turn:
            with turn.meter.measured():
                return self._checked(resolved)

    def _checked(self, resolved: GraphQLRequest) -> Prepared:
        prepared = self.engine.prepare(resolved)
        self.persisted.remember(resolved)
        return prepared

    async def execute(self, prepared: Prepared, context: Any, connection: HTTPConnection) -> Answer:  # noqa: ANN401
        """Run a query or a mutation once the budget has room for it and its turn has come.

        Raises:
            UserFacingError: the server is busy, see ``Admission.admitted``.
        """
        client = self.admission.client_of(context, connection)
        writes = prepared.operation.operation is not OperationType.QUERY
        async with self.admission.admitted(client, prepared.measure.cost, context, writes=writes) as admitted:
            began = time.perf_counter()
            answer = await self._traced(prepared, admitted, connection)
            self.admission.count(prepared, time.perf_counter() - began, failed="errors" in answer.content)
            return answer

    async def _traced(self, prepared: Prepared, admitted: Admitted, connection: HTTPConnection) -> Answer:
        if TRACED.by is None:
            return await self._executed(prepared, admitted)
        kind, field = prepared.operation.operation.value, prepared.root_field
        with TRACED.by.operation(kind, field, prepared.operation_name, connection.headers) as span:
            answer = await self._executed(prepared, admitted)
            if "errors" in answer.content:
                span.failed()
            return answer

    async def _executed(self, prepared: Prepared, admitted: Admitted) -> Answer:
        if prepared.is_introspection:
            return await self.introspections.answer(prepared, admitted.context, admitted.meter)
        content = await self.engine.execute(prepared, admitted.context, admitted.meter)
        with admitted.meter.measured():
            return Answer(content, self.engine.encode(content))

    def stream(self, prepared: Prepared, context: Any, connection: HTTPConnection) -> AsyncGenerator[Encoded, None]:  # noqa: ANN401
        """Return the answers of a subscription, each made once the budget has room for it.

        Raises:
            RequestRefused: while iterating, see ``SharedStreams.stream``.
        """
        client = self.admission.client_of(context, connection)
        of_events = partial(self.admission.of_events, cost=prepared.measure.cost)
        return self.shared.stream(prepared, self.admission.of_source(context), client, of_events)


def cursor_of_answer(answer: Mapping[str, Any]) -> str | None:
    """Return the default ``event_id``: the ``cursor`` of the answer's only root field, if it has one."""
    data = as_object(answer.get("data"))
    if data is None or len(data) != 1:
        return None
    (value,) = data.values()
    cursor = (as_object(value) or {}).get("cursor")
    return cursor if isinstance(cursor, str) else None
