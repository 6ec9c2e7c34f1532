"""Operations made up from the schema by schemathesis: none of them is a fault of the server."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.generation.cli_answers import committed_schema
from tests.support.databases import sqlite_address
from tests.support.forking import Nursery
from tests.support.job_modules import write_example_jobs
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.sources import ROOT

EXAMPLES = 3
"""Operations per root field."""

COMMAND = Path(sys.executable).with_name("schemathesis")
HOOKS = "tests.graphql_api.clients.scalars_for_schemathesis"
SDL = committed_schema()


def root_fields() -> list[tuple[str, str]]:
    roots = [SDL.query_type, SDL.mutation_type]
    return [(root.name, name) for root in roots if root is not None for name in root.fields]


@pytest.fixture
def fuzzed(tmp_path: Path, nursery: Nursery) -> Iterator[CronographProcess]:
    """A server of its own: all that is there may be cancelled, paused or deleted."""
    starter = ProcessStarter(tmp_path, nursery)
    try:
        yield starter.serve(sqlite_address(tmp_path / "x.db"), "--jobs", write_example_jobs(tmp_path))
    finally:
        starter.end_all()


@pytest.mark.costly
@pytest.mark.timeout(240)
def test_the_stock_command_finds_no_server_error(fuzzed: CronographProcess, tmp_path: Path) -> None:
    # The check that is left out wants nothing that the types allow to be refused: no page size, cursor or id.
    options = ["--max-examples", str(EXAMPLES), "--seed", "1", "--exclude-checks", "positive_data_acceptance"]
    done = subprocess.run(
        [str(COMMAND), "run", f"{fuzzed.url}/graphql", *options, "--no-color"],
        cwd=tmp_path,
        env={**os.environ, "SCHEMATHESIS_HOOKS": HOOKS, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=220,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Tested: {len(root_fields())}" in done.stdout
    assert fuzzed.running
    assert "Traceback" not in fuzzed.output()
