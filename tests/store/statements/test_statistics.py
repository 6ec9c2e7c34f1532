"""Figures computed in SQL against the same figures computed in Python."""

import random
import statistics as python
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, delete, func, insert, select

from cronograph.jobs.core.base.times import EARLIEST, LATEST
from cronograph.jobs.core.nodes import NodeChoice, NodeState
from cronograph.jobs.core.states import RunState
from cronograph.jobs.store.schema.tables import execution_minute, job_execution
from cronograph.jobs.store.statements import nodes
from cronograph.jobs.store.statements.figures import reports
from cronograph.jobs.store.statements.figures.failures import failures, history
from cronograph.jobs.store.statements.figures.scope import Scope
from tests.support.history import add_run, count_log

NOW = datetime(2026, 3, 1, 12, 34, 56, 999_999, tzinfo=UTC)
HOUR = timedelta(hours=1)
FAILED = ("failed", "timed_out", "lost")


def execution(number: int, started: datetime, seconds: float | None, **changes: Any) -> dict[str, Any]:
    """An execution that took so long, or is open."""
    outcome = changes.pop("outcome", "success")
    outcome = None if seconds is None else outcome
    bad = outcome is not None and outcome not in ("success", "snoozed")
    values: dict[str, Any] = {
        "job_name": "j", "run_id": number, "attempt": 1, "started_at": started, "task_name": None, "node_id": 1,
        "completed_at": None if seconds is None else started + timedelta(seconds=seconds), "outcome": outcome,
        "success": None if outcome is None else not bad, "error_message": "no" if bad else None, "error_type": None,
        "records_processed": None, "node": "n", "trigger": "api", "scheduled_for": None, "submitted_at": started,
        "log_lines": 0, "log_cut": 0,
    }  # fmt: skip
    return {**values, **changes}


def percentile(values: list[float], part: int) -> float | None:
    """Python's inclusive quantile, which is PostgreSQL's `percentile_cont`."""
    if len(values) < 2:
        return values[0] if values else None
    return python.quantiles(values, n=100, method="inclusive")[part - 1]


@pytest.mark.parametrize("size", [0, 1, 2, 3, 100])
def test_counts_and_percentiles_are_exact(conn: Connection, size: int) -> None:
    chance = random.Random(size)
    made = [
        execution(
            number,
            NOW - timedelta(seconds=chance.randrange(3 * 3600)),
            chance.choice([None, chance.randrange(100_000) / 1000]),
            outcome=chance.choice(["success", "failed", "timed_out", "lost", "cancelled", "snoozed"]),
            records_processed=chance.choice([None, 2**40]),
        )
        for number in range(size)
    ]
    if made:
        conn.execute(insert(job_execution), made)
    scope = Scope(NOW - 4 * HOUR, NOW + HOUR)
    report = of(conn, scope)
    check(report.total, made)
    found = {point.at: point.figures for point in report.points}
    hours = {row["started_at"].replace(minute=0, second=0, microsecond=0) for row in made}
    assert set(found) == hours
    for hour in hours:
        check(found[hour], [row for row in made if hour <= row["started_at"] < hour + HOUR])


def of(conn: Connection, scope: Scope, examined: int = reports.EXAMINED) -> reports.Statistics:
    """All that there is, by the hour."""
    return reports.statistics(conn, scope, 3600, NOW, examined=examined)


def check(figures: Any, made: list[dict[str, Any]]) -> None:
    """The figures are those of these rows."""
    took = [(row["completed_at"] - row["started_at"]).total_seconds() for row in made if row["completed_at"]]
    assert figures.count == len(made)
    assert figures.failures == len([row for row in made if row["outcome"] in FAILED])
    assert figures.records == sum(row["records_processed"] or 0 for row in made)
    for part, got in ((50, figures.p50), (95, figures.p95), (99, figures.p99)):
        expected = percentile(took, part)
        assert got == (None if expected is None else pytest.approx(expected)), part


def test_a_bucket_begins_with_its_first_microsecond(conn: Connection) -> None:
    edge = NOW.replace(minute=0, second=0, microsecond=0)
    tick = timedelta(microseconds=1)
    conn.execute(insert(job_execution), [execution(1, edge - tick, 0.5), execution(2, edge, 0.5)])
    found = of(conn, Scope(edge - HOUR, edge + HOUR)).points
    assert [(point.at, point.figures.count) for point in found] == [(edge - HOUR, 1), (edge, 1)]
    assert of(conn, Scope(edge, edge + HOUR)).total.count == 1
    assert of(conn, Scope(edge - HOUR, edge)).total.count == 1


