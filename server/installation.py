"""All parts of a server in one process but its HTTP server: put together, started, and ended in order.

HTTP is served either by our own process (``service``) or by an application that mounts ``asgi`` (``embedding``).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette

from ..graphql.base.errors import UserFacingError, error_answer
from ..graphql.execution.schema_factory import GuardedSchema
from ..graphql.guard.document import RequestRefused
from ..graphql.guard.searches import bounds_of
from ..graphql.resolving import following
from ..graphql.resolving.context import LOCAL_ADMINISTRATOR, Context
from ..graphql.schema import shared_schema
from ..graphql.transport.body import TrustedDocuments
from ..graphql.transport.engine import Engine, Refused, unrecorded
from ..graphql.transport.request import GraphQLRequest
from ..graphql.transport.streams import OpenStreams
from ..jobs.base.services import Also, Followed, Services
from ..jobs.core.actor import Submitter
from ..jobs.core.base.errors import ConfigurationError, UserError
from ..jobs.core.counts import NodeCounts
from ..jobs.core.events import Event
from ..jobs.own.threads import in_own_thread
from ..jobs.registry import Registry
from ..jobs.registry.definition import CodeOfRegistry
from ..jobs.runtime.base.service import persistently
from ..jobs.runtime.base.settings import Clock, EngineSettings
from ..jobs.runtime.base.wakeup import Wakeup
from ..jobs.runtime.live.feeds import LiveFeeds
from ..jobs.runtime.live.replica import Replica
from ..jobs.store.db.database import Database
from .auth.forms import Refusals
from .auth.host_sign_in import Who
from .auth.sign_in import SignIn, person_behind
from .auth.signing import offer_setup
from .configuration.reading import own_documents, read_documents
from .configuration.secret_keys import key_source
from .configuration.settings import Settings
from .database.schema import migrate
from .http.app import Parts, build_app
from .http.forwarded import parse_networks
from .http.pages import FOLDER, Site
from .http.side_port import side_app
from .metrics.node import NodeParts, RequestCounts
from .metrics.page import Cluster, Metrics
from .preparation import choice_of, reached_from_here_only
from .process.engine_thread import EngineThread
from .process.lifecycle import Lifecycle, Phase
from .process.version import installed_version

log = logging.getLogger("cronograph")


@dataclass(slots=True)
class Installation:
    """The parts, made in the event loop that is to answer requests.

    Attributes:
        registry: The jobs it can run.
        url: The address under which people open it.
        hosts: Names that the ``Host`` header of a request may have.
        on_drained: See ``EngineThread``.
        clock: The clocks of this process.
        who: Says who asks, instead of our own sign-in.
        set_up_by_link: Whether a start without an administrator says by which link one is made.
        serves_api: Whether people and programs are answered; else only health and metrics are served.
        counts: The node's counters of its runs.
        metrics: The metrics of the node and the cluster.
        parts: Put together of these.
        asgi: The application that answers.
    """

    settings: Settings
    registry: Registry
    url: str
    hosts: Collection[str]
    on_drained: Callable[[], None]
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    clock: Clock = field(default_factory=Clock)
    who: Who | None = None
    set_up_by_link: bool = True
    serves_api: bool = True
    counts: NodeCounts = field(default_factory=NodeCounts, init=False)
    metrics: Metrics = field(init=False)
    parts: Parts = field(init=False)
    asgi: Starlette = field(init=False)
    _end_traces: Callable[[], None] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Put together."""
        if self.settings.traces != "off":
            self._end_traces = begin_traces(self.settings)
        lease = self.settings.remote_lease
        parts = self._parts()
        replica = self._replica(parts.database)
        parts = replace(parts, public_url=self._public_url(), remote_lease=lease, replica=replica)
        databases = parts.of_engine, parts.database, parts.costly, parts.searched
        node = node_parts(parts.engine, self.counts, parts.requests, databases, parts.streams, parts.replica)
        self.metrics = Metrics(node, Cluster(parts.database))
        if self.serves_api and self.settings.metrics != "off" and self.settings.metrics_port is None:
            parts = replace(parts, metrics=self.metrics, opens_metrics=self._opens_metrics())
        self.parts = parts
        if self.serves_api:
            self.asgi = build_app(self.parts)
        else:
            self.asgi = side_app(self.settings, self.lifecycle, lambda: parts.engine.ready, self.metrics)

    def _public_url(self) -> str | None:
        if not self.serves_api:
            return self.settings.public_url
        return self.url if self.set_up_by_link else None

    def _parts(self) -> Parts:
        """Make the parts of the server: all in this event loop, but for the engine."""
        settings = engine_settings(self.settings)
        schema, refusals = shared_schema(), Refusals()
        of_engine = Database(self.settings.database_url, known_code=CodeOfRegistry(self.registry))
        # Its own connections: what the API reads cannot use up those of the engine, nor the other way round.
        database = of_engine.separate_pool("api")
        wakeup = Wakeup(database)
        feeds = LiveFeeds(database, wakeup, poll=settings.poll_for(is_sqlite=database.is_sqlite))
        keys, open_to_all, who = key_source(self.settings), self.settings.no_auth, self.who
        signs_in = self.serves_api and not open_to_all and who is None
        sign_in = SignIn(database, self.url, self.hosts, self.settings.oidc) if signs_in else None

        async def context_of(submitter: Submitter | None, place: str | None) -> Context:
            person = LOCAL_ADMINISTRATOR if open_to_all else await person_behind(database, submitter)
            asks, link = replace(person, address=place), self.settings.trace_link
            return Context(database, feeds.bus, feeds.log_feed, asks, keys=keys, trace_link=link)

        api = OwnApi(schema, context_of, refusals)
        services = self._services(of_engine, api)
        engine = EngineThread(
            services,
            self.registry,
            settings,
            wakeup,
            api_database=database,
            on_drained=self.on_drained,
            clock=self.clock,
        )
        return Parts(
            schema=schema,
            database=database,
            costly=of_engine.separate_pool("api-costly"),
            searched=of_engine.separate_pool("api-search", bounds_of(schema.limits)),
            of_engine=of_engine,
            engine=engine,
            wakeup=wakeup,
            feeds=feeds,
            lifecycle=self.lifecycle,
            streams=OpenStreams(schema.limits),
            hosts=frozenset(self.hosts),
            proxies=parse_networks(self.settings.trusted_proxies),
            site=Site(),
            sign_in=sign_in,
            who=who,
            origins=() if who is None else {_origin(self.url)},
            keys=keys,
            trusted=self._trusted(),
            trace_link=self.settings.trace_link,
            brand=self.settings.brand,
            refused=refusals,
        )

    def _replica(self, database: Database) -> Replica | None:
        url = self.settings.read_database_url
        return None if url is None or not self.serves_api else Replica(url, database)

    def _services(self, database: Database, api: "OwnApi") -> Services:
        settings, keys = self.settings, key_source(self.settings)
        made = Services(database, api, api, settings.http_allow, keys, self.counts, self._public_url())
        return replace(made, apprise_schemes=settings.apprise_schemes, archive_url=settings.archive_url)

    def _count_faults(self, parts: Parts) -> None:
        watches = () if parts.sign_in is None else (parts.sign_in.watch,)
        replicas = () if parts.replica is None else (parts.replica,)
        for one in (parts.feeds.bus, parts.feeds.log_feed, *watches, *replicas):
            one.on_fault = self.counts.failed

    def _opens_metrics(self) -> bool:
        if self.settings.metrics != "auto":
            return self.settings.metrics == "open"
        return self.who is None and reached_from_here_only(self.settings)

    def _trusted(self) -> TrustedDocuments:
        path, own = self.settings.allowed_documents, own_documents(FOLDER)
        listed = {} if path is None else read_documents(path)
        only = path is not None or self.settings.trusted_documents == "only"
        if only:
            source = "" if path is None else f"the {len(listed)} of {path}, "
            own_programs = "the dashboard's, the command line's and the Python client's"
            log.info("only trusted documents run: %s%s", source, own_programs)
        return TrustedDocuments(own | listed, only)

    async def start(self, prepare: Callable[[Database], Awaitable[None]] | None = None) -> None:
        """Bring the database to the present schema, take over the runs of a dead process, and begin to work.

        Args:
            prepare: Called with the database once there are tables.

        Raises:
            StorageError: the database cannot be used.
        """
        parts = self.parts
        self._count_faults(parts)
        self.lifecycle.enter(Phase.MIGRATING)

        async def migrated() -> list[str]:
            return await in_own_thread(migrate, self.settings.database_url)

        # PostgreSQL may be restarting; a file is there or not.
        applied = await (migrated() if parts.database.is_sqlite else persistently(migrated))
        if applied:
            log.info("database schema brought to revision %s", applied[-1])
        self.lifecycle.enter(Phase.RECOVERING)
        parts.wakeup.start()
        if self.serves_api:
            parts.feeds.start()
        if parts.replica is not None:
            await parts.replica.check()
            parts.replica.start()
        if parts.sign_in is not None:
            parts.wakeup.subscribe(parts.sign_in.on_wake)
            parts.sign_in.watch.start()
        await parts.engine.start()
        if prepare is not None:
            await prepare(parts.database)
        if parts.sign_in is not None and self.set_up_by_link:
            await persistently(lambda: offer_setup(parts.database, self.url))
        self.lifecycle.enter(Phase.SERVING)

    async def _close_traces(self) -> None:
        if self._end_traces is not None:
            await in_own_thread(self._end_traces)

    async def end(self, close_http: Callable[[], Awaitable[None]]) -> None:
        """End in order: jobs first, while the server still answers; then readers, connections, and the database.

        A step that fails (the database is unavailable, say) does not keep the later ones from being taken.
        """
        self.lifecycle.enter(Phase.DRAINING)
        parts = self.parts
        engine, feeds = parts.engine, parts.feeds
        if engine.ready:
            words = "stopping: nothing new is taken, %d running jobs may finish; a second signal ends at once"
            log.info(words, engine.running)

        first_to_last = (
            engine.drain,
            parts.streams.shutdown,
            close_http,
            engine.stop,
            feeds.end,
            feeds.stop,
            parts.wakeup.stop,
            self.metrics.close,
            *(() if parts.replica is None else (parts.replica.stop, parts.replica.close)),
            parts.costly.close,
            parts.searched.close,
            parts.database.close,
            parts.of_engine.close,
            self._close_traces,
        )
        async with AsyncExitStack() as steps:
            # Callbacks run last in, first out.
            if parts.sign_in is not None:
                steps.callback(parts.sign_in.close)
                steps.callback(parts.wakeup.unsubscribe, parts.sign_in.on_wake)
                steps.push_async_callback(parts.sign_in.watch.stop)
            for step in reversed(first_to_last):
                steps.push_async_callback(step)


