"""A port of their own for ``/metrics`` and ``/health/*``: for networks in which only monitoring reaches it.

It is there in addition to the API, or instead of it where a process only works.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing

from starlette.applications import Starlette
from starlette.middleware import Middleware

from ..configuration.settings import Settings
from ..metrics.page import Metrics, figures_routes
from ..process.lifecycle import Lifecycle
from .bind import AddressInUseError, CannotListenError, Listener, listen
from .security import SecurityHeaders, health_routes
from .server import HttpServer

log = logging.getLogger("cronograph")

DEFAULT_PORT = 8001
"""Of a process that has no other, unless the setting ``metrics_port`` names one."""

MESSAGE_BYTES = 1024
"""Nobody sends messages there."""


@asynccontextmanager
async def side_port(
    settings: Settings, lifecycle: Lifecycle, dispatching: Callable[[], bool], metrics: Metrics
) -> AsyncGenerator[None]:
    """Serve there while the block runs, if the setting ``metrics_port`` names one.

    Raises:
        CannotListenError: it cannot be listened on.
    """
    if settings.metrics_port is None:
        yield
        return
    app = side_app(settings, lifecycle, dispatching, metrics)
    with closing(side_listener(settings.metrics_host, settings.metrics_port)) as listener:
        http = HttpServer(app, message_bytes=MESSAGE_BYTES)
        serving = asyncio.create_task(http.serve(list(listener.sockets)), name="cronograph-side-port")
        log.info("metrics and health: %s/metrics", listener.url)
        try:
            yield
        finally:
            http.finish()
            await serving


def side_app(settings: Settings, lifecycle: Lifecycle, dispatching: Callable[[], bool], metrics: Metrics) -> Starlette:
    """Return the application of the side port; no ``/metrics`` if the setting ``metrics`` is off."""
    routes = health_routes(lifecycle, dispatching)
    if settings.metrics != "off":
        routes += figures_routes(metrics)
    return Starlette(routes=routes, middleware=[Middleware(SecurityHeaders)])


def side_listener(host: str, port: int) -> Listener:
    """Listen there.

    Raises:
        CannotListenError: names the settings.
    """
    try:
        return listen(host, port)
    except CannotListenError as error:
        what = f"metrics_port and metrics_host: {str(error).partition(';')[0]}; choose others"
        kind = AddressInUseError if isinstance(error, AddressInUseError) else CannotListenError
        raise kind(what) from None
