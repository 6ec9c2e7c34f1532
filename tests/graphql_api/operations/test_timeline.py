"""The timeline: what ran and what was skipped, a row for each task or job, what needs a person first."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from cronograph.graphql.operations.reports import width_of
from cronograph.jobs.core.base.times import time_text
from cronograph.jobs.core.outcome import Failed
from cronograph.jobs.store.statements.figures import timeline
from cronograph.jobs.store.statements.figures.scope import Scope
from tests.graphql_api.api import Api
from tests.support.storage import START, Stored

TIMELINE = """
query($from: DateTime!, $to: DateTime!, $taskName: String, $first: Int! = 50, $parts: Int! = 60) {
  timeline(from: $from, to: $to, taskName: $taskName, first: $first, parts: $parts) {
    beginsAt totalRows
    rows {
      taskName jobName group isFailing isLate executions failures
      bars { begins ends counts failures ids } skips { first last reasons counts runIds }
    }
  }
}
"""
FAILED = Failed("ValueError", "no luck", permanent=True)


def at(second: float) -> str:
    return time_text(START + timedelta(seconds=second))


async def rows_of(api: Api, begin: float, end: float, **more: Any) -> list[dict[str, Any]]:
    """The rows of a span, in seconds after the start."""
    answer = await api.ask(TIMELINE, **{"from": at(begin), "to": at(end), **more})
    rows: list[dict[str, Any]] = answer["timeline"]["rows"]
    return rows


async def test_it_has_what_ran_and_what_was_skipped_and_puts_first_what_fails(api: Api) -> None:
    worker = api.stored.node("w")
    api.stored.task("* * * * * *", group="nights")
    # The first run goes on until 3.25, so 2 and 3 are skipped.
    api.stored.at(1)
    api.stored.dispatch()
    started = worker.start()
    for second in (2, 3):
        api.stored.at(second)
        api.stored.dispatch()
    api.stored.at(3.25)
    worker.end(started)
    other = api.stored.node("b", jobs=("broken",))
    api.stored.enqueue(job_name="broken")
    failed = other.start()
    api.stored.at(3.5)
    other.end(failed, FAILED)
    broken, nightly = await rows_of(api, 0, 60)
    assert (broken["taskName"], broken["jobName"], broken["isFailing"], broken["failures"]) == (None, "broken", True, 1)
    execution = str(failed.execution_id)
    assert broken["bars"] == {
        "begins": [at(3.25)], "ends": [at(3.5)], "counts": [1], "failures": [1], "ids": [execution],
    }  # fmt: skip
    assert (nightly["taskName"], nightly["group"], nightly["isFailing"]) == ("nightly", "nights", False)
    assert (nightly["bars"]["begins"], nightly["bars"]["ends"]) == ([at(1)], [at(3.25)])
    skips = nightly["skips"]
    assert (skips["first"], skips["last"], skips["reasons"], skips["counts"]) == ([at(2)], [at(3)], ["OVERLAP"], [2])
    assert skips["runIds"] == [str(started.run.id)]
    assert [row["taskName"] for row in await rows_of(api, 0, 60, taskName="nightly")] == ["nightly"]
    (first,) = await rows_of(api, 0, 60, first=1)
    assert first == broken
    assert await rows_of(api, 100, 160) == []


async def test_rows_come_by_their_failures_and_then_by_how_much_ran(api: Api) -> None:
    worker = api.stored.node("w", jobs=("a-quiet", "b-busy", "c-failed"))
    ends = (("a-quiet", None), ("b-busy", None), ("b-busy", None), ("c-failed", FAILED), ("c-failed", None))
    for second, (job, outcome) in enumerate(ends):
        api.stored.at(second)
        api.stored.enqueue(job_name=job)
        worker.end(worker.start(), outcome)
    # Each of them ended well at last.
    assert [row["jobName"] for row in await rows_of(api, 0, 60)] == ["c-failed", "b-busy", "a-quiet"]


async def test_executions_that_began_in_one_part_of_the_span_are_one_bar_of_their_newest_failure(api: Api) -> None:
    worker = api.stored.node("w")
    ids: list[int] = []
    for second, outcome in ((1, None), (2, FAILED), (3, None), (31, None), (32, "runs")):
        api.stored.at(second)
        api.stored.enqueue()
        started = worker.start()
        ids.append(started.execution_id)
        if outcome != "runs":
            worker.end(started, FAILED if outcome is FAILED else None)
    (row,) = await rows_of(api, 0, 60, parts=2)
    assert row["bars"] == {
        "begins": [at(1), at(31)], "ends": [at(3), None], "counts": [3, 2], "failures": [1, 0],
        "ids": [str(ids[1]), str(ids[4])],
    }  # fmt: skip
    # The newest that ended went well.
    assert (row["executions"], row["failures"], row["isFailing"]) == (5, 1, False)


async def test_a_task_that_should_have_started_is_late_without_anything_that_ran(api: Api) -> None:
    api.stored.task("* * * * * *", misfire_grace=5)
    api.stored.at(1)
    api.stored.dispatch()
    assert await rows_of(api, 0, 1) == []
    api.stored.at(60)
    (row,) = await rows_of(api, 0, 60)
    assert (row["taskName"], row["jobName"], row["isLate"], row["executions"]) == ("nightly", "work", True, 0)
    assert [row["isLate"] for row in await rows_of(api, 0, 30)] == []


def test_of_very_many_executions_the_newest_are_read_and_it_says_since_when(stored: Stored) -> None:
    worker = stored.node()
    for second in range(6):
        stored.at(second)
        stored.enqueue()
        worker.end(worker.start())
    scope = Scope(START, START + timedelta(minutes=1))

    def read(most: int) -> tuple[datetime | None, int]:
        found = stored.do(lambda tx: timeline.read(tx.conn, scope, 60, 50, START, most=most))
        return found.since, found.rows[0].executions

    assert read(6) == (None, 6)
    assert read(4) == (START + timedelta(seconds=1), 4)


@pytest.mark.parametrize(("seconds", "width"), [(60, 1), (3_600, 30), (86_400, 900), (30 * 86_400, 21_600)])
def test_parts_have_round_widths(seconds: int, width: int) -> None:
    assert width_of(seconds, 120) == width


async def test_a_span_has_a_longest_length(api: Api) -> None:
    code, message = await api.refused(TIMELINE, **{"from": at(0), "to": at(32 * 86_400)})
    assert (code, message) == ("INVALID_INPUT", "from: must be at most 31 days before to, got 32 days")
