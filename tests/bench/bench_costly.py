"""What costly requests cost, and what they cost the others: cheap reads and job starts beside them, on two event loops.

Run it from the repository's root: `python -m tests.bench.bench_costly`; `--help` lists the options. It judges nothing.
The documents are the costliest of their kinds that are accepted; the answers are not sent over a network.
"""

import argparse
import asyncio
import itertools
import sys
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any

import httpx
import uvloop
from starlette.applications import Starlette
from starlette.requests import HTTPConnection

from cronograph.graphql.app import graphql_routes
from cronograph.graphql.guard.admission import Admission, Reads
from cronograph.graphql.guard.searches import Searches, SearchLane, bounds_of
from cronograph.graphql.resolving.context import Context
from cronograph.graphql.schema import create_schema
from cronograph.graphql.transport.engine import Engine
from cronograph.jobs.base.services import Services
from cronograph.jobs.registry import Registry, define
from cronograph.jobs.runtime.base.settings import Clock, EngineSettings
from cronograph.jobs.runtime.base.wakeup import Wakeup
from cronograph.jobs.runtime.duties.figures import HourCounter
from cronograph.jobs.runtime.live.feeds import LiveFeeds
from cronograph.jobs.store.db.database import Database
from cronograph.server.http.security import health_routes
from cronograph.server.process.engine_thread import EngineThread
from cronograph.server.process.lifecycle import Lifecycle, Phase, leave_out_what_stays
from cronograph.server.service import SWITCH_SECONDS
from tests.bench.large_log import Size, fill, publish_jobs
from tests.bench.measuring import DATABASES, cpu_seconds, fresh_database, load, percentile, without_rest
from tests.bench.probes import JOB, Notes, Probe, Prober, Start

CALLER = "x-caller"
"""Who asks, each with budgets of its own."""
PRESSING = 4
"""Clients that ask for a costly document, each again as soon as it is answered; ``--callers`` has others."""


def named(field: str, names: int) -> str:
    """A field asked for under so many names."""
    return " ".join(f"n{number}: {field}" for number in range(names))


SPAN = "from: $f, bucket: DAY"
PERCENTILES = "p50 latenessP95 points { p95 }"
GROUP = 'group: "group-00"'
BOTH = f'jobName: "job-000", {GROUP}'

THREE_FIELDS = (
    "executions(first: 1, orderBy: [{field: NODE}, {field: DURATION}, {field: TASK_NAME}], "
    "filter: {attempt: {gte: 1}}) { nodes { id } }"
)
NO_SUCH_TEXT = 'executions(first: 1, filter: {errorMessage: {contains: "xyzzy"}}) { nodes { id } }'
NO_SUCH_TEXT_OF_A_JOB = (
    'executions(first: 1, filter: {jobName: {eq: "job-000"}, errorMessage: {contains: "xyzzy"}}) { nodes { id } }'
)

COSTLY: dict[str, str] = {
    "many values": f"{{ runs(first: 200) {{ nodes {{ {named('jobName', 50)} }} }} }}",
    "lists in lists": "{ tasks(first: 100) { nodes { runs(first: 40) { nodes { id state jobName } } } } }",
    "computed times": "{ tasks(first: 60) { nodes { schedule { nextExecutions(count: 100) } } } }",
    "explanations": f"{{ runs(first: 200) {{ nodes {{ {named('explain { sentence details }', 4)} }} }} }}",
    "statistics": f"query ($f: DateTime) {{ {named(f'statistics({SPAN}) {{ {PERCENTILES} }}', 2)} }}",
    "a group": f"query ($f: DateTime) {{ {named(f'statistics({SPAN}, {GROUP}) {{ {PERCENTILES} }}', 2)} }}",
    "a group of a job": f"query ($f: DateTime) {{ {named(f'statistics({SPAN}, {BOTH}) {{ count }}', 4)} }}",
    "plans": f"{{ {named('upcoming(first: 100) { totalCount nodes { scheduledFor } }', 2)} }}",
    "a large filter": "query ($f: RunFilter) { runs(first: 1, filter: $f) { nodes { id } } }",
    "sorted by three fields": f"{{ {named(THREE_FIELDS, 20)} }}",
    "sorted by three, once": f"{{ {THREE_FIELDS} }}",
    "sixty texts, counted": "query ($f: ExecutionFilter) { executions(first: 1, filter: $f) { totalCount } }",
    "runs, counted": f"{{ {named('runs(first: 1) { totalCount }', 20)} }}",
    "sorted": f"{{ {named('executions(first: 1, orderBy: [{field: DURATION}]) { nodes { id } }', 20)} }}",
    "sorted, once": "{ executions(first: 1, orderBy: [{field: DURATION}]) { nodes { id } } }",
    "a text": f"{{ {named(NO_SUCH_TEXT, 20)} }}",
    "a text, once": f"{{ {NO_SUCH_TEXT} }}",
    "a text among a job's": f"{{ {named(NO_SUCH_TEXT_OF_A_JOB, 20)} }}",
}
A_MONTH_AGO = {"f": (datetime.now(UTC) - timedelta(days=29)).isoformat()}
VARIABLES: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("statistics", "a group", "a group of a job"), A_MONTH_AGO),
    "a large filter": {"f": {"or": [{"jobName": {"eq": "x"}}] * 450}},
    "sixty texts, counted": {"f": {"or": [{"errorMessage": {"contains": f"xyzzy{number}"}} for number in range(60)]}},
}


