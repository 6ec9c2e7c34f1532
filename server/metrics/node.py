"""The metrics of one node: the counters of this process since its start, its present state, and their text format."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...graphql.app import PATH
from ...graphql.guard.document import Prepared
from ...jobs.core.base.lazy import LazyModule, load
from ...jobs.core.counts import BOUNDS, OTHER, Histogram, NodeCounts
from ...jobs.core.model import Isolation
from ...jobs.own.threads import briefly_in_thread
from ...jobs.runtime.live.replica import Replica
from ...jobs.store.db.database import Database
from ..auth.pages import root_path_of
from ..process.version import commit, installed_version

MOST_KEPT: Final = 20_000
"""Beginnings of lines that one family keeps: the largest groups of today are not those of next year."""

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def escaped(value: str) -> str:
    """Return the value of a label as it is written."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _labels(names: Sequence[str], values: Sequence[str]) -> str:
    return ",".join(f'{name}="{escaped(value)}"' for name, value in zip(names, values, strict=True))


class Family:
    """Hold the name, the description and the labels of a metric."""

    kind = ""

    def __init__(self, name: str, says: str, *labels: str) -> None:
        self.name = name
        self.labels = labels
        self._head = f"# HELP {name} {says}\n# TYPE {name} {self.kind}\n"


class Counters(Family):
    """Numbers that only grow, by the values of their labels."""

    kind = "counter"

    def __init__(self, name: str, says: str, *labels: str) -> None:
        super().__init__(name, says, *labels)
        self._starts: dict[tuple[str, ...], str] = {}

    def text(self, counted: Iterable[tuple[tuple[str, ...], float]]) -> str:
        """Return the family with these values."""
        starts = self._starts
        if len(starts) > MOST_KEPT:
            starts.clear()
        lines = [self._head]
        for values, number in counted:
            start = starts.get(values)
            if start is None:
                labels = f"{{{_labels(self.labels, values)}}}" if values else ""
                start = starts[values] = f"{self.name}{labels} "
            lines.append(f"{start}{number}\n")
        return "".join(lines)


class Gauges(Counters):
    """Numbers that rise and fall."""

    kind = "gauge"


class Histograms(Family):
    """Histograms by the values of their labels."""

    kind = "histogram"

    def __init__(self, name: str, says: str, *labels: str) -> None:
        super().__init__(name, says, *labels)
        self._templates: dict[tuple[str, ...], str] = {}
        self._written: dict[tuple[str, ...], tuple[list[int], str]] = {}

    def text(self, counted: Mapping[tuple[str, ...], Histogram]) -> str:
        """Return the family with these histograms."""
        return self._head + "".join([self._block(values, one) for values, one in counted.items()])

    def _block(self, values: tuple[str, ...], histogram: Histogram) -> str:
        counts = histogram.counts.copy()
        written = self._written.get(values)
        # All that is observed changes a count.
        if written is not None and written[0] == counts:
            return written[1]
        *buckets, count = accumulate(counts)
        block = self._template(values) % (*buckets, count, histogram.total, count)
        self._written[values] = counts, block
        return block

    def _template(self, values: tuple[str, ...]) -> str:
        found = self._templates.get(values)
        if found is None:
            labels = _labels(self.labels, values).replace("%", "%%")
            before = f"{labels}," if labels else ""
            bounds = [*(f"{bound:g}" for bound in BOUNDS), "+Inf"]
            buckets = "".join(f'{self.name}_bucket{{{before}le="{bound}"}} %d\n' for bound in bounds)
            own = f"{{{labels}}}" if labels else ""
            found = self._templates[values] = f"{buckets}{self.name}_sum{own} %r\n{self.name}_count{own} %d\n"
        return found


if TYPE_CHECKING:
    import prometheus_client
else:
    prometheus_client = LazyModule("prometheus_client")


class ProcessMetrics:
    """Has a registry of its own; the library is imported when somebody asks for the first time."""

    def __init__(self) -> None:
        self._registry: prometheus_client.CollectorRegistry | None = None

    async def text(self) -> str:
        """Return the metrics."""
        if self._registry is None:
            await briefly_in_thread(load, prometheus_client)
            registry = prometheus_client.CollectorRegistry(auto_describe=False)
            prometheus_client.ProcessCollector(registry=registry)
            prometheus_client.GCCollector(registry)
            prometheus_client.PlatformCollector(registry)
            self._registry = registry
        return prometheus_client.generate_latest(self._registry).decode()


_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_ROUTES: Final = frozenset(
    {PATH, "/schema.graphql", "/graphiql", "/health/live", "/health/ready", "/metrics", "/scale"}
)
_ROOMS: Final = frozenset({"auth", "oauth", "assets", "signal"})
"""First parts of paths with many pages below them."""


