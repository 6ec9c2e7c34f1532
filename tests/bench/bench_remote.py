"""What it costs a node to look after attempts at an engine that only go on: its processor time, with 10,000 of them.

Run it from the repository's root: ``python -m tests.bench.bench_remote``; ``--help`` lists the options. The engine is
``command``, whose list is a file. With ``folder``, their code reaches no server: another process appends the signs of
life, each of them six times in the lease, as the code would. The processor time of PostgreSQL and of the list's command
is not counted, and neither is that of the API that hears signs of life over HTTP.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from cronograph.jobs.actions.runs import enqueue_runs
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.core.remote import heartbeat_of
from cronograph.jobs.executors.finding import engine_of
from cronograph.jobs.queue import remote
from cronograph.jobs.queue.claims.claim import Started
from cronograph.jobs.queue.remote import Submission
from cronograph.jobs.runtime.remote.contract import RemoteContract
from cronograph.jobs.runtime.remote.folder import Box
from cronograph.jobs.runtime.remote.supervisor import RemoteSupervisor
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.statements.executions import remote_attempts
from tests.bench.measuring import DATABASES, fresh_database, load
from tests.support.storage import Stored, Worker

LEASE, POLL = 180.0, 5.0
"""As a node has them unless they are set."""
BATCH: Final = 500
ALIVE = """
import sys, time
from pathlib import Path
boxes, every = sorted(Path(sys.argv[1]).iterdir()), float(sys.argv[2])
while True:
    began = time.monotonic()
    for number, box in enumerate(boxes):
        with (box / "out.1").open("ab") as out:
            out.write(b"\\n")
        if number % 20 == 0:
            time.sleep(max(0.0, began + every * number / len(boxes) - time.monotonic()))
"""


def fill(url: str, attempts: int, folder: Path | None) -> tuple[Worker, list[Started]]:
    """Begin so many attempts that an engine has."""
    stored = Stored(url)
    worker = stored.node("bench", ("away",), slots=attempts)
    started: list[Started] = []
    for _ in range(0, attempts, BATCH):
        stored.do(enqueue_runs, [NewRun("away", Trigger.API, timeout=86_400.0) for _ in range(BATCH)])
        some = worker.take(BATCH).started

        def submit(tx: Tx, some: Sequence[Started] = some) -> None:
            for one in some:
                name = f"cronograph-bench-{one.execution_id}"
                place = None if folder is None else str(folder / name)
                new = Submission("command", name, f"{one.execution_id:064}", {}, place)
                remote.note_submission(tx, one.run, one.execution_id, new)
                remote.note_handle(tx, one.execution_id, str(one.execution_id))
                remote.begin(tx, new.token_hash, "bench")

        stored.do(submit)
        started += some
    stored.close()
    return worker, started


async def measure(url: str, attempts: int, seconds: float, folder: Path | None) -> str:
    """Return a line about one database."""
    worker, started = fill(url, attempts, folder)
    with tempfile.NamedTemporaryFile("w") as listed:
        listed.writelines(f"{one.execution_id} running on node {one.execution_id % 97}\n" for one in started)
        listed.flush()
        options = {"launch": "true", "find": ["cat", listed.name], "complete": True}
        engine = replace(engine_of("command", {"command": options}), folder=folder)
        database = Database(url)
        services = Services(database)
        supervisor = RemoteSupervisor(
            database, worker.node, {"command": engine}, RemoteContract(services, LEASE), ["away"],
            lease=LEASE, poll=POLL, url="http://127.0.0.1", room=lambda: 0,
        )  # fmt: skip
        for first in range(0, len(started), BATCH):
            some = started[first : first + BATCH]
            known = await database.read(remote_attempts, [one.execution_id for one in some])
            for one in some:
                if folder is not None:
                    Box(Path(known[one.execution_id].folder or "")).place({})
                supervisor.found(supervisor.hold(one, "command", lambda _: None), known[one.execution_id])
        words = [sys.executable, "-c", ALIVE, str(folder), str(heartbeat_of(LEASE))]
        alive = None if folder is None else await asyncio.create_subprocess_exec(*words)
        supervisor.start()
        # The first look takes notes of all states.
        await asyncio.sleep(max(2 * POLL, seconds / 2))
        began, reads, writes = time.process_time(), database.usage.reads, database.usage.writes
        await asyncio.sleep(seconds)
        spent = time.process_time() - began
        reads, writes = database.usage.reads - reads, database.usage.writes - writes
        if alive is not None:
            alive.kill()
            await alive.wait()
        await supervisor.stop()
        await database.close()
    used = f"{100 * spent / seconds:5.2f} % of a core"
    return f"{attempts:6,} attempts  {used}  {reads} reads and {writes} writes in {seconds:g} s"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=DATABASES, action="append", help="both unless given")
    parser.add_argument("--attempts", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--channel", choices=("http", "folder"), action="append", help="both unless given")
    chosen = parser.parse_args(arguments)
    print(load())
    for kind in chosen.database or DATABASES:
        for channel in chosen.channel or ("http", "folder"):
            with fresh_database(kind) as url, tempfile.TemporaryDirectory() as folder:
                place = Path(folder) if channel == "folder" else None
                line = asyncio.run(measure(url, chosen.attempts, chosen.seconds, place))
            print(f"{kind:8} {channel:6} {line}", flush=True)


if __name__ == "__main__":
    main()
