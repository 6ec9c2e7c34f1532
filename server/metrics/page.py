"""``/metrics`` and ``/scale``: figures of this process for monitoring systems and for autoscalers."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from typing import Final, TypeAlias

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ...jobs.core.counts import MOST_NAMES, OTHER
from ...jobs.core.model import Isolation
from ...jobs.core.nodes import LIVE_NODES, nodes_wanted
from ...jobs.core.states import RunState
from ...jobs.store.db.database import Database
from ...jobs.store.statements.figures import cluster
from ...jobs.store.statements.figures.cluster import ClusterFigures, GroupDepth
from .node import CONTENT_TYPE, Counters, Gauges, NodeParts, ProcessMetrics, node_text

log = logging.getLogger(__name__)

EVERY: Final = 15.0
"""Seconds for which the same figures are sent again."""
REST: Final = 60
"""Reading a very long queue takes a while: so many times as long it is not read again."""
PATIENCE: Final = 5.0
"""Seconds that somebody who asks waits for new figures."""

_DEPTH = Gauges("cronograph_queue_depth", "Unfinished runs by group and state.", "group", "state")
_OLDEST = Gauges("cronograph_queue_oldest_wait_seconds", "How long the longest waiting due run has waited.", "group")
_RUNS = Gauges("cronograph_runs", "Unfinished runs by state.", "state")
_SLOTS = Gauges(
    "cronograph_wanted_slots", "Slots that runs take, and would take if there were more, by group.", "group"
)
_STALLED = Gauges("cronograph_tasks_stalled", "Tasks that should have started and did not.")
_NODES = Gauges("cronograph_nodes", "Nodes by state; expired = found dead within the last hour.", "state")
_EVENTS = Gauges("cronograph_event_lag_seconds", "How long the oldest event waits to be published.")
_SIZE = Gauges("cronograph_database_size_bytes", "Size of the database.")
_TRANSACTION = Gauges("cronograph_database_oldest_transaction_seconds", "Age of the server's oldest transaction.")
_XMIN = Gauges("cronograph_database_xmin_age", "Transactions since the oldest one that keeps dead rows from going.")
_TABLE = Gauges("cronograph_table_size_bytes", "Size of a large table with its indexes (PostgreSQL).", "table")
_DEAD = Gauges("cronograph_table_dead_rows", "Dead rows of a large table, as the server estimates.", "table")
_LIVE = Gauges("cronograph_table_live_rows", "Live rows of a large table, as the server estimates.", "table")
_UP = Gauges("cronograph_database_up", "1 if the figures of the cluster could be read the last time.")
_AGE = Gauges("cronograph_cluster_figures_age_seconds", "Age of the figures of the cluster.")
_FAILED = Counters("cronograph_cluster_read_failures_total", "Times that the figures could not be read.")


class Cluster:
    """Reads the figures when they are asked for, at most every 15 seconds, once for all who ask."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._reading: asyncio.Task[None] | None = None
        self._read_at = 0.0
        self._next_at = clock()
        self._figures: ClusterFigures | None = None
        self._written = ""
        self._is_up = False
        self._failures = 0

    async def text(self) -> str:
        """Return the metrics; those of the database are left out while they cannot be read."""
        await self._look()
        own = [_UP.text([((), int(self._is_up))]), _FAILED.text([((), self._failures)])]
        if self._figures is None:
            return "".join(own)
        return "".join([self._written, *own, _AGE.text([((), round(self._clock() - self._read_at, 3))])])

    async def figures(self) -> ClusterFigures | None:
        """Return the figures; None while they cannot be read."""
        await self._look()
        return self._figures

    async def _look(self) -> None:
        if self._reading is None and self._clock() >= self._next_at:
            self._reading = asyncio.create_task(self._read(), name="cronograph-cluster-figures")
            self._reading.add_done_callback(self._has_read)
        if self._reading is not None:
            await asyncio.wait([self._reading], timeout=PATIENCE)

    def _has_read(self, _task: "asyncio.Task[None]") -> None:
        self._reading = None

    async def _read(self) -> None:
        began = self._clock()
        try:
            figures = await self._database.read(cluster.read, await self._database.server_time())
        except Exception as error:  # noqa: BLE001 - any fault that keeps them from being read is reported as that
            log.warning("the figures of the cluster cannot be read: %s", error)
            self._figures, self._is_up = None, False
            self._failures += 1
        else:
            self._figures, self._is_up, self._read_at = figures, True, self._clock()
            self._written = "".join(_written(figures))
        self._next_at = began + max(EVERY, REST * (self._clock() - began))

    async def close(self) -> None:
        """Read no more."""
        reading = self._reading
        if reading is not None:
            reading.cancel()
            await asyncio.wait([reading])


