"""What an answer of the API costs in processor time, beside the same rows from a plain Starlette route.

Run it from the repository's root: ``python -m tests.bench.bench_answers``; ``--help`` lists the options. It judges
nothing. Both are called as ASGI applications in this process, by turns; the plain one runs one statement written by
hand through SQLAlchemy Core in Starlette's own threads, and answers with ``JSONResponse``: no checks, no errors.
"""

import argparse
import asyncio
import cProfile
import json
import pstats
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Engine
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message

from cronograph.graphql.app import graphql_routes
from cronograph.graphql.guard.searches import Searches, SearchLane, bounds_of
from cronograph.graphql.resolving.context import Context
from cronograph.graphql.schema import create_schema
from cronograph.graphql.transport.engine import Engine as OperationEngine
from cronograph.jobs.runtime.live.bus import EventBus
from cronograph.jobs.runtime.live.feeds import LogFeed
from cronograph.jobs.store.db.database import Database, parse_url, sync_engine
from cronograph.jobs.store.schema.types import SchemaText
from cronograph.server.http.security import KnownHost, SecurityHeaders
from tests.bench.large_log import Size, fill
from tests.bench.measuring import DATABASES, cpu_seconds, fresh_database, load, percentile


@dataclass(frozen=True)
class Question:
    """One question in both languages.

    Attributes:
        document: In GraphQL.
        statement: The SQL of the plain route.
    """

    document: str
    statement: str


JOB_LOGS: Final = (
    "{{ jobLogs(limit: {}) {{ id jobName startedAt completedAt success errorMessage recordsProcessed }} }}"
)
QUESTIONS: Final = {
    "jobLogs(limit: 50)": Question(
        JOB_LOGS.format(50),
        "SELECT id, job_name, started_at, completed_at, success, error_message, records_processed"
        " FROM cronograph.job_execution ORDER BY id DESC LIMIT 50",
    ),
    "100 tasks with lastStatus": Question(
        "{ tasks(first: 100) { nodes { id name nextExecutionAt lastStatus { id startedAt completedAt success } } } }",
        "SELECT t.id, t.name, t.next_execution, e.id AS last, e.started_at, e.completed_at, e.success"
        " FROM cronograph.periodic_task t LEFT JOIN cronograph.job_execution e ON e.id = ("
        "SELECT max(l.id) FROM cronograph.job_execution l WHERE l.task_id = t.id AND l.completed_at IS NOT NULL)"
        " ORDER BY t.name LIMIT 100",
    ),
    "100 tasks": Question(
        "{ tasks(first: 100) { nodes { id name nextExecutionAt } } }",
        "SELECT id, name, next_execution FROM cronograph.periodic_task ORDER BY name LIMIT 100",
    ),
}


STRIPS: Final = """query($first: Int!) { asOf tasks(first: $first, orderBy: [{field: NAME, direction: ASC}]) {
    nodes { id strip(last: 60) { states at seconds reasons counts } } } }"""
LOG_PAGE: Final = """{ asOf serverTime executions(first: 50, filter: {}, orderBy: [{field: ID, direction: DESC}]) {
    nodes { id jobName taskName startedAt completedAt success outcome errorMessage errorType recordsProcessed attempt
        node trigger scheduledFor duration wait progress { done total message } run { id } labels isRecovered }
    pageInfo { hasNextPage endCursor } } }"""
PAGES: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "strips of 30 tasks": (STRIPS, {"first": 30}),
    "strips of 50 tasks": (STRIPS, {"first": 50}),
    "the log page, 50 rows": (LOG_PAGE, {}),
}
"""What pages of the dashboard ask for, by what it is."""


def plain_app(engine: Engine) -> Starlette:
    """Return what somebody would write who needs just these answers."""

    def rows(name: str) -> list[dict[str, Any]]:
        with engine.begin() as conn:
            return [
                {key: str(value) if isinstance(value, datetime) else value for key, value in row.items()}
                for row in conn.execute(SchemaText(QUESTIONS[name].statement)).mappings()
            ]

    async def answer(request: Request) -> JSONResponse:
        return JSONResponse(await run_in_threadpool(rows, (await request.json())["name"]))

    return Starlette(routes=[Route("/plain", answer, methods=["POST"])])


