"""Code that enqueues is tested without a server: all its runs go into the queue of the test."""

from collections.abc import AsyncIterator, Iterator
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Connection, create_engine
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from cronograph.jobs import (
    JobContext,
    RunSpec,
    around,
    carries,
    connect,
    enqueue,
    enqueue_many,
    enqueue_many_sync,
    enqueue_sync,
    job,
    resource,
)
from cronograph.jobs.core.base.errors import ConfigurationError, InvalidInput, NotFound
from cronograph.jobs.core.model import ScheduleSpec
from cronograph.jobs.core.run_spec import RunTarget
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.registry import Registry
from cronograph.jobs.testing import Queue, drain, drain_sync, run_job
from cronograph.jobs.testing.clock import START

JOBS = Registry()
SENT: list[str] = []


class Shop:
    """A resource."""


@resource(registry=JOBS)
def shop() -> Iterator[Shop]:
    yield Shop()


@carries("request", registry=JOBS)
def request() -> str:
    return "r-1"


@around(registry=JOBS)
async def notes(ctx: JobContext) -> AsyncIterator[None]:
    SENT.append(f"before attempt {ctx.attempt}")
    yield


def address_of(to: str, on: date) -> str:
    """One mail a day."""
    return f"mail-{to}-{on}"


@job(registry=JOBS, group="mail", retries=5, unique_key=address_of)
async def mail(ctx: JobContext, to: str, on: date = date(2026, 1, 2)) -> None:
    SENT.append(f"{to} {ctx.carried}")


@job(registry=JOBS, schedule="0 0 3 * * *", timezone="Europe/Berlin")
def nightly(at: Shop) -> None:
    print(f"counting {type(at).__name__}")  # noqa: T201 - jobs do, and it is kept
    mail.enqueue_sync(None, "nightly")


@job(registry=JOBS)
async def fans_out(ctx: JobContext) -> None:
    await ctx.enqueue_many([mail.run("one"), mail.run("two")])
    ctx.enqueue_at_end(mail, to="last")


@pytest.fixture
def bystander() -> Iterator[Connection]:
    """A connection to a database of the application's, without any table of ours."""
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


async def test_what_code_enqueues_goes_into_the_queue_of_the_test_and_nowhere_else() -> None:
    with pytest.raises(ConfigurationError):
        await mail.enqueue(None, "nobody")
    async with Queue(JOBS) as queue:
        handle = await mail.enqueue(None, "ada")
        mail.options(group="vip").enqueue_sync(None, "bob")
        assert await handle.status() == "waiting"
        first, second = queue.enqueued(mail)
        assert (first.group, first.retries, first.args, first.available_at) == ("mail", 5, {"to": "ada"}, START)
        assert (second.group, second.id) == ("vip", queue.enqueued()[-1].id)
        assert [run.state for run in await drain(queue)] == ["success", "success"]
        assert await handle.status() == "success"
    assert SENT[-4:] == ["before attempt 1", "ada {'request': 'r-1'}", "before attempt 1", "bob {'request': 'r-1'}"]
    with pytest.raises(ConfigurationError):
        await mail.enqueue(None, "nobody")


async def test_a_connection_of_the_application_is_left_alone_meanwhile(sqlite_url: str) -> None:
    with connect(sqlite_url, registry=JOBS) as connection:
        async with Queue(JOBS) as queue:
            run_id = (await mail.enqueue(None, "ada")).run_id
            assert [run.id for run in queue.enqueued()] == [run_id]
        assert connection.find(RunTarget(run_id)) is None
        assert JOBS.queue is connection


def test_a_plain_test_needs_no_event_loop() -> None:
    with Queue(JOBS) as queue:
        handle = mail.enqueue_sync(None, "ada")
        assert handle.cancel_sync("no longer") == "cancelled"
        mail.enqueue_sync(None, "bob")
        assert [run.run.args["to"] for run in drain_sync(queue)] == ["bob"]


def test_unique_keys_of_jobs_hold_also_for_what_the_test_enqueues() -> None:
    with Queue(JOBS) as queue:
        first, second = mail.enqueue_sync(None, "ada"), mail.enqueue_sync(None, "ada")
        assert first.run_id == second.run_id
        assert len(queue.enqueued()) == 1


