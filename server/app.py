"""The web application: the only place that knows all parts."""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection

from ..graphql.app import graphql_routes
from ..graphql.context import LOCAL_ADMINISTRATOR, Context
from ..graphql.errors import UserFacingError
from ..graphql.schema_factory import GuardedSchema
from ..graphql.transport.shared_fields import SHARED
from ..graphql.transport.streams import OpenStreams
from ..jobs.runtime.live.feeds import LiveFeeds
from ..jobs.runtime.wakeup import Wakeup
from ..jobs.store.db.database import Database
from .engine_thread import EngineThread
from .health import health_routes
from .lifecycle import Lifecycle, Phase
from .pages import Site, static_routes
from .security import KnownHost, SecurityHeaders

BEFORE_TABLES = frozenset({Phase.STARTING, Phase.MIGRATING})
"""Phases in which the database may lack tables, so that no operation can be answered."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the application is made of.

    Attributes:
        schema: The GraphQL schema.
        database: Read and written by it.
        of_engine: The same database as the engine reads and writes it.
        engine: Runs the jobs, in an event loop of its own.
        wakeup: Tells both event loops of commits.
        feeds: The live events and log lines, for the subscriptions.
        lifecycle: The phase of the process, for ``/health``.
        streams: The open WebSockets and event streams; ended at shutdown.
        hosts: Names that the ``Host`` header of a request may have.
        site: The built dashboard.
        allow_list: GraphQL documents by SHA-256; when given, only these run.
    """

    schema: GuardedSchema
    database: Database
    of_engine: Database
    engine: EngineThread
    wakeup: Wakeup
    feeds: LiveFeeds
    lifecycle: Lifecycle
    streams: OpenStreams
    hosts: frozenset[str]
    site: Site
    allow_list: Mapping[str, str] | None = None


def build_app(parts: Parts) -> Starlette:
    """The application: health, GraphQL, and the dashboard for every other path."""

    async def context(_connection: HTTPConnection) -> Context:
        if parts.lifecycle.phase in BEFORE_TABLES:
            message = "The server is starting and brings its database up to date; try again in a moment."
            raise UserFacingError(message, code="STARTING", http_status=503)
        # Until sign-in is built, everybody on loopback is one local administrator.
        return Context(parts.database, parts.feeds.bus, parts.feeds.log_feed, LOCAL_ADMINISTRATOR)

    api = graphql_routes(
        parts.schema,
        context,
        streams=parts.streams,
        allowed_hosts=parts.hosts,
        allow_list=parts.allow_list,
        share=SHARED,
    )
    app = Starlette(
        routes=[
            *health_routes(parts.lifecycle, lambda: parts.engine.ready),
            *api,
            *static_routes(parts.site),
        ],
        middleware=[Middleware(SecurityHeaders), Middleware(KnownHost, hosts=parts.hosts)],
    )
    app.router.redirect_slashes = False
    return app