def api_app(database: Database) -> Starlette:
    """The API with the middleware of the server, and its lane of searches."""
    schema, bus, log_feed = create_schema(), EventBus(database, poll=3600), LogFeed(database, poll=3600)
    lane = SearchLane(database.separate_pool("search", bounds_of(schema.limits)), schema.limits)

    async def context(_connection: HTTPConnection) -> Context:
        return Context(database, bus, log_feed, searches=Searches(lane, "bench"))

    middleware = [Middleware(SecurityHeaders), Middleware(KnownHost, hosts={"localhost"})]
    return Starlette(routes=graphql_routes(OperationEngine(schema), context), middleware=middleware)


async def call(app: ASGIApp, path: str, body: bytes) -> bytes:
    """The body of the answer to one POST."""
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
    }
    parts: list[bytes] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            assert message["status"] == 200, message
        parts.append(message.get("body", b""))

    await app(scope, receive, send)
    return b"".join(parts)


async def cost(app: ASGIApp, path: str, body: bytes, times: int) -> float:
    """Milliseconds of processor time for one answer, all threads of this process."""
    began = cpu_seconds()
    for _ in range(times):
        await call(app, path, body)
    return (cpu_seconds() - began) / times * 1e3


async def compare(url: str, kind: str, chosen: argparse.Namespace) -> None:
    """A line for each question: the medians of the rounds and their ratio."""
    engine = sync_engine(parse_url(url), pooled=4, read_only=True)
    database = Database(url).separate_pool("api")
    apps: dict[str, ASGIApp] = {"/plain": plain_app(engine), "/graphql": api_app(database)}
    for name, question in QUESTIONS.items():
        bodies = {"/plain": {"name": name}, "/graphql": {"query": question.document}}
        sent = {path: json.dumps(body).encode() for path, body in bodies.items()}
        for path, app in apps.items():
            await cost(app, path, sent[path], 3)
        took: dict[str, list[float]] = {path: [] for path in apps}
        for _ in range(chosen.rounds):
            for path, app in apps.items():
                took[path].append(await cost(app, path, sent[path], chosen.times))
        plain, ours = (percentile(took[path], 0.5) for path in ("/plain", "/graphql"))
        figures = f"plain {plain:6.2f} ms, GraphQL {ours:6.2f} ms, {ours / plain:5.2f} times as much"
        print(f"{kind:8} {name:28} {figures}", flush=True)
        if chosen.profile:
            with cProfile.Profile() as profile:
                await cost(apps["/graphql"], "/graphql", sent["/graphql"], chosen.times)
            pstats.Stats(profile).sort_stats("tottime").print_stats(45)
    for name, (document, variables) in PAGES.items():
        body = json.dumps({"query": document, "variables": variables}).encode()
        assert b'"errors"' not in await call(apps["/graphql"], "/graphql", body), name
        spent = [
            await cost(apps["/graphql"], "/graphql", body, max(1, chosen.times // 4)) for _ in range(chosen.rounds)
        ]
        print(f"{kind:8} {name:28} {percentile(spent, 0.5):6.2f} ms, least {min(spent):6.2f} ms", flush=True)
    await database.close()
    engine.dispose()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=DATABASES, action="append", help="both unless given")
    parser.add_argument("--executions", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--times", type=int, default=40, help="answers of each kind in a round")
    parser.add_argument("--profile", action="store_true", help="show where the API spends its time")
    chosen = parser.parse_args(arguments)
    print(load())
    for kind in chosen.database or DATABASES:
        with fresh_database(kind) as url:
            fill(url, Size(chosen.executions, 50, datetime.now(UTC)))
            asyncio.run(compare(url, kind, chosen))


if __name__ == "__main__":
    main()
