"""A drain as users see it: ``cronograph serve`` in processes of its own, beside another copy of the sources.

Run it from the repository's root: ``python -m tests.bench.bench_drain``; ``--help`` lists the options. With ``--beside
FOLDER`` each line is measured by turns with the sources of that folder. The runs wait in a paused group until every
server is ready. Runs a second are those between the first start and the last end in the execution log. It judges
nothing.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil
import uvloop
from sqlalchemy import func, select

from cronograph.jobs.actions.groups import pause_group, resume_group
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.queue.enqueue.enqueue import put
from cronograph.jobs.store.db.database import Connection, Database
from cronograph.jobs.store.schema.tables import job_execution, run
from cronograph.jobs.store.schema.types import SchemaText
from tests.bench.bench_serve import until_ready
from tests.bench.measuring import DATABASES, durable_server, load, percentile
from tests.bench.peers.run import server_seconds
from tests.support.databases import sqlite_address
from tests.support.memory import DISK
from tests.support.ports import free_port
from tests.support.postgres import PostgresServer
from tests.support.schema import migrate
from tests.support.sources import ROOT
from tests.support.waiting import eventually

CHUNK = 5_000
_SERVE = "from cronograph.server.cli import main; main()"
_WAL = SchemaText("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')")
LINES = {
    "nothing": ("nothing", 1, 40_000),
    "nothing, 2 processes": ("nothing", 2, 60_000),
    "5 ms of waiting": ("pause", 1, 30_000),
    "5 ms of sleep in threads": ("sleep", 1, 8_000),
    "reused children": ("child", 1, 6_000),
}
"""By name: the job, how many servers, and how many runs."""
LONE = "a lone run"
"""From the commit of an enqueue by another process to the start of the run: what no drain may cost."""
_LONE_RUNS = 100


@dataclass(frozen=True, slots=True)
class Drained:
    """What a line took: runs a second, microseconds of servers and database for a run, bytes of WAL for a run."""

    rate: float
    node: float
    database: float = 0.0
    wal: float = 0.0


@contextmanager
def serving(sources: Path, url: str, number: int, options: Sequence[str]) -> Generator[list[psutil.Popen]]:
    """So many servers of these sources, ready."""
    environment = {**os.environ, "PYTHONPATH": f"{sources / '.links'}{os.pathsep}{ROOT}"}
    with ExitStack() as stack:
        said = stack.enter_context(tempfile.TemporaryFile())
        servers: list[psutil.Popen] = []
        for _ in range(number):
            port = free_port()
            words = [
                "serve",
                "--no-auth",
                "--port",
                str(port),
                "--database-url",
                url,
                "--jobs",
                "tests.bench.drain_jobs",
            ]
            server = psutil.Popen(
                [sys.executable, "-c", _SERVE, *words, *options],
                cwd=ROOT,
                env=environment,
                stdout=said,
                stderr=subprocess.STDOUT,
            )
            stack.callback(_stop, server)
            until_ready(server, port)
            servers.append(server)
        yield servers


def _stop(server: psutil.Popen) -> None:
    server.terminate()
    server.wait(60)


def node_seconds(servers: Sequence[psutil.Popen]) -> float:
    """Processor time of servers and of their children, those that have ended included."""
    used = 0.0
    for server in servers:
        for one in (server, *server.children(recursive=True)):
            used += sum(one.cpu_times()[:4]) if one is server else sum(one.cpu_times()[:2])
    return used


def _is_over(conn: Connection) -> bool:
    return conn.execute(select(run.c.id).where(run.c.finished_at.is_(None)).limit(1)).first() is None


async def _all_ended(database: Database, interval: float) -> None:
    async def have_ended() -> bool:
        return await database.read(_is_over)

    await eventually(have_ended, within=600, interval=interval)


def _seconds(conn: Connection) -> float:
    first, last = conn.execute(
        select(func.min(job_execution.c.started_at), func.max(job_execution.c.completed_at))
    ).one()
    took: float = (last - first).total_seconds()
    return took


def _wal(conn: Connection) -> float:
    return 0.0 if conn.dialect.name == "sqlite" else float(conn.execute(_WAL).scalar_one())


async def drained(sources: Path, url: str, line: str, pid: int | None, part: float, options: Sequence[str]) -> Drained:
    """Drain the runs of a line.

    Args:
        sources: Of the servers.
        url: A migrated database.
        line: Of ``LINES``.
        pid: The server of the database.
        part: Of the number of runs.
        options: Of ``cronograph serve``.
    """
    job, processes, runs = LINES[line]
    runs = max(20, round(runs * part))
    database = Database(url)
    await database.write(pause_group, "default", actor="bench")
    for first in range(0, runs, CHUNK):
        await database.write(put, [NewRun(job, Trigger.API)] * min(CHUNK, runs - first))
    with serving(sources, url, processes, options) as servers:
        used, stored, wal = node_seconds(servers), server_seconds(pid) if pid else 0.0, await database.read(_wal)
        await database.write(resume_group, "default")
        await _all_ended(database, 0.05)
        used, wal = node_seconds(servers) - used, await database.read(_wal) - wal
        stored = server_seconds(pid) - stored if pid else 0.0
    took = await database.read(_seconds)
    await database.close()
    return Drained(runs / took, used / runs * 1e6, stored / runs * 1e6, wal / runs)


async def steady(url: str, pid: int | None, rate: int, seconds: float) -> tuple[float, float]:
    """The shares of a core that a server and its database take while so many runs a second are enqueued and executed.

    Args:
        url: A migrated database.
        pid: The server of the database.
        rate: Runs a second.
        seconds: For how long.
    """
    database, parts = Database(url), 10
    with serving(ROOT, url, 1, ()) as servers:
        used, stored, began = node_seconds(servers), server_seconds(pid) if pid else 0.0, time.perf_counter()
        for place in range(round(seconds * parts)):
            await database.write(put, [NewRun("nothing", Trigger.API)] * (rate // parts))
            await asyncio.sleep(max(0.0, began + (place + 1) / parts - time.perf_counter()))
        await _all_ended(database, 0.05)
        took, used = time.perf_counter() - began, node_seconds(servers) - used
        stored = server_seconds(pid) - stored if pid else 0.0
    await database.close()
    return used / took, stored / took


async def lone(sources: Path, url: str, part: float, options: Sequence[str]) -> list[float]:
    """Seconds from the commit of an enqueue to the start of the run, one at a time."""
    database = Database(url)
    enqueued: list[datetime] = []
    with serving(sources, url, 1, options):
        for _ in range(max(2, round(_LONE_RUNS * part))):
            await database.write(put, [NewRun("nothing", Trigger.API)])
            enqueued.append(datetime.now(UTC))
            await _all_ended(database, 0.002)
            # Not in step with what the server does at times of its own.
            await asyncio.sleep(0.013)
    started = await database.read(
        lambda conn: conn.execute(select(run.c.started_at).order_by(run.c.id)).scalars().all()
    )
    await database.close()
    return [(start - commit).total_seconds() for start, commit in zip(started, enqueued, strict=True)]


@contextmanager
def _database(kind: str, server: PostgresServer | None) -> Generator[str]:
    if server is not None:
        url = server.url(server.create_database())
        migrate(url)
        yield url
        return
    with tempfile.TemporaryDirectory(prefix="cronograph-bench-", dir=DISK) as folder:
        url = sqlite_address(Path(folder) / f"{kind}.db")
        migrate(url)
        yield url


def _round(
    kind: str, line: str, server: PostgresServer | None, sources: Path, chosen: argparse.Namespace
) -> str | Drained:
    with _database(kind, server) as url:
        if line == LONE:
            took = uvloop.run(lone(sources, url, chosen.part, chosen.serve))
            return f"p50 {percentile(took, 0.5) * 1e3:.1f} ms, p99 {percentile(took, 0.99) * 1e3:.1f} ms"
        pid = server.process.pid if server is not None else None
        return uvloop.run(drained(sources, url, line, pid, chosen.part, chosen.serve))


def _tell(kind: str, line: str, found: dict[Path, list[str | Drained]]) -> None:
    own = [one for one in found[ROOT] if isinstance(one, Drained)]
    for sources, rounds in found.items():
        figures = [one for one in rounds if isinstance(one, Drained)]
        name = f"{kind}, {line}, {'these sources' if sources == ROOT else sources}"
        if not figures:
            print(f"{name}: {'; '.join(str(one) for one in rounds)}", flush=True)
            continue
        ratios = [mine.rate / one.rate for mine, one in zip(own, figures, strict=True)]
        rate, node, database, wal = (
            statistics.median(getattr(one, field) for one in figures) for field in ("rate", "node", "database", "wal")
        )
        print(
            f"{name}: {rate:,.0f} runs/s, node {node:.0f} µs, server {database:.0f} µs, WAL {wal:,.0f} B; "
            f"these sources {statistics.median(ratios):.2f} × ({', '.join(f'{one:.2f}' for one in ratios)})",
            flush=True,
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=DATABASES, action="append", help="both unless given")
    parser.add_argument("--line", choices=[*LINES, LONE], action="append", help="all unless given")
    parser.add_argument("--beside", type=Path, help="a folder with other sources")
    parser.add_argument("--part", type=float, default=1.0, help="of the runs of each line")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--serve", action="append", default=[], help="an option of cronograph serve, e.g. --serve=--slots=400"
    )
    chosen = parser.parse_args(arguments)
    ways = [*([chosen.beside.resolve()] if chosen.beside else []), ROOT]
    print(load(), flush=True)
    for kind in chosen.database or DATABASES:
        with ExitStack() as stack:
            server = stack.enter_context(durable_server()) if kind == "postgres" else None
            for line in chosen.line or [*LINES, LONE]:
                if kind == "sqlite" and line in LINES and LINES[line][1] > 1:
                    continue
                found: dict[Path, list[str | Drained]] = {way: [] for way in ways}
                for _ in range(chosen.rounds):
                    for way in ways:
                        found[way].append(_round(kind, line, server, way, chosen))
                _tell(kind, line, found)


if __name__ == "__main__":
    main()
