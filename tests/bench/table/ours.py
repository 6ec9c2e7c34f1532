"""What the table measures of this project alone; each function is called in a process of its own."""

import json
import time
from collections.abc import Callable
from typing import Any

import uvloop

from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.store.db.database import Database
from cronograph.server.process.lifecycle import leave_out_what_stays
from tests.bench.bench_answers import JOB_LOGS, LOG_PAGE, STRIPS, api_app, call
from tests.bench.bench_engine import engine_on, lateness
from tests.bench.measuring import Statements, cpu_seconds, percentile
from tests.bench.peers.run import server_seconds
from tests.bench.table.rows import Sample
from tests.bench.trials.drains import drain

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


def drained(server: int, url: str, runs: int, groups: int) -> Sample:
    """Runs a second of a node that drains runs: those that wait there (0 groups), or others that are enqueued first."""
    rate, worker, used = uvloop.run(drain(server, url, runs, groups))
    return Sample(rate, worker, used)


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
    """Milliseconds of processor time of an answer of the API, with PostgreSQL's; the first ones do not count."""
    leave_out_what_stays()
    document, variables = DOCUMENTS[name]
    body = json.dumps({"query": document, "variables": variables}).encode()
    return uvloop.run(_answered(server, url, body, times, by_clock=by_clock))


async def _answered(server: int | None, url: str, body: bytes, times: int, *, by_clock: bool) -> Sample:
    database = Database(url).separate_pool("api")
    app = api_app(database)
    said: dict[str, Any] = {}
    for _ in range(3):
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
