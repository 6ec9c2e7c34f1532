"""The table of exit statuses in docs/configuration.md: every row is run, and what runs has a row."""

import re
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from cronograph.jobs.store.db.filelock import FileLock
from cronograph.server.process.ending import ExitCode
from tests.support.databases import sqlite_address
from tests.support.job_modules import write_example_jobs
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until
from tests.support.web import post

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def documented() -> set[int]:
    """The statuses of the table."""
    table = PAGE.read_text().partition("## Exit status of every command")[2].partition("\n\nWith `--json`")[0]
    cells = re.findall(r"^\| ([\d, ]+) \|", table, re.MULTILINE)
    return {int(number) for cell in cells for number in cell.split(",")}


def refused_by_the_server(processes: ProcessStarter, url: str) -> int:
    assert processes.run("migrate", "--database-url", url)[0] == 0
    return processes.run("user", "role", "nobody", "admin", "--database-url", url)[0]


def unreachable(processes: ProcessStarter, _url: str) -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    return processes.run("trigger", "nap", "--url", f"http://127.0.0.1:{port}")[0]


def in_use(processes: ProcessStarter, url: str) -> int:
    lock = FileLock(Path(url.removeprefix("sqlite:///")))
    lock.acquire()
    try:
        return processes.run("migrate", "--database-url", url)[0]
    finally:
        lock.release()


def serving(processes: ProcessStarter, url: str, job: str, args: str) -> CronographProcess:
    """A server that runs a job which would not end."""
    env = {"CRONOGRAPH_HARD_STOP_GRACE": "0.2"}
    timing = "0.2" if job == "stubborn" else "25"
    server = processes.serve(url, "--jobs", write_example_jobs(processes.folder), "--drain-timeout", timing, env=env)

    def asked(document: str) -> str:
        return post(f"{server.url}/graphql", {"query": document}).text

    asked(f'mutation {{ triggerJob(jobName: "{job}", args: {args}) {{ success }} }}')
    wait_until(lambda: '"id"' in asked(f'{{ jobLogs(jobName: "{job}") {{ id }} }}'), message=f"{job} to run")
    return server


def cut_off(processes: ProcessStarter, url: str) -> int:
    server = serving(processes, url, "stubborn", "{}")
    server.terminate()
    return server.wait()


def broken(processes: ProcessStarter, url: str) -> int:
    return serving(processes, url, "breaks", "{}").wait()


def _has_ended_by(server: CronographProcess, number: signal.Signals) -> bool:
    """Signals within a second are one, so it is repeated until it counts as the second."""
    server.process.send_signal(number)
    return not server.running


def twice(number: signal.Signals) -> Callable[[ProcessStarter, str], int]:
    """Ended at once by the second signal."""

    def row(processes: ProcessStarter, url: str) -> int:
        server = serving(processes, url, "nap", "{ seconds: 60 }")
        server.process.send_signal(number)
        wait_until(lambda: _has_ended_by(server, number), message="the process to end")
        return server.wait()

    return row


ROWS: dict[int, Callable[[ProcessStarter, str], int]] = {
    ExitCode.DONE: lambda processes, _url: processes.run("version")[0],
    ExitCode.REFUSED: refused_by_the_server,
    ExitCode.USAGE: lambda processes, _url: processes.run("serve", "--slots", "none")[0],
    ExitCode.UNREACHABLE: unreachable,
    ExitCode.IN_USE: in_use,
    ExitCode.CUT_OFF: cut_off,
    ExitCode.BROKEN: broken,
    128 + signal.SIGINT: twice(signal.SIGINT),
    128 + signal.SIGTERM: twice(signal.SIGTERM),
}


def test_the_table_has_a_row_for_each_status_that_there_is() -> None:
    assert documented() == set(ROWS)
    assert set(ExitCode) <= documented()


@pytest.mark.costly
@pytest.mark.parametrize("status", ROWS)
def test_a_command_ends_with_the_status_of_its_row(processes: ProcessStarter, tmp_path: Path, status: int) -> None:
    assert ROWS[status](processes, sqlite_address(tmp_path / "row.db")) == status
