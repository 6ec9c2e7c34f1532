"""Runs that keep the place of their concurrency key until they are finished, on both databases."""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

import pytest

from cronograph.jobs import JobContext, job
from cronograph.jobs.actions.runs import cancel_runs
from cronograph.jobs.core.admission.caps import Rate
from cronograph.jobs.core.base.errors import InvalidState
from cronograph.jobs.core.limits import Limits, PlaceHold, UniqueKey
from cronograph.jobs.core.outcome import Failed, HandedBack, JobOutcome, Snoozed, Suspended
from cronograph.jobs.core.run_spec import RunSpec
from cronograph.jobs.core.steps import StepKind
from cronograph.jobs.core.waits import AwaitedKind, Awaits, Wait
from cronograph.jobs.queue.cancel import fail_overdue
from cronograph.jobs.queue.limits.admission import look_for_slots, look_for_tokens
from cronograph.jobs.queue.losses import rescue
from cronograph.jobs.queue.waits import wait
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.db.transaction import Tx, Wake
from cronograph.jobs.store.schema import tables
from cronograph.jobs.testing import Queue, drain
from tests.actions.test_explaining import of_run, says
from tests.support.storage import Stored, Worker, retry_runs

CUSTOMER = UniqueKey(("customer",), "{customer}")
KEPT = Limits(concurrency_key=CUSTOMER, max_concurrent=1, hold=PlaceHold.UNFINISHED)
BOOM = Failed("ValueError", "boom")
FOR_GOOD = Failed("ValueError", "boom", permanent=True)
ASLEEP = Suspended(Awaits(AwaitedKind.SIGNAL, "approved"))


def put(stored: Stored, customers: str, **changes: object) -> list[int]:
    return [stored.enqueue_by_job(args={"customer": one}, **changes).id for one in customers]


def ids(worker: Worker, slots: int = 20) -> list[int]:
    return [one.run.id for one in worker.take(slots).started]


@pytest.mark.costly
@pytest.mark.parametrize(
    "outcome",
    [BOOM, Snoozed(60.0), ASLEEP, Suspended(Awaits(AwaitedKind.TIME), 60.0), HandedBack("the node stops")],
    ids=lambda outcome: type(outcome).__name__,
)
def test_a_place_is_kept_over_all_that_does_not_finish_the_run(stored: Stored, outcome: JobOutcome) -> None:
    worker = stored.node(limits=KEPT)
    first, second = put(stored, "aa", retry_delay=60.0)
    started = worker.start()
    assert started.run.id == first
    worker.take(20)
    worker.end(started, outcome)
    stored.do(look_for_slots, "")
    # One that was handed back is due again at once: it starts, in its own place.
    assert second not in ids(worker)


@pytest.mark.parametrize("ends", ["success", "failure"])
def test_the_place_is_free_once_the_run_is_finished(stored: Stored, ends: str) -> None:
    worker = stored.node(limits=KEPT)
    first, second = put(stored, "aa", retry_delay=1.0)
    started = worker.start()
    worker.take(20)
    worker.end(started, BOOM)
    stored.pass_time(30)
    again = worker.start()
    assert (again.run.id, again.run.attempt) == (first, 2)
    worker.end(again, FOR_GOOD if ends == "failure" else None)
    assert ids(worker) == [second]


def test_a_run_that_has_never_begun_keeps_no_place(stored: Stored) -> None:
    worker = stored.node(limits=KEPT)
    put(stored, "a", available_at=stored.now + timedelta(hours=1))
    (due,) = put(stored, "a")
    assert ids(worker) == [due]


def test_the_place_outlives_the_node(stored: Stored) -> None:
    a, b = stored.node("a", limits=KEPT), stored.node("b", limits=KEPT)
    first, second = put(stored, "aa")
    a.start()
    b.take(20)
    stored.do(rescue, a.node, reason="no heartbeat")
    stored.pass_time(1)
    (again,) = b.take(20).started
    assert (again.run.id, again.run.attempt) == (first, 2)
    b.end(again)
    assert ids(b) == [second]


def _cancel(run_id: int, tx: Tx) -> Wake:
    cancel_runs(tx, [run_id])
    return tx.wakes


def _end_by_deadline(_: int, tx: Tx) -> Wake:
    assert fail_overdue(tx, "a") == 1
    return tx.wakes


@pytest.mark.costly
@pytest.mark.parametrize("end", [_cancel, _end_by_deadline])
@pytest.mark.parametrize("outcome", [BOOM, ASLEEP], ids=["retry", "signal"])
def test_an_end_without_an_attempt_wakes_those_who_let_others_go(
    stored: Stored, outcome: JobOutcome, end: Callable[[int, Tx], Wake]
) -> None:
    worker = stored.node(limits=KEPT)
    first, second = put(stored, "aa", retry_delay=600.0, max_duration=100.0)
    started = worker.start()
    worker.take(20)
    worker.end(started, outcome)
    stored.pass_time(101)
    assert ids(worker) == []
    assert stored.do(partial(end, first)) & Wake.PLACES
    stored.do(look_for_slots, "")
    assert ids(worker) == [second]


def test_an_end_of_a_run_that_keeps_nothing_wakes_nobody_for_it(stored: Stored) -> None:
    worker = stored.node(limits=Limits(concurrency_key=CUSTOMER, max_concurrent=1))
    (first,) = put(stored, "a", retry_delay=600.0)
    worker.end(worker.start(), BOOM)
    assert not stored.do(partial(_cancel, first)) & Wake.PLACES


