"""The adapter for the public comparison keeps the harness's contract: descriptor, figures, orderly end."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import IO, Any

import psycopg
import pytest

from tests.support.sources import ROOT

FOLDER = ROOT / "tests" / "bench" / "harness"
MANIFEST: dict[str, Any] = json.loads((FOLDER / "adapter.json").read_text())
METRICS = {
    "claim_p50_ms",
    "claim_p95_ms",
    "claim_p99_ms",
    "enqueue_rate",
    "completion_rate",
    "queue_depth",
    "producer_target_rate",
}
OBSERVED = {"queue_depth", "producer_target_rate"}
"""Figures of the whole system: the first process alone reports them."""


def lines(output: IO[str]) -> Iterator[dict[str, Any]]:
    """Yield what the adapter writes, as it comes."""
    for line in output:
        yield json.loads(line)


@pytest.mark.costly
@pytest.mark.parametrize(
    "asked",
    [
        {"PRODUCER_PACING": "harness"},
        {"PRODUCER_PACING": "adapter", "PRODUCER_RATE": "60"},
        {"PRODUCER_MODE": "depth-target", "TARGET_DEPTH": "20"},
        {"PRODUCER_PACING": "adapter", "PRODUCER_RATE": "60", "BENCH_INSTANCE_ID": "1"},
    ],
    ids=["told by the harness", "paced by itself", "keeps a depth", "second process"],
)
def test_the_adapter_works_as_the_harness_expects(empty_postgres_url: str, asked: dict[str, str]) -> None:
    variables = {"DATABASE_URL": empty_postgres_url.replace("postgresql://", "postgres://"), "SAMPLE_EVERY_S": "1"}
    adapter = subprocess.Popen(
        [sys.executable, str(FOLDER / "adapter.py")],
        env={**os.environ, **variables, **asked},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert adapter.stdin is not None
    assert adapter.stdout is not None
    try:
        written = lines(adapter.stdout)
        descriptor = next(written)
        assert (descriptor["kind"], descriptor["system"]) == ("descriptor", MANIFEST["system"])
        assert set(MANIFEST["event_tables"]) <= set(descriptor["event_tables"])
        relations = MANIFEST["event_tables"] + MANIFEST["event_indexes"]
        with psycopg.connect(empty_postgres_url) as conn:
            found = conn.execute(
                "SELECT count(*) FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NOT NULL", [relations]
            )
            assert found.fetchone() == (len(relations),)
        adapter.stdin.write("ENQUEUE 40\nENQUEUE 20\n")
        adapter.stdin.flush()
        samples: list[dict[str, Any]] = []
        while not any(one["metric"] == "completion_rate" and one["value"] > 0 for one in samples):
            samples.append(next(written))
        adapter.terminate()
        assert adapter.wait(20) == 0
        samples.extend(written)
        observes = "BENCH_INSTANCE_ID" not in asked
        assert {one["metric"] for one in samples} == METRICS - (set() if observes else OBSERVED)
        assert {(one["kind"], one["instance_id"]) for one in samples} == {("adapter", 0 if observes else 1)}
    finally:
        adapter.kill()
        adapter.stdout.close()
        adapter.stdin.close()
        adapter.wait()
