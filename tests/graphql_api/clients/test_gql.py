"""`gql` from PyPI works unchanged: queries by HTTP, subscriptions by WebSocket, the schema by introspection."""

from typing import Any

import pytest
from gql import Client, GraphQLRequest, gql
from gql.transport.aiohttp import AIOHTTPTransport
from gql.transport.exceptions import TransportQueryError
from gql.transport.httpx import HTTPXAsyncTransport, HTTPXTransport
from gql.transport.websockets import WebsocketsTransport

from tests.support.processes import CronographProcess

RUN_NAP = gql("""
mutation Nap($args: JSON) {
  triggerJob(jobName: "nap", args: $args) { success message run { id } }
}
""")
FOLLOW = gql("""
subscription Follow($after: String, $run: ID) {
  events(after: $after, filter: { runId: $run }) { cursor kind ... on RunEvent { runState run { id state } } }
}
""")


def with_variables(request: GraphQLRequest, **variables: Any) -> GraphQLRequest:
    return GraphQLRequest(request.document, variable_values=variables)


def socket(server: CronographProcess) -> WebsocketsTransport:
    return WebsocketsTransport(url=f"{server.url.replace('http', 'ws')}/graphql")


def test_documents_are_checked_against_the_fetched_schema_and_answered(server: CronographProcess) -> None:
    transport = HTTPXTransport(url=f"{server.url}/graphql")
    with Client(transport=transport, fetch_schema_from_transport=True) as session:
        assert session.client.schema is not None
        answer = session.execute(gql("{ availableJobs { name description schedule } }"))
        assert {"nap", "tick"} <= {job["name"] for job in answer["availableJobs"]}
        done = session.execute(with_variables(RUN_NAP, args={"seconds": 0}))
        assert done["triggerJob"]["message"] == "Job nap triggered successfully"
        with pytest.raises(TransportQueryError) as caught:
            session.execute(gql("{ tasks(first: 100000) { nodes { name } } }"))
    assert caught.value.errors


@pytest.mark.parametrize("kind", [HTTPXAsyncTransport, AIOHTTPTransport])
async def test_asynchronous_transports_are_answered(server: CronographProcess, kind: type[Any]) -> None:
    async with Client(transport=kind(url=f"{server.url}/graphql")) as session:
        answer = await session.execute(gql("{ viewer { name role } }"))
    assert answer["viewer"]["role"] == "ADMIN"


async def test_subscriptions_queries_and_mutations_share_a_websocket(server: CronographProcess) -> None:
    async with Client(transport=socket(server), fetch_schema_from_transport=True) as session:
        place = (await session.execute(gql("{ asOf }")))["asOf"]
        done = await session.execute(with_variables(RUN_NAP, args={"seconds": 0}))
        run = done["triggerJob"]["run"]["id"]
        kinds: list[str] = []
        async for answer in session.subscribe(with_variables(FOLLOW, after=place, run=run)):
            kinds.append(answer["events"]["kind"])
            if answer["events"]["kind"] == "EXECUTION_FINISHED":
                break
        # The socket is still good for more.
        again = await session.execute(gql("{ asOf }"))
    assert kinds[0] == "RUN_CREATED"
    assert "EXECUTION_STARTED" in kinds
    assert again["asOf"]


async def test_a_subscription_that_is_refused_says_why(server: CronographProcess) -> None:
    async with Client(transport=socket(server)) as session:
        with pytest.raises(TransportQueryError) as caught:
            await anext(session.subscribe(with_variables(FOLLOW, after="yesterday")))
    assert caught.value.errors is not None
    assert caught.value.errors[0]["extensions"]["code"] == "INVALID_CURSOR"


async def test_a_subscription_that_ends_by_itself_ends(server: CronographProcess) -> None:
    updated = gql("subscription Updated($id: ID!) { run(id: $id) { state } }")
    async with Client(transport=socket(server)) as session:
        run = (await session.execute(with_variables(RUN_NAP, args={"seconds": 0})))["triggerJob"]["run"]["id"]
        states = [answer["run"]["state"] async for answer in session.subscribe(with_variables(updated, id=run))]
    assert states[-1] == "SUCCESS"