@dataclass
class Server:
    """A node with an API beside it, as a server has it."""

    client: httpx.AsyncClient
    prober: Prober

    async def ask(self, document: str, variables: dict[str, Any] | None = None, caller: int = 0) -> dict[str, Any]:
        """Return what the API answers one of several callers."""
        body = {"query": document, "variables": variables or {}}
        answer = await self.client.post("/graphql", json=body, headers={CALLER: str(caller)})
        found: dict[str, Any] = answer.json()
        return found


@asynccontextmanager
async def serving(url: str) -> AsyncGenerator[Server]:
    """A node and its API over a database."""
    of_engine, notes, schema = Database(url), Notes(), create_schema()
    database, costly = of_engine.separate_pool("api"), of_engine.separate_pool("api-costly")
    searched = of_engine.separate_pool("api-search", bounds_of(schema.limits))
    searching = SearchLane(searched, schema.limits)
    wakeup = Wakeup(database)
    feeds = LiveFeeds(database, wakeup, poll=5)
    registry = Registry()
    registry.add(define(JOB, notes.note_the_start))
    engine = EngineThread(
        Services(of_engine), registry, EngineSettings(), wakeup, api_database=database, on_drained=lambda: None
    )

    async def context(_connection: HTTPConnection) -> Context:
        return Context(database, feeds.bus, feeds.log_feed)

    def lane(found: Context, reads: Reads) -> Context:
        searches = Searches(searching, reads.client, reads.cost)
        return found.with_database((costly if reads.costly else database).with_deadline(reads.deadline), searches)

    def caller(_context: Context, connection: HTTPConnection) -> str:
        return connection.headers.get(CALLER, "")

    lifecycle = Lifecycle()
    lifecycle.enter(Phase.SERVING)
    health = health_routes(lifecycle, lambda: engine.ready)
    app = Starlette(
        routes=[*health, *graphql_routes(Engine(schema), context, admission=Admission(schema.limits, lane, caller))]
    )
    wakeup.start()
    feeds.start()
    await engine.start()
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=120) as client:
        names = (f"due-{number}" for number in itertools.count())
        yield Server(client, Prober(database, client, notes, names))
    for step in (
        engine.drain,
        engine.stop,
        feeds.end,
        feeds.stop,
        wakeup.stop,
        searched.close,
        costly.close,
        database.close,
    ):
        await step()
    await of_engine.close()


@dataclass(frozen=True, slots=True)
class Cost:
    """What a document costs by itself: processor time and time in seconds, and what the guard took it for."""

    name: str
    cpu: float
    took: float
    guessed: str

    def __str__(self) -> str:
        return f"{self.cpu * 1e3:8.0f} {self.took * 1e3:8.0f} {self.guessed:>8}  {self.name}"


async def cost_alone(server: Server, name: str) -> Cost:
    """CPU and time of one document, the least of three."""
    figures: list[tuple[float, float]] = []
    answer: dict[str, Any] = {}
    for _ in range(3):
        cpu, began = cpu_seconds(), time.perf_counter()
        answer = await server.ask(COSTLY[name], VARIABLES.get(name))
        figures.append((cpu_seconds() - cpu, time.perf_counter() - began))
    return Cost(name, *min(figures), str(answer.get("extensions", {}).get("cost", {}).get("requested", "refused")))


async def press(server: Server, name: str, caller: int) -> None:
    """Ask for a costly document without a pause."""
    while True:
        answer = await server.ask(COSTLY[name], VARIABLES.get(name), caller)
        # Who is refused at once is not faster for that: a real client is somewhere else.
        await asyncio.sleep(0.01 if "errors" in answer else 0)


