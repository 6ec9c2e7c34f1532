"""A flow may have a deadline, after which its unfinished runs are cancelled; and it knows the run that enqueued it."""

from datetime import timedelta

import pytest

from cronograph.jobs import Flow as PythonFlow
from cronograph.jobs import InvalidInput, JobContext, job
from cronograph.jobs.actions.flows import cancel_overdue, retry_flow
from cronograph.jobs.core.base.times import time_text
from cronograph.jobs.core.outcome import Succeeded, Suspended
from cronograph.jobs.core.states import RunState
from cronograph.jobs.core.waits import AwaitedKind, Awaits
from cronograph.jobs.queue.cancel import are_due, next_deadline
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.schema import tables
from cronograph.jobs.testing import Queue, drain
from tests.queue.test_flows import begin, end_next, ids_of, member, now, states
from tests.support.storage import Stored

SIGNAL = Suspended(Awaits(AwaitedKind.SIGNAL, "approved"))
REASON = "cancelled with its flow: the flow had to end by 2026-03-01T12:01:00Z"


def test_what_has_not_ended_at_the_deadline_is_cancelled_with_the_reason(stored: Stored) -> None:
    worker = stored.node()
    flow = begin(stored, member("a"), member("b"), member("c", "b"), member("d", "c"), deadline=60.0)
    end_next(worker, Succeeded(), SIGNAL)
    stored.at(59.9)
    assert stored.do(lambda tx: next_deadline(tx.conn)) == flow.submitted_at + timedelta(seconds=60)
    assert stored.do(cancel_overdue) == 0
    stored.at(60)
    assert stored.do(cancel_overdue) == 1
    assert states(stored, flow) == {"a": "success", "b": "cancelled", "c": "cancelled", "d": "cancelled"}
    assert now(stored, flow) == "cancelled"
    errors = {run.id: (run.error, run.cancel_reason) for run in stored.rows(tables.run)}
    assert errors[ids_of(stored, flow)["b"]] == (REASON, REASON)
    assert stored.do(cancel_overdue) == 0
    assert stored.do(lambda tx: (next_deadline(tx.conn), are_due(tx.conn))) == (None, (False, False, False))


def test_a_running_run_is_asked_once_and_an_open_flow_is_closed(stored: Stored) -> None:
    worker = stored.node()
    flow = begin(stored, member("a"), is_open=True, deadline=1.0)
    started = worker.start()
    stored.at(2)
    assert [stored.do(cancel_overdue) for _ in range(2)] == [1, 0]
    (run,) = stored.rows(tables.run)
    assert (run.state, run.cancel_reason is not None, now(stored, flow)) == ("running", True, "running")
    assert stored.do(lambda tx: next_deadline(tx.conn)) is None
    worker.end(started)
    assert now(stored, flow) == "cancelled"


def test_a_retried_flow_has_its_deadline_as_long_as_that_is_to_come(stored: Stored) -> None:
    worker = stored.node()
    flow = begin(stored, member("a"), deadline=60.0)
    end_next(worker, Succeeded())
    stored.at(30)
    again = stored.do(retry_flow, flow.id, from_run=ids_of(stored, flow)["a"])
    assert again.deadline_at == flow.deadline_at
    end_next(worker, Succeeded())
    stored.at(60)
    assert stored.do(retry_flow, flow.id, from_run=ids_of(stored, flow)["a"]).deadline_at is None
    assert stored.do(cancel_overdue) == 0


@pytest.mark.parametrize("deadline", [0, -1, "never", True])
def test_what_is_no_deadline_is_refused(deadline: object) -> None:
    with pytest.raises(InvalidInput, match="deadline: must be"):
        PythonFlow("x", deadline=deadline)  # type: ignore[arg-type]


async def test_a_flow_from_python_has_its_deadline_and_knows_the_run_that_enqueued_it() -> None:
    registry = Registry()

    @job(registry=registry)
    async def waits(ctx: JobContext) -> None:
        await ctx.wait_for("approved")

    @job(registry=registry, schedule="0 0 6 * * *")
    async def begins(ctx: JobContext) -> None:
        flow = PythonFlow("inner", deadline="2h", registry=registry)
        flow.add("a", waits)
        await flow.enqueue()

    async with Queue(registry) as queue:
        begun = await queue.trigger("begins")
        await drain(queue)
        began, waited = await queue.run(begun), await queue.run(begun + 1)
        assert (began.state, waited.state, waited.run.error) == (
            RunState.SUCCESS,
            RunState.CANCELLED,
            f"cancelled with its flow: the flow had to end by {time_text(began.run.submitted_at + timedelta(hours=2))}",
        )
        (flow,) = await queue.database.read(lambda conn: conn.execute(tables.flow.select()).all())
        assert (flow.started_by_run_id, flow.started_by_task_id) == (begun, began.run.task_id)
        assert began.run.task_id is not None
