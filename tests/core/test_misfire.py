"""What becomes of the due occurrences of a task: the overlap, misfire and pause policies as tables."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronograph.jobs.core.model import (
    MisfirePolicy,
    OverlapPolicy,
    ScheduleSpec,
    SkipReason,
    Task,
    TaskSource,
    TaskSpec,
)
from cronograph.jobs.core.occurrences import Decision, decide, due_of, effective
from cronograph.jobs.core.schedule import Syntax

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def a_task(
    *, next_at: datetime = NOON, syntax: Syntax = Syntax.CRON, value: str = "* * * * * *", **changes: Any
) -> Task:
    """A task of every second that waits for ``next_at``."""
    spec = replace(TaskSpec("t", "work", ScheduleSpec(syntax, value)), **changes)
    return Task(
        id=7,
        spec=spec,
        source=TaskSource.API,
        declared=None,
        declared_args=None,
        overridden=False,
        submitter=None,
        submitter_id=None,
        checkpoint=None,
        anchor_at=NOON,
        next_nominal=next_at,
        next_execution=effective(7, spec.jitter, next_at),
        paused_at=None,
        paused_by=None,
        pause_reason=None,
        resume_at=None,
        signature=None,
        last_due_at=None,
        last_started_at=None,
        counter=0,
        version=1,
        created_at=NOON,
        updated_at=NOON,
    )


def decided(task: Task, late: float, *, unfinished: int = 0, job_known: bool = True, limit: int = 1000) -> Decision:
    return decide(due_of(task), NOON + timedelta(seconds=late), unfinished=unfinished, job_known=job_known, limit=limit)


def seconds(decision: Decision) -> list[float]:
    return [(run.scheduled_for - NOON).total_seconds() for run in decision.runs]


def skips(decision: Decision) -> list[tuple[SkipReason, int]]:
    return [(skip.reason, skip.count) for skip in decision.skips]


def test_an_occurrence_on_time_becomes_a_run_and_the_task_waits_for_the_next() -> None:
    decision = decided(a_task(), 0)
    assert seconds(decision) == [0]
    assert decision.next_nominal == NOON + timedelta(seconds=1)
    assert not decision.behind


class TestOverlap:
    @pytest.mark.parametrize(
        ("policy", "unfinished", "made", "skipped", "cancels"),
        [
            (OverlapPolicy.SKIP, 0, 1, [(SkipReason.OVERLAP, 2)], False),
            (OverlapPolicy.SKIP, 1, 0, [(SkipReason.OVERLAP, 3)], False),
            (OverlapPolicy.QUEUE, 0, 3, [], False),
            (OverlapPolicy.QUEUE, 8, 2, [(SkipReason.OVERLAP, 1)], False),
            (OverlapPolicy.QUEUE, 10, 0, [(SkipReason.OVERLAP, 3)], False),
            (OverlapPolicy.ALLOW, 50, 3, [], False),
            (OverlapPolicy.REPLACE, 0, 3, [], False),
            (OverlapPolicy.REPLACE, 2, 3, [], True),
        ],
    )
    def test_judges_three_occurrences_within_the_grace(
        self,
        policy: OverlapPolicy,
        unfinished: int,
        made: int,
        skipped: list[tuple[SkipReason, int]],
        *,
        cancels: bool,
    ) -> None:
        decision = decided(a_task(overlap=policy), 2, unfinished=unfinished)
        assert (len(decision.runs), skips(decision), decision.cancel_unfinished) == (made, skipped, cancels)

    def test_replace_cancels_all_but_the_newest(self) -> None:
        decision = decided(a_task(overlap=OverlapPolicy.REPLACE), 2)
        assert [run.replaced for run in decision.runs] == [True, True, False]

    def test_only_allow_lets_two_runs_of_a_task_start_together(self) -> None:
        for policy in OverlapPolicy:
            (run, *_) = decided(a_task(overlap=policy), 0).runs
            assert run.exclusive == (policy is not OverlapPolicy.ALLOW)

    def test_an_interval_queues_unless_asked_otherwise_and_the_others_skip(self) -> None:
        interval = a_task(syntax=Syntax.INTERVAL, value="1s")
        assert len(decided(interval, 2).runs) == 3
        assert len(decided(a_task(), 2).runs) == 1


class TestMisfire:
    """Two hours without a server, a task of every second; nothing within the grace unless said."""

    def after_two_hours(
        self, misfire: MisfirePolicy, misfire_grace: float = 0.0, **changes: Any
    ) -> tuple[list[float], list[tuple[SkipReason, int]]]:
        """All runs and skips of the visits that it takes to catch up."""
        task = a_task(misfire=misfire, misfire_grace=misfire_grace, **changes)
        runs: list[float] = []
        folded: dict[SkipReason, int] = {}
        while True:
            decision = decided(task, 7199.5, unfinished=len(runs), limit=500)
            runs += seconds(decision)
            for skip in decision.skips:
                folded[skip.reason] = folded.get(skip.reason, 0) + skip.count
            if not decision.behind:
                return runs, list(folded.items())
            assert decision.next_nominal is not None
            assert decision.next_nominal > (task.next_nominal or NOON)
            task = replace(task, next_nominal=decision.next_nominal, next_execution=decision.next_execution)

    def test_last_makes_the_newest_a_run_and_coalesces_the_others(self) -> None:
        assert self.after_two_hours(MisfirePolicy.LAST) == ([7199], [(SkipReason.COALESCED, 7199)])

    def test_all_makes_the_newest_hundred_runs_and_misses_the_older(self) -> None:
        runs, skipped = self.after_two_hours(MisfirePolicy.ALL)
        assert runs == [float(second) for second in range(7100, 7200)]
        assert skipped == [(SkipReason.MISSED, 7100)]

    def test_all_obeys_the_limit_of_the_task(self) -> None:
        runs, skipped = self.after_two_hours(MisfirePolicy.ALL, catch_up_limit=3)
        assert (runs, skipped) == ([7197, 7198, 7199], [(SkipReason.MISSED, 7197)])

    def test_none_makes_no_run(self) -> None:
        assert self.after_two_hours(MisfirePolicy.NONE) == ([], [(SkipReason.MISSED, 7200)])

    def test_catching_up_goes_one_after_another(self) -> None:
        task = a_task(misfire=MisfirePolicy.ALL, misfire_grace=0.0, overlap=OverlapPolicy.ALLOW)
        assert all(run.exclusive for run in decided(task, 60.5).runs)

    def test_what_is_late_within_the_grace_is_no_misfire(self) -> None:
        task = a_task(misfire=MisfirePolicy.NONE, misfire_grace=60.0, overlap=OverlapPolicy.ALLOW)
        decision = decided(task, 60)
        assert len(decision.runs) == 61
        assert decision.skips == ()

    @pytest.mark.parametrize("overlap", OverlapPolicy)
    @pytest.mark.parametrize(
        ("misfire", "made", "skipped"),
        [
            (MisfirePolicy.LAST, 1, [(SkipReason.COALESCED, 7199)]),
            (MisfirePolicy.ALL, 100, [(SkipReason.MISSED, 7100)]),
        ],
    )
    def test_a_task_that_is_late_has_all_judged_that_is_due(
        self, misfire: MisfirePolicy, made: int, skipped: list[tuple[SkipReason, int]], overlap: OverlapPolicy
    ) -> None:
        runs, skips = self.after_two_hours(misfire, misfire_grace=60.0, overlap=overlap)
        assert (runs, skips) == ([float(second) for second in range(7200 - made, 7200)], skipped)

    def test_under_none_what_is_within_the_grace_runs(self) -> None:
        runs, skipped = self.after_two_hours(MisfirePolicy.NONE, misfire_grace=60.0, overlap=OverlapPolicy.ALLOW)
        assert runs == [float(second) for second in range(7140, 7200)]
        assert skipped == [(SkipReason.MISSED, 7140)]

    def test_an_hourly_task_makes_up_for_the_newest_hour_alone(self) -> None:
        for misfire in (MisfirePolicy.LAST, MisfirePolicy.NONE):
            decision = decided(a_task(value="0 0 * * * *", misfire=misfire), 3 * 3600 + 30)
            assert seconds(decision) == [3 * 3600]
            assert [skip.count for skip in decision.skips] == [3]

    def test_a_grace_of_more_occurrences_than_a_visit_looks_at_does_not_stop_the_catching_up(self) -> None:
        runs, skipped = self.after_two_hours(MisfirePolicy.LAST, misfire_grace=3600.0)
        assert len(runs) == 1
        assert sum(count for _, count in skipped) == 7199


class TestClosed:
    def test_a_paused_task_skips_with_the_reason_that_was_given(self) -> None:
        task = replace(a_task(enabled=False), paused_by="ann", pause_reason="audit")
        (skip,) = decided(task, 4).skips
        assert (skip.reason, skip.count, skip.policy) == (SkipReason.PAUSED, 5, {"pausedBy": "ann", "reason": "audit"})

    def test_a_task_whose_job_no_node_knows_skips(self) -> None:
        (skip,) = decided(a_task(), 0, job_known=False).skips
        assert (skip.reason, skip.policy) == (SkipReason.NO_JOB, {"jobName": "work"})


def test_jitter_delays_the_visit_and_not_the_nominal_time() -> None:
    task = a_task(value="0 * * * * *", jitter=30.0)
    assert task.next_execution is not None
    offset = (task.next_execution - NOON).total_seconds()
    assert 0 < offset < 30
    assert decided(task, offset - 0.001).runs == ()
    assert seconds(decided(task, offset)) == [0]


@given(
    misfire=st.sampled_from(MisfirePolicy),
    overlap=st.sampled_from(OverlapPolicy),
    grace=st.floats(0, 400),
    catch_up=st.integers(1, 30),
    limit=st.integers(1, 70),
    late=st.integers(0, 300),
    unfinished=st.integers(0, 12),
    enabled=st.booleans(),
)
def test_every_due_occurrence_becomes_one_run_or_one_recorded_skip(
    misfire: MisfirePolicy,
    overlap: OverlapPolicy,
    grace: float,
    catch_up: int,
    limit: int,
    late: int,
    unfinished: int,
    *,
    enabled: bool,
) -> None:
    task = a_task(misfire=misfire, overlap=overlap, misfire_grace=grace, catch_up_limit=catch_up, enabled=enabled)
    accounted: list[datetime] = []
    for _ in range(1000):
        decision = decided(task, late, unfinished=unfinished, limit=limit)
        accounted += [run.scheduled_for for run in decision.runs]
        for skip in decision.skips:
            stretch = [skip.first + timedelta(seconds=place) for place in range(skip.count)]
            assert stretch[-1] == skip.last
            accounted += stretch
        if not decision.behind:
            break
        task = replace(task, next_nominal=decision.next_nominal, next_execution=decision.next_execution)
    assert sorted(accounted) == [NOON + timedelta(seconds=second) for second in range(late + 1)]
