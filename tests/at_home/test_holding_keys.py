"""Jobs that say how their unique keys hold: every way to enqueue obeys, and what contradicts itself is no job."""

from datetime import timedelta
from typing import Any

import pytest

from cronograph.jobs import Debounce, Expired, JobContext, Throttle, job
from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.registry import Registry
from cronograph.jobs.testing import Queue, drain

JOBS = Registry()
HEARD: list[Expired] = []


@job("index", registry=JOBS, unique_key=("page",), debounce=Debounce(5, max_wait=60))
def index(page: int, text: str) -> None:
    del page, text


@job("sync", registry=JOBS, throttle=Throttle(60))
def sync() -> None: ...


@job("charge", registry=JOBS, unique_key=("order",), unique_for=timedelta(hours=1))
def charge(order: int) -> None:
    del order


@job("told", registry=JOBS)
def told(expired: Expired) -> None:
    HEARD.append(expired)


@job("late", registry=JOBS, ttl="10s", on_expired=told)
def late(ctx: JobContext) -> None:
    del ctx


async def test_each_way_to_enqueue_is_debounced() -> None:
    async with Queue(JOBS) as queue:
        await index.enqueue(None, 1, "a")
        index.enqueue_sync(None, 1, "b")
        await queue.enqueue(index, {"page": 1, "text": "c"})
        await index.enqueue(None, 2, "d")
        assert [(run.args["page"], run.args["text"]) for run in queue.enqueued()] == [(1, "c"), (2, "d")]
        done = await drain(queue, until=queue.clock() + timedelta(seconds=5))
        assert [one.run.args["text"] for one in done] == ["c", "d"]


async def test_the_first_run_of_a_period_stands_for_the_others() -> None:
    async with Queue(JOBS) as queue:
        first = await sync.enqueue()
        await drain(queue)
        assert (await sync.enqueue()).run_id == first.run_id
        queue.clock.advance(61)
        assert (await sync.enqueue()).run_id != first.run_id


async def test_a_key_holds_for_its_time() -> None:
    async with Queue(JOBS) as queue:
        first = await charge.enqueue(None, 7)
        await drain(queue)
        queue.clock.advance(3599)
        assert (await charge.enqueue(None, 7)).run_id == first.run_id
        assert (await charge.enqueue(None, 8)).run_id != first.run_id
        queue.clock.advance(2)
        assert (await charge.enqueue(None, 7)).run_id != first.run_id


async def test_what_has_not_started_in_time_is_skipped_and_heard_of() -> None:
    HEARD.clear()
    async with Queue(JOBS) as queue:
        run_id = await queue.enqueue(late)
        queue.clock.advance(10)
        await drain(queue)
        assert (await queue.run(run_id)).run.skip_reason == "expired"
        assert [(one.run_id, one.waited) for one in HEARD] == [(run_id, 10.0)]


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"ttl": -1}, "ttl: must be seconds from"),
        ({"on_expired": "x/y"}, "on_expired: must not contain"),
        ({"unique_for": 0}, "unique_for: must be seconds from"),
        ({"debounce": Debounce(5), "throttle": Throttle(5)}, "debounce: contradicts throttle"),
        ({"debounce": 5}, "debounce: must be a Debounce"),
        ({"unique_among": ("finished",)}, "unique_among: must be"),
    ],
)
def test_what_cannot_be_or_contradicts_itself_is_refused_at_the_import(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigurationError, match=fault):

        @job("wrong", registry=Registry(), **options)
        def wrong() -> None: ...


def registry_of(on_expired: str) -> Registry:
    """Jobs, one of which names another one that takes nothing."""
    jobs = Registry()

    @job("deaf", registry=jobs)
    def deaf() -> None: ...

    @job("short", registry=jobs, ttl=1, on_expired=on_expired)
    def short() -> None: ...

    return jobs


@pytest.mark.parametrize(
    ("chosen", "fault"),
    [("deaf", "job 'deaf' .* cannot take it"), ("daef", "there is no job 'daef'; did you mean 'deaf'")],
)
def test_the_job_that_is_notified_has_to_take_what_it_is_sent(chosen: str, fault: str) -> None:
    with pytest.raises(ConfigurationError, match=f"on_expired: {fault}"):
        registry_of(chosen).check()
