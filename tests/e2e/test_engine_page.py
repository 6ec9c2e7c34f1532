"""A run at an engine: the dashboard shows where it is and what the engine says of it, and asks what it needs there."""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import suppress

import pytest
from playwright.sync_api import expect

from tests.support.browser import PageOpener
from tests.support.processes import ProcessStarter
from tests.support.remote import EXECUTOR, Engine

MODULE = """
import time
from pathlib import Path
from cronograph.jobs import JobContext, Resources, job


@job(isolation="command", resources=Resources(cpus=2, gpus=1))
def train(ctx: JobContext) -> None:
    ctx.log.info("begun")
    while not Path("go").exists():
        time.sleep(0.01)


@job
async def at_home() -> None: ...
"""
FIND = "for one in {handles}; do kill -0 $one 2>/dev/null && echo $one running $(cat words); done; true"


@pytest.fixture
def engine(processes: ProcessStarter, sqlite_url: str) -> Iterator[Engine]:
    """A server whose job ``train`` runs at an engine with pages of its own; what it says stands in a file."""
    (processes.folder / "words").write_text("in line 7")
    executor = {**EXECUTOR, "find": FIND, "page": "https://hpc.example.com/jobs/{handle}"}
    made = Engine(processes, sqlite_url, executor, module=MODULE)
    yield made
    for handle in made.lines("started"):
        with suppress(ProcessLookupError):
            os.kill(int(handle), signal.SIGKILL)


@pytest.mark.costly
def test_a_run_at_an_engine_says_what_it_needs_and_is_followed_there(engine: Engine, new_page: PageOpener) -> None:
    page = new_page(engine.server.url)
    page.goto("/jobs/train")
    page.get_by_role("button", name="Run…").click()
    dialog = page.get_by_role("dialog")
    needs = dialog.get_by_label("At the engine")
    needs.fill("gpus=half")
    dialog.get_by_role("button", name="Run now").click()
    expect(dialog.get_by_text("gpus must be a whole number above 0, got 'half'")).to_be_visible()
    needs.fill("gpus=4, memory=8GiB, account=physics")
    dialog.get_by_role("button", name="Run now").click()
    expect(dialog).to_have_count(0)

    page.goto("/runs/1")
    place = page.get_by_role("region", name="At command")
    expect(place.get_by_role("link")).to_have_attribute("href", re.compile(r"https://hpc\.example\.com/jobs/\d+"))
    expect(place).to_contain_text("cpus=2, memory=8GiB, gpus=4, account=physics")
    # What the engine says changes, and the page is not loaded again.
    expect(place).to_contain_text("in line 7")
    (engine.folder / "words").write_text("on machine c12")
    expect(place).to_contain_text("on machine c12")
    expect(page.get_by_text("It runs at command, attempt 1")).to_be_visible()
    engine.touch("go")
    expect(page.get_by_text("Success").first).to_be_visible()
    expect(place).to_be_visible()


@pytest.mark.costly
def test_a_task_asks_for_them_where_its_job_has_an_engine(engine: Engine, new_page: PageOpener) -> None:
    page = new_page(engine.server.url)
    page.goto("/tasks")
    page.get_by_role("button", name="New task").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("nightly")
    dialog.get_by_label("Job", exact=True).fill("at_home")
    expect(dialog.get_by_text("The arguments show here")).to_have_count(0)
    expect(dialog.get_by_label("At the engine")).to_have_count(0)
    dialog.get_by_label("Job", exact=True).fill("train")
    dialog.get_by_label("At the engine").fill("gpus=8, memory=1TiB")
    dialog.get_by_label("When").fill("0 0 2 * * *")
    dialog.get_by_role("button", name="Create task").click()
    expect(dialog).to_have_count(0)
    asked = '{ task(name: "nightly") { resources { gpus memory cpus } } }'
    assert engine.query(asked)["task"]["resources"] == {"gpus": 8, "memory": 2**40, "cpus": None}
    page.goto("/tasks/nightly?tab=changes")
    expect(page.get_by_text("memory=1TiB, gpus=8")).to_be_visible()
    page.get_by_role("button", name="Run with…").click()
    dialog.get_by_label("At the engine").fill("gpus=16")
    dialog.get_by_role("button", name="Dry run").click()
    expect(dialog.get_by_text("would")).not_to_have_count(0)
    dialog.get_by_role("button", name="Run now").click()
    expect(dialog).to_have_count(0)
    runs = "{ runs(first: 1) { nodes { resources { gpus memory } } } }"
    assert engine.query(runs)["runs"]["nodes"] == [{"resources": {"gpus": 16, "memory": 2**40}}]
