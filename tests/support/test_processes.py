"""Real processes are started, watched and ended as the tests ask."""

import signal

import httpx
import pytest

from tests.support.processes import CronographProcess, ProcessStarter
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
