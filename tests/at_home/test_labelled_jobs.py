"""Jobs that say labels of their runs: judged at the import, obeyed by each enqueue, inherited by what runs enqueue."""

from typing import Any

import pytest

from cronograph.jobs import JobContext, job
from cronograph.jobs.core.base.errors import ConfigurationError, UserError
from cronograph.jobs.registry import Registry
from cronograph.jobs.testing import Queue, drain

JOBS = Registry()


@job("bill", registry=JOBS, labels={"team": "billing"}, labels_from={"customer": "customer_id"})
def bill(customer_id: int, month: str = "may") -> None:
    del customer_id, month


@job("remind", registry=JOBS, labels_from=("month",))
def remind(month: str = "may") -> None:
    del month


@job("all", registry=JOBS)
async def bill_all(ctx: JobContext) -> None:
    assert ctx.labels == {"tenant": "t1", "customer": "all"}
    await ctx.enqueue(bill, 7)
    await ctx.enqueue("bill", customer_id=8)
    ctx.enqueue_at_end(remind)


async def test_each_enqueue_gives_the_labels_of_the_job() -> None:
    async with Queue(JOBS) as queue:
        await bill.enqueue(None, 42)
        await bill.options(labels={"x": "1", "team": "own"}).enqueue(None, 42)
        await queue.enqueue(bill, {"customer_id": 43}, labels={"y": "2"})
        remind.enqueue_sync(None)
        assert [run.labels for run in queue.enqueued()] == [
            {"team": "billing", "customer": "42"},
            {"team": "own", "customer": "42", "x": "1"},
            {"team": "billing", "customer": "43", "y": "2"},
            {"month": "may"},
        ]
        queue.assert_enqueued(bill, labels={"team": "billing", "customer": "42"})
        queue.refute_enqueued(bill, labels={"customer": "44"})
        with pytest.raises(UserError, match=r"labels\.customer: must have 1 to 200"):
            await bill.options(labels={"customer": ""}).enqueue(None, 1)


async def test_what_a_run_enqueues_inherits_its_labels_unless_it_has_its_own() -> None:
    async with Queue(JOBS) as queue:
        await queue.enqueue(bill_all, labels={"tenant": "t1", "customer": "all"})
        await drain(queue)
        first, *children = queue.enqueued()
        assert first.state.value == "success", first.error
        assert [(run.job_name, run.labels) for run in children] == [
            ("bill", {"team": "billing", "customer": "7", "tenant": "t1"}),
            ("bill", {"team": "billing", "customer": "8", "tenant": "t1"}),
            ("remind", {"month": "may", "tenant": "t1", "customer": "all"}),
        ]


async def test_occurrences_of_a_schedule_have_labels() -> None:
    async with Queue(JOBS) as queue:
        await queue.schedule(bill, "0 * * * * *", {"customer_id": 9}, labels={"source": "nightly"})
        queue.clock.advance(120)
        await queue.step()
        (run, *_) = queue.enqueued(bill)
        assert run.labels == {"team": "billing", "customer": "9", "source": "nightly"}


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"labels": {"a": 1}}, r"labels\.a: must be a text, got 1"),
        ({"labels": {"a b": "1"}}, "labels: a key must have 1 to 63 letters"),
        ({"labels": ["a"]}, "labels: must be a mapping"),
        (
            {"labels_from": ["custmer_id"]},
            "the job has no argument 'custmer_id'; did you mean 'customer_id'",
        ),
        ({"labels_from": {"a b": "customer_id"}}, "labels_from: a key must have"),
        ({"labels_from": "customer_id"}, "labels_from: must be names of arguments"),
        ({"labels_from": [1]}, "labels_from: must be names of arguments, each once"),
        ({"labels_from": {"a": 1}}, "labels_from: must be names of arguments"),
        ({"labels": {"a": "1"}, "labels_from": {"a": "customer_id"}}, "labels_from: 'a' is among labels, too"),
        ({"labels": {str(one): "1" for one in range(16)}, "labels_from": ["customer_id"]}, "at most 16 labels"),
    ],
)
def test_labels_that_cannot_be_are_refused_at_the_import(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigurationError, match=fault):

        @job("wrong", registry=Registry(), **options)
        def wrong(customer_id: int) -> None:
            del customer_id
