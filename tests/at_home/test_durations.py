"""Every place that takes a duration takes a number, a ``timedelta`` and a text, and refuses the same nonsense."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from cronograph.jobs import InvalidInput, JobContext, Registry, Reuse, RunSpec, Snooze, WaitTimedOut, every, job, once
from cronograph.jobs.core.run_spec import length
from cronograph.jobs.queue.enqueue.requests import new_run
from cronograph.jobs.store.statements.tasks import by_name
from cronograph.jobs.testing import FakeClock, Queue, drain, run_job

MINUTE: list[Any] = [60, 60.0, timedelta(minutes=1), "60", "1m", "PT1M"]
NONSENSE: list[Any] = ["soon", "", True, None, [1], -1, timedelta(seconds=-1), "11000w", float("nan")]
"""None where a duration is needed."""


def advanced(value: Any) -> float:
    clock = FakeClock()
    before = clock.now()
    return (clock.advance(value) - before).total_seconds()


def reused(value: Any) -> float | None:
    age = Reuse(age=value).age
    return None if age is None else length("age", age)


PLACES: dict[str, Callable[[Any], float | None]] = {
    "Snooze": lambda value: Snooze(value).seconds,
    "FakeClock.advance": advanced,
    "RunSpec.retry_delay": lambda value: new_run(RunSpec("mail", retry_delay=value)).retry_delay,
    "RunSpec.timeout": lambda value: new_run(RunSpec("mail", timeout=value)).timeout,
    "RunSpec.max_duration": lambda value: new_run(RunSpec("mail", max_duration=value)).max_duration,
    "RunSpec.ttl": lambda value: new_run(RunSpec("mail", ttl=value)).ttl,
    "Reuse.age": reused,
}
OPTIONAL = {name for name in PLACES if name.startswith(("RunSpec.", "Reuse."))}


@pytest.mark.parametrize("value", MINUTE, ids=repr)
@pytest.mark.parametrize("place", PLACES)
def test_a_duration_is_said_in_each_form(place: str, value: Any) -> None:
    assert PLACES[place](value) == 60


@pytest.mark.parametrize("value", NONSENSE, ids=repr)
@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_duration_is_refused_in_words(place: str, value: Any) -> None:
    if value is None and place in OPTIONAL:
        return
    with pytest.raises((InvalidInput, ValueError), match=r"must be|age must|of type"):
        PLACES[place](value)


@pytest.mark.parametrize("value", [60, timedelta(minutes=1), "1m"], ids=repr)
async def test_jobs_wait_for_each_form(value: Any) -> None:
    registry = Registry()

    @job(registry=registry, retry_delay=value)
    async def patient(ctx: JobContext) -> None:
        await ctx.sleep("a while", value)
        try:
            await ctx.wait_for("approval", timeout=value)
        except WaitTimedOut:
            ctx.log.info("nobody came")
        await ctx.step("again", print, retries=1, retry_delay=value)

    async with Queue(registry) as queue:
        began = queue.clock.now()
        await queue.enqueue("patient")
        (run,) = await drain(queue)
    assert run.state == "success"
    assert 120 <= (queue.clock.now() - began).total_seconds() < 130


@pytest.mark.parametrize("value", [60, timedelta(minutes=1), "1m"], ids=repr)
async def test_the_test_kit_takes_each_form(value: Any) -> None:
    registry = Registry()

    @job(registry=registry)
    async def failing(ctx: JobContext) -> None:
        raise ValueError(ctx.remaining)

    result = await run_job(failing, retry_delay=value, timeout=value, clock=FakeClock(), registry=registry)
    assert (result.retry_in, result.error) == (60, "60.0")
    async with Queue(registry) as queue:
        name = await queue.schedule("failing", every("1h"), retry_delay=value, jitter=value, tolerance=value)
        task = await queue.database.read(by_name, name)
    assert task is not None
    assert (task.spec.retry_delay, task.spec.jitter, task.spec.tolerance) == (60, 60, 60)


@pytest.mark.parametrize("value", ["soon", True, -1], ids=repr)
async def test_a_job_that_waits_for_nonsense_fails_with_words(value: Any) -> None:
    async def sleeping(ctx: JobContext) -> None:
        await ctx.sleep("a while", value)

    result = await run_job(sleeping)
    assert result.error is not None
    assert result.error.startswith("seconds: must be")


@pytest.mark.parametrize(("short_form", "value"), [(every, None), (every, [1]), (once, 5), (once, None)])
def test_a_short_form_says_what_it_must_be_given(short_form: Any, value: Any) -> None:
    with pytest.raises(TypeError, match=rf"{short_form.__name__}: must be .* got"):
        short_form(value)