class RequestCounts:
    """Count the requests to this process.

    Attributes:
        requests: By method, route and status.
        request_seconds: By route; streams are left out.
        operations: GraphQL operations by kind, first root field, and whether they had errors.
        operation_seconds: By kind and first root field.
    """

    def __init__(self) -> None:
        self.requests: dict[tuple[str, ...], int] = {}
        self.request_seconds: dict[tuple[str, ...], Histogram] = {}
        self.operations: dict[tuple[str, ...], int] = {}
        self.operation_seconds: dict[tuple[str, ...], Histogram] = {}

    def requested(self, method: str, route: str, status: int, seconds: float | None) -> None:
        """Count an answered request; ``seconds`` is None for a stream."""
        key = (method if method in _METHODS else OTHER, route, str(status))
        self.requests[key] = self.requests.get(key, 0) + 1
        if seconds is not None:
            self.request_seconds.setdefault((route,), Histogram()).observe(seconds)

    def executed(self, prepared: Prepared, seconds: float, *, failed: bool) -> None:
        """Count an executed query or mutation. Its fields are those of the schema, so there are not many."""
        kind, field = prepared.operation.operation.value, prepared.root_field or OTHER
        key = (kind, field, "error" if failed else "ok")
        self.operations[key] = self.operations.get(key, 0) + 1
        self.operation_seconds.setdefault((kind, field), Histogram()).observe(seconds)


def route_of(path: str) -> str:
    """Return the label of a path: one of a few, for any request of clients."""
    if path in _ROUTES:
        return path
    first = path.removeprefix("/").partition("/")[0]
    return f"/{first}" if first in _ROOMS else "page"


class CountRequests:
    """Middleware: counts every answer."""

    def __init__(self, app: ASGIApp, counts: RequestCounts) -> None:
        self._app = app
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer and count."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, is_stream = time.perf_counter(), 500, False

        async def noting(message: Message) -> None:
            nonlocal status, is_stream
            if message["type"] == "http.response.start":
                status = message["status"]
                is_stream = any(
                    name == b"content-type" and value.startswith(b"text/event-stream")
                    for name, value in message.get("headers", ())
                )
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            route = route_of(scope["path"].removeprefix(root_path_of(scope)))
            seconds = None if is_stream else time.perf_counter() - began
            self._counts.requested(scope["method"], route, status, seconds)


@dataclass(frozen=True, slots=True)
class NodeParts:
    """Hold the sources of a node's metrics.

    Attributes:
        counts: The node's counters of its runs.
        databases: The accesses to its database, one for each part of the process.
        replica: The standby that answers queries; None = there is none.
        name: Its name; None until it is registered.
        ready: Whether it takes runs.
        slots: By kind of job: how many runs execute, and how many may.
        lag: By event loop: how late it was at the last look, in seconds.
        streams: How many subscribers and WebSockets are open.
    """

    counts: NodeCounts
    requests: RequestCounts
    databases: Sequence[Database]
    replica: Replica | None
    name: Callable[[], str | None]
    ready: Callable[[], bool]
    slots: Callable[[], Mapping[Isolation, tuple[int, int]]]
    lag: Callable[[], Mapping[str, float]]
    streams: Callable[[], int]


_STARTED = Counters("cronograph_executions_started_total", "Attempts at runs that this node began.", "job_name")
_FINISHED = Counters("cronograph_executions_finished_total", "Attempts that ended, by outcome.", "job_name", "outcome")
_DURATION = Histograms("cronograph_execution_duration_seconds", "How long the job's code ran.", "job_name")
_CUT = Counters("cronograph_log_lines_cut_total", "Log lines of executions that were not kept.", "job_name")
_WAIT = Histograms("cronograph_run_wait_seconds", "Time from a run becoming available to its start.", "group")
_TASKS = Counters("cronograph_task_executions_finished_total", "Attempts at the runs of a task.", "task", "outcome")
_LATENESS = Histograms(
    "cronograph_task_lateness_seconds",
    "Time from when a run was scheduled for to its first start.",
    "task",
)
_MADE = Counters("cronograph_runs_dispatched_total", "Runs that this node made of tasks that came due.")
_LAG = Histograms("cronograph_dispatch_lag_seconds", "By how much tasks were overdue when their runs were made.")
_SKIPPED = Counters("cronograph_occurrences_skipped_total", "Occurrences that did not become runs.", "reason")
_REFUSED = Counters("cronograph_results_refused_total", "Results refused because the run had been taken over.")
_FAULTS = Counters("cronograph_part_failures_total", "Times that a part of the node failed and went on.", "part")
_INFO = Gauges("cronograph_node_info", "The node of this process; always 1.", "node", "version", "commit")
_READY = Gauges("cronograph_node_ready", "1 while this node takes runs.")
_RUNNING = Gauges("cronograph_executions_running", "Runs that execute on this node.", "kind")
_SLOTS = Gauges("cronograph_slots", "Runs that this node executes at once at most.", "kind")
_LOOP = Gauges("cronograph_event_loop_lag_seconds", "How late an event loop was when last looked at.", "loop")
_STREAMS = Gauges("cronograph_open_streams", "Open WebSockets and event streams.")
_TRANSACTIONS = Counters("cronograph_database_transactions_total", "Transactions of this process.", "part", "kind")
_USED = Gauges("cronograph_database_connections", "Connections of the pool in use (PostgreSQL).", "part")
_POOL = Gauges("cronograph_database_connections_max", "Connections that the pool may open (PostgreSQL).", "part")
_REPLICA = Gauges("cronograph_read_replica_in_use", "1 while the read replica answers queries.")
_REPLICA_LAG = Gauges("cronograph_read_replica_lag_seconds", "By how much the read replica is behind the database.")
_FALLBACKS = Counters(
    "cronograph_read_replica_fallbacks_total", "Reads that the database answered in place of the read replica.", "part"
)
_HTTP = Counters("cronograph_http_requests_total", "HTTP requests that were answered.", "method", "route", "status")
_HTTP_SECONDS = Histograms("cronograph_http_request_duration_seconds", "Time to a whole answer.", "route")
_GRAPHQL = Counters(
    "cronograph_graphql_operations_total", "Queries and mutations by their first field.", "kind", "field", "result"
)
_GRAPHQL_SECONDS = Histograms("cronograph_graphql_operation_duration_seconds", "Time to execute.", "kind", "field")


