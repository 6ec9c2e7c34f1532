"""Pauses that end by themselves."""

from datetime import timedelta

import pytest

from cronograph.jobs.actions.groups import pause_group
from cronograph.jobs.actions.tasks import pause_task, resume_task
from cronograph.jobs.core.base.errors import InvalidInput
from cronograph.jobs.core.model import MisfirePolicy, OverlapPolicy
from cronograph.jobs.core.occurrences import jitter_offset
from cronograph.jobs.queue.occurrences import dispatch_due, end_pauses
from cronograph.jobs.store.schema.tables import periodic_task, queue_group, run, skipped_occurrence
from cronograph.jobs.store.statements.tasks import by_name
from tests.support.storage import START, Stored


def second(stored: Stored, number: int) -> list[int]:
    """Dispatch at a second; the seconds whose occurrences became runs until then."""
    stored.at(number)
    stored.dispatch()
    return [round((one.scheduled_for - START).total_seconds()) for one in stored.rows(run)]


def test_an_occurrence_at_the_end_of_a_pause_becomes_a_run_and_the_task_goes_on(stored: Stored) -> None:
    stored.node()
    stored.task("* * * * * *", overlap=OverlapPolicy.ALLOW)
    assert second(stored, 1) == [1]
    stored.do(pause_task, "nightly", reason="maintenance", actor="ada", until=START + timedelta(seconds=4))
    paused = stored.do(lambda tx: by_name(tx.conn, "nightly"))
    assert paused is not None
    assert (paused.spec.enabled, paused.resume_at) == (False, START + timedelta(seconds=4))
    assert second(stored, 3) == [1]
    assert second(stored, 4) == [1, 4]
    resumed = stored.do(lambda tx: by_name(tx.conn, "nightly"))
    assert resumed is not None
    assert (resumed.spec.enabled, resumed.paused_at, resumed.pause_reason, resumed.resume_at) == (
        True,
        None,
        None,
        None,
    )
    assert resumed.version == paused.version + 1
    (skip,) = stored.rows(skipped_occurrence)
    assert (skip.reason, skip.occurrences) == ("paused", 2)


@pytest.mark.parametrize("misfire", [MisfirePolicy.LAST, MisfirePolicy.ALL])
def test_a_pause_that_ended_while_nobody_looked_leaves_out_what_it_covered(
    stored: Stored, misfire: MisfirePolicy
) -> None:
    stored.node()
    stored.task("* * * * * *", catch_up_limit=9, misfire=misfire, misfire_grace=1.0, overlap=OverlapPolicy.ALLOW)
    stored.do(pause_task, "nightly", until=START + timedelta(seconds=3))
    found = second(stored, 6)
    assert found == ([6] if misfire is MisfirePolicy.LAST else [3, 4, 5, 6])
    assert sum(one.occurrences for one in stored.rows(skipped_occurrence, reason="paused")) == 2


def test_an_occurrence_that_jitter_moves_behind_a_pause_becomes_a_run_though_nobody_looked_meanwhile(
    stored: Stored,
) -> None:
    stored.node()
    task = stored.task("0 * * * * *", jitter=50.0)
    offset = jitter_offset(task.id, 50.0)
    assert offset > timedelta(seconds=1)
    ends = START + timedelta(seconds=60) + offset / 2
    stored.do(pause_task, "nightly", until=ends)
    assert second(stored, 111) == [60]
    assert stored.rows(skipped_occurrence) == []


def test_a_pause_does_not_end_before_its_occurrences_are_decided(stored: Stored) -> None:
    """Another node may be at it: it decides about so many at a time, and leaves the task due."""
    stored.node()
    stored.task("* * * * * *", catch_up_limit=9, misfire=MisfirePolicy.ALL, misfire_grace=1.0)
    stored.do(pause_task, "nightly", until=START + timedelta(seconds=3))
    stored.at(6)
    assert stored.do(end_pauses, 9) == 0
    assert second(stored, 6) == [3, 4, 5, 6]
    assert stored.rows(periodic_task)[0].enabled


def test_the_dispatcher_looks_again_when_a_pause_ends(stored: Stored) -> None:
    stored.node()
    stored.task("0 0 0 1 1 *")
    stored.do(pause_task, "nightly", until=START + timedelta(seconds=90))
    dispatched = stored.do(lambda tx: (dispatch_due(tx, "node-a").next_at or 0) - tx.monotonic(tx.now))
    assert dispatched == pytest.approx(90, abs=1)


def test_a_group_goes_on_when_its_pause_ends(stored: Stored) -> None:
    node = stored.node()
    stored.enqueue()
    stored.do(pause_group, "default", until=START + timedelta(seconds=5))
    assert node.take().started == ()
    stored.at(5)
    stored.dispatch()
    assert len(node.take().started) == 1
    (row,) = stored.rows(queue_group)
    assert (row.paused_at, row.paused_by, row.pause_reason, row.resume_at) == (None, None, None, None)


def test_resuming_takes_the_end_of_the_pause_away(stored: Stored) -> None:
    stored.node()
    stored.task("* * * * * *")
    stored.do(pause_task, "nightly", until=START + timedelta(seconds=5))
    assert stored.do(resume_task, "nightly").resume_at is None
    # A pause without an end follows one with an end.
    stored.do(pause_task, "nightly", until=START + timedelta(seconds=5))
    assert stored.do(pause_task, "nightly").resume_at is None


@pytest.mark.parametrize("seconds", [0, -1])
def test_a_pause_that_would_have_ended_is_refused(stored: Stored, seconds: int) -> None:
    stored.node()
    stored.task("* * * * * *")
    until = START + timedelta(seconds=seconds)
    with pytest.raises(InvalidInput, match=r"resumeAt: must be later than now .*; resume it instead"):
        stored.do(pause_task, "nightly", until=until)
    with pytest.raises(InvalidInput, match="resumeAt"):
        stored.do(pause_group, "default", until=until)
