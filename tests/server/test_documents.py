"""The documents that scripts rely on, sent to a real server, and what they leave in the tables."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, func, insert, select

from cronograph.jobs.accounts.statements import accounts
from cronograph.jobs.core.actor import Role
from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.jobs.store.schema.tables import event, job_execution, run, session
from tests.support.job_modules import write_example_jobs
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until
from tests.support.web import post

JOBS = "query GetAvailableJobs { availableJobs { name description schedule } }"
TRIGGER = "mutation TriggerJob($jobName: String!) { triggerJob(jobName: $jobName) { success message jobName } }"
LOGS = """query GetJobLogs($limit: Int, $jobName: String, $onlyFailures: Boolean) {
  jobLogs(limit: $limit, jobName: $jobName, onlyFailures: $onlyFailures) {
    id jobName startedAt completedAt success errorMessage recordsProcessed
  }
}"""
EXPIRED = 10_000


class Served:
    """A server with the example jobs, and its database."""

    def __init__(self, process: CronographProcess, engine: Engine) -> None:
        self.process = process
        self.engine = engine

    def ask(self, query: str, **variables: object) -> dict[str, Any]:
        """The data of an operation."""
        body = {"query": query, "variables": variables}
        answer = post(f"{self.process.url}/graphql", body, timeout=30).json()
        assert "errors" not in answer, answer
        data: dict[str, Any] = answer["data"]
        return data

    def count(self, table: Any) -> int:
        """Return how many rows a table has."""
        with self.engine.connect() as conn:
            counted: int = conn.execute(select(func.count()).select_from(table)).scalar_one()
            return counted

    def finished(self, job: str) -> dict[str, Any]:
        """The newest log entry of a job, once it is complete."""
        return wait_until(
            lambda: [one for one in self.logs(jobName=job) if one["completedAt"] is not None],
            message=f"{job} to finish",
        )[0]

    def logs(self, **variables: object) -> list[dict[str, Any]]:
        """Return what `jobLogs` answers."""
        entries: list[dict[str, Any]] = self.ask(LOGS, **variables)["jobLogs"]
        return entries


@pytest.fixture
def served(processes: ProcessStarter, database_url: str) -> Iterator[Served]:
    process = processes.serve(database_url, "--jobs", write_example_jobs(processes.folder))
    engine = sync_engine(parse_url(database_url))
    yield Served(process, engine)
    engine.dispose()


def test_the_available_jobs_are_the_documented_ones(served: Served) -> None:
    jobs = {one["name"]: one for one in served.ask(JOBS)["availableJobs"]}
    schedules = {name: one["schedule"] for name, one in jobs.items() if name.startswith("cleanup_")}
    assert schedules == {
        "cleanup_expired_sessions": "0 0 * * * *",
        "cleanup_expired_refresh_tokens": "0 30 * * * *",
        "cleanup_expired_challenges": "0 */5 * * * *",
        "cleanup_expired_device_codes": "0 45 * * * *",
    }
    assert all(one["description"] for one in jobs.values() if one["name"].startswith("cleanup_"))


def test_an_unknown_job_is_data_and_leaves_nothing_behind(served: Served) -> None:
    served.finished("tick")
    before = [one for one in served.logs(limit=1000) if one["jobName"] != "tick"]
    answer = served.ask(TRIGGER, jobName="no_such_job")["triggerJob"]
    assert answer == {"success": False, "message": "Unknown job: no_such_job", "jobName": "no_such_job"}
    with served.engine.connect() as conn:
        assert conn.execute(select(run).where(run.c.job_name == "no_such_job")).all() == []
        assert conn.execute(select(job_execution).where(job_execution.c.job_name == "no_such_job")).all() == []
        told = conn.execute(select(event.c.changes)).scalars()
        assert not any(change.get("job_name") == "no_such_job" for changes in told for change in changes)
    assert [one for one in served.logs(limit=1000) if one["jobName"] != "tick"] == before


def test_a_job_that_fails_says_why(served: Served) -> None:
    answer = served.ask(TRIGGER, jobName="fail")["triggerJob"]
    assert answer == {"success": True, "message": "Job fail triggered successfully", "jobName": "fail"}
    entry = served.finished("fail")
    assert (entry["success"], entry["errorMessage"], entry["recordsProcessed"]) == (False, "no luck", None)
    assert served.logs(onlyFailures=True)[0]["id"] == entry["id"]


@pytest.mark.costly
def test_the_log_comes_newest_first_and_no_longer_than_asked(served: Served) -> None:
    wait_until(lambda: len(served.logs(jobName="tick")) >= 3, message="three executions")
    ids = [int(one["id"]) for one in served.logs(limit=2, jobName="tick")]
    assert len(ids) == 2
    assert ids == sorted(ids, reverse=True)


@pytest.mark.costly
def test_ten_thousand_expired_sessions_are_counted_and_the_others_stay(served: Served) -> None:
    now = datetime.now(UTC)
    with served.engine.begin() as conn:
        ages = [timedelta(seconds=-1 - number) for number in range(EXPIRED)] + [timedelta(hours=1)] * 5
        owner = accounts.insert_account(conn, "ada", Role.VIEWER, None, now)
        assert owner is not None
        rows = [session_row(number, now, age) for number, age in enumerate(ages)]
        conn.execute(insert(session), [{**row, "user_id": owner.id} for row in rows])
    served.ask(TRIGGER, jobName="cleanup_expired_sessions")
    entry = served.finished("cleanup_expired_sessions")
    assert (entry["success"], entry["recordsProcessed"]) == (True, EXPIRED)
    assert served.count(session) == 5


def session_row(number: int, now: datetime, expires_in: timedelta) -> dict[str, object]:
    """A session that expires so long from now."""
    begun = {"created_at": now - timedelta(days=1), "last_seen_at": now - timedelta(days=1)}
    return {"token_hash": f"{number:064x}", "kind": "browser", "expires_at": now + expires_in, **begun}
