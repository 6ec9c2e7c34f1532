"""Durable steps beside DBOS, by turns on the same machine: the same work, ten steps in each run, 200 runs at once.

Run it from the repository's root: ``python -m tests.bench.peers.steps``. DBOS is no dependency of this project: the
first run installs it into an environment of its own (``--environment``). It judges nothing; only the ratios mean
something.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench.measuring import durable_server, load
from tests.bench.peers.run import FOLDER, Contender, python_of, server_seconds
from tests.support.postgres import PostgresServer

STEPS = 10
CONTENDERS = {"cronograph": Contender("steps"), "dbos": Contender("dbos", ("dbos", "psycopg[binary]"))}


def once(name: str, python: str, server: PostgresServer, runs: int) -> str:
    """One round of one contender on a fresh database, in words."""
    before = server_seconds(server.process.pid)
    command = [python, str(FOLDER / f"steps_{name}.py"), server.url(server.create_database()), str(runs)]
    environment = {**os.environ, "PYTHONPATH": "."}
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    steps = runs * STEPS
    return (
        f"{name:10} {found['version']:8} {steps / found['seconds']:7.0f} steps/s, "
        f"{found['cpu'] / steps * 1e6:6.0f} µs of its process and "
        f"{(server_seconds(server.process.pid) - before) / steps * 1e6:6.0f} µs of the server for a step"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--environment", type=Path, default=Path(tempfile.gettempdir()) / "cronograph-peers")
    chosen = parser.parse_args(arguments)
    pythons = {name: python_of(one, chosen.environment) for name, one in CONTENDERS.items()}
    with durable_server() as server:
        print(load(), f"Python {sys.version.split()[0]}", flush=True)
        for _ in range(chosen.rounds):
            for name, python in pythons.items():
                print(once(name, python, server, chosen.runs), flush=True)


if __name__ == "__main__":
    main()