def begin_traces(settings: Settings) -> Callable[[], None]:
    """Send to the tracing system, and return the function that ends it.

    Raises:
        ConfigurationError: a package that tracing needs is not installed.
    """
    if find_spec("opentelemetry") is None:
        raise ConfigurationError("traces: needs OpenTelemetry; install it by pip install 'cronograph[traces]'")
    # Its libraries take a quarter of a second to import: nobody else pays for them.
    begin = import_module(".process.traces", __package__).begin
    end: Callable[[], None] = begin(settings.traces, settings.node_name, logs=settings.trace_logs)
    return end


def _origin(url: str) -> str:
    found = urlsplit(url)
    return f"{found.scheme}://{found.netloc}"


def engine_settings(settings: Settings) -> EngineSettings:
    """Return the part of the settings that concerns the engine."""
    names = [one.name for one in fields(EngineSettings) if one.name in Settings.model_fields]
    same = {name: getattr(settings, name) for name in names}
    return EngineSettings(**same, choice=choice_of(settings), version=installed_version())


def node_parts(
    engine: EngineThread,
    counts: NodeCounts,
    requests: RequestCounts,
    databases: Sequence[Database],
    streams: OpenStreams | None = None,
    replica: Replica | None = None,
) -> NodeParts:
    """Return the sources of a node's metrics; ``streams`` None: it has no API."""
    return NodeParts(
        counts,
        requests,
        databases,
        replica,
        name=lambda: engine.node_name,
        ready=lambda: engine.ready,
        slots=lambda: engine.slots,
        lag=lambda: engine.lag,
        streams=lambda: 0 if streams is None else len(streams),
    )


