"""Runs that are too old to start: never started, never silently gone, and their jobs may hear of it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from cronograph.jobs import RunSpec, enqueue_many_sync, enqueue_sync
from cronograph.jobs.actions.groups import pause_group
from cronograph.jobs.actions.runs import edit_run, enqueue_runs
from cronograph.jobs.core.admission.holding import expiry_faults, expiry_of, has_expired
from cronograph.jobs.core.base.errors import InvalidInput, UserError
from cronograph.jobs.core.defaults import FOLLOWED, JobDefaults
from cronograph.jobs.core.events import EventKind, spread
from cronograph.jobs.core.explain import explain_run
from cronograph.jobs.core.model import NewRun, Run, SkipReason, Trigger
from cronograph.jobs.core.outcome import Failed, Snoozed
from cronograph.jobs.core.states import RunState
from cronograph.jobs.queue.base import runs as queue_runs
from cronograph.jobs.queue.claims.candidates import skip_due
from cronograph.jobs.queue.claims.claim import start_more
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.schema.rows import defaults_document
from cronograph.jobs.store.statements import facts
from cronograph.jobs.store.statements.runs import by_ids
from tests.support.storage import START, Stored


def say(stored: Stored, job: str = "work", **said: Any) -> None:
    """Have a published job say something about its runs."""
    document = defaults_document(JobDefaults(**said))
    stored.do(lambda tx: tx.conn.execute(update(tables.job).where(tables.job.c.name == job).values(defaults=document)))


def run_of(stored: Stored, run_id: int) -> Run:
    return stored.do(lambda tx: by_ids(tx.conn, [run_id])[run_id])


def test_a_run_that_is_too_old_is_skipped_by_the_claim_that_meets_it(stored: Stored) -> None:
    worker = stored.node()
    late, fine = (stored.enqueue(ttl=ttl).id for ttl in (10.0, 100.0))
    assert run_of(stored, late).expires_at == START + timedelta(seconds=10)
    stored.at(10)
    assert [one.run.id for one in worker.take(5).started] == [fine]
    skipped = run_of(stored, late)
    assert (skipped.state, skipped.skip_reason, skipped.attempt) == (RunState.SKIPPED, SkipReason.EXPIRED, 0)
    assert skipped.error == (
        "expired: it had to start by 2026-03-01T12:00:10Z, and had waited 10 s at 2026-03-01T12:00:10Z"
    )
    assert skipped.finished_at == stored.now
    assert [row.run_id for row in stored.rows(tables.job_execution)] == [fine]


def test_a_run_that_begins_in_time_is_never_affected(stored: Stored) -> None:
    worker = stored.node()
    run_id = stored.enqueue(expires_at=START + timedelta(seconds=10), retries=3).id
    stored.at(9.999)
    worker.end(worker.start(), Snoozed(30.0))
    stored.at(60)
    assert stored.do(skip_due, None) == 0
    worker.end(worker.start(), Failed("E", "e"))
    stored.at(10_000)
    assert worker.start().run.id == run_id


def test_a_run_that_is_moved_has_the_time_of_its_job_from_then_on(stored: Stored) -> None:
    worker = stored.node()
    say(stored, ttl=60.0)
    run_id = stored.do(lambda tx: enqueue_sync(tx.conn, "work", run_at=START)).id
    for hours in (1, 2):
        later = START + timedelta(hours=hours)
        moved = stored.do(edit_run, run_id, available_at=later)
        assert (moved.available_at, moved.expires_at) == (later, later + timedelta(seconds=60))
    stored.at(7_230)
    assert worker.start().run.id == run_id


def test_a_run_is_not_moved_behind_the_time_by_which_it_has_to_start(stored: Stored) -> None:
    stored.node()
    run_id = stored.enqueue(expires_at=START + timedelta(hours=1)).id
    kept = stored.do(edit_run, run_id, available_at=START + timedelta(minutes=59))
    assert kept.expires_at == START + timedelta(hours=1)
    with pytest.raises(InvalidInput, match=r"runAt: must be before 2026-03-01T13:00:00Z, by which run \d has to start"):
        stored.do(edit_run, run_id, available_at=START + timedelta(hours=1))
    assert run_of(stored, run_id) == kept


def test_what_no_claim_meets_is_found_by_the_duty(stored: Stored) -> None:
    stored.node()
    paused = stored.enqueue(group="still", ttl=5.0).id
    unknown = stored.do(lambda tx: enqueue_sync(tx.conn, "unknown", run_at=START, ttl=5.0)).id
    kept = stored.enqueue().id
    stored.do(pause_group, "still")
    assert stored.do(lambda tx: queue_runs.next_limits(tx.conn)) == (START + timedelta(seconds=5), None)
    stored.at(4.9)
    assert stored.do(skip_due, "node-a") == 0
    stored.at(5)
    assert stored.do(skip_due, "node-a") == 2
    assert stored.do(lambda tx: queue_runs.next_limits(tx.conn)) == (None, None)
    states = {row.id: row.state for row in stored.rows(tables.run)}
    assert states == {paused: "skipped", unknown: "skipped", kept: "waiting"}


def test_what_was_reserved_is_skipped_in_place_of_its_start(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue()
    run_id = stored.enqueue(ttl=10.0).id
    assert worker.take(1, prefetch=1).reserved == (run_id,)
    stored.at(11)
    assert stored.do(start_more, worker.claimant, [run_id]) == ()
    assert run_of(stored, run_id).skip_reason is SkipReason.EXPIRED


def test_an_occurrence_that_expires_is_among_what_its_task_has_skipped(stored: Stored) -> None:
    worker = stored.node()
    say(stored, ttl=30.0)
    stored.task("0 * * * * *")
    stored.at(60)
    assert stored.dispatch() == 1
    stored.at(90)
    assert worker.take(5).started == ()
    (row,) = stored.rows(tables.skipped_occurrence)
    assert (row.reason, row.first_scheduled_for, row.occurrences) == ("expired", START + timedelta(seconds=60), 1)
    assert row.policy["expiresAt"] == "2026-03-01T12:01:30Z"


def test_each_way_to_enqueue_takes_the_ttl_of_the_job_unless_it_says_otherwise(stored: Stored) -> None:
    stored.node()
    say(stored, ttl=60.0)
    later = datetime.now(UTC).replace(microsecond=0) + timedelta(days=400)
    specs = [RunSpec("work", run_at=later), RunSpec("work", run_at=later, ttl=5.0), RunSpec("other", run_at=later)]
    specs.append(RunSpec("work", run_at=later, expires_at=later + timedelta(days=1)))
    ids = stored.do(lambda tx: enqueue_many_sync(tx.conn, specs))
    ids.append(stored.do(lambda tx: enqueue_sync(tx.conn, "work", run_at=later)).id)
    asked = NewRun("work", Trigger.API, available_at=later, inherits=FOLLOWED)
    ids += [one.run.id for one in stored.do(enqueue_runs, [asked])]
    found = [run_of(stored, one).expires_at for one in ids]
    left = [None if one is None else (one - later).total_seconds() for one in found]
    assert left == [60.0, 5.0, None, 86400.0, 60.0, 60.0]


def test_a_job_hears_of_its_expired_runs_and_of_those_of_what_is_not_notified(stored: Stored) -> None:
    stored.node(jobs=("work", "told"))
    say(stored, on_expired="told", ttl=10.0)
    say(stored, "told", on_expired="told", ttl=10.0)
    stored.do(enqueue_runs, [NewRun("work", Trigger.API, {"n": 1}, labels={"c": "1"}, inherits=FOLLOWED)])
    stored.at(10)
    assert stored.do(skip_due, None) == 1
    (told,) = stored.rows(tables.run, job_name="told")
    assert told.labels == {"c": "1"}
    assert told.args["expired"] == {
        "run_id": 1, "job_name": "work", "expires_at": "2026-03-01T12:00:10Z", "waited": 10.0, "task_name": None,
        "args": {"n": 1},
    }  # fmt: skip
    stored.at(20)
    assert stored.do(skip_due, None) == 1
    assert len(stored.rows(tables.run)) == 2


def test_a_claim_that_makes_a_run_and_starts_it_records_this_in_order(stored: Stored) -> None:
    worker = stored.node(jobs=("work", "told"))
    say(stored, on_expired="told", ttl=10.0)
    stored.enqueue(ttl=10.0)
    stored.at(10)
    (started,) = worker.take(5).started
    assert started.run.job_name == "told"
    recorded = [change for row in stored.rows(tables.event) for change in spread(row.changes)]
    states = [(one.kind, one.state) for one in recorded if one.run_id == started.run.id and one.execution_id is None]
    assert states == [(EventKind.RUN_CREATED, "waiting"), (EventKind.RUN_UPDATED, "running")]


def test_a_waiting_run_says_until_when_it_has_to_start(stored: Stored) -> None:
    stored.node()
    run = stored.enqueue(ttl=90.0)
    known = stored.do(lambda tx: facts.of_runs(tx.conn, [run], tx.now))[run.id]
    assert "Unless it starts by 2026-03-01 12:01:30 UTC, in 1 min, it is skipped." in " ".join(
        explain_run(run, known, stored.now).details
    )


@pytest.mark.costly
@pytest.mark.parametrize(
    ("expires_at", "ttl", "run_at", "fault"),
    [
        (None, -1, None, "ttl: must be seconds from 0.001 to"),
        (None, 0, None, "ttl: must be seconds from 0.001 to"),
        (None, True, None, "ttl: must be seconds"),
        (None, b"5", None, "ttl: must be"),
        (START, 5.0, None, "ttl: must not be given together with expiresAt"),
        (START, None, START, "expiresAt: must be after runAt"),
        (datetime(2026, 1, 1), None, None, "expiresAt: must have a time zone"),  # noqa: DTZ001 - that is the fault
        ("soon", None, None, "expiresAt: must be a datetime with a time zone"),
    ],
)
def test_an_expiry_that_cannot_be_is_refused(
    stored: Stored, expires_at: Any, ttl: Any, run_at: datetime | None, fault: str
) -> None:
    assert any(fault in str(one) for one in expiry_faults(expires_at, ttl, run_at))
    in_python = fault.replace("expiresAt", "expires_at").replace("runAt", "run_at")
    with pytest.raises(UserError, match=in_python):
        stored.do(lambda tx: enqueue_sync(tx.conn, "work", run_at=run_at, expires_at=expires_at, ttl=ttl))
    assert stored.rows(tables.run) == []


def test_the_rule_of_expiry() -> None:
    assert expiry_of(None, None, START) is None
    assert expiry_of(START, None, START) == START
    assert expiry_of(None, 1.5, START) == START + timedelta(seconds=1.5)
    moment = timedelta(microseconds=1)
    found = [has_expired(START, attempt, START + at) for attempt in (0, 1) for at in (-moment, moment * 0, moment)]
    assert found == [False, True, True, False, False, False]
