"""The web application: the only place that knows all parts."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...graphql.app import graphql_routes
from ...graphql.base.errors import UserFacingError
from ...graphql.execution.schema_factory import GuardedSchema
from ...graphql.guard.admission import Admission, Reads, address_of
from ...graphql.guard.searches import Searches, SearchLane, bounds_of
from ...graphql.resolving.context import LOCAL_ADMINISTRATOR, Context, Person
from ...graphql.transport.body import TrustedDocuments
from ...graphql.transport.engine import Engine, Refused, unrecorded
from ...graphql.transport.gateway import unwatched
from ...graphql.transport.sharing import SHARED
from ...graphql.transport.streams import OpenStreams
from ...jobs.accounts.rules.secrets import KeySource, no_keys
from ...jobs.base.services import Services
from ...jobs.core.actor import Role
from ...jobs.runtime.base.wakeup import Wakeup
from ...jobs.runtime.live.feeds import LiveFeeds
from ...jobs.runtime.live.replica import Replica
from ...jobs.store.db.database import Database
from ..auth.host_sign_in import UNKNOWN, HostSignIn, Who
from ..auth.sign_in import SignIn
from ..auth.signing import person_of
from ..metrics.node import CountRequests, RequestCounts
from ..metrics.page import Gate, Metrics, figures_routes, open_to_all
from ..process.engine_thread import EngineThread
from ..process.lifecycle import Lifecycle, Phase
from .addresses import address_routes
from .forwarded import ForwardedHeaders, Network, OnlyOverTls
from .hooks import hook_routes
from .pages import Site, static_routes
from .remote import remote_routes
from .security import KnownHost, SecurityHeaders, health_routes
from .signals import signal_routes

BEFORE_TABLES = frozenset({Phase.STARTING, Phase.MIGRATING})
"""Phases in which the database may lack tables, so that no operation can be answered."""

STARTING = "The server is starting and brings its database up to date; try again in a moment."


@dataclass(frozen=True, slots=True)
class Parts:
    """Hold the parts of the application.

    Attributes:
        schema: The GraphQL schema.
        database: Read and written by it.
        costly: The same database for operations that cost much, so that these leave connections to the others.
        searched: The same database for rows that no index finds: one connection, with bounds.
        of_engine: The same database as the engine reads and writes it.
        engine: Runs the jobs, in an event loop of its own.
        wakeup: Notifies both event loops of commits.
        feeds: The live events and log lines, for the subscriptions.
        lifecycle: The phase of the process, for ``/health``.
        streams: The open WebSockets and event streams; ended at shutdown.
        hosts: Names that the ``Host`` header of a request may have.
        proxies: Networks of proxies that end TLS.
        site: The built dashboard.
        sign_in: Knows who asks; None = everybody is the local administrator.
        keys: Those that secrets are encrypted with.
        who: Says who asks, instead of ``sign_in``; whom it does not know may see nothing.
        origins: Whose pages may call besides our own, where there is no ``sign_in``.
        trusted: The GraphQL documents known from the start, and whether only these run.
        requests: Counts requests and operations.
        metrics: Makes the text of ``/metrics``; None = there is no such page.
        opens_metrics: Whether everybody who reaches this port may read that.
        brand: The name at the head of the pages on which people without an account answer.
        refused: Called for operations that were refused for want of a role.
        public_url: Where people reach the server, as far as that is known.
        remote_lease: Seconds for which code at an engine may be silent.
        replica: A standby that answers queries; None = there is none.
    """

    schema: GuardedSchema
    database: Database
    costly: Database
    searched: Database
    of_engine: Database
    engine: EngineThread
    wakeup: Wakeup
    feeds: LiveFeeds
    lifecycle: Lifecycle
    streams: OpenStreams
    hosts: frozenset[str]
    site: Site
    sign_in: SignIn | None = None
    keys: KeySource = no_keys
    proxies: tuple[Network, ...] = ()
    trusted: TrustedDocuments | None = None
    who: Who | None = None
    origins: Collection[str] = ()
    requests: RequestCounts = field(default_factory=RequestCounts)
    metrics: Metrics | None = None
    opens_metrics: bool = False
    brand: str = "Cronograph"
    trace_link: str | None = None
    refused: Refused = unrecorded
    public_url: str | None = None
    remote_lease: float = 180.0
    replica: Replica | None = None

    @property
    def services(self) -> Services:
        """The database of the API and the keys of secrets, for code at engines."""
        return Services(self.database, keys=self.keys, public_url=self.public_url)

    @property
    def host(self) -> HostSignIn | None:
        """The sign-in of the application that has mounted us; None where it is ours."""
        return None if self.who is None else HostSignIn(self.who)

    def context(self, who: Person) -> Context:
        """Return the context of an operation that this person asks for."""
        return Context(
            self.database,
            self.feeds.bus,
            self.feeds.log_feed,
            who,
            keys=self.keys,
            overviews=self.feeds.overviews,
            trace_link=self.trace_link,
            replica=self.replica,
        )


def _middleware(parts: Parts) -> list[Middleware]:
    """Return the middleware that every request passes, the outermost first."""
    inner = [
        Middleware(ReadToTheEnd),
        Middleware(CountRequests, counts=parts.requests),
        Middleware(SecurityHeaders, own_host=parts.host is None),
        Middleware(KnownHost, hosts=parts.hosts),
    ]
    if not parts.proxies:
        return inner
    return [Middleware(ForwardedHeaders, proxies=parts.proxies), Middleware(OnlyOverTls), *inner]


def client_of(found: Context, connection: HTTPConnection) -> str:
    """Return whose budget an operation uses: the account's, or without one, the network address's.

    Whom an application that has mounted us knows is known by the name: all of them may come by one proxy.
    """
    person = found.person
    if person is LOCAL_ADMINISTRATOR:
        return address_of(found, connection)
    return person.key


def _asked_by(parts: Parts) -> Callable[[HTTPConnection], Awaitable[Person]]:
    """Return a function that finds out who asks."""
    sign_in, who = parts.sign_in, parts.who

    async def signed_in(connection: HTTPConnection) -> Person:
        if sign_in is None:
            return LOCAL_ADMINISTRATOR
        return person_of(connection, await sign_in.authenticator.required(connection))

    async def known(connection: HTTPConnection) -> Person:
        found = None if who is None else await who(connection)
        if found is None:
            raise UserFacingError(UNKNOWN, code="UNAUTHENTICATED", http_status=401)
        return found

    return signed_in if who is None else known


def _gate(parts: Parts) -> Callable[[Request], Awaitable[Response | None]]:
    """Let signed-in people see the pages; before there are tables the pages themselves say that the server starts."""
    sign_in, host = parts.sign_in, parts.host

    async def gate(request: Request) -> Response | None:
        if host is not None:
            return await host.gate(request)
        if sign_in is None or parts.lifecycle.phase in BEFORE_TABLES:
            return None
        return await sign_in.pages.gate(request)

    return gate


def _metrics_gate(parts: Parts) -> Gate:
    """Let holders of a token read the metrics; before there are tables nobody can be known."""
    person = _asked_by(parts)

    async def gate(request: Request) -> Response | None:
        if parts.lifecycle.phase in BEFORE_TABLES:
            return PlainTextResponse(f"{STARTING}\n", 503)
        try:
            await person(request)
        except UserFacingError as error:
            headers = {"Cache-Control": "no-store"}
            if error.http_status == 401:
                headers["WWW-Authenticate"] = 'Bearer realm="cronograph"'
            return PlainTextResponse(f"{error.message}\n", error.http_status or 403, headers)
        return None

    return open_to_all if parts.opens_metrics else gate


def _reading(parts: Parts) -> Callable[[Context, Reads], Context]:
    """Return a function that chooses the connections of an operation."""
    bounds = bounds_of(parts.schema.limits)
    searched = parts.searched if parts.replica is None else parts.replica.helping(parts.searched, bounds)
    searching = SearchLane(searched, parts.schema.limits)

    def reading(found: Context, reads: Reads) -> Context:
        database = parts.costly if reads.costly else parts.database
        if parts.replica is not None and not reads.writes:
            database = parts.replica.helping(database)
        searches = Searches(searching, reads.client, reads.cost) if reads.client else None
        return found.with_database(database.with_deadline(reads.deadline).with_retry(reads.retry_seconds), searches)

    return reading


def build_app(parts: Parts) -> Starlette:
    """Return the application: health, GraphQL, and the dashboard for every other path."""
    sign_in, host = parts.sign_in, parts.host
    person = _asked_by(parts)
    watch = unwatched if host is None else host.watching

    async def context(connection: HTTPConnection) -> Context:
        if parts.lifecycle.phase in BEFORE_TABLES:
            raise UserFacingError(STARTING, code="STARTING", http_status=503)
        who = await person(connection)
        return parts.context(who)

    def may_write(found: Context) -> bool:
        return found.person.role is not Role.VIEWER

    admission = Admission(parts.schema.limits, _reading(parts), client_of, may_write, parts.requests.executed)
    api = graphql_routes(
        Engine(parts.schema, parts.refused),
        context,
        streams=parts.streams,
        allowed_hosts=parts.hosts,
        trusted=parts.trusted,
        share=SHARED,
        allowed_origins=parts.origins if sign_in is None else {sign_in.origin},
        watch=watch if sign_in is None else sign_in.watch.watching,
        admission=admission,
    )
    app = Starlette(
        routes=[
            *health_routes(parts.lifecycle, lambda: parts.engine.ready),
            *([] if parts.metrics is None else figures_routes(parts.metrics, _metrics_gate(parts))),
            *api,
            *([] if sign_in is None else sign_in.routes()),
            *address_routes(parts.database, parts.lifecycle, admission),
            *hook_routes(parts.database, parts.lifecycle, parts.keys, admission),
            *signal_routes(parts.database, parts.lifecycle, parts.brand),
            *remote_routes(parts.services, parts.lifecycle, parts.remote_lease),
            *([] if host is None else host.routes()),
            *static_routes(parts.site, _gate(parts)),
        ],
        middleware=_middleware(parts),
    )
    app.router.redirect_slashes = False
    return app


SHORT: Final = 64 * 1024
"""Bytes of a body that are read before the answer is sent, so that the connection can be used again."""
LONGEST: Final = 30.0
"""Seconds for which the rest of a body is read."""
IDLE: Final = 5.0
"""Seconds between two parts of it."""


class ReadToTheEnd:
    """Reads request bodies to the end where its application does not: a client that still sends sees the answer.

    A connection that is closed while something of it is unread is reset, and a reset takes away an answer that has not
    been read yet (RFC 9112, 9.6). So a refusal of a large body would look like a broken server.

    Args:
        longest: Seconds for which the rest of a body is read after the answer.
        idle: Seconds after which nothing more is expected.
    """

    def __init__(self, app: ASGIApp, longest: float = LONGEST, idle: float = IDLE) -> None:
        self._app = app
        self._longest = longest
        self._idle = idle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        body = _Body(receive, Headers(scope=scope), self._longest, self._idle)

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                if not body.read and body.is_short:
                    await body.read_rest()
                if not body.read:
                    MutableHeaders(scope=message)["connection"] = "close"
                await send(message)
            elif body.read or message.get("more_body", False):
                await send(message)
            else:
                # The client has the whole answer by its length, and the connection stays open for it.
                await send({**message, "more_body": True})
                await body.read_rest()
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self._app(scope, body.receive, answer)


class _Body:
    """The body of one request.

    Attributes:
        read: Whether nothing of it is left.
        is_short: Whether its rest comes at once.
    """

    def __init__(self, receive: Receive, headers: Headers, longest: float, idle: float) -> None:
        self._receive = receive
        self._longest = longest
        self._idle = idle
        length = headers.get("content-length", "")
        chunked = "transfer-encoding" in headers
        self.read = not chunked and length in ("", "0")
        # Who waits for "100 Continue" sends nothing unless asked.
        self.is_short = not chunked and "expect" not in headers and length.isdecimal() and int(length[:9]) <= SHORT

    async def receive(self) -> Message:
        """Return the next part."""
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self.read = True
        return message

    async def read_rest(self) -> None:
        """Read the rest of the body, within bounds."""
        clock = asyncio.get_running_loop().time
        end = clock() + self._longest
        with suppress(TimeoutError):
            while not self.read and clock() < end:
                async with asyncio.timeout(self._idle):
                    await self.receive()
