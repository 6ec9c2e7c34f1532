"""``cronograph bench``: figures of the user's own database, in a place that is gone afterwards."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.store.db.opening import connected, scratch_database
from cronograph.jobs.store.schema.types import SchemaText
from cronograph.server.database.trial import Amount, Spread, measure
from tests.server.cli.answers import fault
from tests.support.databases import sqlite_address

TINY = Amount(runs=20, latencies=2, tasks=3)


@pytest.mark.costly
async def test_a_trial_measures_beside_the_data_and_leaves_nothing(database_url: str) -> None:
    before = contents(database_url)
    said: list[str] = []
    with scratch_database(database_url) as place:
        figures = await measure(place, TINY, EngineSettings(), said.append)
        assert contents(database_url) == before, "the trial worked in the real tables"
    assert min(figures.enqueued, figures.drained, figures.processor, figures.start.p50) > 0
    assert figures.late.p50 <= figures.late.p99 <= figures.late.longest
    assert len(said) == 4
    with connected(database_url) as conn:
        assert conn.dialect.name == "sqlite" or not conn.execute(text(TRIALS)).all()


TRIALS = "SELECT 1 FROM information_schema.schemata WHERE schema_name LIKE 'cronograph_trial%'"


def contents(url: str) -> list[int]:
    """Return how many runs and tasks the real tables hold."""
    with connected(url) as conn:
        return [
            conn.execute(SchemaText(f"SELECT count(*) FROM cronograph.{table}")).scalar_one()
            for table in ("run", "periodic_task")
        ]


def test_the_place_of_a_trial_is_gone_however_it_ends(tmp_path: Path) -> None:
    def use(place: str) -> None:
        Path(place.removeprefix("sqlite:///")).touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), scratch_database(sqlite_address(tmp_path / "mine.db")) as place:
        use(place)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.costly
def test_the_command_says_what_it_found(tmp_path: Path) -> None:
    address = sqlite_address(tmp_path / "mine.db")
    small = ("--runs", "20", "--latencies", "2", "--tasks", "2")
    command = [sys.executable, "-c", "from cronograph.server.cli import main; main()", "bench", "--json", *small]
    command += ["--database-url", address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["ok"]
    assert found["drained"] > 0
    assert fault("bench", done.stdout) is None
    assert list(tmp_path.iterdir()) == []


def test_a_spread_is_of_the_durations_it_is_given() -> None:
    assert Spread.of([place / 1000 for place in range(1, 101)]) == Spread(51.0, 100.0, 100.0)
