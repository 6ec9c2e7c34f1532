"""A whole node drains runs of many groups beside one group, beside a long log, and from a long queue.

Run it from the repository's root: ``python -m tests.bench.trials.drains``; PostgreSQL, by turns on fresh databases.

- ``groups``: the same number of runs in 1, 50 and 1,000 groups;
- ``hours``: an empty log, and one that was copied in, whose hours are counted beside the runs: with the rests that the
  counter makes (as it is), and without (as it was);
- ``settled``: an empty log, one that was copied in a moment ago, and one that was lived through (``settle``);
- ``waiting``: 60,000 runs that wait, and many more, copied in a moment ago and vacuumed.

Printed are runs a second and microseconds of the node and of PostgreSQL for a run; only ratios of one call mean
something.
"""

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import psycopg
import uvloop

from cronograph.jobs import job
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.queue.enqueue.enqueue import put
from cronograph.jobs.registry import Registry
from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.runtime.duties import figures
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.database import Database
from cronograph.server.process.lifecycle import leave_out_what_stays
from tests.bench.large_log import Size, fill, settle, vacuum
from tests.bench.measuring import cpu_seconds, durable_server, load
from tests.bench.peers.run import server_seconds
from tests.bench.table.places import fill_queue
from tests.support.postgres import PostgresServer
from tests.support.schema import migrate
from tests.support.waiting import eventually

CHUNK = 5_000
Figures = tuple[float, float, float]
"""Runs a second, microseconds of the node, microseconds of the server."""


async def drain(server: int, url: str, runs: int, groups: int, keys: int = 0) -> Figures:
    """Start a node, and wait until so many runs have been executed; its start counts.

    Args:
        server: The process of the database's server.
        url: The database, migrated.
        runs: How many to wait for.
        groups: In how many groups they are enqueued first; 0 = they wait already.
        keys: How many concurrency keys they have, one run of each at once; 0 = none.
    """
    registry, done = Registry(), 0

    @job("nothing", registry=registry)
    async def nothing() -> None:
        nonlocal done
        done += 1

    database = Database(url)
    for first in range(0, runs if groups else 0, CHUNK):
        some = range(first, min(first + CHUNK, runs))
        await database.write(put, [_of_place(one, groups, keys) for one in some])
    leave_out_what_stays()
    engine = Engine(Services(database), registry, EngineSettings())
    used, began, cpu = server_seconds(server), time.perf_counter(), cpu_seconds()
    await engine.start()
    await eventually(lambda: done >= runs, within=900, interval=0.005)
    took, cpu, used = time.perf_counter() - began, cpu_seconds() - cpu, server_seconds(server) - used
    await engine.stop()
    await database.close()
    return runs / took, cpu / runs * 1e6, used / runs * 1e6


def _of_place(place: int, groups: int, keys: int) -> NewRun:
    new = NewRun("nothing", Trigger.API, group=f"g{place % groups}")
    return replace(new, concurrency_key=f"k{place % keys}", max_concurrent=1) if keys else new


def copy_of(server: PostgresServer, template: str, name: str) -> str:
    """The address of a copy of a database."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'.encode())
    return server.url(name)


def in_groups(server: PostgresServer, chosen: argparse.Namespace) -> Iterator[tuple[str, Figures]]:
    """Rounds of ``groups``."""
    template = server.create_database()
    migrate(server.url(template))
    for number in range(chosen.rounds):
        for groups in chosen.groups or (1, 50, 1_000):
            url = copy_of(server, template, f"{template}_{groups}_{number}")
            yield f"{groups} groups", uvloop.run(drain(server.process.pid, url, chosen.runs, groups))


def beside_a_log(server: PostgresServer, chosen: argparse.Namespace) -> Iterator[tuple[str, Figures]]:
    """Rounds of ``hours``."""
    empty, full = server.create_database(), server.create_database()
    for template in (empty, full):
        migrate(server.url(template))
    fill(server.url(full), Size(chosen.executions, 0, datetime.now(UTC)))
    as_it_is = figures.REST_OF_HOURS
    ways = (
        ("an empty log", empty, as_it_is),
        (f"{chosen.executions:,} executions, with rests", full, as_it_is),
        (f"{chosen.executions:,} executions, without", full, 0),
    )
    for number in range(chosen.rounds):
        for way, (name, template, rest) in enumerate(ways):
            url = copy_of(server, template, f"{template}_{way}_{number}")
            figures.REST_OF_HOURS = rest
            yield name, uvloop.run(drain(server.process.pid, url, chosen.runs, 1))
    figures.REST_OF_HOURS = as_it_is


def beside_a_settled_log(server: PostgresServer, chosen: argparse.Namespace) -> Iterator[tuple[str, Figures]]:
    """Rounds of ``settled``."""
    empty, copied, settled = (server.create_database() for _ in range(3))
    for template in (empty, copied, settled):
        migrate(server.url(template))
    for template in (copied, settled):
        fill(server.url(template), Size(chosen.executions, 0, datetime.now(UTC)))
    settle(server.url(settled))
    ways = (
        ("an empty log", empty),
        (f"{chosen.executions:,} executions, copied in", copied),
        (f"{chosen.executions:,} executions, settled", settled),
    )
    for number in range(chosen.rounds):
        for name, template in ways:
            url = copy_of(server, template, f"{template}_{number}")
            yield name, uvloop.run(drain(server.process.pid, url, chosen.runs, 1))


def from_a_queue(server: PostgresServer, chosen: argparse.Namespace) -> Iterator[tuple[str, Figures]]:
    """Rounds of ``waiting``."""
    ways: dict[str, str] = {}
    for waiting in (60_000, chosen.executions):
        for name in ("copied in", "vacuumed"):
            template = ways[f"{waiting:,} waiting, {name}"] = server.create_database()
            fill_queue(server.url(template), waiting)
            if name == "vacuumed":
                vacuum(server.url(template))
    for number in range(chosen.rounds):
        for name, template in ways.items():
            url = copy_of(server, template, f"{template}_{number}")
            yield name, uvloop.run(drain(server.process.pid, url, chosen.runs, 0))


PARTS = {"groups": in_groups, "hours": beside_a_log, "settled": beside_a_settled_log, "waiting": from_a_queue}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=list(PARTS), action="append", help="all unless given")
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--groups", type=int, action="append", help="1, 50 and 1,000 unless given")
    parser.add_argument("--executions", type=int, default=1_000_000, help="in the long log, or waiting")
    chosen = parser.parse_args(arguments)
    for part in chosen.part or PARTS:
        with durable_server() as server:
            print(f"{part}: {chosen.rounds} rounds of {chosen.runs:,} runs; {load()}", flush=True)
            found: dict[str, list[Figures]] = {}
            for name, measured in PARTS[part](server, chosen):
                found.setdefault(name, []).append(measured)
        first = statistics.median(one[0] for one in next(iter(found.values())))
        print("| | runs/s | of the first | node µs | server µs |\n|---|---|---|---|---|")
        for name, rounds in found.items():
            rate, node, used = (statistics.median(column) for column in zip(*rounds, strict=True))
            print(f"| {name} | {rate:,.0f} | {rate / first:.2f} | {node:.0f} | {used:.0f} |", flush=True)


if __name__ == "__main__":
    main()
