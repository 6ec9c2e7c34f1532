"""The metrics of one node: what this process has counted since it started, and how it is now."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...jobs.core.counts import Histogram, NodeCounts
from ...jobs.core.model import Isolation
from ...jobs.store.db.database import Database
from ..base.version import commit, installed_version
from .requests import RequestCounts
from .text import Counters, Gauges, Histograms


@dataclass(frozen=True, slots=True)
class NodeParts:
    """Where the metrics of a node are read.

    Attributes:
        counts: What it counted of its runs.
        databases: The accesses to its database, one for each part of the process.
        name: Its name; None until it is registered.
        ready: Whether it takes runs.
        slots: By kind of job: how many runs execute, and how many may.
        lag: By event loop: how late it was at the last look, in seconds.
        streams: How many subscribers and WebSockets are open.
    """

    counts: NodeCounts
    requests: RequestCounts
    databases: Sequence[Database]
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
_HTTP = Counters("cronograph_http_requests_total", "HTTP requests that were answered.", "method", "route", "status")
_HTTP_SECONDS = Histograms("cronograph_http_request_duration_seconds", "Time to a whole answer.", "route")
_GRAPHQL = Counters(
    "cronograph_graphql_operations_total", "Queries and mutations by their first field.", "kind", "field", "result"
)
_GRAPHQL_SECONDS = Histograms("cronograph_graphql_operation_duration_seconds", "Time to execute.", "kind", "field")


def node_text(parts: NodeParts) -> str:
    """The metrics of this node."""
    return "".join([*_runs(parts.counts), *_state(parts), *_databases(parts.databases), *_requests(parts.requests)])


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


def _databases(databases: Iterable[Database]) -> Iterator[str]:
    used = [one.usage for one in databases]
    pools = [(one.usage.part, pool) for one in databases if (pool := one.pool()) is not None]
    yield _TRANSACTIONS.text(
        ((one.part, kind), count)
        for one in used
        for kind, count in (("read", one.reads), ("write", one.writes), ("statement", one.statements))
    )
    yield _USED.text(((part,), pool.in_use) for part, pool in pools)
    yield _POOL.text(((part,), pool.size) for part, pool in pools)


def _requests(counts: RequestCounts) -> Iterator[str]:
    yield _HTTP.text(counts.requests.items())
    yield _HTTP_SECONDS.text(counts.request_seconds)
    yield _GRAPHQL.text(counts.operations.items())
    yield _GRAPHQL_SECONDS.text(counts.operation_seconds)
