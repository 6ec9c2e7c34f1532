"""Searches have a lane of their own: one at a time, the callers in turn, each with a budget; and they are told why."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from sqlalchemy import Connection, func, insert, select, text, update
from starlette.applications import Starlette
from starlette.requests import HTTPConnection

from cronograph.graphql.app import graphql_routes
from cronograph.graphql.base.errors import UserFacingError
from cronograph.graphql.guard.admission import Admission, Reads
from cronograph.graphql.guard.limits import Limits
from cronograph.graphql.guard.searches import Searches, SearchLane, bounds_of
from cronograph.graphql.resolving.context import Context
from cronograph.graphql.schema import create_schema
from cronograph.graphql.transport.engine import Engine
from cronograph.jobs.runtime.live.bus import EventBus
from cronograph.jobs.runtime.live.feeds import LogFeed
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.schema.tables import job_execution
from tests.support.history import LONG_AGO

pytestmark = pytest.mark.both_databases  # each database has its own way to end a search

SLOW = {
    "sqlite": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n",
    "postgresql": "SELECT pg_sleep(3600)",
}
LIMITS = Limits(search_seconds=60)
"""Those of a server, with time for a busy machine."""
ROWS = 6_000
"""More than are read like anything else."""
TEXT = 'executions(first: 1, filter: {errorMessage: {contains: "xyzzy"}}) { nodes { id } }'
"""Costs 3 and its search 60."""


def fill(conn: Connection) -> None:
    row = {
        "job_name": "j", "attempt": 1, "node_id": 1, "started_at": LONG_AGO, "completed_at": LONG_AGO, "success": True,
        "outcome": "success", "node": "n", "trigger": "api", "submitted_at": LONG_AGO, "log_lines": 0, "log_cut": 0,
    }  # fmt: skip
    conn.execute(insert(job_execution), [{**row, "run_id": number} for number in range(1, ROWS + 1)])


class Clock:
    """Seconds as the test says."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Api:
    """An API over a log of some length, asked by several callers."""

    def __init__(self, client: httpx.AsyncClient, database: Database, lane: SearchLane, clock: Clock) -> None:
        self.client = client
        self.database = database
        self.lane = lane
        self.clock = clock

    async def ask(self, document: str, caller: str = "a", **variables: Any) -> httpx.Response:
        body = {"query": document, "variables": variables}
        return await self.client.post("/graphql", json=body, headers={"x-caller": caller})


@asynccontextmanager
async def api(url: str, limits: Limits = LIMITS) -> AsyncGenerator[Api]:
    schema, database, clock = create_schema(limits), Database(url), Clock()
    searched = database.separate_pool("search", bounds_of(limits))
    await database.write(lambda tx: fill(tx.conn))
    lane = SearchLane(searched, limits, clock)
    bus, feed = EventBus(database, poll=3600), LogFeed(database, poll=3600)

    async def context(_connection: HTTPConnection) -> Context:
        return Context(database, bus, feed)

    def within(found: Context, reads: Reads) -> Context:
        return found.with_database(database.with_deadline(reads.deadline), Searches(lane, reads.client, reads.cost))

    bounds = Admission(limits, within, lambda _context, connection: connection.headers["x-caller"])
    app = Starlette(routes=[*graphql_routes(Engine(schema), context, admission=bounds)])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost", timeout=60) as client:
        yield Api(client, database, lane, clock)
    await searched.close()
    await database.close()


def error_of(answer: httpx.Response) -> dict[str, Any]:
    (error,) = answer.json()["errors"]
    found: dict[str, Any] = error["extensions"]
    return found


@pytest.mark.costly
async def test_the_cost_of_an_operation_says_what_its_searches_took(database_url: str) -> None:
    async with api(database_url) as found:
        plain = (await found.ask("{ executions(first: 1) { nodes { id } } }")).json()["extensions"]["cost"]
        assert plain == {"requested": 3, "maximum": 20_000}
        searched = (await found.ask(f"{{ {TEXT} }}")).json()
        assert searched["data"] == {"executions": {"nodes": []}}
        cost = searched["extensions"]["cost"]
        assert cost["requested"] == 3 + 3 * ROWS // 100
        # The test's clock stands still.
        assert (cost["actual"], cost["remaining"]) == (3, 100_000)


@pytest.mark.costly
async def test_an_operation_that_searches_too_much_is_refused_before_any_of_it(database_url: str) -> None:
    async with api(database_url, Limits(cost=300)) as found:
        answer = await found.ask("{ " + " ".join(f"n{number}: {TEXT}" for number in range(10)) + " }")
        errors = answer.json()["errors"]
        assert {error["extensions"]["code"] for error in errors} == {"LIMIT_COST"}
        assert "No index finds rows of `executions` by errorMessage contains." in errors[0]["message"]
        assert "Indexes find them by jobName: eq" in errors[0]["message"]
        assert found.lane.left("a") == 2.0


