"""The fixtures that come with the package, in a project of somebody else's: plain tests, no plugin for async ones."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

JOBS = """
from cronograph.jobs import job


@job(retries=0)
def mail(to: str) -> int:
    print(f"to {to}")
    return 1


def place_order(to):
    mail.enqueue_sync(None, to)
"""

TESTS = """
from datetime import UTC, datetime

import pytest
from cronograph.jobs.testing import drain_sync

import shop


def test_orders_are_confirmed(cronograph_queue, frozen_clock):
    shop.place_order("ada")
    cronograph_queue.assert_enqueued(shop.mail, {"to": "ada"})
    frozen_clock.advance(60)
    (run,) = drain_sync(cronograph_queue)
    assert run.state == "success"
    assert run.last.messages == ["to ada"]
    assert run.last.started_at == frozen_clock.now()


def test_each_test_has_a_queue_of_its_own(cronograph_queue):
    cronograph_queue.refute_enqueued(shop.mail)


@pytest.mark.cronograph(start=datetime(2031, 5, 6, tzinfo=UTC))
def test_a_start(cronograph_queue, frozen_clock):
    assert cronograph_queue.clock.now() == frozen_clock.now() == datetime(2031, 5, 6, tzinfo=UTC)


@pytest.mark.cronograph(jobs=["shop"], arguments=["--slots", "1"])
def test_a_real_server(cronograph_server):
    document = "mutation ($a: JSON) { triggerJob(jobName: \\"mail\\", args: $a) { success } }"
    answer = cronograph_server.graphql(document, {"a": {"to": "bob"}})
    assert answer == {"triggerJob": {"success": True}}
    with pytest.raises(AssertionError, match="Cannot query field"):
        cronograph_server.graphql("{ nothing }")
    assert "serves" in cronograph_server.output


@pytest.mark.cronograph(job=["shop"])
def test_a_misspelt_setting(cronograph_queue):
    pass
"""


OTHERS = [f"-pno:{one.name}" for one in entry_points(group="pytest11") if one.name != "cronograph"]
"""What keeps pytest from loading the plugins that are installed for these tests."""


def run_pytest(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *OTHERS, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=110, check=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    (tmp_path / "shop.py").write_text(JOBS)
    (tmp_path / "test_shop.py").write_text(TESTS)
    return tmp_path


@pytest.mark.costly
@pytest.mark.timeout(120)
def test_the_fixtures_work_in_a_project_without_any_further_plugin(project: Path) -> None:
    ran = run_pytest(project, "-q")
    assert "4 passed, 1 error" in ran.stdout, ran.stdout + ran.stderr
    assert (
        "@pytest.mark.cronograph takes arguments, jobs, registry, resources, secrets, start, within by name, got job"
        in (ran.stdout)
    )


@pytest.mark.costly
@pytest.mark.timeout(120)
def test_a_server_that_does_not_start_says_why(project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\ncronograph_jobs = no_such_module\n")
    (project / "test_shop.py").write_text("def test_it(cronograph_server):\n    pass\n")
    ran = run_pytest(project, "-q")
    assert "ServerError" in ran.stdout
    assert "no_such_module" in ran.stdout
