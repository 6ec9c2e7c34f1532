"""Every benchmark runs to its end; with tiny sizes, so that its figures mean nothing."""

import os
from pathlib import Path

import pytest

from tests.support.forking import Nursery
from tests.support.sources import ROOT

pytestmark = pytest.mark.timeout(300)
"""A benchmark takes 5 s; ten times as long where ten times as much is asked of the machine."""

LIMIT = 280
"""Seconds that a benchmark may take: less than its test, which says what the benchmark has said."""

SQLITE = ("--database", "sqlite")
TINY: dict[str, tuple[str, ...]] = {
    "alarms": (*SQLITE, "--alarms", "9", "--rate", "3", "--seconds", "2"),
    "webhooks": (*SQLITE, "--webhooks", "3", "--rate", "20", "--seconds", "2"),
    "answers": (*SQLITE, "--executions", "300", "--rounds", "1", "--times", "1"),
    "bulk": (*SQLITE, "--runs", "20"),
    "costly": (
        *SQLITE,
        "--executions",
        "300",
        "--unfinished",
        "50",
        "--seconds",
        "0",
        "--rounds",
        "1",
        "--document",
        "many values",
    ),
    "kills": ("--rate", "20", "--seconds", "2", "--parts", "1", "--every", "0.2"),
    "debounce": (*SQLITE, "--callers", "2", "--each", "3", "--rounds", "1"),
    "drain": (*SQLITE, "--line", "nothing", "--line", "a lone run", "--part", "0.001", "--rounds", "1"),
    "dispatch": ("--tasks", "2", "--hours", "0.01"),
    "engine": (*SQLITE, "--runs", "300", "--latencies", "2", "--tasks", "3", "--each", "2", "--idle-seconds", "1"),
    "enqueue": (*SQLITE, "--times", "1", "--many", "3", "--rounds", "1"),
    "features": (*SQLITE, "--runs", "20", "--rounds", "1"),
    "flows": (*SQLITE, "--runs", "30"),
    "gateway": ("--events", "2"),
    "labels": (*SQLITE, "--executions", "200", "--times", "2", "--rounds", "1"),
    "limits": (*SQLITE, "--runs", "40", "--keys", "10", "--rounds", "1", "--rate", "200", "--seconds", "0.1"),
    "traces": (*SQLITE, "--runs", "300", "--rounds", "1"),
    "metrics": ("--jobs", "20", "--runs", "200"),
    "pruning": ("--executions", "200"),
    "sizes": (*SQLITE, "--runs", "50", "--lines", "2"),
    "logs": (*SQLITE, "--rounds", "1", "--jobs", "3", "--lines", "20"),
    "remote": (*SQLITE, "--attempts", "500", "--seconds", "1"),
    "reading": (
        *SQLITE,
        "--executions",
        "2000",
        "--unfinished",
        "50",
        "--prune",
        "500",
        "--days",
        "2",
        "--seconds",
        "0",
    ),
    "scale": (
        *SQLITE,
        "--runs",
        "20",
        "--groups",
        "3",
        "--unknown",
        "5",
        "--times",
        "2",
        "--executions",
        "20",
        "--drained",
        "20",
    ),
    "schedule": ("--seconds", "0.0001"),
    "serve": (*SQLITE, "--tasks", "2", "--seconds", "0"),
    "signin": (*SQLITE, "--executions", "300", "--seconds", "0.3", "--rounds", "1", "--requests", "3"),
    "steps": (*SQLITE, "--runs", "20", "--suspended", "3", "--signals", "2"),
    "subscribers": (
        *SQLITE,
        "--seconds",
        "1",
        "--subscribers",
        "12",
        "--keys",
        "4",
        "--unfiltered",
        "2",
        "--runs",
        "8",
    ),
}
"""By name: what makes a benchmark small."""

NAMES = sorted(path.stem.removeprefix("bench_") for path in (ROOT / "tests" / "bench").glob("bench_*.py"))


def test_every_benchmark_is_tried_here_and_described_in_the_docs() -> None:
    described = (ROOT / "docs" / "performance.md").read_text()
    assert [name for name in NAMES if name not in TINY] == []
    assert [name for name in NAMES if f"`bench_{name}`" not in described] == []


@pytest.mark.costly
@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_runs_to_its_end(name: str, nursery: Nursery, tmp_path: Path) -> None:
    said = tmp_path / "output"
    with said.open("wb") as output:
        words = ["-m", f"tests.bench.bench_{name}", *TINY[name]]
        benchmark = nursery.start(words, ROOT, os.environ, output.fileno())
    try:
        assert benchmark.wait(LIMIT) == 0, said.read_text()
    finally:
        benchmark.kill()
    assert len(said.read_text().splitlines()) >= 2
