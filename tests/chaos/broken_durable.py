"""What outlives an attempt, broken in one place each: steps, waits, signals and flows."""

from datetime import datetime, timedelta

from sqlalchemy import update

from cronograph.jobs.actions.flows import enqueue_flow
from cronograph.jobs.actions.signals import signal_run
from cronograph.jobs.core.events import STEPS, Listed
from cronograph.jobs.core.flows import NewFlow, NewMember
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.core.outcome import Failed, Suspended
from cronograph.jobs.core.run_spec import RunSpec
from cronograph.jobs.core.steps import StepEnd, StepKind
from cronograph.jobs.core.waits import AwaitedKind, Awaits, Signal, Wait
from cronograph.jobs.queue.claims.claim import Started
from cronograph.jobs.queue.steps import EndedStep, rows_of, rows_to_store
from cronograph.jobs.queue.waits import wait
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema import tables
from tests.chaos.broken import Break, execute, lose_a_started_run
from tests.support.storage import Stored, Worker
from tests.support.transitions import look_away


def step_end(at: datetime, value: int) -> StepEnd:
    """A step that every attempt of a test takes."""
    return StepEnd("do", at, at, value)


def store_step(stored: Stored, worker: Worker, started: Started) -> None:
    """Store a step of an attempt, as its node does."""
    ended = EndedStep(started.run, step_end(stored.now, started.run.attempt))
    stored.do(rows_to_store, (worker.node.id, worker.node.name), rows_of([ended]))


def steps_are_stored_without_a_fence(stored: Stored, _: Worker) -> None:
    late, other, again = lose_a_started_run(stored)
    store_step(stored, other, again)

    def replace_it(tx: Tx) -> None:
        mine = (tables.run_step.c.run_id == late.run.id, tables.run_step.c.step == "do")
        tx.conn.execute(update(tables.run_step).where(*mine).values(attempt=late.run.attempt, value=late.run.attempt))
        listed = (late.run.id, late.run.job_name, late.run.group, late.run.task_id, late.run.task_name, "do", "done")
        tx.emit([Listed(STEPS, [listed], late.run.node)])

    stored.do(replace_it)


def a_step_is_not_stored(stored: Stored, worker: Worker) -> None:
    stored.enqueue()
    store_step(stored, worker, worker.start())
    execute(stored, "DELETE FROM cronograph.run_step")


def a_step_is_not_told(stored: Stored, worker: Worker) -> None:
    stored.enqueue()
    store_step(stored, worker, worker.start())
    execute(stored, "UPDATE cronograph.event SET changes = '[]' WHERE id = (SELECT max(id) FROM cronograph.event)")


def asleep(stored: Stored, worker: Worker, asked: Wait) -> Started:
    """A run that an attempt has left suspended for a wait."""
    stored.enqueue()
    started = worker.start()
    begun = stored.do(wait, started.run, asked)
    assert begun is not None
    kind = AwaitedKind.SIGNAL if asked.signal else AwaitedKind.TIME
    worker.end(started, Suspended(Awaits(kind, asked.signal or asked.label), until=begun.wake_at))
    return started


def a_signal_is_taken_twice(stored: Stored, worker: Worker) -> None:
    started = asleep(stored, worker, Wait("go", StepKind.SIGNAL))
    stored.do(signal_run, run_id=started.run.id, signal=Signal("go"))
    (again,) = (one for one in worker.take(20).started if one.run.id == started.run.id)
    stored.do(wait, again.run, Wait("go", StepKind.SIGNAL))
    stored.do(wait, again.run, Wait("go#2", StepKind.SIGNAL))
    execute(
        stored,
        "UPDATE cronograph.run_step SET state = 'done', finished_at = started_at, signal_id = "
        "(SELECT max(s.signal_id) FROM cronograph.run_step s WHERE s.step = 'go') WHERE step = 'go#2'",
    )


def a_sleep_ends_early(stored: Stored, worker: Worker) -> None:
    asleep(stored, worker, Wait("nap", StepKind.SLEEP, seconds=60.0))
    execute(stored, "UPDATE cronograph.run_step SET state = 'done', finished_at = started_at WHERE kind = 'sleep'")


def a_sleep_is_forgotten(stored: Stored, worker: Worker) -> None:
    asleep(stored, worker, Wait("nap", StepKind.SLEEP, seconds=60.0))
    execute(stored, "UPDATE cronograph.run SET wake_at = NULL")


