"""What goes wrong around a job, not in it: its arguments cannot be made, or nobody waits for it any more."""

import asyncio
import threading
from typing import Annotated

import pytest
from pydantic import AfterValidator

from cronograph.jobs.accounts.rules.secrets import KeyRing, SecretKey
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.model import Outcome
from cronograph.jobs.registry import Registry, define
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.testing import run_job
from tests.support.engines import QUICK, RunningEngine, StartEngine


def look_up(number: int) -> int:
    """A check of an argument with a fault of its own."""
    return {1: 1}[number]


def takes(number: Annotated[int, AfterValidator(look_up)]) -> int:
    """A job whose argument is looked up when it is made."""
    return number


async def test_an_argument_whose_own_check_breaks_fails_the_attempt_and_nothing_else(start_engine: StartEngine) -> None:
    registry = Registry()
    registry.add(define("takes", takes))
    engine = await start_engine(registry)
    broken = await engine.finished(await engine.enqueue_unchecked("takes", {"number": 2}))
    assert broken.execution.outcome is Outcome.FAILED
    assert (broken.execution.error_type, broken.run.error) == ("KeyError", "the executor failed: 2")
    assert (await engine.finish("takes", {"number": 1})).execution.records_processed == 1


async def test_a_job_for_which_nobody_waits_any_more_is_cancelled() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def endless() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    attempt = asyncio.create_task(run_job(endless))
    await begun.wait()
    attempt.cancel()
    await asyncio.wait([attempt])
    assert attempt.cancelled()
    assert ended.is_set()


def test_a_thread_that_outlives_its_event_loop_ends_without_a_word() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def late() -> None:
        begun.set()
        go_on.wait()

    async def leave() -> None:
        attempt = asyncio.create_task(run_job(late))
        await asyncio.to_thread(begun.wait)
        attempt.cancel()
        await asyncio.wait([attempt])

    asyncio.run(leave())
    left = [thread for thread in threading.enumerate() if thread.name.startswith("job-")]
    # What a thread raises is told by the tests, and fails them.
    go_on.set()
    for thread in left:
        thread.join()
    assert left


async def test_a_process_that_can_start_no_further_thread_fails_the_attempt_and_nothing_else(
    start_engine: StartEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = Registry()

    def works() -> int:
        return 1

    registry.add(define("works", works))
    engine = await start_engine(registry, slots=1)
    start = threading.Thread.start

    def refuse_jobs(thread: threading.Thread) -> None:
        if thread.name.startswith("job-"):
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as limited:
        # The limit of the system, which root does not have.
        limited.setattr(threading.Thread, "start", refuse_jobs)
        broken = await engine.finish("works")
    assert broken.execution.outcome is Outcome.FAILED
    assert broken.run.error == "the executor failed: can't start new thread"
    assert (await engine.finish("works")).execution.records_processed == 1


async def test_a_fault_while_secrets_are_read_fails_the_attempt_and_nothing_else(database_url: str) -> None:
    registry = Registry()

    async def works(number: int = 1, key: str = "") -> int:
        return number

    def broken() -> KeyRing:
        raise LookupError("no such vault")

    registry.add(define("works", works))
    database = Database(database_url)
    engine = Engine(Services(database, keys=broken), registry, QUICK)
    await engine.start()
    running = RunningEngine(engine, database)
    try:
        await running.set_secret("key", "value", KeyRing((SecretKey.of(b"k" * 32),)))
        done = await running.finish("works", {"key": {"$secret": "key"}})
        assert (done.execution.error_type, done.run.error) == ("LookupError", "the executor failed: no such vault")
        assert (await running.finish("works")).execution.records_processed == 1
    finally:
        await engine.stop()
        await database.close()
