"""`serve --reload`: what runs is ended in order and started again when the code changes, and only then."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from cronograph.server.cli import application
from cronograph.server.process.reloading import Reloader, folders_of, reloading_command
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until
from tests.support.web import post

SERVER = """
import os, signal, sys

ENDS = {signal.SIGTERM, signal.SIGINT}
signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
os.chdir(sys.argv[1])

def tell(word):
    with open("log", "a") as log:
        log.write(word + "\\n")

"""
"""What stands before each program that is run here. It waits for signals: a shell in a loop of `sleep` can lose one."""
SERVES = 'tell("started"); signal.sigwait(ENDS); tell("ended")'


def told(folder: Path) -> list[str]:
    """Return what the commands have written so far."""
    log = folder / "log"
    return log.read_text().split() if log.exists() else []


def server_of(folder: Path, program: str) -> list[str]:
    """The command of a program that tells what it does."""
    return [sys.executable, "-I", "-S", "-c", SERVER + program, str(folder)]


def run_while_changing(folder: Path, program: str, change: Callable[[], None]) -> int:
    """The exit status of a reloader of a program; beside it a thread makes changes, then asks for the end."""

    def act() -> None:
        try:
            change()
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    changing = threading.Thread(target=act)
    changing.start()
    try:
        return Reloader(server_of(folder, program), [folder], [folder / "cronograph.toml"]).run()
    finally:
        changing.join()


def test_a_changed_module_or_configuration_starts_again_and_other_files_do_not(tmp_path: Path) -> None:
    def change() -> None:
        wait_until(lambda: told(tmp_path) == ["started"], message="the first start")
        (tmp_path / "cronograph.db").write_text("data")
        (tmp_path / "jobs.py").write_text("")
        wait_until(lambda: told(tmp_path)[1:] == ["ended", "started"], message="the second start")
        (tmp_path / "cronograph.toml").write_text("")
        wait_until(lambda: told(tmp_path)[3:] == ["ended", "started"], message="the third start")

    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert run_while_changing(tmp_path, SERVES, change) == 0
    assert told(tmp_path) == ["started", "ended"] * 3
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_code_that_fails_is_tried_again_at_the_next_change(tmp_path: Path) -> None:
    def change() -> None:
        wait_until(lambda: told(tmp_path) == ["broken"], message="the first start")
        (tmp_path / "right.py").write_text("")
        wait_until(lambda: told(tmp_path)[1:] == ["started"], message="the second start")

    program = f'if not os.path.exists("right.py"): tell("broken"); sys.exit(2)\n{SERVES}'
    assert run_while_changing(tmp_path, program, change) == 0
    assert told(tmp_path) == ["broken", "started", "ended"]


def test_one_that_ends_by_itself_in_order_ends_it_all(tmp_path: Path) -> None:
    reloader = Reloader(["sh", "-c", "exit 0"], [tmp_path])
    assert reloader.run() == 0


def test_a_server_that_is_killed_has_the_status_of_its_signal(tmp_path: Path) -> None:
    def change() -> None:
        wait_until(lambda: told(tmp_path) == ["started"], message="the start")

    killed = 'tell("started"); signal.sigwait(ENDS); os.kill(os.getpid(), signal.SIGKILL)'
    assert run_while_changing(tmp_path, killed, change) == 128 + signal.SIGKILL


def test_nothing_is_started_again_once_the_end_is_asked_for(tmp_path: Path) -> None:
    def change() -> None:
        wait_until(lambda: told(tmp_path) == ["started"], message="the start")
        (tmp_path / "jobs.py").write_text("")
        wait_until(lambda: told(tmp_path)[1:] == ["asked"], message="the request to end for the change")

    # It ends when it is asked for the second time: while the reloader waits for it.
    counting = 'tell("started")\nfor _ in range(2): signal.sigwait(ENDS); tell("asked")'
    assert run_while_changing(tmp_path, counting, change) == 0
    assert told(tmp_path) == ["started", "asked", "asked"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's death")
def test_the_server_ends_with_a_reloader_that_is_killed(tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from cronograph.server.process.reloading import Reloader; "
    code += "Reloader(sys.argv[2:], [Path(sys.argv[1])]).run()"
    reloader = subprocess.Popen([sys.executable, "-c", code, str(tmp_path), *server_of(tmp_path, SERVES)])
    try:
        wait_until(lambda: told(tmp_path) == ["started"], message="the start")
    finally:
        reloader.kill()
        reloader.wait()
    wait_until(lambda: told(tmp_path) == ["started", "ended"], message="the end")


def test_the_command_is_the_same_without_the_flag() -> None:
    assert reloading_command(["serve", "--reload", "--port", "1"]) == [
        sys.executable, "-m", "cronograph", "serve", "--port", "1",
    ]  # fmt: skip


def test_the_working_directory_and_what_lies_elsewhere_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here / "shop", there / "far"):
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("raise RuntimeError")
    (there / "alone.py").write_text("raise RuntimeError")
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", [*sys.path, str(there)])
    assert folders_of(["shop.jobs", "missing", "sys"]) == [here]
    assert folders_of(["far.jobs", "alone"]) == [here, there / "far", there]


JOBS = """
import asyncio
from cronograph.jobs import job

@job
async def long() -> None:
    await asyncio.sleep(60)
"""


@pytest.mark.costly
def test_a_server_goes_on_with_the_new_code_and_what_ran_is_handed_back(
    processes: ProcessStarter, sqlite_url: str
) -> None:
    module = processes.folder / "growing.py"
    module.write_text(JOBS)
    env = {"CRONOGRAPH_HARD_STOP_GRACE": "0.1"}
    server = processes.serve(sqlite_url, "--jobs", "growing", "--reload", "--drain-timeout", "0.1", env=env)

    def asked(document: str) -> dict[str, Any]:
        """The data of an answer; nothing while the server is unavailable or starts."""
        try:
            return post(f"{server.url}/graphql", {"query": document}).json().get("data") or {}
        except httpx.TransportError:
            return {}

    def outcomes() -> list[str | None]:
        return [one["outcome"] for one in asked('{ jobLogs(jobName: "long") { outcome } }').get("jobLogs", [])]

    asked('mutation { triggerJob(jobName: "long") { success } }')
    wait_until(lambda: outcomes() == [None], message="the run to start")
    module.write_text(JOBS.replace("60", "0"))

    wait_until(lambda: outcomes() == ["SUCCESS", "HANDED_BACK"], message="the run to end with the new code")
    assert server.stop() == 0, server.output()
    assert "growing.py changed: the server restarts" in server.output()


@pytest.mark.costly
def test_settings_that_cannot_work_are_reported_by_the_server_and_waited_for(processes: ProcessStarter) -> None:
    server = processes.start("serve", "--reload", "--slots", "none")
    wait_until(lambda: "the server ended with status 2; the next" in server.output(), message="the end to be told")
    server.terminate()
    assert server.wait() == 2
    assert server.output().count("error: --slots: must be") == 1


def test_without_the_library_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    monkeypatch.delitem(sys.modules, "cronograph.server.process.reloading")
    ended = CliRunner().invoke(application(("serve",)), ["serve", "--reload"])
    assert ended.exit_code == 2
    assert (
        "--reload: needs the package watchfiles, which is not there; pip install 'cronograph[reload]'" in ended.output
    )
