"""``/metrics``: everything that this process sends to a monitoring system, for those who may read it."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from .cluster import Cluster
from .node import NodeParts, node_text
from .process import ProcessMetrics
from .text import CONTENT_TYPE

Gate: TypeAlias = Callable[[Request], Awaitable[Response | None]]
"""Answers in the place of the metrics who may not read them; None lets pass."""


async def open_to_all(_request: Request) -> Response | None:
    """The gate where everybody who reaches the port may read."""
    return None


class Metrics:
    """The metrics of this process."""

    def __init__(self, node: NodeParts, cluster: Cluster) -> None:
        self._node = node
        self._cluster = cluster
        self._process = ProcessMetrics()

    async def text(self) -> str:
        """All of them, in the text format of Prometheus."""
        cluster, process = await self._cluster.text(), await self._process.text()
        return f"{node_text(self._node)}{cluster}{process}"

    async def close(self) -> None:
        """Read no more."""
        await self._cluster.close()


def metrics_route(metrics: Metrics, gate: Gate = open_to_all) -> Route:
    """The route ``/metrics``."""

    async def page(request: Request) -> Response:
        refused = await gate(request)
        if refused is not None:
            return refused
        text = await metrics.text()
        return PlainTextResponse(text, headers={"Cache-Control": "no-store"}, media_type=CONTENT_TYPE)

    return Route("/metrics", page, methods=["GET"])
