"""What a job declares of its runs holds for those that another run begins and waits for, too."""

import pytest

from cronograph.jobs import Cap, JobContext, Result, RunFailed, job
from cronograph.jobs.actions.runs import cancel_runs
from cronograph.jobs.core.base.errors import InvalidState, UserError
from cronograph.jobs.core.outcome import Failed, Succeeded, Suspended
from cronograph.jobs.core.run_spec import RunSpec
from cronograph.jobs.core.states import RunState
from cronograph.jobs.core.steps import StepKind, StepState, StoredStep
from cronograph.jobs.core.waits import Wait, awaited
from cronograph.jobs.queue.claims.claim import Started
from cronograph.jobs.queue.waits import overlooked, wait, wake_overlooked
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.statements.prune import delete_bare_runs
from cronograph.jobs.testing import Queue, drain
from tests.support.storage import Stored, Worker

CHARGE = Wait("charge", StepKind.RUNS, runs=(RunSpec("work", unique_key="order 7"),))


def waits_for(stored: Stored, worker: Worker, started: Started, asked: Wait = CHARGE) -> StoredStep:
    """A run that waits for another one, without a slot."""
    found = stored.do(wait, started.run, asked)
    assert found is not None
    if found.state is StepState.WAITING:
        worker.end(started, Suspended(awaited([found]), waits=frozenset({asked.label})))
    return found


def states(stored: Stored) -> dict[int, str]:
    return {row.id: row.state for row in stored.rows(tables.run)}


def wake(stored: Stored) -> list[int]:
    """Look again at what waits."""
    return stored.do(lambda tx: wake_overlooked(tx, overlooked(tx.conn)))


def test_three_parents_wait_for_one_run_of_a_key_and_get_its_value(stored: Stored) -> None:
    worker = stored.node()
    parents = [stored.enqueue().id for _ in range(3)]
    begun = [waits_for(stored, worker, one) for one in worker.take(3).started]
    assert len({one.runs for one in begun}) == 1
    assert len(states(stored)) == 4
    (child,) = worker.take(5).started
    worker.end(child, Succeeded(value="receipt"))
    # The run that has begun it is woken by its flow, at once; the others by the next look.
    assert [states(stored)[one] for one in parents] == ["waiting", "suspended", "suspended"]
    assert wake(stored) == parents[1:]
    for started in worker.take(5).started:
        found = waits_for(stored, worker, started)
        assert (found.state, found.value[0]["value"]) == (StepState.DONE, "receipt")
    assert stored.rows(tables.run_awaited) == []


def test_an_attachment_outlives_the_attempt_that_was_attached(stored: Stored) -> None:
    worker = stored.node()
    holder = stored.enqueue(unique_key="order 7")
    parent = stored.enqueue()
    held, started = worker.take(2).started
    begun = stored.do(wait, started.run, CHARGE)
    assert begun is not None
    assert begun.runs == (holder.id,)
    # The attempt is lost without any end; meanwhile the run that it waits for ends, and its key goes to another run.
    worker.end(held, Succeeded(value=1))
    stored.enqueue(unique_key="order 7")
    again = stored.do(wait, started.run, CHARGE)
    assert again is not None
    assert [(one["id"], one["value"]) for one in again.value] == [(holder.id, 1)]
    assert parent.id == started.run.id


def test_a_cancelled_parent_leaves_a_run_to_the_others_that_wait_for_it(stored: Stored) -> None:
    worker = stored.node()
    first, second = stored.enqueue().id, stored.enqueue().id
    begun = [waits_for(stored, worker, one) for one in worker.take(2).started]
    (child,) = begun[0].runs
    stored.do(cancel_runs, [first], reason="no need")
    assert states(stored) == {first: "cancelled", second: "suspended", child: "waiting"}
    stored.do(cancel_runs, [second], reason="no need")
    # It was there before the second one came.
    assert states(stored)[child] == "waiting"


