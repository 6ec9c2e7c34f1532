"""No row that cannot be read, no matter what is wrong with it, keeps any field of the query from showing the others."""

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace

import pytest
from sqlalchemy import JSON

from cronograph.graphql.execution.schema_factory import GuardedSchema
from cronograph.graphql.guard.limits import Limits
from cronograph.graphql.schema import create_schema
from cronograph.jobs.actions.flows import enqueue_flow
from cronograph.jobs.actions.groups import set_group_rate
from cronograph.jobs.actions.signals import signal_run
from cronograph.jobs.core.base.rates import Rate
from cronograph.jobs.core.durable.steps import StepEnd
from cronograph.jobs.core.durable.waits import Signal
from cronograph.jobs.core.flows.model import NewFlow, NewMember
from cronograph.jobs.core.limits import Limits as JobLimits
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.queue import steps
from cronograph.jobs.queue.steps import EndedStep
from cronograph.jobs.runtime.live.bus import EventBus
from cronograph.jobs.runtime.live.log_feed import LogFeed
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.schema.meanings import ANY_DOCUMENT, SHAPES
from cronograph.jobs.store.schema.parts import metadata
from tests.graphql_api.api import Api
from tests.graphql_api.lists.documents import documents
from tests.support.damages import damage_all, refuse_nothing
from tests.support.storage import START, Stored

# What cannot be read differs by the types of columns.
pytestmark = [pytest.mark.both_databases, pytest.mark.altered_log]

ARGUMENTS: Mapping[str, str] = {
    "validateSchedule": 'schedule: { syntax: CRON, value: "* * * * *" }',
    "job": 'name: "work"',
    "task": 'name: "a"',
    "run": 'id: "1"',
    "execution": 'id: "1"',
    "flow": 'id: "1"',
    "group": 'name: "default"',
    "node": 'name: "node-a"',
    "labelValues": 'key: "team"',
    "logSearch": 'text: "a", executionId: "1"',
}


async def fill(stored: Stored) -> None:
    """A database with a bit of everything that runs."""
    rated = JobLimits(rate=Rate.of(1000, 1.0))
    node = stored.node(schedule="0 0 * * *", jobs=("work", "other"), limits=rated)
    stored.node(name="node-b")
    for name in ("a", "b"):
        stored.task(name=name)
        stored.enqueue_by_job(labels={"team": "blue"})
    stored.do(set_group_rate, name="default", rate=Rate.of(1000, 1.0))
    started = node.start()
    begun = StepEnd("load", START, START, {"rows": 1}, None)
    await steps.store(stored.database, None, (node.node.id, node.node.name), [EndedStep(started.run, begun)])
    stored.do(signal_run, run_id=started.run.id, signal=Signal("approved", {"by": "me"}))
    node.end(started)
    node.end(node.start())
    first, second = (NewMember(key, NewRun("work", Trigger.API)) for key in ("a", "b"))
    stored.do(enqueue_flow, NewFlow("import", (first, replace(second, after=("a",)))))
    for _ in range(3):
        stored.pass_time(120)
        stored.dispatch()


@pytest.fixture
async def open_api(stored: Stored, database_url: str) -> AsyncIterator[Callable[[GuardedSchema], Api]]:
    """Opens the API over a filled database."""
    await fill(stored)
    database = Database(database_url, clock=lambda: stored.now)
    bus, log_feed = EventBus(database, poll=3600), LogFeed(database, poll=3600)
    bus.start()
    bus.poke()
    yield lambda schema: Api(schema, stored, database, bus, log_feed)
    await bus.stop()
    await database.close()


# Each field is asked with all that lies below it: ten seconds of a processor, which others use too.
@pytest.mark.costly
@pytest.mark.timeout(240)
async def test_every_field_of_the_query_shows_the_others_whatever_is_wrong_with_some_rows(
    open_api: Callable[[GuardedSchema], Api], caplog: pytest.LogCaptureFixture
) -> None:
    wide = Limits(cost=10**12, tokens=100_000, fields=100_000, aliases=10_000, document_bytes=10**6)
    api = open_api(create_schema(wide))
    stored = api.stored
    stored.do(lambda tx: refuse_nothing(tx.conn))
    stored.do(damage_all)
    # Strawberry has no public way to it.
    asked = dict(documents(api.schema._schema, ARGUMENTS))  # noqa: SLF001
    with caplog.at_level(logging.ERROR):
        for field, document in asked.items():
            data, errors = await api.execute(document)
            assert errors == [], field
            assert data[field] is not None, field
    for name in ("runs", "tasks", "executions", "nodes", "jobs", "groups", "skippedOccurrences"):
        assert (await api.ask(f"{{ {name} {{ nodes {{ __typename }} }} }}"))[name]["nodes"], name
    for name in ("run", "periodic_task", "node", "job", "job_execution", "event"):
        assert f"left out a row that cannot be read: table {name}, row " in caplog.text


def test_of_every_column_with_documents_is_stated_what_these_are() -> None:
    stored = {
        (table, one.name) for table in metadata.tables.values() for one in table.columns if isinstance(one.type, JSON)
    }
    told = SHAPES.keys() | ANY_DOCUMENT
    missing = sorted(f"{table.name}.{name}" for table, name in stored - told)
    assert not missing, f"say in `SHAPES` or `ANY_DOCUMENT` of jobs/store/schema/meanings.py what is in {missing}"
    assert told <= stored
    assert not SHAPES.keys() & ANY_DOCUMENT
