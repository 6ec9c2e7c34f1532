"""The pipeline: what was done is not done again, even if the process ends in between."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cronograph.jobs import StopReason, connect
from cronograph.jobs.testing import Queue, drain_sync, run_job
from jobs import collect, sum_up

CRONOGRAPH = Path(sys.executable).with_name("cronograph")


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    """A file of 2,500 sales."""
    file = tmp_path / "monday.csv"
    lines = [f"{'tea' if row % 2 else 'coffee'},{row}" for row in range(2_500)]
    file.write_text("product,amount\n" + "\n".join(lines))
    return file


def test_an_attempt_goes_on_where_the_last_one_was(sales: Path) -> None:
    first = asyncio.run(run_job(sum_up, {"path": str(sales)}, stop_after=2))
    assert (first.outcome, first.checkpoint["row"]) == ("cancelled", 2_000)
    second = asyncio.run(run_job(sum_up, {"path": str(sales)}, checkpoint=first.checkpoint))
    assert (second.outcome, second.records_processed) == ("success", 500)
    assert second.value == {"tea": sum(range(1, 2_500, 2)), "coffee": sum(range(0, 2_500, 2))}


def test_a_node_that_shuts_down_hands_the_file_back(sales: Path) -> None:
    result = asyncio.run(run_job(sum_up, {"path": str(sales)}, stop=StopReason.SHUTDOWN))
    assert (result.outcome, result.checkpoint["row"]) == ("handed_back", 1)


def test_one_run_for_each_file(sales: Path) -> None:
    (sales.parent / "tuesday.csv").write_text("product,amount\ntea,1")
    result = asyncio.run(run_job(collect, {"folder": str(sales.parent)}))
    *parts, last = result.enqueued
    assert [Path(one.args["path"]).name for one in parts if one.args] == ["monday.csv", "tuesday.csv"]
    assert (last.job_name, (last.args or {})["sums"]) == (
        "total",
        [{"$result": "monday.csv"}, {"$result": "tuesday.csv"}],
    )


def test_the_night_sums_up_what_has_come(sales: Path, cronograph_queue: Queue) -> None:
    collect.enqueue_sync(folder=str(sales.parent))
    drained = drain_sync(cronograph_queue)
    names = ["collect", "sum_up", "total"]
    assert [(run.job_name, run.state) for run in drained] == [(name, "success") for name in names]
    assert sales.with_suffix(".sums").exists()
    expected = {"tea": sum(range(1, 2_500, 2)), "coffee": sum(range(0, 2_500, 2))}
    assert drained[-1].run.result == expected
    assert sales.with_name("total.txt").read_text() == f"coffee,{expected['coffee']}\ntea,{expected['tea']}"


def test_a_real_node_sums_up_in_a_child_process(sales: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'queue.db'}"
    command = [str(CRONOGRAPH), "serve", "--jobs", "jobs", "--port", "0", "--no-auth", "--json", "--database-url", url]
    with subprocess.Popen(command, cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["event"] == "ready"
            with connect(url):
                value = sum_up.enqueue_sync(path=str(sales)).result_sync(timeout=60)
        finally:
            process.send_signal(signal.SIGTERM)
    assert process.returncode == 0
    assert value == {"tea": sum(range(1, 2_500, 2)), "coffee": sum(range(0, 2_500, 2))}
    assert sales.with_suffix(".sums").exists()