async def test_unique_keys_hold_for_runs_that_the_test_asks_for() -> None:
    async with Queue(JOBS) as queue:
        assert await queue.enqueue(mail, {"to": "ada"}) == await queue.enqueue("mail", {"to": "ada"})
        assert await queue.enqueue(mail, {"to": "ada"}, unique_key=None) != queue.enqueued()[0].id
        with pytest.raises(InvalidInput, match="argument 'to'"):
            await queue.enqueue(mail, {})


async def test_declared_schedules_fire_in_their_time_zone() -> None:
    async with Queue(JOBS) as queue:
        runs = await drain(queue, until=START + timedelta(days=1, hours=12))
        assert [run.run.scheduled_for for run in runs if run.job_name == "nightly"] == [
            START + timedelta(hours=2),
            START + timedelta(days=1, hours=2),
        ]
        assert runs[0].last.messages == ["counting Shop"]
        queue.assert_enqueued(mail, {"to": "nightly"})


async def test_a_schedule_of_a_test_has_a_time_zone_too() -> None:
    async with Queue(JOBS) as queue:
        await queue.schedule(fans_out, "0 30 12 * * *", timezone="Asia/Kolkata")
        runs = await drain(queue, until=START + timedelta(hours=8))
        (fired,) = (run for run in runs if run.job_name == "fans_out")
        assert fired.run.scheduled_for == START + timedelta(hours=7)
        with pytest.raises(ValueError, match="a ScheduleSpec has a time zone of its own"):
            await queue.schedule(fans_out, ScheduleSpec(Syntax.INTERVAL, "60s"), timezone="UTC", name="other")


async def test_runs_that_a_job_enqueues_are_due_by_the_clock_of_the_test() -> None:
    async with Queue(JOBS) as queue:
        await queue.enqueue(fans_out)
        runs = await drain(queue)
        assert [run.run.args for run in runs] == [{}, {"to": "one"}, {"to": "two"}, {"to": "last"}]
        assert queue.clock.now() == START


def test_runs_of_a_session_are_there_before_the_commit_and_gone_after_a_rollback(bystander: Connection) -> None:
    with Queue() as queue:
        kept = enqueue_sync(bystander, "mail", {"to": "ada"})
        (many,) = enqueue_many_sync(bystander, [RunSpec("mail", {"to": "bob"}, group="own")])
        assert [run.id for run in queue.enqueued("mail")] == [kept.id, many]
        bystander.commit()
        lost = enqueue_sync(bystander, "mail", {"to": "eve"}, unique_key="k")
        bystander.rollback()
        assert [run.id for run in queue.enqueued()] == [kept.id, many]
        again = enqueue_sync(bystander, "mail", {"to": "eve"}, unique_key="k")
        assert again.id != lost.id
        bystander.commit()
        bystander.rollback()
        queue.assert_enqueued("mail", {"to": "eve"}, unique_key="k")


def test_a_savepoint_takes_its_own_runs_back_and_no_others(bystander: Connection) -> None:
    with Queue(JOBS) as queue, Session(bystander) as session:
        mail.enqueue_sync(session, "outer")
        with session.begin_nested():
            mail.enqueue_sync(session, "released")
            inner = session.begin_nested()
            mail.enqueue_sync(session, "inner")
            inner.rollback()
        outer = session.begin_nested()
        mail.enqueue_sync(session, "also lost")
        with session.begin_nested():
            mail.enqueue_sync(session, "released into what is lost")
        outer.rollback()
        session.commit()
        assert [run.args["to"] for run in queue.enqueued()] == ["outer", "released"]


def test_a_savepoint_that_began_before_the_first_run_takes_it_back_too(bystander: Connection) -> None:
    with Queue(JOBS) as queue, Session(bystander) as session:
        earlier = session.begin_nested()
        session.connection()
        mail.enqueue_sync(session, "lost")
        earlier.rollback()
        session.commit()
        assert queue.enqueued() == []


async def test_asynchronous_sessions_of_any_database_do_too(postgres_url: str) -> None:
    engine = create_async_engine(postgres_url.replace("postgresql://", "postgresql+psycopg://"))
    async with Queue(JOBS) as queue:
        async with AsyncSession(engine) as session:
            await mail.enqueue(session, "ada")
            await enqueue(session, "mail", {"to": "bob"})
            await enqueue_many(session, [mail.run("cid")])
            await session.commit()
        async with AsyncSession(engine) as session:
            await mail.enqueue(session, "lost")
        assert [run.args["to"] for run in queue.enqueued()] == ["ada", "bob", "cid"]
        with pytest.raises(NotFound):
            await queue.trigger("nothing")
    await engine.dispose()