async def beside(server: Server, name: str, plan: "Plan") -> Probe:
    """The probe while others press."""
    pressing = [asyncio.create_task(press(server, name, caller)) for caller in range(1, plan.callers + 1)]
    try:
        return await server.prober.probe(plan.seconds)
    finally:
        for task in pressing:
            task.cancel()
        await asyncio.gather(*pressing, return_exceptions=True)


def later(alone: Sequence[Start], loaded: Sequence[Start]) -> str:
    """Return how a start is late: alone, the factor beside, and where the time goes there, in milliseconds."""
    late, before = [one.late for one in loaded], [one.late for one in alone]
    factors = [percentile(late, part) / percentile(before, part) for part in (0.5, 0.99)]
    stages = [median(getattr(one, stage) for one in loaded) * 1e3 for stage in ("stored", "claimed", "begun")]
    figures = " ".join(f"{stage:5.1f}" for stage in stages)
    return f"{median(before) * 1e3:8.1f} {factors[0]:6.2f} {factors[1]:6.2f} ({figures})"


def compared(name: str, rounds: Sequence[tuple[Probe, Probe]]) -> str:
    """All rounds together, each of a probe alone and one beside a document."""
    alone, loaded = (Probe.joined(side) for side in zip(*rounds, strict=True))
    reads, ready = percentile(loaded.reads, 0.99), percentile(loaded.ready, 0.99)
    starts = "  ".join((later(alone.enqueued, loaded.enqueued), later(alone.due, loaded.due)))
    return f"{reads * 1e3:7.0f} {ready * 1e3:7.0f} {starts}  {name}"


HEAD = (
    f"{'reads':>7} {'ready':>7} {'starts of enqueued runs, later by':>42}  {'starts of due tasks, later by':>42}\n"
    f"{'p99 ms':>7} {'p99 ms':>7}"
    + 2 * f" {'alone ms':>8} {'p50 x':>6} {'p99 x':>6} {'(store claim begin)':>19} "
    + " beside clients that ask without a pause\n"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured: the documents by name, over a database of a size, in rounds of two probes of some seconds."""

    names: Sequence[str]
    size: Size
    seconds: float
    rounds: int
    callers: int = PRESSING


async def report(kind: str, plan: Plan, write: Callable[[str], object]) -> None:
    """Write the figures for one database."""
    with fresh_database(kind) as url:
        fill(url, plan.size)
        async with serving(url) as server:
            # As a process that serves does: a collection would take 0.15 s for any question.
            leave_out_what_stays()
            await HourCounter(server.prober.database, Clock(), rest=without_rest).look()
            # On SQLite a node that starts forgets the jobs of others: their tasks are to be planned all the same.
            await server.prober.database.write(publish_jobs)
            write(f"{kind}, {plan.size.executions:,} executions, {load()}\n")
            write(f"{'CPU ms':>8} {'ms':>8} {'cost':>8}  document\n")
            costs = [await cost_alone(server, name) for name in plan.names]
            for cost in costs:
                write(f"{cost}\n")
            worst = max(costs, key=lambda cost: cost.cpu)
            write(f"the costliest takes {worst.cpu:.2f} s of a processor: {worst.name}\n{HEAD}")
            for name in plan.names:
                pairs = [
                    (await server.prober.probe(plan.seconds), await beside(server, name, plan))
                    for _ in range(plan.rounds)
                ]
                write(compared(name, pairs) + "\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=DATABASES, action="append", help="which; both unless given")
    parser.add_argument("--executions", type=int, default=300_000, help="in the log")
    parser.add_argument("--unfinished", type=int, default=2_000, help="runs in the queue")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each probe")
    parser.add_argument("--rounds", type=int, default=3, help="probes alone and beside, by turns")
    parser.add_argument("--callers", type=int, default=PRESSING, help="who press, each with budgets of its own")
    parser.add_argument("--document", choices=COSTLY, action="append", help="which; all unless given")
    chosen = parser.parse_args(arguments)
    sys.setswitchinterval(SWITCH_SECONDS)
    size = Size(chosen.executions, chosen.unfinished, datetime.now(UTC))
    plan = Plan(chosen.document or tuple(COSTLY), size, chosen.seconds, chosen.rounds, chosen.callers)
    for kind in chosen.database or DATABASES:
        # As `cronograph serve` has it.
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(report(kind, plan, sys.stdout.write))


if __name__ == "__main__":
    main()