@pytest.mark.costly
async def test_too_many_rows_are_not_sorted_for_an_order_that_no_index_has(database_url: str) -> None:
    by_duration = "executions(first: 1, orderBy: [{field: DURATION}]) { nodes { id } }"
    of_a_job = by_duration.replace("first: 1", 'first: 1, filter: {jobName: {eq: "j"}}')
    async with api(database_url, Limits(sorted_rows=ROWS - 1, search_seconds=60)) as found:
        answer = await found.ask(f"{{ {by_duration} }}")
        assert error_of(answer) == {
            "code": "LIMIT_SORTED_ROWS", "classification": "BAD_REQUEST", "limit": "sorted_rows",
            "maximum": ROWS - 1, "requested": ROWS,
        }  # fmt: skip
        message = answer.json()["errors"][0]["message"]
        assert message.startswith("No index orders `executions` by duration, and there are too many to be sorted")
        assert (await found.ask(f"{{ {of_a_job} }}")).json()["data"] == {"executions": {"nodes": [{"id": "1"}]}}
        of_always = by_duration.replace("first: 1", 'first: 1, filter: {startedAt: {gte: "2000-01-01T00:00:00Z"}}')
        assert error_of(await found.ask(f"{{ {of_always} }}"))["code"] == "LIMIT_SORTED_ROWS"


@pytest.mark.costly
async def test_a_long_log_is_not_sorted_by_duration_unless_a_filter_narrows_it(database_url: str) -> None:
    longest = "executions(first: 1, orderBy: [{field: DURATION, direction: DESC}]) { nodes { id } }"
    since = longest.replace("first: 1", 'first: 1, filter: {startedAt: {gte: "2000-01-01T00:00:00Z"}}')
    async with api(database_url) as found:
        assert "errors" not in (await found.ask(f"{{ {longest} }}")).json()
        await lengthen(found, 200_001)
        answer = await found.ask(f"{{ {longest} }}")
        assert error_of(answer)["code"] == "LIMIT_SORTED_ROWS"
        message = answer.json()["errors"][0]["message"]
        assert "the limit is 200,000, got 200,001" in message
        assert "Indexes find them by jobName: eq" in message
        assert "startedAt: gte, lt" in message
        assert "errors" not in (await found.ask(f"{{ {since} }}", "b")).json()


@pytest.mark.costly
async def test_a_text_is_searched_in_a_log_of_any_length_at_the_cost_of_the_rows_looked_at(database_url: str) -> None:
    async with api(database_url) as found:
        await lengthen(found, 10_000_000)
        page = (
            await found.ask(f"{{ {TEXT.replace('nodes { id }', 'pageInfo { isPartial } isTotalCountExact')} }}")
        ).json()
        assert page["data"]["executions"] == {"pageInfo": {"isPartial": True}, "isTotalCountExact": False}
        assert page["extensions"]["cost"]["requested"] < 13_000


async def lengthen(found: Api, newest: int) -> None:
    """Let the log reach to this key."""
    latest = update(job_execution).where(job_execution.c.id == ROWS).values(id=newest)
    await found.database.write(lambda tx: tx.conn.execute(latest))
    found.clock.now += 60  # the length is known for some seconds


@pytest.mark.costly
async def test_one_who_has_used_up_the_budget_is_shown_when_to_ask_again_and_others_search_on(
    database_url: str,
) -> None:
    async with api(database_url) as found:
        await spend(found, 2.3)
        answer = await found.ask(f"{{ {TEXT} }}")
        assert error_of(answer) == {
            "code": "LIMIT_SEARCH_BUDGET", "classification": "UNAVAILABLE", "limit": "search_budget", "maximum": 2.0,
            "retryAfter": 1.4,
        }  # fmt: skip
        assert answer.headers["retry-after"] == "2"
        assert "data" in (await found.ask("{ executions(first: 1) { nodes { id } } }")).json()
        assert "errors" not in (await found.ask(f"{{ {TEXT} }}", "b")).json()
        found.clock.now += 1.39
        assert error_of(await found.ask(f"{{ {TEXT} }}"))["retryAfter"] == 0.1
        found.clock.now += 0.01
        assert "errors" not in (await found.ask(f"{{ {TEXT} }}")).json()


async def spend(found: Api, seconds: float) -> None:
    """Let a caller search for so long."""

    def search(_conn: Connection) -> None:
        found.clock.now += seconds

    await found.lane.read(Searches(found.lane, "a"), search)


