"""What single features cost a run: processor time of the node and of PostgreSQL, beside plain runs, by turns.

``beside`` are plain runs on a node that also knows jobs with every feature, of which none has a run: they pay nothing
if they take what ``plain`` ones take. Run it from the repository's root: ``python -m tests.bench.bench_features``.
"""

import argparse
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psutil
import uvloop
from sqlalchemy import func, select

from cronograph.jobs import Batch, Cancellation, JobContext, RunSpec
from cronograph.jobs.actions.runs import put
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import JobOptions, Registry, define
from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.database import Connection, Database
from cronograph.jobs.store.schema.tables import run
from tests.bench.measuring import cpu_seconds, durable_server, fresh_database, load
from tests.support.postgres import PostgresServer
from tests.support.schema import migrate
from tests.support.waiting import eventually

CHUNK: Final = 5_000
KEYS: Final = 10_000


async def nothing(customer: int = 0) -> None:
    """The job."""
    del customer


async def told(cancellation: Cancellation) -> None:
    """A job for ``on_cancel``."""
    del cancellation


async def together(customers: list[int]) -> None:
    """One call for many runs."""
    del customers


async def stepping(ctx: JobContext, customer: int = 0) -> None:
    """One step."""
    await ctx.step("reserve", lambda: customer)


async def undoable(ctx: JobContext, customer: int = 0) -> None:
    """One step that is undone if the run fails."""
    await ctx.step("reserve", lambda: customer, cleanup=RunSpec("nothing", {"customer": customer}))


VARIANTS: Final[Mapping[str, tuple[Callable[..., Any], JobOptions]]] = {
    "plain": (nothing, {}),
    "beside": (nothing, {}),
    "version": (nothing, {"version": "1"}),
    "on_cancel": (nothing, {"on_cancel": "other"}),
    "slots": (nothing, {"slots": 4}),
    "key": (nothing, {"max_concurrent": 1, "concurrency_key": "{customer}"}),
    "hold": (nothing, {"max_concurrent": 1, "concurrency_key": "{customer}", "hold": "unfinished"}),
    "batch": (together, {"batch": Batch(size=100, wait="10ms")}),
    "step": (stepping, {}),
    "cleanup": (undoable, {}),
}


def registry_of(variant: str) -> Registry:
    """Return the jobs of a node: the one that is measured, and others that are not run."""
    registry = Registry()
    handler, options = VARIANTS[variant]
    registry.add(define("measured", handler, **options))
    if variant != "plain":
        registry.add(define("nothing", nothing))
        registry.add(define("other", told))
    if variant == "beside":
        for name, (other, its) in VARIANTS.items():
            if its:
                registry.add(define(f"with {name}", other, **its))
    return registry


def new_runs(variant: str, first: int, last: int) -> list[NewRun]:
    """Return runs as their job declares them."""
    _, options = VARIANTS[variant]
    keyed = "concurrency_key" in options
    named = "customers" if variant == "batch" else "customer"
    return [
        NewRun(
            "measured",
            Trigger.API,
            args={named: place},
            concurrency_key=str(place % KEYS) if keyed else None,
            max_concurrent=1 if keyed else None,
            keeps_place=True if options.get("hold") else None,
        )
        for place in range(first, last)
    ]


def succeeded(conn: Connection) -> int:
    """Return how many runs have."""
    statement = select(func.count()).select_from(run).where(run.c.state == RunState.SUCCESS.value)
    count: int = conn.execute(statement).scalar_one()
    return count


@contextmanager
def database_of(kind: str) -> Iterator[tuple[str, Callable[[], float]]]:
    """Yield a migrated database's address, and what tells how much processor time its server has taken."""
    if kind == "sqlite":
        with fresh_database(kind) as url:
            yield url, lambda: 0.0
        return
    with durable_server() as server:
        url = server.url(server.create_database())
        migrate(url)
        yield url, lambda: server_seconds(server)


def server_seconds(server: PostgresServer) -> float:
    """Return the processor time of the processes of PostgreSQL, those that have ended left out."""
    root = psutil.Process(server.process.pid)
    return sum(sum(one.cpu_times()[:2]) for one in (root, *root.children(recursive=True)))


async def measured(kind: str, variant: str, runs: int) -> tuple[float, float]:
    """Return the microseconds of processor time that a run takes of the node, and of PostgreSQL."""
    with database_of(kind) as (url, of_server):
        database = Database(url)
        for first in range(0, runs, CHUNK):
            await database.write(put, new_runs(variant, first, min(first + CHUNK, runs)))
        engine = Engine(Services(database), registry_of(variant), EngineSettings(slots=100))
        before = cpu_seconds(), of_server()

        async def all_over() -> bool:
            return await database.read(succeeded) == runs

        await engine.start()
        await eventually(all_over, within=600, interval=0.1)
        used = cpu_seconds() - before[0], of_server() - before[1]
        await engine.stop()
        await database.close()
    return used[0] / runs * 1e6, used[1] / runs * 1e6


async def measure(options: argparse.Namespace) -> None:
    """Print a line for each feature: the median of all rounds."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in options.only or VARIANTS}
    for _ in range(options.rounds):
        for name, figures in found.items():
            figures.append(await measured(options.database, name, options.runs))
    plain = statistics.median(sum(one) for one in found.get("plain", next(iter(found.values()))))
    for name, figures in found.items():
        node, server = (statistics.median(column) for column in zip(*figures, strict=True))
        total = statistics.median(sum(one) for one in figures)
        print(f"{name:10} {node:6.0f} us of the node + {server:5.0f} us of the server a run: {total / plain:5.2f}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="postgres")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=tuple(VARIANTS), help="these features alone")
    options = parser.parse_args(arguments)
    print(load())
    uvloop.run(measure(options))


if __name__ == "__main__":
    main()
