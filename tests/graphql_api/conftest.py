"""The schema, and the API over a fresh database of either kind."""

from collections.abc import AsyncIterator

import pytest

from cronograph.graphql.execution.schema_factory import GuardedSchema
from cronograph.graphql.schema import shared_schema
from cronograph.jobs.runtime.live.bus import EventBus
from cronograph.jobs.runtime.live.feeds import LogFeed
from cronograph.jobs.store.db.database import Database
from tests.graphql_api.api import Api
from tests.support.storage import Stored


@pytest.fixture(scope="session")
def schema() -> GuardedSchema:
    """The schema, built once."""
    return shared_schema()


@pytest.fixture
async def api(schema: GuardedSchema, stored: Stored, database_url: str) -> AsyncIterator[Api]:
    """The API with its event bus; a node knows the job `work`."""
    stored.node()
    database = Database(database_url, clock=lambda: stored.now)
    # Nothing is found by looking now and then: a test sees only what it was told of.
    bus, log_feed = EventBus(database, poll=3600), LogFeed(database, poll=3600)
    for part in (bus, log_feed):
        database.on_commit(part.on_wake)
        part.start()
    yield Api(schema, stored, database, bus, log_feed)
    await log_feed.stop()
    await bus.stop()
    await database.close()
