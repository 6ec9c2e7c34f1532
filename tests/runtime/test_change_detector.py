"""An idle node on SQLite leaves its slow looks out, and misses nothing by that."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cronograph.jobs.actions.tasks import create_task
from cronograph.jobs.core.model import ScheduleSpec, TaskSpec
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.core.states import RunState
from cronograph.jobs.registry import Registry, define
from cronograph.jobs.runtime.base.service import AT_LATEST, ChangeDetector
from cronograph.jobs.store.db.database import Database, parse_url, sqlite_path
from cronograph.jobs.store.schema.types import to_text
from tests.support.engines import QUICK, running_engine
from tests.support.waiting import eventually

CHANGE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=30)
connection.execute(sys.argv[2])
connection.commit()
"""


def change_elsewhere(database_url: str, statement: str) -> None:
    """In another process, which tells nobody."""
    subprocess.run([sys.executable, "-S", "-c", CHANGE, str(_file(database_url)), statement], check=True)


def _file(database_url: str) -> Path:
    return sqlite_path(parse_url(database_url))


def test_a_look_is_worth_it_after_a_commit_and_at_the_latest_after_some_that_were_left_out(sqlite_url: str) -> None:
    with closing(sqlite3.connect(_file(sqlite_url))) as connection:
        database = Database(sqlite_url)
        looking = ChangeDetector(database)
        assert looking.should_poll()
        assert [looking.should_poll() for _ in range(2 * AT_LATEST)] == 2 * ([False] * (AT_LATEST - 1) + [True])
        connection.execute("UPDATE event_publisher SET last_seq = last_seq + 1")
        connection.commit()
        assert [looking.should_poll(), looking.should_poll()] == [True, False]
        database.close_sync()


def test_every_look_is_worth_it_where_nobody_can_report_commits_or_the_time_is_replaced(
    postgres_url: str, sqlite_url: str
) -> None:
    for database in (Database(postgres_url), Database(sqlite_url, clock=lambda: datetime.now(UTC))):
        looking = ChangeDetector(database)
        assert all(looking.should_poll() for _ in range(3))
        database.close_sync()


@pytest.mark.costly
@pytest.mark.parametrize("poll", [0.02, 3600.0], ids=["by slow looks", "without slow looks"])
async def test_what_another_process_makes_due_starts_though_the_node_had_left_looks_out(
    sqlite_url: str, poll: float
) -> None:
    done: list[str] = []

    async def job(name: str) -> None:
        done.append(name)

    registry = Registry()
    registry.add(define("job", job))
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    async with running_engine(sqlite_url, registry, replace(QUICK, poll=poll), None) as engine:
        later = await engine.enqueue("job", {"name": "run"}, available_at=tomorrow)
        at = ScheduleSpec(Syntax.TIMESTAMP, tomorrow.isoformat())
        await engine.database.write(create_task, TaskSpec("task", "job", at, args={"name": "task"}))
        change_elsewhere(sqlite_url, f"UPDATE run SET available_at = '{to_text(datetime.now(UTC))}' WHERE id = {later}")
        assert (await engine.run_until_finished(later)).state is RunState.SUCCESS
        assert done == ["run"]
        due = to_text(datetime.now(UTC))
        change_elsewhere(sqlite_url, f"UPDATE periodic_task SET next_nominal = '{due}', next_execution = '{due}'")
        await eventually(lambda: done == ["run", "task"])
