"""What costly requests cost, and what they cost the others: cheap reads and job starts beside them, on two event loops.

Run it from the repository's root: `python -m tests.bench.bench_costly`; `--help` lists the options. It judges nothing.
The documents are the costliest of their kinds that are accepted; the answers are not sent over a network.
"""

import argparse
import asyncio
import itertools
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import median
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import HTTPConnection

from cronograph.graphql.app import graphql_routes
from cronograph.graphql.context import Context
from cronograph.graphql.schema import create_schema
from cronograph.graphql.transport.bounds import Bounds, Reads
from cronograph.jobs.actions.runs import put
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.registry import Registry, define
from cronograph.jobs.runtime.live.feeds import LiveFeeds
from cronograph.jobs.runtime.settings import EngineSettings
from cronograph.jobs.runtime.wakeup import Wakeup
from cronograph.jobs.services import Services
from cronograph.jobs.store.db.database import Database
from cronograph.server.engine_thread import EngineThread
from cronograph.server.health import health_routes
from cronograph.server.lifecycle import Lifecycle, Phase
from cronograph.server.service import SWITCH_SECONDS
from tests.support.waiting import eventually

from .large_log import Size, fill
from .measuring import DATABASES, cpu_seconds, fresh_database, load, percentile

JOB = "note_the_start"
PRESSING = 4
"""Clients that ask for a costly document, each anew as soon as it is answered."""


def named(field: str, names: int) -> str:
    """A field asked for under so many names."""
    return " ".join(f"n{number}: {field}" for number in range(names))


COSTLY: dict[str, str] = {
    "many values": f"{{ runs(first: 200) {{ nodes {{ {named('jobName', 50)} }} }} }}",
    "lists in lists": "{ tasks(first: 100) { nodes { runs(first: 40) { nodes { id state jobName } } } } }",
    "computed times": "{ tasks(first: 60) { nodes { schedule { nextExecutions(count: 100) } } } }",
    "explanations": f"{{ runs(first: 200) {{ nodes {{ {named('explain { sentence details }', 4)} }} }} }}",
    "statistics": f"{{ {named('statistics(bucket: DAY) { p50 p95 p99 points { p95 } }', 9)} }}",
    "plans": f"{{ {named('upcoming(first: 100) { totalCount nodes { scheduledFor } }', 2)} }}",
    "a large filter": "query ($f: RunFilter) { runs(first: 1, filter: $f) { nodes { id } } }",
}
VARIABLES: dict[str, dict[str, Any]] = {"a large filter": {"f": {"or": [{"jobName": {"eq": "x"}}] * 450}}}


@dataclass
class Starts:
    """When the runs of the job began, by their number."""

    at: dict[int, float] = field(default_factory=dict[int, float])

    async def note_the_start(self, number: int) -> None:
        """The job."""
        self.at[number] = time.perf_counter()


@dataclass
class Server:
    """A node with an API beside it, as a server has it."""

    database: Database
    client: httpx.AsyncClient
    starts: Starts

    async def ask(self, document: str, variables: dict[str, Any] | None = None) -> dict[str, Any]:
        """What the API answers."""
        answer = await self.client.post("/graphql", json={"query": document, "variables": variables or {}})
        found: dict[str, Any] = answer.json()
        return found

    async def start_latency(self, number: int) -> float:
        """Seconds from the beginning of an enqueue to the first line of the job."""
        began = time.perf_counter()
        await self.database.write(put, [NewRun(JOB, Trigger.API, args={"number": number})])
        await eventually(lambda: number in self.starts.at, within=60)
        return self.starts.at[number] - began


@asynccontextmanager
async def serving(url: str) -> AsyncGenerator[Server]:
    """A node and its API over a database."""
    of_engine, starts, schema = Database(url), Starts(), create_schema()
    database, costly = of_engine.beside("api"), of_engine.beside("api-costly")
    wakeup = Wakeup(database)
    feeds = LiveFeeds(database, wakeup, poll=5)
    registry = Registry()
    registry.add(define(JOB, starts.note_the_start))
    engine = EngineThread(
        Services(of_engine), registry, EngineSettings(), wakeup, beside=database, on_drained=lambda: None
    )

    async def context(_connection: HTTPConnection) -> Context:
        return Context(database, feeds.bus, feeds.log_feed)

    def lane(found: Context, reads: Reads) -> Context:
        return found.within((costly if reads.costly else database).until(reads.deadline))

    lifecycle = Lifecycle()
    lifecycle.enter(Phase.SERVING)
    health = health_routes(lifecycle, lambda: engine.ready)
    app = Starlette(routes=[*health, *graphql_routes(schema, context, bounds=Bounds(schema.limits, lane))])
    wakeup.start()
    feeds.start()
    await engine.start()
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=120) as client:
        yield Server(database, client, starts)
    for step in (engine.drain, engine.stop, feeds.end, feeds.stop, wakeup.stop, costly.close, database.close):
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