class OwnApi:
    """Runs operations of the schema; implements ``ApiCaller`` and ``Subscriptions`` of the jobs.

    Made in the event loop of the API, where the operations are executed; called from the loop of the jobs.

    Args:
        schema: The schema that is served.
        context_for: Makes the context of one operation for a submitter (None = the code of a job), with the rights that
            he has now, and for the place that the audit log names; raises ``UserFacingError`` when he has none any
            more.
        refused: Called for operations that were refused for want of a role.
    """

    def __init__(
        self,
        schema: GuardedSchema,
        context_for: Callable[[Submitter | None, str | None], Awaitable[Context]],
        refused: Refused = unrecorded,
    ) -> None:
        self._engine = Engine(schema, refused)
        self._context_for = context_for
        self._loop = asyncio.get_running_loop()

    async def call(
        self,
        query: str,
        *,
        variables: Mapping[str, Any] | None = None,
        operation_name: str | None = None,
        submitter: Submitter | None = None,
        run_id: int | None = None,
        also: Also | None = None,
    ) -> dict[str, Any]:
        """Execute ``query``; answers as GraphQL says it, also when the document is refused."""
        request = GraphQLRequest(query, dict(variables or {}), operation_name)
        place = None if run_id is None else f"run {run_id}"
        return await asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(self._answer(request, submitter, place, also), self._loop)
        )

    async def _answer(
        self, request: GraphQLRequest, submitter: Submitter | None, place: str | None, also: Also | None
    ) -> dict[str, Any]:
        try:
            prepared = self._engine.prepare(request)
        except RequestRefused as refused:
            return error_answer(refused.errors)
        if prepared.is_subscription:
            message = "A job can run a query or a mutation; a subscription has no end."
            return error_answer([UserFacingError(message, code="SUBSCRIPTION_REFUSED")])
        try:
            context = await self._context_for(submitter, place)
        except UserFacingError as refusal:
            return error_answer([refusal])
        context.also = also
        return await self._engine.execute(prepared, context)

    async def follow(
        self, document: str, variables: Mapping[str, Any], owner: Submitter | None, events: Sequence[Event], most: int
    ) -> Followed:
        """Execute a subscription for events of the log, with the rights of ``owner``, up to ``most`` results."""
        return await asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(self._follow(document, variables, owner, events, most), self._loop)
        )

    async def _follow(
        self, document: str, variables: Mapping[str, Any], owner: Submitter | None, events: Sequence[Event], most: int
    ) -> Followed:
        try:
            prepared = following.prepare(self._engine.schema, document, variables)
            context = await self._context_for(owner, None)
        except (UserError, UserFacingError) as refusal:
            return Followed([], None, None, refusal.message)
        async with asyncio.timeout(self._engine.limits.operation_seconds):
            return await following.follow(self._engine.schema, prepared, context, events, most)
