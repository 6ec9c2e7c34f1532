"""What does a suspended run wait for? In words, on both databases."""

from datetime import timedelta

from cronograph.jobs.core.outcome import Suspended
from cronograph.jobs.core.waits import AwaitedKind, Awaits
from tests.actions.test_explaining import of_run, of_task, says
from tests.support.storage import START, Stored


def test_asleep(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    worker.end(worker.start(), Suspended(Awaits(AwaitedKind.TIME, "cool down"), 90.0))
    explanation = of_run(stored, run.id)
    says(explanation, "SLEEPING", "'cool down'", "2026-03-01 12:01:30 UTC", "in 1 min", "no slot")
    assert explanation.until == START + timedelta(seconds=90)


def test_waiting_for_a_signal(stored: Stored) -> None:
    worker = stored.node()
    stored.task()
    stored.at(60)
    stored.dispatch()
    worker.end(worker.start(), Suspended(Awaits(AwaitedKind.SIGNAL, "approved"), 3600.0))
    says(of_run(stored, 1), "WAITS_FOR_SIGNAL", "'approved'", "at the latest until", "in 1 h", "has to send it")
    says(of_task(stored), "WAITS_FOR_SIGNAL", "Run 1", "'approved'")


def test_waiting_for_other_runs(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue()
    parent = worker.start()
    ended, waiting = stored.enqueue(), stored.enqueue()
    worker.end(worker.start())
    worker.end(parent, Suspended(Awaits.for_runs([waiting.id, ended.id], "all parts")))
    explanation = of_run(stored, parent.run.id)
    says(explanation, "WAITS_FOR_RUNS", "'all parts'", "2 runs", f"Run {waiting.id} of job 'work' is waiting")
    assert (explanation.run_id, explanation.until, len(explanation.details)) == (waiting.id, None, 1)
