"""Cronograph beside other job queues, by turns on the same machine: runs a second and processor time a run.

Run it from the repository's root: ``python -m tests.bench.peers.run``; ``--help`` lists the options. The others are no
dependencies of this project: the first run installs them into an environment of their own (``--environment``). It
judges nothing; as all share the machine, only the ratios of one call mean something. With ``--write`` the table goes
into docs/performance.md and the plot beside it.
"""

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from tests.bench.measuring import durable_server, load
from tests.bench.peers.plot import svg
from tests.support.memory import DISK
from tests.support.postgres import PostgresServer
from tests.support.sources import ROOT

FOLDER = Path(__file__).parent
PAGE, PLOT = ROOT / "docs" / "performance.md", ROOT / "docs" / "images" / "peers.svg"
BEGIN, END = "<!-- peers: written by tests.bench.peers.run -->", "<!-- /peers -->"


@dataclass(frozen=True)
class Contender:
    """One of those that are compared.

    Attributes:
        file: ``contender_<file>.py``.
        packages: What it needs in an environment of its own; none = this project's.
        pythons: By which interpreters, the first that there is; none = this one.
        place: What it works on: a PostgreSQL database, a SQLite file, or a Redis in a folder, which it starts itself.
        against: Whose figures are divided by its own; None = nobody's.
        part: It gets this part of the runs, because it is slow.
        processes: How many processes drain together.
    """

    file: str
    packages: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()
    place: Literal["postgres", "sqlite", "redis"] = "postgres"
    against: str | None = None
    part: float = 1.0
    processes: int = 1


PGQUEUER = ("pgqueuer[asyncpg]", "uvloop")
CONTENDERS = {
    "cronograph": Contender("cronograph"),
    "pgqueuer": Contender("pgqueuer", PGQUEUER, against="cronograph"),
    "oban": Contender("oban", ("oban",), ("python3.13", "python3.12", "python3.14"), against="cronograph", part=0.5),
    "procrastinate": Contender("procrastinate", ("procrastinate", "uvloop"), against="cronograph", part=0.05),
    "bare statements": Contender("bare", against="cronograph"),
    "celery, Redis": Contender("celery", ("celery[redis]",), place="redis", against="cronograph", part=0.2),
    "cronograph, 2 processes": Contender("cronograph", processes=2),
    "pgqueuer, 2 processes": Contender("pgqueuer", PGQUEUER, against="cronograph, 2 processes", processes=2),
    "cronograph, SQLite": Contender("cronograph", place="sqlite"),
    "huey, SQLite": Contender("huey", ("huey",), place="sqlite", against="cronograph, SQLite", part=0.2),
}

Measures = dict[str, float]
"""What was measured in one round, by name."""


def python_of(contender: Contender, environments: Path) -> str:
    """The interpreter that has what a contender needs; its environment is made if it is missing."""
    if not contender.packages:
        return sys.executable
    folder = environments / contender.file
    python = folder / "bin" / "python"
    if not python.exists():
        found = [path for name in contender.pythons if (path := shutil.which(name)) and _runs(path)] or [sys.executable]
        subprocess.run([found[0], "-m", "venv", str(folder)], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *contender.packages], check=True)
    return str(python)


def _runs(python: str) -> bool:
    """Return whether it is an interpreter: pyenv has a stand-in for each that it knows, chosen or not."""
    return subprocess.run([python, "--version"], capture_output=True, check=False).returncode == 0


def server_seconds(pid: int) -> float:
    """Processor time of a PostgreSQL server so far; of connections that are closed too."""
    process = psutil.Process(pid)
    used = process.cpu_times()
    seconds = used.user + used.system + used.children_user + used.children_system
    for child in process.children(recursive=True):
        # A connection that ends at this moment is counted with those that have ended, the next time.
        with contextlib.suppress(psutil.NoSuchProcess):
            seconds += sum(child.cpu_times()[:2])
    return seconds


def once(contender: Contender, python: str, server: PostgresServer, runs: int) -> Measures:
    """One round of one contender on a fresh database: runs a second, and microseconds a run."""
    folder = Path(tempfile.mkdtemp(prefix="cronograph-peers-", dir=DISK))
    try:
        command = [python, str(FOLDER / f"contender_{contender.file}.py"), _place(contender, server, folder), str(runs)]
        took, used = _measured(command, contender.processes, folder / "tally", server)
    finally:
        shutil.rmtree(folder)
    return {
        "enqueued/s": runs / took["enqueue"],
        "drained/s": runs / took["drain"],
        "worker µs": took["cpu"] / runs * 1e6,
        "server µs": used / runs * 1e6 if contender.place == "postgres" else 0.0,
    }


