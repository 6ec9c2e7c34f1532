"""What a node counts of its runs: by few names, and each thing once."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from cronograph.jobs.core.counts import BOUNDS, MOST_NAMES, OTHER, Histogram, NodeCounts
from cronograph.jobs.core.model import Outcome, SkipReason, Trigger
from cronograph.jobs.core.outcome import Failed, JobOutcome, Snoozed, Succeeded
from cronograph.jobs.queue.base.shapes import HeldRun

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def a_run(number: int = 1, **changes: Any) -> HeldRun:
    run = HeldRun(
        id=number,
        attempt=1,
        job_name="pay",
        args={},
        group="bank",
        task_id=None,
        task_name=None,
        scheduled_for=None,
        failures=0,
        retries=2,
        retry_delay=60.0,
        timeout=None,
        submitter=None,
        submitter_id=None,
        description="",
        signature=None,
        carried=None,
        flow_id=None,
        labels=None,
        available_at=NOON,
        trigger=Trigger.API,
        deadline_at=None,
        concurrency_key=None,
        rate_key=None,
        started_at=NOON + timedelta(seconds=2),
        node_id=1,
        node="n",
    )
    return run._replace(**changes)


@dataclass
class End:
    run: HeldRun
    outcome: JobOutcome
    cancelled: bool = False
    seconds: float = 0.2
    log_cut: int = 0


def test_a_value_on_a_bound_counts_below_it() -> None:
    histogram = Histogram()
    histogram.observe(BOUNDS[0])
    histogram.observe(BOUNDS[-1] + 1)
    assert histogram.counts[0] == 1
    assert histogram.counts[-1] == 1


def test_starts_count_by_job_and_waits_by_group_from_when_the_run_became_available() -> None:
    counts = NodeCounts()
    counts.begun([a_run(1), a_run(2, job_name="mail")])
    assert {name: one.started for name, one in counts.jobs.items()} == {"pay": 1, "mail": 1}
    assert counts.waits["bank"].total == 4.0


def test_only_the_first_start_of_a_run_made_by_the_schedule_is_late() -> None:
    counts = NodeCounts()
    due: dict[str, Any] = {"task_id": 7, "task_name": "nightly", "scheduled_for": NOON - timedelta(seconds=8)}
    counts.begun(
        [
            a_run(1, **due, trigger=Trigger.SCHEDULE),
            a_run(2, **due, trigger=Trigger.SCHEDULE, attempt=2),
            a_run(3, **due, trigger=Trigger.RETRY),
        ]
    )
    lateness = counts.tasks["nightly"].lateness
    assert (sum(lateness.counts), lateness.total) == (1, 10.0)


def test_ends_count_by_job_and_outcome_and_refused_ones_apart() -> None:
    counts = NodeCounts()
    failed = Failed("ValueError", "no")
    ends = [
        End(a_run(1), Succeeded()),
        End(a_run(2, task_name="nightly"), failed, log_cut=3),
        End(a_run(3), Succeeded(), cancelled=True),
        End(a_run(4), Snoozed(5)),
        End(a_run(5), Succeeded()),
    ]
    counts.ended(ends, {1, 2, 3, 4})
    job = counts.jobs["pay"]
    assert job.outcomes == {Outcome.SUCCESS: 1, Outcome.FAILED: 1, Outcome.CANCELLED: 1, Outcome.SNOOZED: 1}
    assert (sum(job.durations.counts), job.log_cut, counts.refused) == (4, 3, 1)
    assert counts.tasks["nightly"].outcomes == {Outcome.FAILED: 1}


def test_groups_and_tasks_beyond_the_first_ones_count_together() -> None:
    counts = NodeCounts()
    for number in range(MOST_NAMES + 50):
        counts.begun([a_run(number, group=f"tenant-{number}")])
        counts.ended([End(a_run(number, task_name=f"task-{number}"), Succeeded())], {number})
    assert len(counts.waits) == len(counts.tasks) == MOST_NAMES + 1
    assert sum(counts.waits[OTHER].counts) == 50
    assert counts.tasks[OTHER].outcomes == {Outcome.SUCCESS: 50}


def test_visits_add_up() -> None:
    counts = NodeCounts()
    counts.visited(2, [0.5, -0.1], {SkipReason.OVERLAP: 3})
    counts.visited(1, [1.0], {SkipReason.OVERLAP: 1, SkipReason.PAUSED: 2})
    assert (counts.dispatched, counts.dispatch_lag.total) == (3, 1.5)
    assert counts.skipped == {SkipReason.OVERLAP: 4, SkipReason.PAUSED: 2}