def test_a_scope_is_of_one_job_or_one_task(conn: Connection) -> None:
    conn.execute(insert(job_execution), [execution(1, NOW, 1), execution(2, NOW, 1, job_name="k", task_name="t")])
    whole = (NOW - HOUR, NOW + HOUR)
    assert of(conn, Scope(*whole, job_name="j")).total.count == 1
    assert of(conn, Scope(*whole, task_name="t")).total.count == 1
    assert of(conn, Scope(*whole, job_name="j", task_name="t")).total.count == 0
    assert of(conn, Scope(*whole, job_name="k", task_name="t")).total.p50 == pytest.approx(1.0)


def test_of_very_many_that_began_at_once_none_is_missed(conn: Connection) -> None:
    ids = random.Random(1).sample(range(1, 1001), 1000)
    conn.execute(insert(job_execution), [execution(number, NOW, 1.0, id=number) for number in ids])
    assert of(conn, Scope(NOW, NOW + HOUR, job_name="j")).total.count == 1000


def test_lateness_is_of_first_attempts_with_a_nominal_time(conn: Connection) -> None:
    made = [
        execution(1, NOW, 1, scheduled_for=NOW - timedelta(seconds=2)),
        execution(2, NOW, None, scheduled_for=NOW - timedelta(seconds=4)),
        execution(3, NOW, 1, scheduled_for=NOW - timedelta(seconds=900), attempt=2),
        execution(4, NOW, 1),
    ]
    conn.execute(insert(job_execution), made)
    late = of(conn, Scope(NOW - HOUR, NOW + HOUR)).lateness
    assert late.p50 == pytest.approx(3.0)
    assert late.p95 == pytest.approx(3.9)


def test_failures_with_one_error_are_one_row(conn: Connection) -> None:
    made = [
        execution(1, NOW - HOUR, 1, outcome="failed", error_type="E", error_message="a" * 400),
        execution(2, NOW, 1, outcome="timed_out", error_type="E", error_message="a" * 400 + "b"),
        execution(3, NOW, 1, outcome="failed", error_type="E", error_message="b"),
        execution(4, NOW, 1, outcome="cancelled", error_message="b"),
        execution(5, NOW - 9 * HOUR, 1, outcome="failed"),
    ]
    conn.execute(insert(job_execution), made)
    first, second = failures(conn, Scope(NOW - 2 * HOUR, NOW + HOUR), 10)
    assert (first.message, first.count, first.first, first.last) == ("a" * 300, 2, NOW - HOUR, NOW)
    assert (second.message, second.count) == ("b", 1)
    assert len(failures(conn, Scope(NOW - 2 * HOUR, NOW + HOUR), 1)) == 1


def test_of_very_many_failures_the_newest_are_grouped(conn: Connection) -> None:
    made = [execution(number, NOW, 1, outcome="failed", error_message="ab"[number > 3]) for number in range(1, 6)]
    conn.execute(insert(job_execution), made)
    found = failures(conn, Scope(NOW - HOUR, NOW + HOUR), 10, grouped=3)
    assert [(one.message, one.count) for one in found] == [("b", 2), ("a", 1)]


def test_one_group_says_since_when_it_is_counted(conn: Connection) -> None:
    rows = [
        execution(
            number,
            NOW - timedelta(minutes=10 - number),
            1,
            outcome="failed",
            error_type="E" if number % 2 else None,
            error_message=f"row {number}",
        )
        for number in range(6)
    ]
    conn.execute(insert(job_execution), rows)
    scope = Scope(NOW - HOUR, NOW + HOUR)
    of_type = next(row for row in failures(conn, scope, 10) if row.error_type == "E")
    whole = history(conn, scope, of_type.fingerprint, 3600, NOW)
    assert whole is not None
    assert (whole.group.count, whole.group.message, whole.since) == (3, "row 5", None)
    assert sum(count for _, count in whole.points) == sum(count for _, count in whole.nodes) == len(whole.ids) == 3
    cut = history(conn, scope, of_type.fingerprint, 3600, NOW, grouped=2)
    assert cut is not None
    assert (cut.group.count, cut.since) == (1, NOW - timedelta(minutes=6))
    assert history(conn, scope, of_type.fingerprint, 3600, NOW, grouped=0) is None


def test_the_rate_counts_ends_per_minute(conn: Connection) -> None:
    minute = NOW.replace(second=0, microsecond=0)
    conn.execute(
        insert(job_execution), [execution(n, minute - timedelta(seconds=30), s) for n, s in ((1, 29), (2, 31))]
    )
    count_log(conn)
    assert reports.overview(conn, minute).per_minute[-2:] == (0, 1)
    assert reports.overview(conn, minute + timedelta(minutes=1)).per_minute[-3:] == (0, 1, 1)


def test_an_overview_reads_what_is_wanted(conn: Connection) -> None:
    add_run(conn, None)
    conn.execute(insert(job_execution), [execution(1, NOW - HOUR, 1)])
    count_log(conn)
    whole = reports.overview(conn, NOW)
    assert (whole.states, whole.succeeded) == ({RunState.WAITING: 1}, 1)
    queue = reports.overview(conn, NOW, frozenset({reports.Part.QUEUE}))
    assert (queue.states, queue.succeeded, sum(queue.per_minute)) == (whole.states, 0, 0)


