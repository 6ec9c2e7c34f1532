"""Real processes are started, watched and ended as the tests ask."""

import signal
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest

from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.sources import ROOT
from tests.support.waiting import wait_until
from tests.support.web import get


def answers(server: CronographProcess) -> bool:
    """Return whether the server answers within half a second."""
    try:
        return get(f"{server.url}/health/live", timeout=0.5).is_success
    except httpx.TransportError:
        return False


@pytest.mark.costly
def test_a_server_starts_on_either_database_and_stops_cleanly(processes: ProcessStarter, database_url: str) -> None:
    server = processes.serve(database_url)
    assert answers(server)
    assert server.stop() == 0
    assert not answers(server)


def test_a_paused_server_does_nothing_until_it_is_resumed(processes: ProcessStarter, sqlite_url: str) -> None:
    server = processes.serve(sqlite_url)
    server.pause()
    assert server.running
    assert not answers(server)
    server.resume()
    assert server.wait_ready().running


def test_a_killed_server_is_gone_at_once(processes: ProcessStarter, sqlite_url: str) -> None:
    server = processes.serve(sqlite_url)
    server.kill()
    assert server.wait() == -signal.SIGKILL
    assert not server.running


@pytest.mark.costly
def test_two_nodes_share_one_postgresql(processes: ProcessStarter, postgres_url: str) -> None:
    nodes = [processes.begin_serve(postgres_url, "--node-name", name) for name in ("first", "second")]
    assert all(answers(node.wait_ready()) for node in nodes)


def test_a_server_that_ends_before_it_is_ready_says_why(processes: ProcessStarter) -> None:
    server = processes.begin_serve("nonsense://nowhere")
    with pytest.raises(RuntimeError, match=r"(?s)ended with status \d+ before it was ready.*nonsense://nowhere"):
        server.wait_ready()


def test_settings_of_the_machine_do_not_reach_the_processes(
    processes: ProcessStarter, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRONOGRAPH_PORT", "nonsense")
    assert answers(processes.serve(sqlite_url))


TESTS = """
import os, sys, tempfile
from pathlib import Path
from tests.support.forking import Nursery
nursery = Nursery("programs")
words = ["sh", "-c", "(setsid sleep 1000 & echo $! >daemon.new; mv daemon.new daemon); true"]
with tempfile.TemporaryFile() as output:
    nursery.start(words, Path(sys.argv[1]), os.environ, output.fileno()).wait()
print("started", flush=True)
input()
nursery.close()
print("closed", flush=True)
input()
"""
"""Starts a program that starts a daemon and ends."""


@pytest.mark.parametrize("killed", [False, True])
def test_a_daemon_ends_with_the_tests_that_started_it_even_if_they_are_killed(tmp_path: Path, killed: bool) -> None:
    words = [sys.executable, "-c", TESTS, str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as tests:
        assert tests.stdin is not None
        assert tests.stdout is not None
        assert tests.stdout.readline() == "started\n"
        daemon = int((tmp_path / "daemon").read_text())
        assert psutil.pid_exists(daemon)
        if killed:
            tests.kill()
            wait_until(lambda: not psutil.pid_exists(daemon), message="the daemon to end")
        else:
            tests.stdin.write("\n")
            tests.stdin.flush()
            assert tests.stdout.readline() == "closed\n"
            assert not psutil.pid_exists(daemon)
        tests.kill()
