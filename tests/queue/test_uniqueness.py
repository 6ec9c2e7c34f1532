"""Keys that hold for a time or until the start, debounced and throttled runs: each enqueue is answered with a run."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from cronograph.jobs import RunSpec, enqueue_many_sync
from cronograph.jobs.actions.runs import cancel_runs, enqueue_runs
from cronograph.jobs.core.admission.holding import Debounce, Hold, Holding, Throttle, hold_of
from cronograph.jobs.core.base.errors import InvalidInput, InvalidState
from cronograph.jobs.core.defaults import JobDefaults
from cronograph.jobs.core.limits import LIMITS, Limits, UniqueKey
from cronograph.jobs.core.model import Enqueued, NewRun, OverlapPolicy, Run, Trigger
from cronograph.jobs.queue.claims.claim import start_more
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.schema.rows import defaults_document
from tests.support.storage import START, Stored


def put(stored: Stored, hold: Hold | None, n: int = 0, key: str = "k") -> Enqueued:
    run = NewRun("work", Trigger.API, {"n": n}, unique_key=key, hold=hold, labels={"n": str(n)})
    return stored.do(enqueue_runs, [run])[0]


def runs(stored: Stored) -> list[Run]:
    return stored.rows(tables.run)


UNIQUE = hold_of(unique_for=60.0)
DEBOUNCE = Debounce(5.0, 12.0).hold()
THROTTLE, LAST = Throttle(60.0).hold(), Throttle(60.0, last=True).hold()


def test_a_key_holds_for_its_time_although_its_run_is_finished(stored: Stored) -> None:
    worker = stored.node()
    first = put(stored, UNIQUE)
    worker.end(worker.start())
    stored.at(59.9)
    again = put(stored, UNIQUE, 1)
    assert (first.deduplicated, again.deduplicated, again.run.id) == (False, True, first.run.id)
    stored.at(60)
    assert put(stored, UNIQUE, 2).run.id != first.run.id


def test_a_key_holds_until_its_run_is_finished_although_its_time_is_over(stored: Stored) -> None:
    worker = stored.node()
    first = put(stored, UNIQUE)
    started = worker.start()
    stored.at(1000)
    assert put(stored, UNIQUE).run.id == first.run.id
    worker.end(started)
    assert put(stored, UNIQUE).run.id != first.run.id


def test_a_run_that_was_cancelled_holds_its_key_no_longer(stored: Stored) -> None:
    stored.node()
    first = put(stored, UNIQUE)
    stored.do(cancel_runs, [first.run.id])
    assert not put(stored, UNIQUE).deduplicated


def test_a_key_among_those_that_wait_is_free_once_its_run_has_begun(stored: Stored) -> None:
    worker = stored.node()
    hold = hold_of(unique_among=("waiting",))
    first = put(stored, hold)
    assert put(stored, hold).run.id == first.run.id
    worker.start()
    second = put(stored, hold)
    assert not second.deduplicated
    assert put(stored, hold).run.id == second.run.id


def test_a_debounced_run_waits_for_the_last_and_has_its_arguments(stored: Stored) -> None:
    worker = stored.node()
    first = put(stored, DEBOUNCE, 1)
    assert first.run.available_at == START + timedelta(seconds=5)
    stored.at(4)
    second = put(stored, DEBOUNCE, 2)
    assert (second.deduplicated, second.run.id) == (True, first.run.id)
    assert (second.run.args, second.run.available_at) == ({"n": 2}, START + timedelta(seconds=9))
    stored.at(8)
    assert put(stored, DEBOUNCE, 3).run.available_at == START + timedelta(seconds=12)
    stored.at(12)
    started = worker.start()
    assert (started.run.id, started.run.args, started.run.labels) == (first.run.id, {"n": 3}, {"n": "3"})
    assert [(row.key, row.value) for row in stored.rows(tables.run_label)] == [("n", "3")]
    other = put(stored, DEBOUNCE, 4)
    assert (other.deduplicated, other.run.id) == (False, first.run.id + 1)


def test_a_debounced_run_that_a_node_has_reserved_goes_back_with_the_new_arguments(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue()
    first = put(stored, DEBOUNCE, 1).run.id
    stored.at(5)
    assert worker.take(1, prefetch=1).reserved == (first,)
    assert put(stored, DEBOUNCE, 2).run.id == first
    assert stored.do(start_more, worker.claimant, [first]) == ()
    stored.at(10)
    assert worker.start().run.args == {"n": 2}


def test_of_many_debounced_runs_in_one_call_the_last_counts(stored: Stored) -> None:
    specs = [RunSpec("work", {"n": n}, unique_key="k", hold=DEBOUNCE) for n in range(50)]
    ids = stored.do(lambda tx: enqueue_many_sync(tx.conn, specs))
    assert len(set(ids)) == 1
    assert [row.args for row in runs(stored)] == [{"n": 49}]


def test_the_first_run_of_a_period_stands_for_the_others(stored: Stored) -> None:
    worker = stored.node()
    first = put(stored, THROTTLE, 1)
    worker.end(worker.start())
    stored.at(30)
    assert put(stored, THROTTLE, 2).run.id == first.run.id
    stored.at(60)
    assert not put(stored, THROTTLE, 3).deduplicated
    assert [row.args for row in runs(stored)] == [{"n": 1}, {"n": 3}]


def test_the_others_of_a_period_are_folded_into_one_at_its_end(stored: Stored) -> None:
    worker = stored.node()
    first = put(stored, LAST, 1)
    worker.end(worker.start())
    stored.at(10)
    second = put(stored, LAST, 2)
    assert (second.deduplicated, second.run.available_at) == (False, START + timedelta(seconds=60))
    stored.at(50)
    third = put(stored, LAST, 3)
    assert (third.run.id, third.run.args, third.run.available_at) == (second.run.id, {"n": 3}, second.run.available_at)
    stored.at(60)
    started = worker.start()
    assert (started.run.id, started.run.args) == (second.run.id, {"n": 3})
    worker.end(started)
    stored.at(70)
    assert put(stored, LAST, 4).run.available_at == START + timedelta(seconds=120)
    assert first.run.id == 1


def test_what_comes_after_the_period_of_a_run_that_still_waits_is_folded_into_it(stored: Stored) -> None:
    stored.node()
    first = put(stored, LAST, 1)
    stored.at(70)
    late = put(stored, LAST, 2)
    assert (late.run.id, late.deduplicated, late.run.args) == (first.run.id, True, {"n": 2})


def holding(stored: Stored, hold: Hold | None) -> None:
    """Have a job say how its keys hold, and a task of it come due each minute."""
    stored.task("0 * * * * *", overlap=OverlapPolicy.ALLOW)
    said = defaults_document(JobDefaults(hold=hold))
    stored.do(lambda tx: tx.conn.execute(update(tables.job).values(defaults=said)))


def skipped(stored: Stored) -> list[tuple[str, int | None]]:
    return [(row.reason, row.run_id) for row in stored.rows(tables.skipped_occurrence)]


@pytest.mark.costly
@pytest.mark.parametrize("hold", [hold_of(unique_for=90.0), Throttle(90.0).hold(), Throttle(90.0, last=True).hold()])
def test_an_occurrence_of_a_schedule_begins_a_time_in_which_its_key_holds(stored: Stored, hold: Hold) -> None:
    worker = stored.node()
    holding(stored, hold)
    stored.at(60)
    assert stored.dispatch() == 1
    (first,) = runs(stored)
    assert first.unique_key == "work"
    worker.end(worker.start())
    stored.at(120)
    assert stored.dispatch() == 0
    assert skipped(stored) == [("unique_key", first.id)]
    if hold.kind is not Holding.LAST:
        assert stored.enqueue_by_job().id == first.id
    stored.at(180)
    assert stored.dispatch() == 1


def test_an_occurrence_meets_the_run_that_an_enqueue_has_left(stored: Stored) -> None:
    worker = stored.node()
    holding(stored, hold_of(unique_for=60.0))
    stored.at(30)
    first = stored.enqueue_by_job()
    worker.end(worker.start())
    stored.at(60)
    assert stored.dispatch() == 0
    assert skipped(stored) == [("unique_key", first.id)]
    stored.at(120)
    assert stored.dispatch() == 1


def test_an_occurrence_of_a_debounced_job_waits_for_nothing_and_is_skipped_while_a_run_waits(stored: Stored) -> None:
    worker = stored.node()
    holding(stored, DEBOUNCE)
    stored.at(60)
    assert stored.dispatch() == 1
    started = worker.start()
    assert started.run.available_at == stored.now
    waiting = stored.enqueue_by_job()
    assert waiting.id != started.run.id
    stored.do(lambda tx: tx.conn.execute(update(tables.run).values(available_at=stored.now + timedelta(seconds=90))))
    stored.at(120)
    assert stored.dispatch() == 0
    assert skipped(stored) == [("unique_key", waiting.id)]


@pytest.mark.parametrize("hold", [DEBOUNCE, LAST])
def test_arguments_that_would_be_lost_in_a_run_of_another_kind_are_refused(stored: Stored, hold: Hold) -> None:
    worker = stored.node(jobs=("work", "other"))
    first = stored.enqueue(unique_key="k", job_name="other")
    held = rf"uniqueKey: 'k' is held by run {first.id} of job 'other', which is"
    with pytest.raises(InvalidState, match=f"{held} waiting"):
        put(stored, hold)
    worker.start()
    with pytest.raises(InvalidState, match=f"{held} running"):
        put(stored, hold)
    both = [NewRun(name, Trigger.API, unique_key="l", hold=hold) for name in ("work", "other")]
    with pytest.raises(InvalidState, match=r"uniqueKey: 'l' is held by run \d+ of job"):
        stored.do(enqueue_runs, both)


def test_a_debounced_run_has_the_keys_of_its_last_arguments(stored: Stored) -> None:
    stored.node(limits=Limits(concurrency_key=UniqueKey(("n",), "{n}"), max_concurrent=1))
    for n in (1, 2):
        run = NewRun("work", Trigger.API, {"n": n}, unique_key="k", hold=DEBOUNCE, inherits=frozenset({LIMITS}))
        stored.do(enqueue_runs, [run])
    assert [(row.args, row.concurrency_key) for row in runs(stored)] == [({"n": 2}, "2")]


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"unique_for": -1}, "uniqueFor: must be seconds from 0.001"),
        ({"unique_for": True}, "uniqueFor: must be seconds"),
        ({"unique_among": ("running",)}, "uniqueAmong: must be"),
        ({"unique_among": ("wating",)}, "uniqueAmong: must be"),
        ({"debounce": 5}, r"debounce: must be a Debounce\(delay=…\), got 5"),
        ({"debounce": Debounce(0)}, r"debounce\.delay: must be seconds from"),
        ({"debounce": Debounce(5, 4)}, r"debounce\.maxWait: must not be less than the delay"),
        ({"throttle": 5}, "throttle: must be a Throttle"),
        ({"throttle": Throttle(-1)}, r"throttle\.period: must be seconds"),
        ({"debounce": Debounce(5), "throttle": Throttle(5)}, "debounce: contradicts throttle"),
        ({"debounce": Debounce(5), "unique_for": 5}, "debounce: contradicts uniqueFor"),
        ({"throttle": Throttle(5), "unique_among": ("waiting",)}, "throttle: contradicts uniqueAmong"),
    ],
)
def test_what_cannot_be_or_contradicts_itself_is_refused(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(InvalidInput, match=fault):
        hold_of(**options)


def test_how_a_key_holds_is_read_as_it_was_published() -> None:
    for hold in (UNIQUE, DEBOUNCE, THROTTLE, LAST):
        assert hold is not None
        assert Hold.from_json(hold.to_json()) == hold
    assert hold_of() is None
    assert hold_of(unique_among=("waiting", "running")) is None
    assert Hold(Holding.UNIQUE, 60.0) == UNIQUE
