"""A server whose jobs bring about what is refused as they end goes on, and so does the next one on its database."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until
from tests.support.web import get, post

JOBS = '''
from cronograph.jobs import job

@job("fails", on_failure="told", retries=0)
async def fails() -> None:
    raise ValueError("x" * 300)

@job("told", labels_from=("failure",))
async def told(failure: dict[str, object]) -> None:
    """No object can be a label."""

@job("innocent")
async def innocent() -> None:
    pass
'''


@pytest.fixture
def jobs(processes: ProcessStarter) -> str:
    (Path(processes.folder) / "refused_jobs.py").write_text(JOBS)
    return "refused_jobs"


def ask(server: CronographProcess, document: str) -> Any:
    answer = json.loads(post(f"{server.url}/graphql", {"query": document}).text)
    assert "errors" not in answer, answer
    return answer["data"]


def explained(server: CronographProcess, job: str) -> list[tuple[str, str]]:
    runs = ask(server, f'{{ runs(filter: {{jobName: {{eq: "{job}"}}}}) {{ nodes {{ state explain {{ code }} }} }} }}')
    return [(one["state"], one["explain"]["code"]) for one in runs["runs"]["nodes"]]


def are_explained(server: CronographProcess, expected: dict[str, list[tuple[str, str]]]) -> bool:
    return {job: explained(server, job) for job in expected} == expected


@pytest.mark.costly
def test_a_server_goes_on_and_so_does_the_next_one(database_url: str, processes: ProcessStarter, jobs: str) -> None:
    for seen in (1, 2):
        server = processes.serve(database_url, "--jobs", jobs)
        for job in ("fails", "innocent"):
            ask(server, f'mutation {{ triggerJob(jobName: "{job}") {{ success }} }}')
        expected = {
            "fails": [("FAILED", "FOLLOW_UP_LOST")] * seen,
            "innocent": [("SUCCESS", "SUCCESS")] * seen,
        }
        wait_until(partial(are_explained, server, expected), message="both runs to end")
        assert get(f"{server.url}/health/ready").status_code == 200
        server.stop()