def _written(figures: ClusterFigures) -> Iterator[str]:
    groups = list(figures.groups.items())
    named, others = groups[:MOST_NAMES], [depth for _, depth in groups[MOST_NAMES:]]
    if others:
        named.append((OTHER, _together(others)))
    yield _DEPTH.text(((name, state.value), count) for name, depth in named for state, count in depth.states.items())
    yield _OLDEST.text(((name,), depth.oldest_wait) for name, depth in named)
    every = _together([depth for _, depth in groups])
    yield _RUNS.text(((state.value,), count) for state, count in every.states.items())
    slots: dict[tuple[str], int] = dict.fromkeys((((name,)) for name, _ in named), 0)
    for one in figures.demand:
        key = (one.group if (one.group,) in slots else OTHER,)
        slots[key] = slots.get(key, 0) + one.wanted_slots
    yield _SLOTS.text(slots.items())
    yield _STALLED.text([((), figures.stalled_tasks)])
    yield _NODES.text(((state.value,), count) for state, count in figures.nodes.items())
    yield _EVENTS.text([((), figures.event_lag)])
    yield _SIZE.text([((), figures.database_bytes)])
    if figures.oldest_transaction is not None:
        yield _TRANSACTION.text([((), figures.oldest_transaction)])
    if figures.xmin_age is not None:
        yield _XMIN.text([((), figures.xmin_age)])
    tables = (figures.tables or {}).items()
    if tables:
        yield _TABLE.text(((name,), one.bytes) for name, one in tables)
        yield _DEAD.text(((name,), one.dead) for name, one in tables)
        yield _LIVE.text(((name,), one.live) for name, one in tables)


def _together(depths: list[GroupDepth]) -> GroupDepth:
    states: dict[RunState, int] = {}
    for depth in depths:
        for state, count in depth.states.items():
            states[state] = states.get(state, 0) + count
    return GroupDepth(states, max((depth.oldest_wait for depth in depths), default=0.0))


Gate: TypeAlias = Callable[[Request], Awaitable[Response | None]]
"""Answers in the place of the metrics who may not read them; None lets pass."""


async def open_to_all(_request: Request) -> Response | None:
    """Return the gate where everybody who reaches the port may read."""
    return None


class Metrics:
    """The metrics of this process."""

    def __init__(self, node: NodeParts, cluster: Cluster) -> None:
        self._node = node
        self._cluster = cluster
        self._process = ProcessMetrics()

    async def text(self) -> str:
        """Return all of them, in the text format of Prometheus."""
        cluster, process = await self._cluster.text(), await self._process.text()
        return f"{node_text(self._node)}{cluster}{process}"

    async def figures(self) -> ClusterFigures | None:
        """Return the figures of the cluster; None while they cannot be read."""
        return await self._cluster.figures()

    async def close(self) -> None:
        """Read no more."""
        await self._cluster.close()


def metrics_route(metrics: Metrics, gate: Gate = open_to_all) -> Route:
    """Return the route ``/metrics``."""

    async def page(request: Request) -> Response:
        refused = await gate(request)
        if refused is not None:
            return refused
        text = await metrics.text()
        return PlainTextResponse(text, headers={"Cache-Control": "no-store"}, media_type=CONTENT_TYPE)

    return Route("/metrics", page, methods=["GET"])


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
    """Return the wanted number of nodes, and the figures from which it follows.

    Args:
        groups: Only runs of these; empty = of all.
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