def node_text(parts: NodeParts) -> str:
    """Return the metrics of this node."""
    return "".join([*_runs(parts.counts), *_state(parts), *_databases(parts), *_requests(parts.requests)])


def _by_name(found: Mapping[str, Histogram]) -> dict[tuple[str, ...], Histogram]:
    return {(name,): one for name, one in list(found.items())}


def _runs(counts: NodeCounts) -> Iterator[str]:
    # Copies: the loop of the jobs goes on counting.
    jobs, tasks = list(counts.jobs.items()), list(counts.tasks.items())
    yield _STARTED.text(((name,), job.started) for name, job in jobs)
    yield _FINISHED.text(
        ((name, outcome.value), count) for name, job in jobs for outcome, count in list(job.outcomes.items())
    )
    yield _DURATION.text({(name,): job.durations for name, job in jobs})
    yield _CUT.text(((name,), job.log_cut) for name, job in jobs if job.log_cut)
    yield _WAIT.text(_by_name(counts.waits))
    yield _TASKS.text(
        ((name, outcome.value), count) for name, task in tasks for outcome, count in list(task.outcomes.items())
    )
    yield _LATENESS.text({(name,): task.lateness for name, task in tasks})
    yield _MADE.text([((), counts.dispatched)])
    yield _LAG.text({(): counts.dispatch_lag})
    yield _SKIPPED.text(((reason.value,), count) for reason, count in list(counts.skipped.items()))
    yield _REFUSED.text([((), counts.refused)])
    yield _FAULTS.text(((part,), count) for part, count in list(counts.faults.items()))


def _state(parts: NodeParts) -> Iterator[str]:
    name, slots = parts.name(), parts.slots()
    yield _INFO.text([((name, installed_version(), commit() or ""), 1)] if name else [])
    yield _READY.text([((), int(parts.ready()))])
    yield _RUNNING.text(((kind.value,), used) for kind, (used, _) in slots.items())
    yield _SLOTS.text(((kind.value,), limit) for kind, (_, limit) in slots.items())
    yield _LOOP.text(((loop,), seconds) for loop, seconds in parts.lag().items())
    yield _STREAMS.text([((), parts.streams())])


def _databases(parts: NodeParts) -> Iterator[str]:
    replica = parts.replica
    databases = [*parts.databases, *(() if replica is None else replica.databases)]
    used = [one.usage for one in databases]
    pools = [(one.usage.part, pool) for one in databases if (pool := one.pool()) is not None]
    yield _TRANSACTIONS.text(
        ((one.part, kind), count)
        for one in used
        for kind, count in (("read", one.reads), ("write", one.writes), ("statement", one.statements))
    )
    yield _USED.text(((part,), pool.in_use) for part, pool in pools)
    yield _POOL.text(((part,), pool.size) for part, pool in pools)
    if replica is None:
        return
    state = replica.state
    yield _REPLICA.text([((), int(state.in_use))])
    yield _REPLICA_LAG.text([] if state.lag is None else [((), round(state.lag, 3))])
    yield _FALLBACKS.text(((part,), count) for part, count in replica.fallbacks.items())


def _requests(counts: RequestCounts) -> Iterator[str]:
    yield _HTTP.text(counts.requests.items())
    yield _HTTP_SECONDS.text(counts.request_seconds)
    yield _GRAPHQL.text(counts.operations.items())
    yield _GRAPHQL_SECONDS.text(counts.operation_seconds)
