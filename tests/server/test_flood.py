"""A viewer who asks for the costliest documents without a pause waits or is refused; the others go on meanwhile."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cronograph.server.cli import application
from tests.bench.bench_costly import COSTLY, VARIABLES
from tests.bench.large_log import Size, fill
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until
from tests.support.web import open_client

JOBS = """
from cronograph.jobs import job

@job
def quick() -> None: ...
"""
CALLERS = 4
KINDS = ("sorted by three fields", "sixty texts, counted", "runs, counted", "sorted", "a text")
MONTH = Size(executions=40_000, unfinished=200, now=datetime.now(UTC))


@dataclass
class Flood:
    """What a viewer was answered, and whether he is at it."""

    server: CronographProcess
    token: str
    answers: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    over: threading.Event = field(default_factory=threading.Event)

    def ask(self) -> None:
        with open_client(self.server.url, headers={"Authorization": f"Bearer {self.token}"}) as client:
            while not self.over.is_set():
                for kind in KINDS:
                    body = {"query": COSTLY[kind], "variables": VARIABLES.get(kind, {})}
                    self.answers.append(client.post("/graphql", json=body).json())

    def refusals(self) -> list[dict[str, Any]]:
        """Why documents were refused, wholly or in part."""
        return [error["extensions"] for answer in list(self.answers) for error in answer.get("errors", ())]

    @contextmanager
    def rising(self) -> Iterator[None]:
        """Several callers at once within the block."""
        threads = [threading.Thread(target=self.ask) for _ in range(CALLERS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.over.set()
            for thread in threads:
                thread.join()


def account(role: str, database_url: str) -> str:
    """A new account and its token."""
    where = ["--database-url", database_url]

    def run(*words: str) -> str:
        done = CliRunner().invoke(application((words[0],)), [*words, *where])
        assert done.exit_code == 0, done.output
        return done.output

    run("user", "add", role, "--role", role)
    return run("token", "create", "--user", role).strip()


@pytest.fixture
def server(database_url: str, processes: ProcessStarter, tmp_path: Path) -> CronographProcess:
    """With sign-in, over the log of a month."""
    fill(database_url, MONTH)
    (processes.folder / "flood_jobs.py").write_text(JOBS)
    return processes.serve(database_url, "--jobs", "flood_jobs", auth=True)


@pytest.mark.costly
def test_a_flood_by_a_viewer_keeps_nobody_from_reading_and_triggering(
    server: CronographProcess, database_url: str
) -> None:
    operator, flood = account("operator", database_url), Flood(server, account("viewer", database_url))
    with open_client(server.url, headers={"Authorization": f"Bearer {operator}"}) as client:

        def ask(document: str) -> Any:
            answer = client.post("/graphql", json={"query": document}).json()
            assert "errors" not in answer, answer
            return answer["data"]

        with flood.rising():
            wait_until(flood.refusals, message="the flood to meet a limit")
            for _ in range(20):
                assert ask("{ serverTime }")["serverTime"]
                assert ask("{ jobLogs(limit: 5) { id } }")["jobLogs"]
            made = ask('mutation { triggerJob(jobName: "quick") { run { id } } }')["triggerJob"]["run"]["id"]
            state = f'{{ run(id: "{made}") {{ state }} }}'
            wait_until(lambda: ask(state)["run"]["state"] == "SUCCESS", message="the run that was triggered to end")
            before = len(flood.answers)
            wait_until(lambda: len(flood.answers) > before, message="the flood to go on")
    refused = flood.refusals()
    assert all(one["code"].startswith("LIMIT_") for one in refused), refused
    assert all(one["retryAfter"] > 0 for one in refused if one["code"] == "LIMIT_SEARCH_BUDGET")
    assert "Traceback" not in server.output()
