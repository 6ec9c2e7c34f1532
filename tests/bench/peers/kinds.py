"""Plain functions and child processes of Cronograph beside those of other job queues, by turns on the same machine.

Run it from the repository's root: ``python -m tests.bench.peers.kinds``. It installs the others as
``tests.bench.peers.run`` does, and needs ``redis-server`` for some of them. It judges nothing; only the ratios of one
call mean something.
"""

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.measuring import durable_server, load
from tests.bench.peers.kinds_work import DONE, PROCESSES, THREADS
from tests.bench.peers.run import FOLDER, Contender, Measures, python_of
from tests.support.memory import DISK
from tests.support.postgres import PostgresServer


@dataclass(frozen=True)
class Way:
    """One way to run jobs.

    Attributes:
        contender: Who, in ``kinds_<file>.py``.
        kind: What it is told.
        times: How many times as many runs it gets: processes that are kept are done with a thousand in a moment.
    """

    contender: Contender
    kind: str
    times: int = 1


def _others(file: str, *packages: str) -> Contender:
    return Contender(file, packages, place="sqlite" if file == "huey" else "redis")


WAYS = {
    "cronograph": Way(Contender("cronograph"), "thread"),
    "cronograph, SQLite": Way(Contender("cronograph", place="sqlite"), "thread"),
    "huey threads": Way(_others("huey", "huey"), "thread"),
    "dramatiq threads": Way(_others("dramatiq", "dramatiq[redis]"), "thread"),
    "celery threads": Way(_others("celery", "celery[redis]"), "thread"),
    "cronograph, a fork each": Way(Contender("cronograph"), "process"),
    "cronograph, preloaded": Way(Contender("cronograph"), "preloaded"),
    "cronograph, reused": Way(Contender("cronograph"), "reused", times=5),
    "rq, a fork each": Way(_others("rq", "rq"), "process"),
    "huey, processes kept": Way(_others("huey", "huey"), "process", times=5),
    "celery, processes kept": Way(_others("celery", "celery[redis]"), "process", times=5),
}
TASKS = {("thread", "nothing"): 10_000, ("thread", "sleep5"): 10_000, ("process", "nothing"): 1_000,
         ("process", "cpu20"): 400, ("process", "import200"): 100}  # fmt: skip
"""How many runs of which work by which kind, before ``Way.times``."""
IDEAL = {"sleep5": THREADS / 0.005, "cpu20": PROCESSES / 0.02}


def does(way: Way, kind: str, work: str) -> bool:
    """Return whether a way runs this; how often a module is imported is asked of ours alone."""
    return (way.kind == "thread") == (kind == "thread") and (work != "import200" or way.contender.file == "cronograph")


@contextlib.contextmanager
def _place(contender: Contender, server: PostgresServer, folder: Path) -> Generator[str]:
    if contender.place == "postgres":
        yield server.url(server.create_database())
    elif contender.place == "sqlite":
        yield f"{'sqlite:///' if contender.file == 'cronograph' else ''}{folder / 'queue.db'}"
    else:
        socket = folder / "redis.sock"
        words = ["--port", "0", "--unixsocket", str(socket), "--dir", str(folder), "--appendonly", "yes", "--save", ""]
        redis = subprocess.Popen(["redis-server", *words], stdout=subprocess.DEVNULL)
        try:
            while not socket.exists():
                time.sleep(0.01)
            yield str(socket)
        finally:
            redis.terminate()
            redis.wait()


def once(way: Way, python: str, server: PostgresServer, work: str, runs: int) -> Measures:
    """One drain on a fresh place: runs a second, and microseconds of the workers' processors a run."""
    runs *= way.times if work == "nothing" else 1
    folder = Path(tempfile.mkdtemp(prefix="cronograph-kinds-", dir=DISK))
    try:
        done = folder / "done"
        done.touch()
        with _place(way.contender, server, folder) as place:
            command = [python, str(FOLDER / f"kinds_{way.contender.file}.py"), place, str(runs), way.kind, work]
            environment = {**os.environ, "PYTHONPATH": ".", DONE: str(done)}
            ended = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    finally:
        shutil.rmtree(folder)
    took = json.loads(ended.stdout.splitlines()[-1])
    return {"runs/s": took["runs"] / took["drain"], "µs": took["cpu"] / took["runs"] * 1e6}


def table(kind: str, work: str, found: dict[str, list[Measures]]) -> str:
    """Medians of the rounds, and their share of the ideal where there is one."""
    ideal = IDEAL.get(work)
    lines = [f"| {kind}, {work} | runs/s | of ideal | worker µs a run |", "|---|---|---|---|"]
    for name, rounds in found.items():
        rate, cost = (statistics.median(one[what] for one in rounds) for what in ("runs/s", "µs"))
        lines.append(f"| {name} | {rate:,.0f} | {f'{rate / ideal:.2f}' if ideal else ''} | {cost:,.0f} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", type=float, default=1.0, help="of the runs of each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--environment", type=Path, default=Path(".peers"), help="where the others are installed")
    parser.add_argument("--way", choices=list(WAYS), action="append", help="all unless given")
    parser.add_argument("--work", choices=sorted({work for _, work in TASKS}), action="append", help="all unless given")
    chosen = parser.parse_args(arguments)
    ways = {name: WAYS[name] for name in chosen.way or WAYS}
    pythons = {name: python_of(way.contender, chosen.environment) for name, way in ways.items()}
    with durable_server() as server:
        for (kind, work), runs in TASKS.items():
            mine = {name: way for name, way in ways.items() if does(way, kind, work)}
            if not mine or work not in (chosen.work or [work]):
                continue
            count = max(10, round(runs * chosen.part))
            print(f"{chosen.rounds} rounds of {count:,} runs; {load()} at the beginning.\n")
            found: dict[str, list[Measures]] = {name: [] for name in mine}
            for _ in range(chosen.rounds):
                for name, way in mine.items():
                    found[name].append(once(way, pythons[name], server, work, count))
            print(table(kind, work, found), flush=True)


if __name__ == "__main__":
    main()