def test_what_was_not_enqueued_is_explained() -> None:
    with Queue(JOBS) as queue:
        with pytest.raises(AssertionError, match=r"no run of job 'mail' was enqueued\n  nothing was enqueued at all"):
            queue.assert_enqueued(mail)
        fans_out.enqueue_sync()
        with pytest.raises(AssertionError, match=r"there are runs of fans_out"):
            queue.assert_enqueued(mail)
        for name in (f"n{number}" for number in range(12)):
            mail.enqueue_sync(None, name, date(2026, 3, 1))
        with pytest.raises(AssertionError) as raised:
            queue.assert_enqueued(mail, {"to": "ada", "on": date(2026, 3, 1), "extra": 1}, group="vip")
        text = str(raised.value)
        assert "args.to: wanted 'ada', got 'n0'" in text
        assert "args.extra: wanted 1, got nothing" in text
        assert "group: wanted 'vip', got 'mail'" in text
        assert "args.on: wanted" not in text
        assert "and 2 more" in text
        found = queue.assert_enqueued("mail", {"to": "n3"}, group="mail", priority="LOW", retry_delay=60.0)
        assert found.args == {"to": "n3", "on": "2026-03-01"}
        queue.refute_enqueued(mail, {"to": "ada"})
        with pytest.raises(AssertionError, match=rf"run {found.id} of job 'mail' was enqueued"):
            queue.refute_enqueued(mail, {"to": "n3"})


def test_an_argument_that_was_not_given_has_its_default() -> None:
    with Queue(JOBS) as queue:
        mail.enqueue_sync(None, "ada")
        queue.assert_enqueued(mail, {"to": "ada", "on": date(2026, 1, 2)})
        queue.refute_enqueued(mail, {"to": "ada", "on": date(2026, 1, 3)})


def test_an_argument_that_is_given_as_an_option_is_named() -> None:
    with Queue(JOBS) as queue:
        mail.enqueue_sync(None, "ada")
        words = "a run has no option 'to'; there are .*; arguments of the job are given as a mapping"
        with pytest.raises(TypeError, match=words):
            queue.assert_enqueued(mail, to="ada")  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=words):
            queue.refute_enqueued(mail, to="ada")  # type: ignore[call-arg]


async def test_a_job_that_is_declared_within_the_block_is_found() -> None:
    jobs = Registry()
    async with Queue(jobs) as queue:

        @job(registry=jobs, schedule="0 0 3 * * *", retries=7)
        def late(day: int = 1) -> int:
            return day

        handle = await late.enqueue(None, day=2)
        assert (await queue.preview(late)).sentence
        (first,) = await drain(queue)
        assert (first.run.id, first.state, first.run.retries) == (handle.run_id, "success", 7)
        (nightly,) = await drain(queue, until=START + timedelta(hours=4))
        assert nightly.run.task_name == "late"


async def test_a_job_declares_and_enqueues_another_while_it_runs() -> None:
    jobs = Registry()

    @job(registry=jobs)
    async def declares(ctx: JobContext) -> int:
        @job(registry=jobs)
        def later() -> int:
            return 1

        await ctx.enqueue(later)
        return 1

    async with Queue(jobs) as queue:
        await declares.enqueue()
        assert [run.state for run in await drain(queue)] == ["success", "success"]


async def test_the_day_of_a_schedule_is_that_of_its_time_zone() -> None:
    jobs = Registry()
    days: list[tuple[date | None, date | None]] = []

    @job(registry=jobs, schedule="0 30 0 * * *", timezone="Europe/Berlin")
    def daily(ctx: JobContext) -> int:
        local, at = ctx.scheduled_local, ctx.scheduled_for
        days.append((local and local.date(), at and at.date()))
        return 1

    async with Queue(jobs) as queue:
        await drain(queue, until=START + timedelta(days=1))
        await queue.trigger("daily")
        await drain(queue)
    at = datetime(2026, 3, 1, 0, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    await run_job(daily, registry=jobs, scheduled_for=at)
    assert days == [(date(2026, 1, 2), date(2026, 1, 1)), (None, None), (date(2026, 3, 1), date(2026, 2, 28))]
