"""What costly requests cost, and what they cost the others: cheap reads and job starts beside them, on two event loops.

Run it from the repository's root: `python -m tests.bench.bench_costly`; `--help` lists the options. It judges nothing.
The documents are the costliest of their kinds that are accepted; the answers are not sent over a network.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
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
from tests.support.waiting import eventually

from .large_log import Size, fill
from .measuring import DATABASES, cpu_seconds, fresh_database, load, milliseconds

JOB = "note_the_start"


def named(field: str, names: int) -> str:
    """A field asked for under so many names."""
    return " ".join(f"n{number}: {field}" for number in range(names))


COSTLY: dict[str, str] = {
    "many values": f"{{ runs(first: 200) {{ nodes {{ {named('jobName', 50)} }} }} }}",
    "lists in lists": "{ tasks(first: 100) { nodes { runs(first: 40) { nodes { id state jobName } } } } }",
    "computed times": "{ tasks(first: 60) { nodes { schedule { nextExecutions(count: 100) } } } }",
    "explanations": f"{{ runs(first: 200) {{ nodes {{ {named('explain { sentence details }', 4)} }} }} }}",
    "statistics": f"{{ {named('statistics(bucket: DAY) { p50 p95 p99 points { p95 } }', 9)} }}",
    "plans": f"{{ {named('upcoming(first: 100) { totalCount nodes { scheduledFor } }', 12)} }}",
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

    app = Starlette(routes=graphql_routes(schema, context, bounds=Bounds(schema.limits, lane)))
    wakeup.start()
    feeds.start()
    await engine.start()
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=120) as client:
        yield Server(database, client, starts)
    for step in (engine.drain, engine.stop, feeds.end, feeds.stop, wakeup.stop, costly.close, database.close):
        await step()
    await of_engine.close()


async def cost_alone(server: Server, name: str) -> str:
    """CPU and time of one document, the least of three."""
    figures: list[tuple[float, float]] = []
    answer: dict[str, Any] = {}
    for _ in range(3):
        cpu, began = cpu_seconds(), time.perf_counter()
        answer = await server.ask(COSTLY[name], VARIABLES.get(name))
        figures.append((cpu_seconds() - cpu, time.perf_counter() - began))
    cpu, took = min(figures)
    cost = answer.get("extensions", {}).get("cost", {}).get("requested", "refused")
    return f"{cpu * 1e3:8.0f} {took * 1e3:8.0f} {cost!s:>8}  {name}"


async def probe(server: Server, seconds: float, first: int) -> tuple[list[float], list[float]]:
    """How long ``{ serverTime }`` and job starts take, one after the other, for a while."""
    reads: list[float] = []
    starts: list[float] = []
    end = time.perf_counter() + seconds
    while not reads or time.perf_counter() < end:
        began = time.perf_counter()
        await server.ask("{ serverTime }")
        reads.append(time.perf_counter() - began)
        starts.append(await server.start_latency(first + len(starts)))
    return reads, starts


async def press(server: Server, name: str) -> None:
    """Ask for a costly document without a pause."""
    while True:
        await server.ask(COSTLY[name], VARIABLES.get(name))


async def report(kind: str, size: Size, seconds: float, write: Callable[[str], object]) -> None:
    """Write the figures for one database."""
    with fresh_database(kind) as url:
        fill(url, size)
        async with serving(url) as server:
            write(f"{kind}, {size.executions:,} executions, {load()}\n{'CPU ms':>8} {'ms':>8} {'cost':>8}  document\n")
            for name in COSTLY:
                write(await cost_alone(server, name) + "\n")
            reads, starts = await probe(server, seconds, 0)
            write(f"alone: serverTime {milliseconds(reads)}; job start {milliseconds(starts)}\n")
            for place, name in enumerate(COSTLY, 1):
                pressing = [asyncio.create_task(press(server, name)) for _ in range(4)]
                reads, starts = await probe(server, seconds, place * 1_000_000)
                for task in pressing:
                    task.cancel()
                await asyncio.gather(*pressing, return_exceptions=True)
                write(f"beside 4 x {name}: serverTime {milliseconds(reads)}; job start {milliseconds(starts)}\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=DATABASES, action="append", help="which; both unless given")
    parser.add_argument("--executions", type=int, default=300_000, help="in the log")
    parser.add_argument("--unfinished", type=int, default=2_000, help="runs in the queue")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each kind of document")
    chosen = parser.parse_args(arguments)
    size = Size(chosen.executions, chosen.unfinished, datetime.now(UTC))
    for kind in chosen.database or DATABASES:
        asyncio.run(report(kind, size, chosen.seconds, sys.stdout.write))


if __name__ == "__main__":
    main()
