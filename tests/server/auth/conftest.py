"""Servers with sign-in, once on SQLite and once on PostgreSQL."""

from collections.abc import AsyncIterator

import pytest

from cronograph.graphql.execution.schema_factory import GuardedSchema
from cronograph.graphql.schema import shared_schema
from tests.server.auth.serving import Protected, protected


@pytest.fixture(scope="session")
def schema() -> GuardedSchema:
    """The schema, built once."""
    return shared_schema()


@pytest.fixture
async def server(schema: GuardedSchema, database_url: str) -> AsyncIterator[Protected]:
    """A server with sign-in and no accounts."""
    async with protected(database_url, schema) as started:
        yield started


@pytest.fixture
async def light(schema: GuardedSchema, sqlite_url: str) -> AsyncIterator[Protected]:
    """The same on SQLite alone, for what no database has a part in."""
    async with protected(sqlite_url, schema) as started:
        yield started
