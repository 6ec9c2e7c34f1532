"""The ready-made hooks and resources, with the libraries that they are for."""

import contextvars
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sentry_sdk
from django import setup
from django.conf import settings
from django.db import connection, connections
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session
from structlog.contextvars import get_contextvars

from cronograph.jobs import GIVEN, Snooze, job
from cronograph.jobs.integrations import django, sentry, sqlalchemy, structlog
from cronograph.jobs.registry import Registry
from cronograph.jobs.testing import Queue, drain, run_job


@pytest.fixture
def reported() -> Iterator[list[Any]]:
    """What was sent to Sentry."""
    events: list[Any] = []

    def keep(event: Any, _hint: Any) -> None:
        events.append(event)

    sentry_sdk.init("https://key@sentry.invalid/1", default_integrations=False, before_send=keep)
    yield events
    sentry_sdk.get_client().close()
    sentry_sdk.get_global_scope().set_client(None)


@pytest.mark.parametrize(("only_final", "expected"), [(False, [1, 2]), (True, [2])])
async def test_sentry_gets_what_jobs_raise(reported: list[Any], only_final: bool, expected: list[int]) -> None:
    registry = Registry()
    sentry.report_errors(registry=registry, only_final=only_final)

    @job("fails", registry=registry)
    def fails() -> None:
        raise ValueError("no luck")

    for attempt in (1, 2):
        await run_job("fails", registry=registry, attempt=attempt, retries=1)
    assert [event["contexts"]["cronograph"]["attempt"] for event in reported] == expected
    assert reported[-1]["exception"]["values"][0]["value"] == "no luck"
    assert reported[-1]["tags"] == {"cronograph.job": "fails", "cronograph.run": "1"}
    assert reported[-1]["transaction"] == "job fails"


async def test_sentry_is_not_notified_that_a_job_snoozes(reported: list[Any]) -> None:
    registry = Registry()
    sentry.report_errors(registry=registry)

    @job("waits", registry=registry)
    async def waits() -> None:
        raise Snooze(5)

    assert (await run_job("waits", registry=registry)).outcome == "snoozed"
    assert reported == []


@pytest.mark.parametrize("kind", ["coroutine", "thread"])
async def test_structlog_binds_the_attempt_and_what_its_run_carries(kind: str) -> None:
    registry = Registry()
    structlog.bind_attempts(registry=registry)
    seen: list[dict[str, Any]] = []

    @job("coroutine", registry=registry)
    async def coroutine() -> None:
        seen.append(get_contextvars())

    @job("thread", registry=registry)
    def thread() -> None:
        seen.append(get_contextvars())

    await run_job(kind, registry=registry)
    assert seen == [{"job": kind, "run": 1, "attempt": 1, "task": kind}]
    assert contextvars.copy_context().run(get_contextvars) == {}


async def test_a_session_of_an_attempt_is_committed_or_rolled_back(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    registry = Registry()
    sqlalchemy.give_sessions(url, registry=registry)

    @job("order", registry=registry)
    def order(number: int, session: Session = GIVEN) -> None:
        session.execute(text("CREATE TABLE IF NOT EXISTS item (number INTEGER)"))
        session.execute(text("INSERT INTO item VALUES (:number)"), {"number": number})
        if number == 2:
            raise ValueError("out of stock")

    outcomes = [(await run_job(order, {"number": number}, registry=registry)).outcome for number in (1, 2, 3)]
    engine = create_engine(url)
    with engine.connect() as conn:
        assert conn.execute(text("SELECT number FROM item")).scalars().all() == [1, 3]
    engine.dispose()
    assert outcomes == ["success", "failed", "success"]


@pytest.mark.costly
async def test_an_asynchronous_session_of_an_attempt_is_committed_and_rolled_back(empty_postgres_url: str) -> None:
    registry = Registry()
    sqlalchemy.give_async_sessions(empty_postgres_url.replace("postgresql:", "postgresql+psycopg:"), registry=registry)

    @job("order", registry=registry)
    async def order(number: int, session: AsyncSession = GIVEN) -> int:
        await session.execute(text("CREATE TABLE IF NOT EXISTS item (number INTEGER)"))
        await session.execute(text("INSERT INTO item VALUES (:number)"), {"number": number})
        if number == 2:
            raise ValueError("out of stock")
        return int((await session.execute(text("SELECT count(*) FROM item"))).scalar_one())

    results = [await run_job(order, {"number": number}, registry=registry) for number in (1, 2, 3)]
    assert [(one.outcome, one.records_processed) for one in results] == [
        ("success", 1),
        ("failed", None),
        ("success", 2),
    ]


async def test_the_connections_of_a_job_are_closed_with_it(tmp_path: Path) -> None:
    registry, used = Registry(), list[Any]()
    django.close_connections(registry=registry)
    if not settings.configured:
        settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": tmp_path / "d"}})  # pyright: ignore[reportUnknownMemberType]
        setup()

    @job("asks", registry=registry)
    def asks() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 7")
            used.append((connections["default"], connection.connection is not None))
            return int(cursor.fetchone()[0])

    assert (await run_job("asks", registry=registry)).records_processed == 7
    ((wrapper, was_open),) = used
    assert was_open
    assert wrapper.connection is None


async def test_tests_give_their_own_resources_and_hear_of_failures() -> None:
    registry, told = Registry(), list[str]()
    sqlalchemy.give_sessions("sqlite://", registry=registry)

    @job("order", registry=registry, on_failure=lambda failure: told.append(failure.error), retries=0)
    def order(session: Session = GIVEN) -> None:
        raise ValueError(f"it was a {type(session).__name__}")

    assert (await run_job("order", registry=registry, resources={Session: 5})).error == "it was a int"
    async with Queue(registry, resources={Session: "text"}) as queue:
        await queue.enqueue("order")
        await drain(queue)
    assert told == ["it was a str"]
