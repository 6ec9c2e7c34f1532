"""What the table measures of this project alone; each function is called in a process of its own."""

import json
import time
from collections.abc import Callable
from typing import Any

import psycopg
import uvloop

from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.store.db.address import libpq_url
from cronograph.jobs.store.db.database import Database, parse_url
from cronograph.server.process.lifecycle import leave_out_what_stays
from tests.bench import bench_drain, bench_enqueue, bench_serve
from tests.bench.bench_answers import JOB_LOGS, LOG_PAGE, STRIPS, api_app, call
from tests.bench.bench_engine import engine_on, lateness
from tests.bench.measuring import Statements, cpu_seconds, percentile
from tests.bench.peers.run import server_seconds
from tests.bench.table.rows import Sample
from tests.bench.trials.drains import drain
from tests.support.sources import ROOT

OVERVIEW = "{ overview { running } }"
WHOLE_OVERVIEW = "{ overview { running waiting stuck failedLast24h successRate runsPerMinute liveNodes slots } }"
LONGEST = """query($filter: ExecutionFilter) {
    executions(first: 50, filter: $filter, orderBy: [{field: DURATION, direction: DESC}]) { nodes { id duration } } }"""
OF_A_JOB = {"filter": {"jobName": {"eq": "job-029"}}}
DOCUMENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "running": (OVERVIEW, {}),
    "overview": (WHOLE_OVERVIEW, {}),
    "strips": (STRIPS, {"first": 50}),
    "log page": (LOG_PAGE, {}),
    "jobLogs(100)": (JOB_LOGS.format(100), {}),
    "longest": (LONGEST, {}),
    "longest of a job": (LONGEST, OF_A_JOB),
}
"""What is asked, by a short name."""
_COLD = 20
"""Answers until every connection of the pool has its prepared statements, and each of them a plan of its own."""


def drained(server: int, url: str, runs: int, groups: int, keys: int = 0) -> Sample:
    """Runs a second of a node that drains runs: those that wait there (0 groups), or others that are enqueued first."""
    rate, worker, used = uvloop.run(drain(server, url, runs, groups, keys))
    return Sample(rate, worker, used)


def drained_beside_a_snapshot(server: int, url: str, runs: int) -> Sample:
    """``drained``, while a transaction is open that began before, so that nothing can be vacuumed."""
    with psycopg.connect(libpq_url(parse_url(url))) as held:
        held.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        held.execute("SELECT 1")
        return drained(server, url, runs, 1)


def served(server: int | None, url: str, line: str, part: float) -> Sample:
    """Runs a second of servers as they are installed, with the WAL of a run."""
    it = uvloop.run(bench_drain.drained(ROOT, url, line, server, part, ()))
    return Sample(it.rate, it.node, it.database if server else None, f"{it.wal:,.0f} B of WAL" if server else "")


def steady(server: int | None, url: str, seconds: float) -> Sample:
    """Percent of a core that a server and its database take for 500 runs a second."""
    used, stored = uvloop.run(bench_drain.steady(url, server, 500, seconds))
    return Sample((used + stored) * 100, used / 500 * 1e6, stored / 500 * 1e6 if server else None)


def idle(url: str) -> tuple[Sample, Sample]:
    """Seconds until an idle server is ready, and its memory in MB."""
    it = bench_serve.measure(url, 0.0)
    return Sample(it.ready, it.start * 1e6), Sample(it.memory)


def enqueued(url: str, runs: int, *, in_transactions: bool = False) -> Sample:
    """Runs a second that are enqueued one by one: each by `connect(…)`, or in a transaction of the caller's."""
    took, cpu = (bench_enqueue.in_transactions if in_transactions else bench_enqueue.one_by_one)(url, runs)
    return Sample(runs / took, cpu / runs * 1e6)


def due(url: str, tasks: int) -> Sample:
    """The 99th percentile of the lateness of tasks of one second, in milliseconds."""
    leave_out_what_stays()
    began = cpu_seconds()
    late = uvloop.run(_lateness(url, tasks))
    return Sample(percentile(late, 0.99) * 1e3, (cpu_seconds() - began) / tasks * 1e6)


async def _lateness(url: str, tasks: int) -> list[float]:
    async with engine_on(url, EngineSettings(), Statements()) as bench:
        return list(await lateness(bench, tasks))


def answered(server: int | None, url: str, name: str, times: int, *, by_clock: bool = False) -> Sample:
    """Milliseconds of processor time of an answer of the API, with PostgreSQL's; cold answers do not count."""
    leave_out_what_stays()
    document, variables = DOCUMENTS[name]
    body = json.dumps({"query": document, "variables": variables}).encode()
    return uvloop.run(_answered(server, url, body, times, by_clock=by_clock))


async def _answered(server: int | None, url: str, body: bytes, times: int, *, by_clock: bool) -> Sample:
    database = Database(url).separate_pool("api")
    app = api_app(database)
    said: dict[str, Any] = {}
    for _ in range(_COLD):
        said = json.loads(await call(app, "/graphql", body))
    used = _used(server)
    began, cpu, before = time.perf_counter(), cpu_seconds(), used()
    for _ in range(times):
        await call(app, "/graphql", body)
    took, cpu, stored = ((now - then) / times for now, then in
                         ((time.perf_counter(), began), (cpu_seconds(), cpu), (used(), before)))  # fmt: skip
    await database.close()
    codes = [one["extensions"]["code"] for one in said.get("errors", [])]
    value = took if by_clock else cpu + stored
    return Sample(value * 1e3, cpu * 1e6, stored * 1e6 if server else None, ", ".join(codes))


def _used(server: int | None) -> Callable[[], float]:
    return lambda: server_seconds(server) if server else 0.0
