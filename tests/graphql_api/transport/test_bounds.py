"""Each event of a subscription is executed within the bounds of a query: time, budget and connections."""

import asyncio
import json
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from starlette.requests import HTTPConnection

from cronograph.graphql.guard.admission import RETRY_SECONDS, Admission, Reads
from cronograph.graphql.guard.limits import Limits
from cronograph.graphql.resolving.context import LOCAL_ADMINISTRATOR, Context, Person
from cronograph.jobs.core.actor import Role
from cronograph.jobs.runtime.live.bus import EventBus
from cronograph.jobs.runtime.live.feeds import LogFeed
from cronograph.jobs.store.db.database import Database
from cronograph.server.http.app import client_of
from tests.graphql_api.transport.sample import sample_app
from tests.support.waiting import eventually

LATE = "subscription { ticks(count: 1) { cursor late } }"


async def stream(client: httpx.AsyncClient, document: str) -> list[dict[str, Any]]:
    """The answers of a subscription."""
    headers = {"accept": "text/event-stream"}
    answer = await client.post("/graphql", json={"query": document}, headers=headers)
    return [json.loads(line.removeprefix("data: ")) for line in answer.text.splitlines() if line.startswith("data: {")]


def browser(app: Any) -> httpx.AsyncClient:
    """A client in this process."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost", timeout=60)


async def test_an_event_that_takes_too_long_to_answer_ends_its_subscription() -> None:
    async with browser(sample_app(Limits(operation_seconds=0.05)).app) as client:
        (answer,) = await stream(client, LATE)
    (error,) = answer["errors"]
    assert error["extensions"] == {"code": "TIMEOUT", "classification": "UNAVAILABLE", "retryAfter": 5}
    assert error["message"] == "An event of this subscription took longer than 0.05 s and was stopped."


async def test_a_costly_event_waits_for_the_budget_as_a_query_does() -> None:
    # Hardly any rest: what this process does beside the operation would count as its processor time.
    limits = Limits(cheap_cost=1, budget=2, client_budget=2, queue_seconds=0.05, rest_seconds=0.001)
    sample = sample_app(limits)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(browser(sample.app))
        under_way = asyncio.create_task(client.post("/graphql", json={"query": "{ blocked hello }"}))
        await eventually(lambda: sample.context.waiting == 1)
        (refused,) = await stream(client, "subscription { ticks(count: 1) { cursor value } }")
        assert refused["errors"][0]["extensions"]["code"] == "LIMIT_QUEUE_SECONDS"
        sample.context.release.set()
        assert (await under_way).status_code == 200
        (answer,) = await stream(client, "subscription { ticks(count: 1) { cursor value } }")
        assert answer["data"] == {"ticks": {"cursor": "c0", "value": 0}}


async def test_the_source_is_patient_and_each_event_has_a_deadline_of_its_own() -> None:
    asked: list[Reads] = []
    limits = Limits(cheap_cost=1)

    def lane(context: Any, reads: Reads) -> Any:
        asked.append(reads)
        return context

    async with browser(sample_app(limits, admission=Admission(limits, lane)).app) as client:
        assert len(await stream(client, "subscription { ticks(count: 2) { cursor value } }")) == 2
    source, first, second = asked
    assert source == Reads(retry_seconds=RETRY_SECONDS)
    assert first.deadline is not None
    assert second.deadline is not None
    assert first.deadline < second.deadline
    assert [(one.costly, one.retry_seconds) for one in (first, second)] == [(True, RETRY_SECONDS)] * 2


@pytest.mark.parametrize(
    ("person", "client"),
    [
        (LOCAL_ADMINISTRATOR, "192.0.2.7"),
        (Person("ada", Role.VIEWER, account_id=5), "account 5"),
    ],
)
async def test_a_budget_is_that_of_the_account_or_of_the_address_without_one(
    person: Person, client: str, sqlite_url: str
) -> None:
    database = Database(sqlite_url)
    connection = HTTPConnection({"type": "http", "client": ("192.0.2.7", 1234)})
    assert client_of(Context(database, EventBus(database), LogFeed(database), person), connection) == client
    await database.close()


async def test_clients_are_distinguished_as_the_application_says() -> None:
    limits = Limits(cheap_cost=1, budget=4, client_budget=2, queue_seconds=0.05)

    def by_header(_context: object, connection: HTTPConnection) -> str:
        return connection.headers.get("x-name", "")

    sample = sample_app(limits, admission=Admission(limits, client_of=by_header))
    document = {"query": "{ hello number(value: 1) }"}
    async with browser(sample.app) as client:
        asking = client.post("/graphql", json={"query": "{ blocked hello }"}, headers={"x-name": "ada"})
        under_way = asyncio.create_task(asking)
        await eventually(lambda: sample.context.waiting == 1)
        refused = await client.post("/graphql", json=document, headers={"x-name": "ada"})
        answered = await client.post("/graphql", json=document, headers={"x-name": "bob"})
        assert (refused.status_code, answered.status_code) == (503, 200)
        sample.context.release.set()
        await under_way
