"""The table of docs/performance.md again, in interleaved rounds: each line beside what it is compared with.

Run it from the repository's root: ``python -m tests.bench.table.run`` (``make bench-table``); ``--help`` lists the
options. Three rounds take less than 35 minutes on a quiet machine. A round takes all lines in turn, so that a slow
quarter of an hour of the machine strikes all of them. It judges against the aims, by the medians. The others
are installed into environments of their own by the first run; ``redis-server`` is needed for some of them, and what
cannot be had is left out, and said. With ``--write`` the table goes into docs/performance.md.
"""

import argparse
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from tests.bench.measuring import durable_server, load
from tests.bench.peers.run import PAGE, python_of
from tests.bench.table.lines import LINES, Line, Pythons, contenders, versions
from tests.bench.table.places import Places, places
from tests.bench.table.rows import Rounds, Sample, shown, table
from tests.support.postgres import PostgresServer

BEGIN, END = "<!-- table: written by tests.bench.table.run -->", "<!-- /table -->"


def interpreters(environments: Path, *, only_ours: bool) -> dict[str, str]:
    """By file, the interpreter of everyone who can be measured here; says who cannot, and why."""
    found: dict[str, str] = {}
    for file, contender in contenders().items():
        if contender.packages and only_ours:
            continue
        if contender.place == "redis" and not shutil.which("redis-server"):
            print(f"{file} is left out: redis-server is missing (apt-get install redis-server)", flush=True)
            continue
        try:
            found[file] = python_of(contender, environments)
        except subprocess.CalledProcessError as error:
            shutil.rmtree(environments / file, ignore_errors=True)
            print(f"{file} is left out: {error}", flush=True)
    return found


def measure(lines: Sequence[Line], rounds: int, where: Places, pythons: Pythons) -> Rounds:
    """All rounds; each sample is printed as it comes."""
    found: dict[str, list[Sample]] = {}
    rows = {row.name: row for line in lines for row in line.rows}
    for number in range(1, rounds + 1):
        for line in lines:
            began = time.perf_counter()
            for name, sample in line.measure(where, pythons):
                found.setdefault(name, []).append(sample)
                print(f"round {number}, {line.name:9} {name:50} {shown(rows[name], sample)}", flush=True)
            print(f"round {number}, {line.name:9} took {time.perf_counter() - began:.0f} s; {load()}", flush=True)
    return found


def _version(server: PostgresServer) -> str:
    with psycopg.connect(server.url()) as connection:
        return connection.info.parameter_status("server_version") or "of unknown version"


def write(words: str) -> None:
    """Put words and table into the page of figures."""
    before, rest = PAGE.read_text().split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{words}\n{END}{after}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--part", type=float, default=1.0, help="of every size; 0.01 shows that everything works")
    parser.add_argument("--line", choices=[one.name for one in LINES], action="append", help="all unless given")
    parser.add_argument("--ours", action="store_true", help="without the others")
    parser.add_argument("--environment", type=Path, default=Path(".peers"), help="where the others are installed")
    parser.add_argument("--write", action="store_true", help="write the table into docs/performance.md")
    chosen = parser.parse_args(arguments)
    lines = [one for one in LINES if one.name in (chosen.line or [one.name])]
    pythons = interpreters(chosen.environment, only_ours=chosen.ours)
    begun, busy = datetime.now(UTC), load()
    with durable_server() as server, places(server, chosen.part) as where:
        found = measure(lines, chosen.rounds, where, pythons)
        version = _version(server)
    rounds = "One round" if chosen.rounds == 1 else f"{chosen.rounds} interleaved rounds"
    words = (
        f"{rounds}, {begun:%d %B %Y %H:%M} to {datetime.now(UTC):%H:%M} UTC; {busy} at the"
        f" beginning, {os.getloadavg()[0]:.1f} at the end; Python {platform.python_version()}, PostgreSQL {version}"
        f"{f'; {others}' if (others := versions(pythons)) else ''}."
    )
    text = f"{words}\n\n{table([row for line in lines for row in line.rows], found)}"
    print(f"\n{text}", flush=True)
    if chosen.write:
        write(text)


if __name__ == "__main__":
    main()
