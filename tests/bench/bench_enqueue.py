"""What it costs to put something into the database: one run, many runs, by Python and by GraphQL, and many tasks.

Run it from the repository's root: ``python -m tests.bench.bench_enqueue``; ``--help`` lists the options. On
PostgreSQL beside one row of a bare table by one statement. It judges nothing: compare within a run, and on a busy
machine processor time alone.
"""

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter

import psycopg
import uvloop

from cronograph.jobs import RunSpec, connect, enqueue_many_sync, job
from cronograph.jobs.actions.tasks import create_tasks
from cronograph.jobs.core.model import ScheduleSpec, TaskSpec
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.registry import Registry
from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.runtime.node import register
from cronograph.jobs.store.db.database import Database, parse_url, sync_engine
from cronograph.server.process.lifecycle import leave_out_what_stays
from tests.bench.bench_answers import api_app, call
from tests.bench.measuring import DATABASES, cpu_seconds, fresh_database, load

DOCUMENT = "mutation($input: EnqueueRunsInput!) { enqueueRuns(input: $input) { runs { id } errors { message } } }"
EVERY_HOUR = ScheduleSpec(Syntax.CRON, "0 0 * * * *")
Way = Callable[[], Awaitable[object]]


def jobs() -> Registry:
    """A registry with one job."""
    registry = Registry()

    @job("nothing", registry=registry)
    async def nothing(number: int = 1) -> None:
        del number

    return registry


def body(runs: int) -> bytes:
    """A request for so many runs."""
    asked = [{"jobName": "nothing", "args": {"number": 1}}] * runs
    return json.dumps({"query": DOCUMENT, "variables": {"input": {"runs": asked}}}).encode()


async def show(name: str, way: Way, times: int, made: int) -> None:
    """Go a way that makes so many things, and print what each of them took."""
    await way()
    began, used = perf_counter(), cpu_seconds()
    for _ in range(times):
        await way()
    took, used = (perf_counter() - began) / times / made, (cpu_seconds() - used) / times / made
    print(f"{name:24} {1 / took:8.0f}/s, {used * 1e6:7.1f} µs of this process for each", flush=True)


def one_by_one(url: str, runs: int) -> tuple[float, float]:
    """Seconds for runs that are each enqueued by `connect(…)`, and of them those of this process."""
    with connect(url, registry=jobs()) as connection:
        return timed(runs, lambda number: connection.put(RunSpec("nothing", {"number": number})))


def in_transactions(url: str, runs: int) -> tuple[float, float]:
    """``one_by_one``, each in a transaction that the caller begins and commits by SQLAlchemy."""
    engine = sync_engine(parse_url(url), pooled=1)

    def one(number: int) -> None:
        with engine.begin() as conn:
            enqueue_many_sync(conn, [RunSpec("nothing", {"number": number})])

    took = timed(runs, one)
    engine.dispose()
    return took


def timed(times: int, act: Callable[[int], object]) -> tuple[float, float]:
    """Seconds of so many calls, and of them those of this process."""
    began, cpu = perf_counter(), cpu_seconds()
    for number in range(times):
        act(number)
    return perf_counter() - began, cpu_seconds() - cpu


async def measure(url: str, times: int, many: int, rounds: int) -> None:
    """A line for each way."""
    registry = jobs()
    database = Database(url)
    await register(database, registry, EngineSettings())
    api, engine = database.separate_pool("api"), sync_engine(parse_url(url), pooled=1)
    app, connection = api_app(api), connect(url, registry=registry)
    created = 0

    async def one() -> None:
        await asyncio.to_thread(connection.put, RunSpec("nothing", {"number": 1}))

    async def many_runs() -> None:
        with engine.begin() as conn:
            enqueue_many_sync(conn, [RunSpec("nothing", {"number": 1})] * many)

    async def tasks() -> None:
        nonlocal created
        created += many
        specs = [TaskSpec(f"task {place}", "nothing", EVERY_HOUR) for place in range(created - many, created)]
        await database.write(create_tasks, specs)

    ways: dict[str, tuple[Way, int, int]] = {
        "a run, awaited": (one, times, 1),
        "a run by GraphQL": (lambda: call(app, "/graphql", body(1)), times, 1),
        f"{many} runs": (many_runs, 2, many),
        f"{many} runs by GraphQL": (lambda: call(app, "/graphql", body(many)), 5, many),
        f"{many} tasks": (tasks, 2, many),
    }
    if not database.is_sqlite:
        async with await psycopg.AsyncConnection.connect(database.libpq_url(), autocommit=True) as bare:
            await bare.execute("CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz)")
            await show("a row of a bare table", lambda: bare.execute("INSERT INTO bare (at) VALUES (now())"), times, 1)
    for name, (way, count, made) in ways.items():
        for _ in range(rounds):
            await show(name, way, count, made)
    connection.close()
    engine.dispose()
    await api.close()
    await database.close()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=DATABASES, action="append", help="both unless given")
    parser.add_argument("--times", type=int, default=200, help="of each way that makes one thing")
    parser.add_argument("--many", type=int, default=1_000, help="runs and tasks of one transaction")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args(arguments)
    # As ``cronograph serve`` does.
    leave_out_what_stays()
    print(load())
    for kind in chosen.database or DATABASES:
        print(kind)
        with fresh_database(kind) as url, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(measure(url, chosen.times, chosen.many, chosen.rounds))


if __name__ == "__main__":
    main()
