"""What an idle server costs: how soon it is ready, its memory, its processor time; with no task or very many.

Run it from the repository's root: ``python -m tests.bench.bench_serve``; ``--help`` lists the options. A real
``cronograph serve`` in a process of its own, with the built-in jobs; where there are tasks, by turns with one that has
none. It judges nothing.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from cronograph.jobs import job
from cronograph.jobs.actions.tasks import create_tasks
from cronograph.jobs.core.model import ScheduleSpec, TaskSpec
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.registry import Registry
from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.runtime.node import register, take_back
from cronograph.jobs.store.db.database import Database, parse_url, sync_engine
from cronograph.jobs.store.schema.tables import periodic_task
from cronograph.jobs.store.schema.types import SchemaText
from tests.bench.measuring import DATABASES, fresh_database, load
from tests.support.ports import free_port
from tests.support.web import get

PATIENCE = 120.0
SETTLING = 3.0
"""Seconds after which what is done once at the start is over."""
_COPIED = ", ".join(one.name for one in periodic_task.columns if one.name not in ("id", "name"))
_NUMBERS = {
    "sqlite": "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < :tasks)",
    "postgres": "WITH s(n) AS (SELECT generate_series(1, CAST(:tasks AS int)))",
}


async def make_first(url: str) -> None:
    """A task that is due once a year, of a job that no node knows any more."""
    registry, database = Registry(), Database(url)

    @job("rare", registry=registry)
    async def rare() -> None:
        pass

    await take_back(database, asyncio.create_task(register(database, registry, EngineSettings())))
    spec = TaskSpec("rare", "rare", ScheduleSpec(Syntax.CRON, "0 0 0 1 1 *"))
    await database.write(create_tasks, [spec])
    await database.close()


def fill(url: str, kind: str, tasks: int) -> None:
    """So many copies of the first task."""
    asyncio.run(make_first(url))
    statement = f"""
        {_NUMBERS[kind]} INSERT INTO cronograph.periodic_task ({_COPIED}, name)
        SELECT {_COPIED}, 'copy ' || s.n FROM cronograph.periodic_task t, s WHERE t.name = 'rare'"""
    engine = sync_engine(parse_url(url))
    with engine.begin() as conn:
        conn.execute(SchemaText(statement), {"tasks": tasks})
    engine.dispose()


def until_ready(process: psutil.Popen, port: int) -> float:
    """Seconds until the server says that it is ready."""
    began = time.perf_counter()
    while time.perf_counter() - began < PATIENCE and process.poll() is None:
        try:
            if get(f"http://127.0.0.1:{port}/health/ready").status_code == 200:
                return time.perf_counter() - began
        except httpx.TransportError:
            pass
        time.sleep(0.01)
    raise SystemExit("the server did not become ready")


@dataclass(frozen=True, slots=True)
class Idle:
    """What an idle server took: seconds until it was ready, and of a processor until then, MB, share of a core."""

    ready: float
    start: float
    memory: float
    share: float


def measure(url: str, seconds: float) -> Idle:
    """Start a server, look at it for a while, and stop it."""
    port = free_port()
    command = [
        Path(sys.executable).with_name("cronograph"),
        "serve",
        "--no-auth",
        "--port",
        port,
        "--database-url",
        url,
    ]
    # As installed: what was imported once is compiled, whatever the shell says of byte code.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile() as said:
        process = psutil.Popen(list(map(str, command)), stdout=said, stderr=subprocess.STDOUT, env=environment)
        try:
            ready = until_ready(process, port)
            start = sum(process.cpu_times()[:2])
            time.sleep(SETTLING)
            began, used = time.perf_counter(), sum(process.cpu_times()[:2])
            time.sleep(seconds)
            share = (sum(process.cpu_times()[:2]) - used) / (time.perf_counter() - began)
            memory = process.memory_info().rss / 1e6
        finally:
            process.terminate()
            process.wait(30)
    return Idle(ready, start, memory, share)


def in_words(it: Idle) -> str:
    """The figures of an idle server."""
    began_in = f"ready after {it.ready:5.2f} s ({it.start:5.2f} s of processor time)"
    return f"{began_in}, {it.memory:5.0f} MB, {it.share * 100:5.2f} % of a core"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=DATABASES, action="append", help="both unless given")
    parser.add_argument("--tasks", type=int, default=0, help="stored tasks, none of which comes due")
    parser.add_argument("--seconds", type=float, default=20.0, help="for which its processor time is watched")
    parser.add_argument("--rounds", type=int, default=1)
    chosen = parser.parse_args(arguments)
    print(load())
    for kind in chosen.database or DATABASES:
        with ExitStack() as stack:
            urls = {tasks: stack.enter_context(fresh_database(kind)) for tasks in sorted({0, chosen.tasks})}
            if chosen.tasks:
                fill(urls[chosen.tasks], kind, chosen.tasks)
            for _ in range(chosen.rounds):
                for tasks, url in urls.items():
                    print(f"{kind:8} {tasks:9,} tasks: {in_words(measure(url, chosen.seconds))}", flush=True)


if __name__ == "__main__":
    main()
