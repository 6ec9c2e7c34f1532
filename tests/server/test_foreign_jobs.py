"""Jobs of other machines on a real server: their pings are executions with logs, and their silence is a failure."""

import socket
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.server.test_alarms import ask
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import let_pass, wait_until
from tests.support.web import open_client


def log_of(server: CronographProcess, task: str) -> list[dict[str, Any]]:
    """The executions of a task that have ended for good, the oldest first."""
    query = """query($task: String) { executions(filter: { taskName: { eq: $task } }, orderBy: [{ field: ID }]) {
      nodes { run { id } outcome errorType errorMessage value trigger scheduledFor } } }"""
    found: list[dict[str, Any]] = ask(server, query, task=task)["executions"]["nodes"]
    return [one for one in found if one["outcome"] not in {None, "SUSPENDED"}]


@pytest.mark.costly
@pytest.mark.timeout(240)
def test_pings_and_silence_of_a_foreign_job(database_url: str, processes: ProcessStarter) -> None:
    server = processes.serve(database_url)
    here = {"CRONOGRAPH_URL": server.url}
    for words in (
        ("tasks", "create", "backup", "foreign_job", "0 0 2 * * *"),
        ("tasks", "create", "silent", "foreign_job", "* * * * * *", "--args", '{"grace": 1}'),
        ("alarms", "create", "silence", "task=silent", "overdue=3"),
    ):
        assert processes.run(*words, env=here)[0] == 0, words
    status, address = processes.run("addresses", "create", "ping", "--task", "backup", env=here)
    assert status == 0
    with open_client(server.url) as client:
        assert client.get(f"{address.strip()}/start").text == "OK"
        assert client.post(address.strip(), content="copied 12 files\nall well").text == "OK"
        wait_until(lambda: len(log_of(server, "backup")) == 1, message="the end of the run")
        # One that never said all of it is none, and no fault of the server.
        with socket.create_connection(("127.0.0.1", server.port)) as cut:
            path = urlsplit(address.strip()).path
            cut.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf".encode())
            let_pass(0.2)
        assert client.get(f"{address.strip()}/3").text == "OK"
        wait_until(lambda: len(log_of(server, "backup")) == 2, message="the failure")
    done, failed = log_of(server, "backup")
    assert (done["outcome"], done["trigger"], done["value"]["code"]) == ("SUCCESS", "HOOK", None)
    assert 0 < done["value"]["duration"] < 60
    assert (failed["errorType"], failed["errorMessage"]) == ("PingedFailure", "the program ended with 3")
    said = "".join(processes.run("logs", one["run"]["id"], "--json", env=here)[1] for one in (done, failed))
    assert (said.count("copied 12 files"), said.count("all well")) == (1, 1)

    def fired() -> bool:
        return bool(ask(server, "{ alarmFirings { nodes { sentence } } }")["alarmFirings"]["nodes"])

    wait_until(fired, message="the alarm")
    first = log_of(server, "silent")[0]
    assert (first["outcome"], first["errorType"]) == ("FAILED", "NoPing")
    assert first["errorMessage"] == "no ping came within 1 s"
    assert "half" not in said
    assert "Internal error" not in server.output()
    firing = ask(server, "{ alarmFirings { nodes { sentence } } }")["alarmFirings"]["nodes"][0]
    assert "'silent' is overdue" in firing["sentence"]
