"""A third-party client, `gql`, works unchanged over POST and WebSocket."""

import pytest
from gql import Client, gql
from gql.transport.exceptions import TransportQueryError
from gql.transport.httpx import HTTPXAsyncTransport
from gql.transport.websockets import WebsocketsTransport

from tests.graphql_api.transport.serving import Served


async def test_gql_queries_over_post_with_the_schema_by_introspection(server: Served) -> None:
    transport = HTTPXAsyncTransport(url=f"http://127.0.0.1:{server.port}/graphql", trust_env=False)
    async with Client(transport=transport, fetch_schema_from_transport=True) as session:
        assert await session.execute(gql("{ hello }")) == {"hello": "Hello world"}
        with pytest.raises(TransportQueryError, match="Only operators may do this"):
            await session.execute(gql("{ refused }"))


async def test_gql_subscribes_over_websocket(server: Served) -> None:
    transport = WebsocketsTransport(url=f"ws://127.0.0.1:{server.port}/graphql")
    async with Client(transport=transport, fetch_schema_from_transport=True) as session:
        answers = [answer async for answer in session.subscribe(gql("subscription { ticks(count: 2) { value } }"))]
    assert answers == [{"ticks": {"value": 0}}, {"ticks": {"value": 1}}]