@pytest.mark.costly
async def test_a_search_that_takes_too_long_ends_and_says_why(database_url: str) -> None:
    # The shortest time that there is: none is fast enough.
    async with api(database_url, Limits(search_seconds=1e-4)) as found:
        answer = await found.ask(f"{{ {TEXT} }}")
        assert error_of(answer)["code"] == "LIMIT_SEARCH_SECONDS"
        assert "No index finds rows of `executions` by errorMessage contains." in answer.json()["errors"][0]["message"]


@pytest.mark.costly
async def test_a_search_says_whether_it_has_seen_everything(database_url: str) -> None:
    info = "pageInfo { isPartial hasNextPage endCursor }"
    async with api(database_url) as found:
        page = (await found.ask(f"{{ {TEXT.replace('nodes { id }', info + ' totalCount isTotalCountExact')} }}")).json()
        assert page["data"]["executions"] == {
            "pageInfo": {"isPartial": False, "hasNextPage": False, "endCursor": None},
            "totalCount": 0,
            "isTotalCountExact": True,
        }


async def test_searches_take_turns_by_caller(sqlite_url: str) -> None:
    order: list[str] = []
    gate = asyncio.Event()
    loop = asyncio.get_running_loop()

    def search(name: str) -> Callable[[Connection], None]:
        def note(_conn: Connection) -> None:
            if name == "first":
                asyncio.run_coroutine_threadsafe(gate.wait(), loop).result()
            order.append(name)

        return note

    async with api(sqlite_url) as found:
        first = asyncio.create_task(found.lane.read(Searches(found.lane, "a"), search("first")))
        await asyncio.sleep(0)
        asked = [("a", "a2"), ("a", "a3"), ("b", "b1"), ("c", "c1")]
        rest = [asyncio.create_task(found.lane.read(Searches(found.lane, who), search(name))) for who, name in asked]
        await asyncio.sleep(0)
        rest[2].cancel()
        gate.set()
        await asyncio.gather(first, *rest, return_exceptions=True)
    assert order == ["first", "a2", "c1", "a3"]


async def test_too_many_waiting_searches_are_refused(sqlite_url: str) -> None:
    gate = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait(_conn: Connection) -> None:
        asyncio.run_coroutine_threadsafe(gate.wait(), loop).result()

    async with api(sqlite_url, Limits(queued_operations=1, queue_seconds=0.05, search_seconds=60)) as found:
        first = asyncio.create_task(found.lane.read(Searches(found.lane, "a"), wait))
        await asyncio.sleep(0)
        late = asyncio.create_task(found.lane.read(Searches(found.lane, "b"), fill))
        await asyncio.sleep(0)
        with pytest.raises(UserFacingError) as refused:
            await found.lane.read(Searches(found.lane, "c"), fill)
        assert (refused.value.code, refused.value.http_status) == ("LIMIT_QUEUED_OPERATIONS", 503)
        with pytest.raises(UserFacingError) as refused:
            await late
        assert refused.value.code == "LIMIT_QUEUE_SECONDS"
        gate.set()
        await first
        # The lane is free again.
        assert await found.lane.read(Searches(found.lane, "c"), count) == ROWS


def count(conn: Connection) -> int:
    return conn.execute(select(func.count()).select_from(job_execution)).scalar_one()


@pytest.mark.costly
async def test_the_rows_of_many_owners_are_searched_in_the_lane_too(database_url: str) -> None:
    nested = 'executions(first: 1, filter: {errorMessage: {contains: "xyzzy"}}) { nodes { id } totalCount }'
    async with api(database_url) as found:
        answer = (await found.ask(f"{{ jobs(first: 3) {{ nodes {{ {nested} }} }} }}")).json()
        assert answer["data"] == {"jobs": {"nodes": []}}


def endless(conn: Connection) -> object:
    return conn.execute(text(SLOW[conn.dialect.name])).scalar()


@pytest.mark.costly
async def test_cheap_reads_find_a_reader_while_searches_run(database_url: str) -> None:
    async with api(database_url, Limits(search_seconds=30)) as found:
        searches = [
            asyncio.create_task(found.lane.read(Searches(found.lane, str(caller)), endless)) for caller in range(20)
        ]
        await asyncio.sleep(0)
        answers = await asyncio.gather(*(found.ask("{ executions(first: 1) { nodes { id } } }") for _ in range(20)))
        assert all("errors" not in answer.json() for answer in answers)
        assert not any(search.done() for search in searches)
        for search in searches:
            search.cancel()
        await asyncio.gather(*searches, return_exceptions=True)
