"""The served sample application."""

from collections.abc import AsyncIterator

import pytest

from tests.graphql_api.transport.serving import Served, served


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[Served]:
    """A server under the default limits, shared by the tests of a module: they also show that it survives."""
    async with served() as running:
        yield running
