"""Process jobs of a real server: found in its working directory, drained by SIGTERM, gone with a killed node."""

import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until
from tests.support.web import post

MODULE = """
import os, time
from pathlib import Path
from cronograph.jobs import JobContext, Result, job


@job("heavy", isolation="process")
def heavy(ctx: JobContext, until: str = "") -> Result:
    Path("heavy.pid").write_text(str(os.getpid()))
    ctx.log.info("begun")
    while until and not Path(until).exists():
        time.sleep(0.01)
    return Result(value="done")
"""


def query(server: CronographProcess, document: str) -> Any:
    answer = post(f"{server.url}/graphql", {"query": document}, timeout=20)
    return answer.raise_for_status().json()["data"]


def serve(processes: ProcessStarter, database_url: str) -> CronographProcess:
    (processes.folder / "heavy_jobs.py").write_text(MODULE)
    return processes.serve(database_url, "--jobs", "heavy_jobs")


def newest(server: CronographProcess) -> dict[str, Any]:
    """The newest execution; empty while there is none."""
    logs: list[dict[str, Any]] = query(server, '{ jobLogs(limit: 1, jobName: "heavy") { success errorMessage } }')[
        "jobLogs"
    ]
    return logs[0] if logs else {}


def child_pid(folder: Path) -> int:
    note = folder / "heavy.pid"
    return int(note.read_text() or 0) if note.exists() else 0


def begin(processes: ProcessStarter, server: CronographProcess, args: str) -> int:
    triggered = query(server, f'mutation {{ triggerJob(jobName: "heavy", args: {args}) {{ success message }} }}')
    assert triggered["triggerJob"]["success"], triggered
    return wait_until(lambda: child_pid(processes.folder), message="the job to begin")


@pytest.mark.costly
def test_a_process_job_of_the_working_directory_runs(processes: ProcessStarter, sqlite_url: str) -> None:
    server = serve(processes, sqlite_url)
    begin(processes, server, "{}")
    wait_until(lambda: newest(server).get("success"), message="the job to succeed")
    assert server.stop() == 0


@pytest.mark.costly
def test_sigterm_to_every_process_lets_a_running_process_job_finish(processes: ProcessStarter, sqlite_url: str) -> None:
    server = serve(processes, sqlite_url)
    child = begin(processes, server, '{until: "end"}')
    # As a service manager does that signals the whole control group.
    for process in (psutil.Process(child), psutil.Process(child).parent()):
        assert process is not None
        process.send_signal(signal.SIGTERM)
    server.terminate()
    wait_until(lambda: "stopping" in server.output())
    assert psutil.pid_exists(child)
    (processes.folder / "end").touch()
    assert server.wait() == 0
    again = serve(processes, sqlite_url)
    assert newest(again) == {"success": True, "errorMessage": None}


@pytest.mark.costly
def test_a_killed_server_takes_its_process_jobs_with_it_and_the_next_one_says_so(
    processes: ProcessStarter, sqlite_url: str
) -> None:
    server = serve(processes, sqlite_url)
    child = begin(processes, server, '{until: "end"}')
    server.kill_alone()
    wait_until(lambda: not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE)
    (processes.folder / "heavy.pid").unlink()
    again = serve(processes, sqlite_url)
    assert wait_until(lambda: child_pid(processes.folder), message="a further attempt")
    lost = query(again, "{ jobLogs(limit: 5, onlyFailures: true) { jobName success errorMessage } }")["jobLogs"]
    assert [one["jobName"] for one in lost] == ["heavy"]
    assert "was lost while it ran this job" in lost[0]["errorMessage"]