def test_a_retry_by_hand_waits_for_its_place_as_any_other(stored: Stored) -> None:
    worker = stored.node(limits=KEPT)
    first, second = put(stored, "aa")
    started = worker.start()
    worker.take(20)
    worker.end(started, FOR_GOOD)
    again = stored.do(retry_runs, [first])[0].id
    (next_one,) = worker.take(20).started
    assert next_one.run.id == second
    worker.end(next_one)
    assert ids(worker) == [again]


def test_runs_that_share_a_key_hold_it_each_as_its_job_says(stored: Stored) -> None:
    keeping = stored.node("a", jobs=("keeping",), limits=KEPT)
    passing = stored.node("b", jobs=("passing",), limits=Limits(concurrency_key=CUSTOMER, max_concurrent=1))
    (short,) = put(stored, "a", job_name="passing", retry_delay=60.0)
    passing.end(passing.start(), BOOM)
    # A retry that waits has no place.
    (kept,) = put(stored, "a", job_name="keeping", retry_delay=60.0)
    started = keeping.start()
    keeping.end(started, BOOM)
    stored.pass_time(59)
    assert ids(passing) == []
    stored.pass_time(2)
    assert ids(passing) == []
    again = keeping.start()
    assert again.run.id == kept
    keeping.end(again)
    assert ids(passing) == [short]


def test_a_run_in_its_place_may_wait_for_a_token_and_hides_nobody(stored: Stored) -> None:
    limits = Limits(
        rate=Rate(1, 60.0, 1), rate_key=CUSTOMER, concurrency_key=UniqueKey((), "all"), max_concurrent=2, hold=KEPT.hold
    )
    worker = stored.node(limits=limits)
    first, second = put(stored, "ab", retry_delay=1.0)
    for started in worker.take(20).started:
        worker.end(started, BOOM)
    (third,) = put(stored, "c")
    stored.pass_time(2)
    # Both places are kept by runs that wait for their tokens.
    assert ids(worker) == []
    stored.do(look_for_slots, "")
    stored.pass_time(60)
    stored.do(look_for_tokens)
    again = worker.take(20).started
    assert sorted(one.run.id for one in again) == [first, second]
    worker.end(again[0])
    assert ids(worker) == [third]


def test_explain_says_that_the_place_is_kept_and_by_whom(stored: Stored) -> None:
    worker = stored.node(limits=KEPT)
    first, second = put(stored, "aa", retry_delay=60.0)
    started = worker.start()
    worker.take(20)
    worker.end(started, BOOM)
    explanation = of_run(stored, second)
    says(explanation, "KEY_LIMIT", "1 of 1 runs with its concurrency key 'a' have begun and are unfinished")
    assert explanation.run_id == first
    assert of_run(stored, first).code == "RETRY_LATER"
    stored.pass_time(61)
    says(of_run(stored, first), "NEXT", "about to take it")


def test_a_wait_for_a_run_that_needs_the_kept_place_is_refused(stored: Stored) -> None:
    worker = stored.node(limits=KEPT)
    put(stored, "a")
    started = worker.start()
    asked = Wait("other", StepKind.RUNS, runs=(RunSpec("work", {"customer": "a"}),))
    with pytest.raises(InvalidState, match="keeps the only place of the concurrency key 'a'"):
        stored.do(wait, started.run, asked)
    elsewhere = Wait("elsewhere", StepKind.RUNS, runs=(RunSpec("work", {"customer": "b"}),))
    assert stored.do(wait, started.run, elsewhere) is not None


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(3))
def test_two_nodes_at_once_never_begin_a_second_one(stored: Stored, seed: int) -> None:
    workers = [stored.node(name, limits=KEPT) for name in ("a", "b")]
    chance = random.Random(seed)
    wanted = put(stored, "".join(chance.choice("abc") for _ in range(30)), retry_delay=1.0, retries=100)
    for _ in range(300):
        with ThreadPoolExecutor(2) as pool:
            claims = list(pool.map(lambda worker: worker.take(5), workers))
        begun = [row for row in stored.rows(tables.run) if row.attempt and row.finished_at is None]
        assert len({row.concurrency_key for row in begun}) == len(begun), begun
        for worker, claimed in zip(workers, claims, strict=True):
            for one in claimed.started:
                worker.end(one, chance.choice([None, None, BOOM, Snoozed(1.0), HandedBack("it stops")]))
        asleep = [row.id for row in begun if row.state == "stuck"]
        if asleep and chance.random() < 0.1:
            stored.do(cancel_runs, asleep[:1])
            stored.do(look_for_slots, "")
        stored.pass_time(1)
        if not [row for row in stored.rows(tables.run) if row.finished_at is None]:
            break
    assert {row.id for row in stored.rows(tables.run) if row.finished_at is not None} == set(wanted)


async def test_the_test_queue_keeps_places_too() -> None:
    registry, begun = Registry(), list[tuple[int, int]]()

    @job(registry=registry, max_concurrent=1, hold="unfinished", retries=2, retry_delay=5)
    async def onboard(ctx: JobContext, customer: int) -> None:
        begun.append((customer, ctx.attempt))
        if ctx.attempt == 1:
            raise ValueError("the first attempt fails")

    async with Queue(registry) as queue:
        for customer in (1, 2):
            await queue.enqueue(onboard, {"customer": customer})
        await drain(queue)
    assert begun == [(1, 1), (1, 2), (2, 1), (2, 2)]
