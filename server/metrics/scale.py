"""``/scale``: how many nodes the queue wants now, for autoscalers (KEDA's ``metrics-api``, scripts)."""

from collections.abc import Collection
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ...jobs.core.model import Isolation
from ...jobs.core.nodes import LIVE_NODES, nodes_wanted
from ...jobs.store.read.figures.cluster import ClusterFigures
from .page import Gate, Metrics, metrics_route, open_to_all

_PARAMETERS: Final = frozenset({"group", "job", "slots"})
MOST_SLOTS: Final = 10_000


def figures_routes(metrics: Metrics, gate: Gate = open_to_all) -> list[Route]:
    """Return the routes ``/metrics`` and ``/scale``, for those whom the gate lets pass."""
    return [metrics_route(metrics, gate), _scale_route(metrics, gate)]


def _scale_route(metrics: Metrics, gate: Gate) -> Route:

    async def page(request: Request) -> Response:
        refused = await gate(request)
        if refused is not None:
            return refused
        query = request.query_params
        fault = next((f"there is no parameter '{name}'" for name in query if name not in _PARAMETERS), None)
        slots = query.get("slots")
        if slots is not None and not (slots.isascii() and slots.isdigit() and 1 <= int(slots[:9]) <= MOST_SLOTS):
            fault = f"slots: must be a number from 1 to {MOST_SLOTS}, got {slots!r:.40}"
        if fault is not None:
            return JSONResponse({"error": f"{fault}; known are: {', '.join(sorted(_PARAMETERS))}"}, 400)
        figures = await metrics.figures()
        if figures is None:
            return JSONResponse({"error": "the figures of the cluster cannot be read; see the log"}, 503)
        document = scale(figures, query.getlist("group"), query.getlist("job"), None if slots is None else int(slots))
        return JSONResponse(document, headers={"Cache-Control": "no-store"})

    return Route("/scale", page, methods=["GET"])


def scale(
    figures: ClusterFigures, groups: Collection[str] = (), jobs: Collection[str] = (), slots: int | None = None
) -> dict[str, int]:
    """Return what nodes are wanted for.

    Args:
        figures: Of the cluster.
        groups: Only runs of these; empty = of all.
        jobs: Likewise.
        slots: Of a node, for all kinds of jobs; None = as the largest live node has them.
    """
    demand = [
        one for one in figures.demand if one.group in (groups or (one.group,)) and one.job in (jobs or (one.job,))
    ]
    taken: dict[Isolation, int] = {}
    for one in demand:
        taken[one.isolation] = taken.get(one.isolation, 0) + one.wanted_slots
    room = {Isolation.ASYNC: slots} if slots is not None else figures.room
    # Nobody knows yet how large a node is: the first one says it.
    wanted = nodes_wanted(taken, room) if room else int(any(taken.values()))
    return {
        "wanted": wanted,
        "running": sum(one.running for one in demand),
        "waiting": sum(one.startable for one in demand),
        "slots": sum(taken.values()),
        "nodes": sum(count for state, count in figures.nodes.items() if state in LIVE_NODES),
    }
