"""A run that may take so long as a whole: it fails when that is over, at work or waiting."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from cronograph.jobs import RunSpec, enqueue_many_sync, enqueue_sync
from cronograph.jobs.actions.tasks import trigger_task
from cronograph.jobs.core.base.errors import UserError
from cronograph.jobs.core.defaults import JobDefaults
from cronograph.jobs.core.explain import explain_run
from cronograph.jobs.core.model import OverlapPolicy, Run
from cronograph.jobs.core.outcome import Failed, JobOutcome, Lost, Snoozed, Succeeded, Suspended, TimedOut
from cronograph.jobs.core.states import RunState
from cronograph.jobs.core.waits import AwaitedKind, Awaits
from cronograph.jobs.queue.base import runs as queue_runs
from cronograph.jobs.queue.cancel import fail_overdue
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.schema.rows import defaults_document
from cronograph.jobs.store.statements import facts
from cronograph.jobs.store.statements.runs import by_ids
from tests.support.storage import START, Stored, retry_runs

DAY = 86400.0
SIGNAL = Suspended(Awaits(AwaitedKind.SIGNAL, "approved"))


def run_of(stored: Stored, run_id: int) -> Run:
    return stored.do(lambda tx: by_ids(tx.conn, [run_id])[run_id])


def say(stored: Stored, job: str = "work", **said: Any) -> None:
    document = defaults_document(JobDefaults(**said))
    stored.do(lambda tx: tx.conn.execute(update(tables.job).where(tables.job.c.name == job).values(defaults=document)))


@pytest.mark.costly
@pytest.mark.parametrize(
    "outcome",
    [SIGNAL, Suspended(Awaits(AwaitedKind.TIME), 2 * DAY), Snoozed(2 * DAY), Failed("E", "e", retry_in=2 * DAY)],
    ids=["waits", "sleeps", "snoozed", "stuck"],
)
def test_what_no_node_executes_fails_at_its_deadline(stored: Stored, outcome: JobOutcome) -> None:
    worker = stored.node()
    run_id = stored.enqueue(max_duration=DAY, retries=3).id
    assert run_of(stored, run_id).deadline_at is None
    stored.at(100)
    worker.end(worker.start(), outcome)
    assert run_of(stored, run_id).deadline_at == START + timedelta(seconds=100 + DAY)
    stored.at(100 + DAY - 0.001)
    assert stored.do(fail_overdue, None) == 0
    stored.at(100 + DAY)
    assert stored.do(fail_overdue, "node-a") == 1
    run = run_of(stored, run_id)
    assert (run.state, run.finished_at, run.awaits, run.wake_at) == (RunState.FAILED, stored.now, None, None)
    assert run.error == "max_duration: the run had to end by 2026-03-02T12:01:40Z, counted from its first start"
    assert stored.do(fail_overdue, None) == 0


def test_what_has_not_begun_has_no_deadline_and_a_later_attempt_keeps_the_first(stored: Stored) -> None:
    worker = stored.node()
    run_id = stored.enqueue(max_duration=10.5, retries=3).id
    stored.at(DAY)
    assert stored.do(fail_overdue, None) == 0
    started = worker.start()
    assert started.run.deadline_at == START + timedelta(seconds=DAY + 10.5)
    worker.end(started, Failed("E", "e", retry_in=1.0))
    stored.at(DAY + 2)
    assert worker.start().run.deadline_at == started.run.deadline_at
    assert run_of(stored, run_id).state is RunState.RUNNING


def test_what_executes_is_left_to_its_node_until_that_is_dead(stored: Stored) -> None:
    worker = stored.node()
    run_id = stored.enqueue(max_duration=10.0, retries=3).id
    started = worker.start()
    stored.at(11)
    assert stored.do(lambda tx: queue_runs.next_limits(tx.conn)) == (None, None)
    assert stored.do(fail_overdue, None) == 0
    worker.end(started, Lost("the node died"))
    assert stored.do(fail_overdue, None) == 1
    assert run_of(stored, run_id).state is RunState.FAILED


def test_the_end_of_its_time_leaves_no_retry(stored: Stored) -> None:
    worker = stored.node()
    run_id = stored.enqueue(max_duration=10.0, retries=3).id
    worker.end(worker.start(), TimedOut("too long", permanent=True))
    assert run_of(stored, run_id).state is RunState.FAILED


def test_who_ends_in_time_has_no_deadline_any_more(stored: Stored) -> None:
    worker = stored.node()
    run_id = stored.enqueue(max_duration=10.0).id
    worker.end(worker.start(), Succeeded())
    stored.at(100)
    assert stored.do(fail_overdue, None) == 0
    assert run_of(stored, run_id).state is RunState.SUCCESS


def test_the_failure_is_reported(stored: Stored) -> None:
    worker = stored.node(jobs=("work", "told"))
    say(stored, on_failure="told")
    stored.enqueue(max_duration=10.0)
    worker.end(worker.start(), SIGNAL)
    stored.at(10)
    assert stored.do(fail_overdue, None) == 1
    (told,) = stored.rows(tables.run, job_name="told")
    assert told.args["failure"]["error_type"] == "TimeoutError"
    assert told.args["failure"]["error"].startswith("max_duration: the run had to end by")


def test_a_run_has_it_from_its_job_its_task_or_its_enqueue(stored: Stored) -> None:
    stored.node(jobs=("work", "other"))
    say(stored, max_duration=60.0)
    specs = [RunSpec("work"), RunSpec("work", max_duration=5.0), RunSpec("other")]
    many = stored.do(lambda tx: enqueue_many_sync(tx.conn, specs))
    one = stored.do(lambda tx: enqueue_sync(tx.conn, "work"))
    own = stored.do(lambda tx: enqueue_sync(tx.conn, "work", max_duration=7.0))
    task = stored.task(max_duration=9.0, overlap=OverlapPolicy.ALLOW)
    stored.at(60)
    stored.dispatch()
    by_hand = stored.do(trigger_task, task.name)
    (occurrence,) = stored.rows(tables.run, trigger="schedule")
    found = [run_of(stored, key).max_duration for key in (*many, one.id, own.id, by_hand.id, occurrence.id)]
    assert found == [60.0, 5.0, None, 60.0, 7.0, 9.0, 9.0]
    assert (one.max_duration, own.max_duration) == (60.0, 7.0)


def test_a_run_that_is_made_again_has_it_too_and_counts_again(stored: Stored) -> None:
    worker = stored.node()
    run_id = stored.enqueue(max_duration=10.0, retries=0).id
    worker.end(worker.start(), Failed("E", "e"))
    (again,) = stored.do(retry_runs, [run_id])
    assert (again.max_duration, again.deadline_at) == (10.0, None)


def test_explain_says_by_when_it_has_to_end(stored: Stored) -> None:
    worker = stored.node()
    run_id = stored.enqueue(max_duration=90.0).id
    worker.end(worker.start(), SIGNAL)

    def details() -> str:
        run = run_of(stored, run_id)
        known = stored.do(lambda tx: facts.of_runs(tx.conn, [run], tx.now))[run.id]
        return " ".join(explain_run(run, known, stored.now).details)

    assert "Unless it ends by 2026-03-01 12:01:30 UTC, in 1 min, it fails (max_duration)." in details()
    stored.at(91)
    assert "It had to end by 2026-03-01 12:01:30 UTC (max_duration): it is about to be failed." in details()


@pytest.mark.parametrize("wrong", [0, -1, True, 1e12])
def test_it_is_refused_unless_it_is_so_many_seconds(stored: Stored, wrong: Any) -> None:
    with pytest.raises(UserError, match=r"max_duration: must be from 0\.001 to") as caught:
        stored.do(lambda tx: enqueue_sync(tx.conn, "work", max_duration=wrong))
    assert caught.value.path == ("max_duration",)


def test_many_are_failed_by_few_looks(stored: Stored) -> None:
    worker = stored.node()
    ids = [stored.enqueue(max_duration=10.0).id for _ in range(3)]
    for _ in ids:
        worker.end(worker.start(), SIGNAL)
    stored.at(11)
    assert [stored.do(fail_overdue, None, 2), stored.do(fail_overdue, None, 2)] == [2, 1]