def a_signal_wakes_nobody(stored: Stored, worker: Worker) -> None:
    started = asleep(stored, worker, Wait("go", StepKind.SIGNAL))
    box = {"run_id": started.run.id, "name": "go", "rank": 2, "sent_at": stored.now}
    stored.do(lambda tx: tx.conn.execute(tables.run_signal.insert().values(**box)))


def small_flow(stored: Stored) -> None:
    """Two runs, the second of which comes after the first."""
    runs = [NewMember(key, NewRun("work", Trigger.API), after) for key, after in (("a", ()), ("b", ("a",)))]
    stored.do(enqueue_flow, NewFlow("small", tuple(runs)))


def a_run_of_a_flow_does_not_wait(stored: Stored, worker: Worker) -> None:
    small_flow(stored)
    execute(stored, "UPDATE cronograph.run SET state = 'waiting', awaits = NULL WHERE state = 'suspended'")
    begun = worker.take(20).started
    stored.pass_time(1)
    for started in begun:
        worker.end(started)


def _without_settling(stored: Stored, worker: Worker, *statements: str) -> None:
    small_flow(stored)
    execute(stored, "UPDATE cronograph.run SET flow_id = NULL WHERE flow_id IS NOT NULL AND state = 'waiting'")
    for started in worker.take(20).started:
        worker.end(started)
    execute(stored, *statements)


def an_end_releases_nobody(stored: Stored, worker: Worker) -> None:
    _without_settling(stored, worker)


def a_flow_does_not_end(stored: Stored, worker: Worker) -> None:
    _without_settling(
        stored, worker, "UPDATE cronograph.run SET state = 'skipped', finished_at = submitted_at, awaits = NULL, "
        "error = 'none' WHERE state = 'suspended'",
    )  # fmt: skip


def nobody_wakes_a_sleeper(stored: Stored, worker: Worker) -> None:
    asleep(stored, worker, Wait("nap", StepKind.SLEEP, seconds=60.0))
    execute(stored, "UPDATE cronograph.run_step SET wake_at = started_at WHERE kind = 'sleep'")
    long_ago = {"wake_at": stored.now - timedelta(days=1)}
    stored.do(
        lambda tx: tx.conn.execute(update(tables.run).where(tables.run.c.state == "suspended").values(**long_ago))
    )


def a_failure_lets_others_start(stored: Stored, worker: Worker) -> None:
    small_flow(stored)
    for started in worker.take(20).started:
        worker.end(started, Failed("ValueError", "boom", permanent=True))
    stored.do(lambda tx: look_away(tx.conn))
    begun_again = "state = 'waiting', finished_at = NULL, error = NULL, skip_reason = NULL"
    execute(stored, f"UPDATE cronograph.run SET {begun_again} WHERE state = 'skipped'")
    stored.pass_time(1)
    for started in worker.take(20).started:
        worker.end(started)


def a_success_lets_nobody_start(stored: Stored, worker: Worker) -> None:
    _without_settling(
        stored, worker, "UPDATE cronograph.run SET state = 'skipped', finished_at = submitted_at, awaits = NULL, "
        "error = 'PREDECESSOR: none' WHERE state = 'suspended'",
    )  # fmt: skip


def a_parent_does_not_wait(stored: Stored, worker: Worker) -> None:
    asleep(stored, worker, Wait("runs", StepKind.RUNS, runs=(RunSpec("work", {}),)))
    execute(stored, "UPDATE cronograph.run_step SET state = 'done', finished_at = started_at WHERE kind = 'runs'")


DURABLE_BREAKS: dict[Break, str] = {
    a_run_of_a_flow_does_not_wait: "no run of a flow begins before its predecessors are over",
    an_end_releases_nobody: "no run of a flow is forgotten",
    a_flow_does_not_end: "a flow is over when its runs are",
    steps_are_stored_without_a_fence: "a step has one result",
    a_step_is_not_stored: "a step has one result",
    a_step_is_not_told: "a step has one result",
    a_signal_is_taken_twice: "a signal is taken once or lies in its box",
    a_sleep_ends_early: "no sleep ends early",
    a_sleep_is_forgotten: "what a suspended run waits for wakes it",
    a_signal_wakes_nobody: "what a suspended run waits for wakes it",
    nobody_wakes_a_sleeper: "no sleep is forgotten",
    a_failure_lets_others_start: "a run of a flow starts under its condition alone",
    a_success_lets_nobody_start: "a run of a flow starts under its condition alone",
    a_parent_does_not_wait: "nobody goes on before the runs it waits for are over",
}
"""Each break with the rule that must see it."""