@dataclass
class Probe:
    """How long what everybody needs takes: seconds of each try."""

    reads: list[float] = field(default_factory=list[float])
    ready: list[float] = field(default_factory=list[float])
    starts: list[float] = field(default_factory=list[float])

    @classmethod
    async def of(cls, server: Server, seconds: float, numbers: Iterator[int]) -> "Probe":
        """Try ``{ serverTime }``, ``/health/ready`` and the start of a job, one after the other, for a while."""
        found, end = cls(), time.perf_counter() + seconds
        while not found.reads or time.perf_counter() < end:
            began = time.perf_counter()
            await server.ask("{ serverTime }")
            found.reads.append(time.perf_counter() - began)
            began = time.perf_counter()
            (await server.client.get("/health/ready")).raise_for_status()
            found.ready.append(time.perf_counter() - began)
            found.starts.append(await server.start_latency(next(numbers)))
        return found


async def press(server: Server, name: str) -> None:
    """Ask for a costly document without a pause."""
    while True:
        await server.ask(COSTLY[name], VARIABLES.get(name))


async def beside(server: Server, name: str, seconds: float, numbers: Iterator[int]) -> Probe:
    """The probe while four clients press."""
    pressing = [asyncio.create_task(press(server, name)) for _ in range(PRESSING)]
    try:
        return await Probe.of(server, seconds, numbers)
    finally:
        for task in pressing:
            task.cancel()
        await asyncio.gather(*pressing, return_exceptions=True)


def compared(name: str, rounds: Sequence[tuple[Probe, Probe]]) -> str:
    """The medians over rounds, each of a probe alone and one beside a document."""
    reads = median(percentile(loaded.reads, 0.99) for _, loaded in rounds)
    ready = median(percentile(loaded.ready, 0.99) for _, loaded in rounds)
    late = [
        median(percentile(loaded.starts, part) / percentile(alone.starts, part) for alone, loaded in rounds)
        for part in (0.5, 0.99)
    ]
    quiet = median(percentile(alone.starts, 0.5) for alone, _ in rounds)
    return f"{reads * 1e3:12.0f} {ready * 1e3:12.0f} {quiet * 1e3:12.1f} {late[0]:10.2f} {late[1]:10.2f}  {name}"


HEAD = (
    f"{'serverTime':>12} {'ready':>12} {'job start':>12} {'later by':>21}\n"
    f"{'p99 ms':>12} {'p99 ms':>12} {'alone ms':>12} {'p50 x':>10} {'p99 x':>10}  "
    f"beside {PRESSING} clients that ask without a pause\n"
)


async def report(kind: str, size: Size, seconds: float, rounds: int, write: Callable[[str], object]) -> None:
    """Write the figures for one database."""
    with fresh_database(kind) as url:
        fill(url, size)
        async with serving(url) as server:
            write(f"{kind}, {size.executions:,} executions, {load()}\n{'CPU ms':>8} {'ms':>8} {'cost':>8}  document\n")
            costs = [await cost_alone(server, name) for name in COSTLY]
            for cost in costs:
                write(f"{cost}\n")
            worst = max(costs, key=lambda cost: cost.cpu)
            write(f"the costliest takes {worst.cpu:.2f} s of a processor: {worst.name}\n{HEAD}")
            numbers = itertools.count()
            for name in COSTLY:
                pairs = [
                    (await Probe.of(server, seconds, numbers), await beside(server, name, seconds, numbers))
                    for _ in range(rounds)
                ]
                write(compared(name, pairs) + "\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=DATABASES, action="append", help="which; both unless given")
    parser.add_argument("--executions", type=int, default=300_000, help="in the log")
    parser.add_argument("--unfinished", type=int, default=2_000, help="runs in the queue")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each probe")
    parser.add_argument("--rounds", type=int, default=3, help="probes alone and beside, by turns; medians are told")
    chosen = parser.parse_args(arguments)
    sys.setswitchinterval(SWITCH_SECONDS)
    size = Size(chosen.executions, chosen.unfinished, datetime.now(UTC))
    for kind in chosen.database or DATABASES:
        asyncio.run(report(kind, size, chosen.seconds, chosen.rounds, sys.stdout.write))


if __name__ == "__main__":
    main()
