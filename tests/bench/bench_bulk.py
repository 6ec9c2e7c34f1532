"""How long bulk mutations of 10,000 runs take, by filter, and what they cost a cheap read beside them.

Run it from the repository's root: `python -m tests.bench.bench_bulk`; `--help` lists the options. It judges nothing.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from cronograph.graphql.execution.schema_factory import GuardedSchema
from cronograph.graphql.resolving.context import Context
from cronograph.graphql.schema import create_schema
from cronograph.jobs.actions.nodes import NewNode, join
from cronograph.jobs.actions.runs import put
from cronograph.jobs.core.defaults import JobInfo
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.runtime.live.bus import EventBus
from cronograph.jobs.runtime.live.feeds import LogFeed
from cronograph.jobs.store.db.database import Database
from tests.bench.measuring import DATABASES, cpu_seconds, fresh_database, load, milliseconds

JOB: Final = "work"
FILTER: Final = f'runs: {{ filter: {{ jobName: {{ eq: "{JOB}" }} }} }}'
MUTATIONS: Final = {
    "set priority": f"mutation {{ it: setRunPriorities(input: {{ {FILTER}, priority: HIGH }}) {{ count }} }}",
    "cancel": f"mutation {{ it: cancelRuns(input: {{ {FILTER} }}) {{ count }} }}",
    "retry": f"mutation {{ it: retryRuns(input: {{ {FILTER} }}) {{ count }} }}",
}


class Server:
    """The API over a database."""

    def __init__(self, database: Database, schema: GuardedSchema) -> None:
        self._database = database
        self._schema = schema
        self._bus, self._logs = EventBus(database), LogFeed(database)

    async def ask(self, document: str) -> dict[str, Any]:
        """The data of an operation that meets no error."""
        context = Context(self._database, self._bus, self._logs)
        result = await self._schema.execute(document, context_value=context)
        if result.errors or result.data is None:
            raise SystemExit(f"refused: {result.errors}")
        return result.data


async def reads_beside(server: Server, under_way: "asyncio.Task[dict[str, Any]]") -> list[float]:
    """Return how long a cheap read takes while something is under way."""
    took: list[float] = []
    while not under_way.done():
        began = time.perf_counter()
        await server.ask("{ runs(first: 1) { nodes { id } } }")
        took.append(time.perf_counter() - began)
        await asyncio.wait([under_way], timeout=0.005)
    return took


async def report(kind: str, runs: int, write: Callable[[str], object]) -> None:
    """Write the figures for one database."""
    with fresh_database(kind) as url:
        database = Database(url)
        server = Server(database, create_schema())
        await database.write(join, NewNode("node-a", 1, "1", (JobInfo(JOB),), 3600.0), only_node=False)
        await database.write(put, [NewRun(JOB, Trigger.API) for _ in range(runs)])
        write(f"{kind}, {runs:,} runs, {load()}\n")
        for name, document in MUTATIONS.items():
            cpu, began = cpu_seconds(), time.perf_counter()
            under_way = asyncio.create_task(server.ask(document))
            reads = await reads_beside(server, under_way)
            took, used = time.perf_counter() - began, cpu_seconds() - cpu
            answer = (await under_way)["it"]
            write(f"{name:>12}: {took:6.2f} s, {used:6.2f} s CPU with the reads, {answer['count']} runs; ")
            write(f"a read beside it {milliseconds(reads)}\n")
        await database.close()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=DATABASES, action="append", help="which; both unless given")
    parser.add_argument("--runs", type=int, default=10_000, help="that one mutation changes; 10,000 is the most")
    chosen = parser.parse_args(arguments)
    for kind in chosen.database or DATABASES:
        asyncio.run(report(kind, chosen.runs, sys.stdout.write))


if __name__ == "__main__":
    main()
