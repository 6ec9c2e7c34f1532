"""Each condition: fired while it holds, resolved when it does not, and once only."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from cronograph.jobs.actions.nodes import heartbeat, note_stall, rescue_expired
from cronograph.jobs.actions.tasks import delete_task, pause_task, update_task
from cronograph.jobs.core.alarms import Condition, Settings, SubjectKind
from cronograph.jobs.core.base.errors import UserError
from cronograph.jobs.core.model import OverlapPolicy, SkipReason
from cronograph.jobs.core.nodes import SILENT
from cronograph.jobs.core.outcome import Failed, JobOutcome, Succeeded
from cronograph.jobs.delivery.failures import silence_failures, solve_failures
from cronograph.jobs.store.statements.figures.failures import fingerprint
from tests.delivery.conftest import Alarms
from tests.support.storage import START, Stored, Worker

FAILED = Failed("ValueError", "no such invoice", permanent=True)


async def test_a_task_that_does_not_start_is_late_at_its_grace_and_not_before(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    stored.task("0 * * * * *", misfire_grace=3600)
    alarms.create(Condition.LATE, grace=30)
    assert await alarms.look(60) == []
    stored.dispatch()
    assert await alarms.look(29) == []
    (firing,) = await alarms.look(1)
    assert firing.scheduled_for == START + timedelta(seconds=60)
    assert firing.run_id is not None
    assert firing.sentence == f"Task 'nightly' is late by 30 s: run {firing.run_id} waits and has not started"
    assert firing.explanation is not None
    assert firing.explanation.startswith(f"Run {firing.run_id} is in the queue and has not started.")
    assert firing.policy["condition"] == "task 'nightly' starts more than 30 s late or misses an occurrence"
    assert await alarms.look(10) == [firing]
    worker.start()
    assert await alarms.look(1) == []
    assert len(alarms.firings()) == 1


async def test_a_task_of_which_no_run_is_made_is_late(alarms: Alarms, stored: Stored) -> None:
    stored.node()
    stored.task("0 * * * * *")
    alarms.create(Condition.LATE, grace=30)
    assert await alarms.look(89) == []
    (firing,) = await alarms.look(1)
    assert firing.run_id is None
    assert firing.scheduled_for == START + timedelta(seconds=60)
    assert "no run was made of its occurrence" in firing.sentence


async def test_each_of_many_occurrences_is_looked_at(alarms: Alarms, stored: Stored) -> None:
    """Occurrences come faster than the grace: one in the middle that is late is found."""
    worker = stored.node()
    stored.task("*/10 * * * * *", overlap=OverlapPolicy.ALLOW)
    alarms.create(Condition.LATE, grace=30)
    for _ in range(6):
        stored.pass_time(10)
        stored.dispatch()
        worker.end(worker.start())
        assert await alarms.look() == []
    stored.pass_time(10)
    stored.dispatch()
    late = START + timedelta(seconds=70)
    for _ in range(2):
        stored.pass_time(10)
        stored.dispatch()
        assert await alarms.look() == []
    (firing,) = await alarms.look(10)
    assert firing.scheduled_for == late


async def test_a_paused_task_is_not_late(alarms: Alarms, stored: Stored) -> None:
    stored.node()
    stored.task("0 * * * * *")
    alarms.create(Condition.LATE, grace=30)
    stored.do(pause_task, "nightly", actor="anna", reason=None)
    assert await alarms.look(600) == []


async def test_a_new_schedule_is_followed(alarms: Alarms, stored: Stored) -> None:
    stored.node()
    task = stored.task("0 0 3 * * *")
    alarms.create(Condition.LATE, grace=30)
    assert await alarms.look() == []
    stored.do(update_task, "nightly", {"schedule": replace(task.spec.schedule, value="0 * * * * *")})
    assert await alarms.look() == []
    (firing,) = await alarms.look(90)
    assert firing.scheduled_for == START + timedelta(seconds=60)


async def test_a_missed_occurrence_fires_at_once_and_a_start_resolves_it(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    stored.task("0 * * * * *", overlap=OverlapPolicy.SKIP)
    alarms.create(Condition.LATE, grace=3000)
    stored.pass_time(60)
    stored.dispatch()
    first = worker.start()
    stored.pass_time(60)
    stored.dispatch()
    (firing,) = await alarms.look()
    assert firing.sentence == f"Task 'nightly' missed an occurrence: it was skipped ({SkipReason.OVERLAP.value})"
    assert firing.scheduled_for == START + timedelta(seconds=120)
    worker.end(first)
    stored.pass_time(60)
    stored.dispatch()
    worker.start()
    assert await alarms.look() == []


async def test_a_deleted_task_is_not_late_any_more(alarms: Alarms, stored: Stored) -> None:
    stored.node()
    stored.task("0 * * * * *")
    alarms.create(Condition.LATE, grace=30)
    assert len(await alarms.look(90)) == 1
    stored.do(delete_task, "nightly")
    assert await alarms.look() == []
    assert await alarms.look(600) == []


async def test_an_occurrence_that_is_not_done_is_overdue_while_it_runs(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    stored.task("0 * * * * *")
    alarms.create(Condition.OVERDUE, after=50)
    stored.pass_time(60)
    stored.dispatch()
    started = worker.start()
    assert await alarms.look(49) == []
    (firing,) = await alarms.look(1)
    assert firing.run_id == started.run.id
    assert firing.sentence == f"Task 'nightly' is overdue: run {started.run.id} has not succeeded"
    assert firing.explanation is not None
    assert firing.explanation.startswith("It is running: run")
    worker.end(started)
    assert await alarms.look() == []


async def test_an_occurrence_that_failed_is_overdue_at_its_time(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    stored.task("0 0 * * * *", retries=0)
    alarms.create(Condition.OVERDUE, after=600)
    stored.pass_time(3600)
    stored.dispatch()
    worker.end(worker.start(), FAILED)
    assert await alarms.look(599) == []
    assert len(await alarms.look(1)) == 1


@pytest.mark.costly
@pytest.mark.parametrize(("zone", "hours"), [("UTC", 18), ("Europe/Berlin", 17)])
async def test_due_by_is_a_wall_time_of_the_task(alarms: Alarms, stored: Stored, zone: str, hours: int) -> None:
    worker = stored.node()
    stored.task("0 0 3 * * *", timezone=zone, retries=0, misfire_grace=86_400)
    alarms.create(Condition.OVERDUE, due_by="06:00")
    await alarms.look()
    stored.at(hours * 3600 - 7200)
    stored.dispatch()
    started = worker.start()
    stored.at(hours * 3600 - 1)
    assert await alarms.look() == []
    (firing,) = await alarms.look(1)
    assert firing.run_id == started.run.id
    worker.end(started)
    assert await alarms.look() == []
    # The next day everything is done in time.
    stored.at((hours + 24) * 3600 - 7200)
    stored.dispatch()
    worker.end(worker.start())
    assert await alarms.look(7200) == []
    assert len(alarms.firings()) == 1


async def test_due_by_says_nothing_about_days_without_an_occurrence(alarms: Alarms, stored: Stored) -> None:
    stored.node()
    stored.task("0 0 3 * * mon", misfire_grace=86_400)
    alarms.create(Condition.OVERDUE, due_by="06:00")
    await alarms.look()
    # START is a Sunday: nothing is due on it before 06:00, and on Monday nothing is made.
    stored.at(3600)
    assert await alarms.look() == []
    stored.at(18 * 3600)
    assert len(await alarms.look()) == 1


async def test_an_execution_is_slow_while_it_runs(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.create(Condition.SLOW, "work", SubjectKind.JOB, after=30)
    stored.enqueue()
    started = worker.start()
    assert await alarms.look(30) == []
    assert await alarms.look() != []
    (firing,) = alarms.firings()
    assert (firing.run_id, firing.execution_id) == (started.run.id, started.execution_id)
    worker.end(started)
    assert await alarms.look() == []


async def test_a_second_slow_execution_fires_when_the_first_has_ended(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.create(Condition.SLOW, "default", SubjectKind.GROUP, after=30)
    stored.enqueue()
    stored.enqueue()
    first, second = worker.take(2).started
    assert await alarms.look() == []
    (firing,) = await alarms.look(31)
    about = {first.execution_id: (first, second), second.execution_id: (second, first)}
    fired, other = about[firing.execution_id or 0]
    worker.end(fired)
    assert await alarms.look() == []
    (again,) = await alarms.look(10)
    assert again.execution_id == other.execution_id


async def test_a_short_execution_leaves_no_timer_and_no_row(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.create(Condition.SLOW, "work", SubjectKind.JOB, after=30)
    stored.enqueue()
    worker.end(worker.start())
    assert await alarms.look(100) == []
    assert alarms.firings() == []


async def test_an_execution_is_slow_beside_the_usual_ones(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    for _ in range(20):
        stored.enqueue()
        started = worker.start()
        stored.pass_time(2)
        worker.end(started)
    alarms.create(Condition.SLOW, "work", SubjectKind.JOB, times_p95=3)
    stored.enqueue()
    worker.start()
    assert await alarms.look() == []
    assert await alarms.look(5.9) == []
    assert len(await alarms.look(0.2)) == 1


async def test_a_run_counts_once_however_often_it_is_retried(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, failed_runs=2)
    for failed in (0, 1):
        stored.enqueue(retries=2)
        for attempt in range(3):
            worker.end(worker.start(), Failed("ValueError", "no room"))
            is_last = failed == 1 and attempt == 2
            assert len(await alarms.look(1)) == is_last
            stored.pass_time(600)


async def test_failures_failed_runs_fire_and_a_success_resolves(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, failed_runs=3)
    outcomes: list[JobOutcome] = [FAILED, FAILED, Succeeded(), FAILED, FAILED]
    for outcome in outcomes:
        stored.enqueue(retries=0)
        worker.end(worker.start(), outcome)
        assert await alarms.look(1) == []
    stored.enqueue(retries=0)
    started = worker.start()
    worker.end(started, FAILED)
    (firing,) = await alarms.look(1)
    assert firing.sentence == f"Job 'work' failed 3 times in a row, last in run {started.run.id}"
    assert firing.last_success_at is not None
    stored.enqueue()
    worker.end(worker.start())
    assert await alarms.look(1) == []


async def test_a_failure_and_a_success_within_one_look_are_both_in_the_history(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, failed_runs=1)
    for outcome in (FAILED, Succeeded(), FAILED, Succeeded()):
        stored.enqueue(retries=0)
        worker.end(worker.start(), outcome)
    assert await alarms.look(1) == []
    (firing,) = alarms.firings()
    assert firing.resolved_at is not None


async def test_what_happened_before_the_alarm_does_not_count(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue(retries=0)
    worker.end(worker.start(), FAILED)
    stored.pass_time(1)
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, failed_runs=1)
    assert await alarms.look(1) == []


async def test_an_empty_success_fires_and_a_full_one_resolves(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.create(Condition.EMPTY, "work", SubjectKind.JOB, least_records=1)
    stored.enqueue()
    worker.end(worker.start(), Succeeded(records_processed=5))
    assert await alarms.look(1) == []
    stored.enqueue()
    started = worker.start()
    worker.end(started, Succeeded(records_processed=0))
    (firing,) = await alarms.look(1)
    assert firing.execution_id == started.execution_id
    stored.enqueue()
    worker.end(worker.start(), Succeeded(records_processed=1))
    assert await alarms.look(1) == []


async def test_a_queue_that_is_too_old_or_too_deep_fires(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.create(Condition.BACKLOG, "default", SubjectKind.GROUP, older_than=60, name="old")
    alarms.create(Condition.BACKLOG, "default", SubjectKind.GROUP, deeper_than=2, name="deep")
    assert await alarms.look() == []
    for _ in range(3):
        stored.enqueue()
    assert await alarms.look() == []
    (deep,) = await alarms.look(10)
    assert deep.sentence == "Group 'default' has a backlog: 3 runs wait"
    old = [one for one in await alarms.look(51) if one.alarm_name == "old"]
    assert [one.sentence for one in old] == ["Group 'default' has a backlog: its oldest run has waited for 61 s"]
    for _ in range(3):
        worker.end(worker.start())
    assert await alarms.look(10) == []


async def test_a_silent_node_fires_and_resolves_when_it_gets_on(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node("w1")
    alarms.create(Condition.NODE, None, SubjectKind.NODE)
    stored.do(note_stall, worker.node, SILENT)
    (firing,) = await alarms.look(1)
    assert firing.subject == "w1"
    stored.do(note_stall, worker.node, None)
    assert await alarms.look(1) == []


async def test_a_lost_node_fires_and_one_of_its_name_resolves_it(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node("w1")
    alarms.create(Condition.NODE, "w1", SubjectKind.NODE)
    stored.pass_time(61)
    stored.do(rescue_expired, [worker.node])
    (firing,) = await alarms.look(1)
    assert firing.sentence == "Node 'w1' is lost: its lease has run out"
    stored.node("w1")
    assert await alarms.look(1) == []


@pytest.mark.costly
async def test_a_share_of_the_last_runs_fires_and_resolves_below_it(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.create(Condition.FAILING, "work", SubjectKind.JOB, failed_share=0.5, of_runs=4)
    seen: list[int] = []
    outcomes: list[JobOutcome] = [FAILED, FAILED, Succeeded(), Succeeded(), Succeeded(), Succeeded(), FAILED, FAILED]
    for outcome in outcomes:
        stored.enqueue(retries=0)
        worker.end(worker.start(), outcome)
        seen.append(len(await alarms.look(1)))
    # Four runs have to be there; a success does not open a firing.
    assert seen == [0, 0, 0, 0, 0, 0, 0, 1]
    assert alarms.firings()[0].sentence.startswith("Job 'work' failed in 2 of its last 4 runs, last in run ")
    for _ in range(3):
        stored.enqueue()
        worker.end(worker.start())
    assert await alarms.look(1) == []
    alarms.change(settings=Settings(failed_share=1.0, of_runs=2))
    stored.enqueue(retries=0)
    worker.end(worker.start(), FAILED)
    assert await alarms.look(1) == []


@pytest.mark.costly
async def test_an_error_is_new_once_and_again_after_a_quiet_time(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()

    async def fail(message: str, seconds: float = 1) -> list[str]:
        stored.pass_time(seconds)
        stored.enqueue(retries=0)
        worker.end(worker.start(), Failed("ValueError", message, permanent=True))
        return [one.sentence.partition(": ")[2] for one in await alarms.look(1)]

    await fail("known before 1")
    alarms.create(Condition.NEW_ERROR, "work", SubjectKind.JOB, quiet=3600)
    # Numbers make no difference.
    assert await fail("known before 2") == []
    assert await fail("no room\nand more") == ["ValueError: no room"]
    assert await fail("no room\nand more") == ["ValueError: no room"]
    assert len(alarms.firings()) == 1
    # A second one follows the first, although that is open.
    assert await fail("no such file") == ["ValueError: no such file"]
    assert [one.resolved_at is None for one in alarms.firings()] == [False, True]
    stored.enqueue()
    worker.end(worker.start())
    assert await alarms.look(1) == []
    assert await fail("no room\nand more") == []
    assert await fail("no room\nand more", 3700) == ["ValueError: no room"]


@pytest.mark.costly
async def test_an_error_that_people_know_is_not_new_and_a_solved_one_that_comes_back_is(
    alarms: Alarms, stored: Stored
) -> None:
    name = fingerprint("work", "ValueError", "no room")
    old = stored.node("old", code_version="v1")

    async def fail(worker: Worker, seconds: float = 1) -> list[str]:
        stored.pass_time(seconds)
        stored.enqueue(retries=0)
        worker.end(worker.start(), Failed("ValueError", "no room", permanent=True))
        firings = await alarms.look(1)
        stored.enqueue()
        worker.end(worker.start())
        assert await alarms.look(1) == []
        return [one.sentence.partition(": ")[2] for one in firings]

    alarms.create(Condition.NEW_ERROR, "work", SubjectKind.JOB, quiet=3600)
    assert await fail(old) == ["ValueError: no room"]
    ends = stored.now + timedelta(hours=3)
    alarms.acting(lambda tx: silence_failures(tx, name, ends, "the disk comes tomorrow"))
    # It would be new again after an hour.
    assert await fail(old, 3700) == []
    assert await fail(old, 3700) == []
    assert await fail(old, 7200) == ["ValueError: no room"]
    alarms.acting(lambda tx: solve_failures(tx, name, "v2"))
    # Code that had it may fail so until it is gone, and in the new code it is new, although it failed a minute ago.
    assert await fail(old, 60) == []
    new = stored.node("new", code_version="v2")
    assert await fail(new) == ["ValueError: no room"]
    assert await fail(new) == []
    alarms.acting(lambda tx: solve_failures(tx, name, None))
    assert await fail(old) == ["ValueError: no room"]


async def test_a_clock_that_is_off_fires_for_its_node_and_resolves(alarms: Alarms, stored: Stored) -> None:
    stored.now = datetime.now(UTC)
    first, second = stored.node("w1"), stored.node("w2")
    alarms.create(Condition.SKEW, None, SubjectKind.NODE, most_skew=100)
    assert await alarms.look() == []
    # The clock of the database goes on by two minutes, and that of the node of the test does not.
    stored.pass_time(120)
    stored.do(heartbeat, first.node.id, lease=60.0, running=0)
    (firing,) = await alarms.look()
    assert firing.subject == "w1"
    assert firing.sentence.startswith("The clock of node 'w1' is 1")
    assert firing.sentence.endswith("s behind the database's")
    for one in (first, second):
        stored.do(heartbeat, one.node.id, lease=60.0, running=0)
    assert len(await alarms.look()) == 1, "looked at again too early"
    stored.now = datetime.now(UTC)
    for one in (first, second):
        stored.do(heartbeat, one.node.id, lease=60.0, running=0)
    alarms.change(settings=Settings(most_skew=200))
    assert await alarms.look() == []


async def test_a_large_database_fires(alarms: Alarms, stored: Stored) -> None:
    alarms.create(Condition.DATABASE, None, SubjectKind.DATABASE, larger_than=1000, least_free=1, lag=1)
    (firing,) = await alarms.look()
    assert firing.sentence.startswith("The database needs attention: it has ")
    alarms.change(settings=Settings(larger_than=2**52))
    assert await alarms.look(60) == []
    alarms.create(Condition.DATABASE, None, SubjectKind.DATABASE, name="free", least_free=2**52)
    found = await alarms.look(60)
    assert [one.sentence.endswith("bytes are free on its disk") for one in found] == [True] * stored.database.is_sqlite


async def test_an_old_transaction_fires_and_its_end_resolves(alarms: Alarms, stored: Stored) -> None:
    alarms.create(Condition.DATABASE, None, SubjectKind.DATABASE, transaction=1)
    if stored.database.is_sqlite:
        assert await alarms.look() == []
        return
    plain = await stored.database.plain_connection()
    try:
        await plain.execute("BEGIN")
        await plain.execute("SELECT 1, pg_sleep(1.1)")
        (firing,) = await alarms.look()
        assert "a transaction has been open for" in firing.sentence
    finally:
        await plain.close()
    assert await alarms.look(60) == []


async def test_an_alarm_of_an_unknown_task_is_refused(alarms: Alarms, stored: Stored) -> None:
    stored.node()
    stored.task()
    with pytest.raises(UserError, match="task"):
        alarms.create(Condition.LATE, "nightli", grace=1)
    with pytest.raises(UserError, match="must be about a task"):
        alarms.create(Condition.LATE, "work", SubjectKind.JOB, grace=1)
