"""What a user decides about a task goes into its columns and comes back as it was."""

import json
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection

from cronograph.jobs.core.admission.caps import Rate
from cronograph.jobs.core.admission.holding import Hold, Holding
from cronograph.jobs.core.admission.labels import LabelRule
from cronograph.jobs.core.defaults import JobDefaults
from cronograph.jobs.core.limits import Limits, UniqueKey
from cronograph.jobs.core.model import MisfirePolicy, OverlapPolicy, Priority, ScheduleSpec, TaskSpec
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.jobs.store.schema.rows import declared_values, defaults_document, defaults_from, spec_values
from cronograph.jobs.store.schema.tables import periodic_task
from cronograph.jobs.store.statements import tasks
from tests.support.history import add_task

START = datetime(2031, 1, 1, tzinfo=UTC)
PLAIN = TaskSpec("plain", "work", ScheduleSpec(Syntax.CRON, "0 0 * * * *"))
DECIDED = TaskSpec(
    name="decided",
    job_name="report",
    schedule=ScheduleSpec(Syntax.INTERVAL, "PT7M", "Europe/Berlin"),
    args={"a": [1, None]},
    description="said",
    enabled=False,
    group="other",
    priority=Priority.HIGH,
    owner="ann",
    overlap=OverlapPolicy.ALLOW,
    misfire=MisfirePolicy.ALL,
    misfire_grace=11.5,
    catch_up_limit=12,
    tolerance=13.5,
    timeout=14.5,
    max_duration=14.75,
    retries=15,
    retry_delay=16.5,
    jitter=17.5,
    start_at=START,
    end_at=START + timedelta(days=1),
    labels={"customer": "42"},
    rate=Rate(100, 60.0, 20),
    resources={"gpus": 2},
    inherits=frozenset({"retries", "timeout"}),
)


@pytest.fixture
def conn(database_url: str) -> Iterator[Connection]:
    engine = sync_engine(parse_url(database_url))
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def test_all_that_a_user_decides_is_read_as_it_was_written(conn: Connection) -> None:
    assert all(getattr(DECIDED, one.name) != getattr(PLAIN, one.name) for one in fields(TaskSpec))
    task_id = add_task(conn, 1)
    for spec in (DECIDED, PLAIN):
        assert tasks.change(conn, task_id, spec_values(spec)).spec == spec


def test_the_declared_schedule_is_read_as_it_was_written(conn: Connection) -> None:
    task_id = add_task(conn, 1)
    for declared in (DECIDED.schedule, None):
        assert tasks.change(conn, task_id, declared_values(declared)).declared == declared


def test_no_column_is_written_twice() -> None:
    written = [*spec_values(DECIDED), *declared_values(DECIDED.schedule)]
    # The schedule is one attribute and three columns, twice.
    assert len(set(written)) == len(written) == len(fields(TaskSpec)) - 1 + 3 + 3
    assert set(written) <= set(periodic_task.c.keys())


def test_all_that_a_job_says_comes_back_from_its_column() -> None:
    by_customer = UniqueKey(
        ("customer_id",), "of {customer_id}", defaults={"customer_id": 1}, formats={"customer_id": "x"}
    )
    declared = JobDefaults(
        group="other",
        priority=Priority.HIGH,
        retries=3,
        retry_delay=4.5,
        timeout=5.5,
        max_duration=7.5,
        overlap=OverlapPolicy.ALLOW,
        misfire=MisfirePolicy.ALL,
        on_failure="cry",
        unique_key=by_customer,
        labels=LabelRule({"team": "a"}, {"customer": "customer_id"}, {"customer_id": 1}),
        ttl=6.5,
        on_expired="weep",
        on_cancel="tidy",
        hold=Hold(Holding.DEBOUNCE, 3.0, 9.0, until_start=True),
        limits=Limits(Rate.of(5, 60), by_customer, by_customer, 7),
        keep=8.5,
    )
    assert all(getattr(declared, one.name) is not None for one in fields(JobDefaults))
    assert defaults_from(json.loads(json.dumps(defaults_document(declared)))) == declared