def _place(contender: Contender, server: PostgresServer, folder: Path) -> str:
    if contender.place == "postgres":
        return server.url(server.create_database())
    if contender.place == "redis":
        return str(folder)
    prefix = "sqlite:///" if contender.file == "cronograph" else ""
    return f"{prefix}{folder / 'queue.db'}"


def _measured(command: Sequence[str], processes: int, tally: Path, server: PostgresServer) -> tuple[Measures, float]:
    """Return what a contender says of itself, and the server's seconds of processor time while it drained.

    The first of its processes enqueues; all of them drain, from the moment at which each says that it can. The slowest
    says how long it took.
    """
    tally.touch()
    environment, pipe = {**os.environ, "PYTHONPATH": "."}, subprocess.PIPE
    with contextlib.ExitStack() as stack:
        running: list[subprocess.Popen[str]] = []
        for member in range(processes):
            whole = [*command, "--tally", str(tally), "--member", str(member), "--members", str(processes)]
            process = subprocess.Popen(whole, stdin=pipe, stdout=pipe, text=True, env=environment)
            running.append(stack.enter_context(process))
            assert process.stdout is not None
            if (said := process.stdout.readline()) != "enqueued\n":
                raise SystemExit(f"{command[1]} said {said!r} instead of that its runs are enqueued")
        before = server_seconds(server.process.pid)
        for process in running:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        answers = [json.loads(process.communicate()[0] or "null") for process in running]
    if any(process.returncode for process in running):
        raise SystemExit(f"{command[1]} ended with {[process.returncode for process in running]}")
    together: Measures = {
        "enqueue": answers[0]["enqueue"],
        "drain": max(answer["drain"] for answer in answers),
        "cpu": sum(answer["cpu"] for answer in answers),
    }
    return together, server_seconds(server.process.pid) - before


def compare(pythons: Mapping[str, str], server: PostgresServer, *, runs: int, rounds: int) -> dict[str, list[Measures]]:
    """Return what each contender did in rounds in which they take turns."""
    found: dict[str, list[Measures]] = {name: [] for name in pythons}
    for _ in range(rounds):
        for name, python in pythons.items():
            one = CONTENDERS[name]
            found[name].append(once(one, python, server, max(1, round(runs * one.part))))
    return found


def table(found: Mapping[str, Sequence[Measures]]) -> str:
    """Medians with the least and the most of the rounds, and ours divided by those of the others."""
    measures = list(next(iter(found.values()))[0])
    lines = [f"| | {' | '.join(measures)} |", "|---" * (len(measures) + 1) + "|"]
    for name, rounds in found.items():
        lines.append(f"| {name} | {' | '.join(_shown([one[what] for one in rounds]) for what in measures)} |")
    for name in found:
        ours = CONTENDERS[name].against
        if ours is not None and ours in found:
            ratios = [_median(found[ours], what) / (_median(found[name], what) or float("nan")) for what in measures]
            shown = " | ".join("" if ratio != ratio else f"{ratio:.2f}" for ratio in ratios)  # noqa: PLR0124 - NaN
            lines.append(f"| {ours} / {name} | {shown} |")
    return "\n".join(lines)


def _median(rounds: Sequence[Measures], what: str) -> float:
    return statistics.median(one[what] for one in rounds)


def _shown(values: Sequence[float]) -> str:
    if not any(values):
        return ""
    return f"{statistics.median(values):,.0f} ({min(values):,.0f} to {max(values):,.0f})"


def write(found: Mapping[str, Sequence[Measures]], words: str) -> None:
    """Put the table into the page of figures, and the plot beside it."""
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{words}\n\n{table(found)}\n\n![Runs a second](images/{PLOT.name})\n{END}{after}")
    drained = {name: _median(rounds, "drained/s") for name, rounds in found.items()}
    PLOT.write_text(svg("Runs drained a second, one process", drained))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--environment", type=Path, default=Path(".peers"), help="where the others are installed")
    parser.add_argument("--contender", choices=list(CONTENDERS), action="append", help="all unless given")
    parser.add_argument("--write", action="store_true", help="write the table and the plot into docs/")
    chosen = parser.parse_args(arguments)
    names: list[str] = chosen.contender or list(CONTENDERS)
    pythons = {name: python_of(CONTENDERS[name], chosen.environment) for name in names}
    words = f"{chosen.rounds} rounds of {chosen.runs:,} runs; {load()} at the beginning."
    print(words)
    with durable_server() as server:
        found = compare(pythons, server, runs=chosen.runs, rounds=chosen.rounds)
    print(table(found))
    if chosen.write:
        write(found, words)


if __name__ == "__main__":
    main()
