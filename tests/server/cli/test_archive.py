"""`cronograph log --archive` and `logs --archive`: what the server has deleted, from its archive."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert

from cronograph.jobs.builtin.prune import Retention, prune
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import execution_log
from tests.support.history import add_execution, add_run
from tests.support.processes import ProcessStarter
from tests.support.web import post

DAY = timedelta(days=1)
FAILED: dict[str, Any] = {"success": False, "outcome": "failed", "error_message": "No luck", "error_type": "ValueError"}

FILTERS = {
    "id=1,3": ["3", "1"],
    "run_id!=2": ["3", "1"],
    "outcome=failed": ["2"],
    "success=true": ["3", "1"],
    "error_message~no l": ["2"],
    "error_type^Value": ["2"],
    "records_processed=null": ["2", "1"],
    "records_processed>6": ["3"],
    "attempt<=1": ["3", "2", "1"],
    "id!=1,2": ["3"],
    "started_at<2020-01-01": [],
    "started_at>=2020-01-01T00:00:00Z": ["3", "2", "1"],
}


def past(tx: Tx) -> None:
    """Three executions: 60, 50 and 40 days old; the second has failed, and each has two lines."""
    for days, more in ((60, {}), (50, FAILED), (40, {"records_processed": 7})):
        at = tx.now - days * DAY
        run_id = add_run(tx.conn, at)
        execution = add_execution(tx.conn, run_id, at, at + timedelta(seconds=2), **more)
        line = {"execution_id": execution, "at": at, "level": "INFO", "fields": {"n": 1}}
        lines = [line | {"line": number, "message": f"line {number}"} for number in (1, 2)]
        tx.conn.execute(insert(execution_log), lines)


class Archived:
    """A server whose history is in an archive, and commands that speak to it."""

    def __init__(self, processes: ProcessStarter, url: str, place: str) -> None:
        self.processes = processes
        self.url = url
        self.place = place

    def run(self, *words: str, env: dict[str, str] | None = None) -> tuple[int, str]:
        status, said = self.processes.run(*words, "--url", self.url, env=env)
        assert "Traceback" not in said
        return status, said

    def ids(self, *words: str) -> list[str]:
        return [one["id"] for one in json.loads(self.run("log", "--archive", *words, "--json")[1])["executions"]]

    def completed(self) -> dict[str, Any]:
        asked = {"query": "{ retention { archive { location completeUntilAt } } }"}
        found: dict[str, Any] = post(f"{self.url}/graphql", asked).json()["data"]["retention"]["archive"]
        return found


async def archive_the_past(database_url: str, place: str) -> None:
    database = Database(database_url)
    await database.write(past)
    assert (await prune(database, Retention(), archive_url=place)).executions == 3
    await database.close()


@pytest.fixture
def archived(processes: ProcessStarter, tmp_path: Path, database_url: str) -> Archived:
    place = f"{tmp_path}/archive"
    asyncio.run(archive_the_past(database_url, place))
    server = processes.serve(database_url, env={"CRONOGRAPH_ARCHIVE_URL": place})
    return Archived(processes, server.url, place)


@pytest.mark.costly
def test_executions_that_were_deleted_are_shown_and_filtered(archived: Archived) -> None:
    run, ids = archived.run, archived.ids
    assert run("log") == (0, "No executions\n")
    status, said = run("log", "--archive", "--columns", "id,outcome,records_processed")
    assert (status, said.splitlines()[0].split()) == (0, ["ID", "OUTCOME", "RECORDS", "PROCESSED"])
    assert [line.split() for line in said.splitlines()[1:4]] == [
        ["3", "SUCCESS", "7"],
        ["2", "FAILED", "-"],
        ["1", "SUCCESS", "-"],
    ]
    assert said.splitlines()[4] == f"From the archive at {archived.place}."
    assert ids() == ["3", "2", "1"]
    assert ids("--limit", "1") == ["3"]
    assert ids("--failed") == ["2"]
    for filter, found in FILTERS.items():
        assert ids("--filter", filter) == found, filter
    assert ids("--filter", "outcome=success", "--filter", "id<3") == ["1"]
    (row,) = json.loads(run("log", "--archive", "--failed", "--json")[1])["executions"]
    assert (row["duration"], row["errorMessage"], row["startedAt"][-1]) == (2, "No luck", "Z")
    before = archived.completed()
    assert before["location"] == archived.place
    # The job of the server archives, too.
    assert run("trigger", "prune_history", "--args", '{"max_age_days": 5}', "--wait")[0] == 0
    assert archived.completed()["completeUntilAt"] > before["completeUntilAt"]


@pytest.mark.costly
def test_log_lines_that_were_deleted_are_shown(archived: Archived) -> None:
    status, said = archived.run("logs", "2", "--execution", "--archive")
    assert (status, [line.partition("Z ")[2] for line in said.splitlines()]) == (
        0,
        ["info     line 1  n=1", "info     line 2  n=1"],
    )
    lines = archived.run("logs", "3", "--archive", "--json")[1].splitlines()
    assert [json.loads(line)["message"] for line in lines] == ["line 1", "line 2"]


@pytest.mark.costly
def test_what_the_archive_does_not_have_or_cannot_do_is_refused(archived: Archived, tmp_path: Path) -> None:
    for words, status, sentence in (
        (("logs", "9", "--archive"), 1, f"run 9 is not in the archive at {archived.place}"),
        (("logs", "9", "--execution", "--archive"), 1, "execution 9 is not in the archive"),
        (("logs", "x", "--archive"), 2, "--archive needs the id of a run or an execution, a number, got 'x'"),
        (("logs", "2", "--archive", "--search", "a"), 2, "goes with the id of a run or an execution alone"),
        (("log", "--archive", "--sort", "id"), 2, "it does not go with --sort and --watch"),
        (("log", "--archive", "--filter", "group=a"), 2, "there is no field 'group'"),
        (("log", "--archive", "--filter", "id=x"), 2, "id must be a whole number, got 'x'"),
        (("log", "--archive", "--filter", "started_at>soon"), 2, "startedAt must be a time such as"),
        (("log", "--archive", "--columns", "nothing"), 2, "there is no column 'nothing'"),
    ):
        found, said = archived.run(*words)
        assert (found, sentence in said) == (status, True), said
    # The variable names another one.
    empty = archived.run("log", "--archive", env={"CRONOGRAPH_ARCHIVE_URL": f"{tmp_path}/empty"})
    assert empty[1].startswith("No executions")
    refused = archived.run("log", "--archive", env={"CRONOGRAPH_ARCHIVE_URL": "nothing://x"})
    assert (refused[0], "must be an absolute path or s3://bucket/prefix" in refused[1]) == (2, True)


@pytest.mark.costly
@pytest.mark.parametrize("what", ["manifests/*.json", "executions/*/0.parquet"])
def test_what_is_damaged_in_the_archive_is_named(archived: Archived, what: str) -> None:
    for path in Path(archived.place).glob(what):
        path.write_bytes(path.read_bytes()[:20])
    for words in (("log", "--archive"), ("logs", "2", "--archive")):
        status, said = archived.run(*words)
        assert (status, f"{archived.place}/{what.partition('/')[0]}/" in said, "cannot be read" in said) == (
            1,
            True,
            True,
        ), said


@pytest.mark.costly
def test_a_server_without_an_archive_says_so(processes: ProcessStarter, sqlite_url: str) -> None:
    server = processes.serve(sqlite_url)
    status, said = processes.run("log", "--archive", "--url", server.url)
    assert (status, "the server archives nothing; set CRONOGRAPH_ARCHIVE_URL" in said) == (1, True)