@pytest.mark.costly
def test_an_overview_reads_minutes_however_many_executions_ended(conn: Connection) -> None:
    made = [execution(number, NOW - timedelta(seconds=number / 2), 0.25) for number in range(1, 5_001)]
    conn.execute(insert(job_execution), made)
    count_log(conn)
    # Nothing of the log is left to be counted.
    conn.execute(delete(job_execution))
    assert reports.overview(conn, NOW).succeeded == 5_000
    minutes = conn.execute(select(func.count()).select_from(execution_minute)).scalar_one()
    assert minutes == 42


def test_the_overview_compares_this_day_with_the_one_before(conn: Connection) -> None:
    day = timedelta(days=1)
    made = [
        execution(1, NOW - HOUR, 1),
        execution(2, NOW - HOUR, 1, outcome="failed"),
        execution(3, NOW - day - HOUR, 1, outcome="lost"),
        execution(4, NOW - 3 * day, 1, outcome="failed"),
        execution(5, NOW - HOUR, None),
    ]
    conn.execute(insert(job_execution), made)
    count_log(conn)
    add_run(conn, None)
    add_run(conn, None, state="stuck")
    add_run(conn, NOW)
    found = reports.overview(conn, NOW)
    assert (found.failed, found.failed_before, found.succeeded) == (1, 1, 1)
    assert found.states == {RunState.WAITING: 1, RunState.STUCK: 1}
    assert (len(found.per_minute), sum(found.per_minute), found.live_nodes) == (60, 2, 0)


def test_the_overview_reports_how_many_of_the_nodes_that_are_up_take_nothing_new(conn: Connection) -> None:
    for name, state in (("a", NodeState.ACTIVE), ("b", NodeState.DRAINING), ("c", NodeState.STOPPED)):
        made = nodes.register(
            conn, name=name, slots=(2, None, None, None), version="1", jobs={}, choice=NodeChoice(), seq=1,
            clock_skew=0, now=NOW, lease=60,
        )  # fmt: skip
        assert nodes.set_state(conn, made.id, state)
    found = reports.overview(conn, NOW)
    assert (found.live_nodes, found.draining_nodes) == (2, 1)


@pytest.mark.costly
def test_of_very_many_executions_all_are_counted_and_an_even_sample_says_where_percentiles_lie(
    conn: Connection,
) -> None:
    size = 3 * reports.SAMPLE
    # Two jobs that alternate: the ids that some number divides would be those of one of them.
    made = [
        execution(number, NOW - timedelta(seconds=number % 7200), number % 100, job_name="ab"[number % 2])
        for number in range(1, size + 1)
    ]
    conn.execute(insert(job_execution), made)
    report = reports.statistics(conn, Scope(NOW - 3 * HOUR, NOW + HOUR), 3600, NOW)
    assert (report.total.count, sum(point.figures.count for point in report.points)) == (size, size)
    assert report.total.p50 == pytest.approx(49.5, abs=2)
    assert report.total.p99 == pytest.approx(98, abs=2)
    assert all(point.figures.p95 == pytest.approx(94, abs=4) for point in report.points)
    sampled = Scope(NOW - 3 * HOUR, NOW + HOUR, every=3).condition()
    looked_at = conn.execute(select(func.count()).select_from(job_execution).where(sampled)).scalar_one()
    assert looked_at == pytest.approx(reports.SAMPLE, rel=0.01)


def test_of_a_group_or_node_of_very_many_executions_a_bounded_number_is_looked_at(
    conn: Connection,
) -> None:
    made = [
        execution(number, NOW - timedelta(seconds=2_001 - number), number % 100, node="ab"[number % 2])
        for number in range(1, 2_001)
    ]
    conn.execute(insert(job_execution), made)
    whole = Scope(NOW - 3 * HOUR, NOW + HOUR)
    report = of(conn, replace(whole, node="a"), 500)
    assert (report.total.count, sum(point.figures.count for point in report.points)) == (1_000, 1_000)
    # Of the even numbers a quarter was looked at.
    assert report.total.p50 == pytest.approx(49, abs=6)
    both = of(conn, replace(whole, node="a", job_name="j"), 500)
    assert both.total.count == pytest.approx(1_000, rel=0.05)
    assert sum(point.figures.count for point in both.points) == both.total.count
    assert (both.total.p50, both.total.p99) == (report.total.p50, report.total.p99)
    assert (report.estimated, both.estimated) == (False, True)


def test_a_span_may_begin_with_the_calendar_and_end_with_it(conn: Connection) -> None:
    conn.execute(insert(job_execution), [execution(1, NOW, 1)])
    whole = Scope(EARLIEST, LATEST, job_name="j")
    assert of(conn, whole).total.count == 1