@pytest.mark.costly
@pytest.mark.parametrize("retries", [0, 1])
def test_a_parent_that_fails_for_good_cancels_what_it_began_and_nobody_else_waits_for(
    stored: Stored, retries: int
) -> None:
    worker = stored.node()
    parent, other = stored.enqueue(retries=retries).id, stored.enqueue().id
    begun, waiting = worker.take(2).started
    own = stored.do(wait, begun.run, Wait("own", StepKind.RUNS, runs=(RunSpec("work"), RunSpec("work"))))
    shared = stored.do(wait, begun.run, CHARGE)
    assert own is not None
    assert shared is not None
    waits_for(stored, worker, waiting)
    worker.end(begun, Failed("ValueError", "another branch"))
    ends = "cancelled" if retries == 0 else "waiting"
    assert states(stored) == {
        parent: "failed" if retries == 0 else "stuck", other: "suspended",
        **dict.fromkeys(own.runs, ends), **dict.fromkeys(shared.runs, "waiting"),
    }  # fmt: skip
    if retries == 0:
        (error,) = {row.error for row in stored.rows(tables.run) if row.id in own.runs}
        assert error == "the run that waits for this one failed"


def test_a_run_that_somebody_has_yet_to_read_is_not_deleted(stored: Stored) -> None:
    worker = stored.node()
    parent = stored.enqueue()
    started = worker.start()
    holder = stored.enqueue(unique_key="order 7")
    waits_for(stored, worker, started)
    # A run without an execution.
    stored.do(cancel_runs, [holder.id], reason="no need")
    assert stored.do(lambda tx: delete_bare_runs(tx.conn, [holder.id], tx.now)) == 0
    assert wake(stored) == [parent.id]
    assert waits_for(stored, worker, worker.start()).value[0]["state"] == "cancelled"
    assert stored.do(lambda tx: delete_bare_runs(tx.conn, [holder.id], tx.now)) == 1


def test_a_run_that_would_wait_for_its_own_end_is_refused(stored: Stored) -> None:
    worker = stored.node()
    outer = stored.enqueue(unique_key="order 7")
    started = worker.start()
    with pytest.raises(InvalidState, match=rf"held by run {outer.id}, which is this run"):
        stored.do(wait, started.run, CHARGE)
    waits_for(stored, worker, started, Wait("work", StepKind.RUNS, runs=(RunSpec("work"),)))
    with pytest.raises(InvalidState, match=rf"held by run {outer.id}, which is this run .* or waits for it"):
        stored.do(wait, worker.start().run, CHARGE)


async def test_a_parent_attaches_with_its_retries_and_catches_a_full_queue() -> None:
    registry, made = Registry(), list[int]()

    @job("charge", registry=registry, unique_key=("order",))
    async def charge(ctx: JobContext, order: int) -> Result:
        made.append(ctx.run_id)
        return Result(value=f"receipt {order}")

    @job("one at a time", registry=registry, cap=Cap(1))
    async def narrow(number: int) -> Result:
        return Result(value=number)

    @job("order", registry=registry, retries=1, retry_delay=0)
    async def order(ctx: JobContext) -> Result:
        receipt = await ctx.run(charge, order=7)
        if not ctx.is_last_attempt:
            raise ValueError("no luck")
        try:
            await ctx.run_all([narrow.run(number=1), narrow.run(number=2)], name="narrow")
        except UserError as error:
            return Result(value=[receipt, type(error).__name__])
        return Result(value="no refusal")

    async with Queue(registry) as queue:
        runs = [await queue.enqueue("order") for _ in range(3)]
        await drain(queue)
        assert len(made) == 1
        for run_id in runs:
            run = await queue.run(run_id)
            assert (run.state, run.run.result) == (RunState.SUCCESS, ["receipt 7", "QueueFull"])


async def test_a_run_that_failed_fails_all_that_wait_for_it() -> None:
    registry = Registry()

    @job("charge", registry=registry, unique_key=("order",))
    async def charge(order: int) -> None:
        raise ValueError(f"no money for {order}")

    @job("order", registry=registry)
    async def order(ctx: JobContext) -> Result:
        try:
            await ctx.run(charge, order=7)
        except RunFailed as error:
            return Result(value=error.error)
        return Result()

    async with Queue(registry) as queue:
        runs = [await queue.enqueue("order") for _ in range(2)]
        await drain(queue)
        assert [(await queue.run(one)).run.result for one in runs] == ["no money for 7"] * 2
