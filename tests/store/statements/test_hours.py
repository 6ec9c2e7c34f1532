"""The log counted by hours says what the log says, whichever of its hours are counted."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, func, insert, select, update

from cronograph.jobs.core.model import FAILURES, Outcome
from cronograph.jobs.store.db.dialect import is_postgresql
from cronograph.jobs.store.schema.records import HourKind
from cronograph.jobs.store.schema.tables import execution_hour, execution_minute, job_execution
from cronograph.jobs.store.statements.figures import hours as stored_hours
from cronograph.jobs.store.statements.figures.hours import HOUR, KEPT_FOR, MERGED, Tally, count_hour, gaps, prune_hours
from tests.support.history import add_run, counted_minutes

BEGIN = datetime(2026, 3, 1, 22, tzinfo=UTC)
TICK = timedelta(microseconds=1)
SPAN = 30
"""Hours of history."""

GROUPS = {1: "g0", 2: "g1", 3: "g1", 4: "g2"}
"""The groups of some runs by their id."""

OF = [
    (HourKind.ALL, ""),
    (HourKind.JOB, "j0"),
    (HourKind.JOB, "unknown"),
    (HourKind.TASK, "t1"),
    (HourKind.GROUP, "g1"),
    (HourKind.NODE, "n1"),
]


def everything(conn: Connection, start: datetime, end: datetime) -> Tally:
    """The counts of all executions that began in a span."""
    return sum(stored_hours.tallies(conn, start, end, 3600, (HourKind.ALL, "")).values(), Tally())


def execution(number: int, started: datetime, outcome: Outcome | None, **changes: Any) -> dict[str, Any]:
    """An execution that ended at once, or is open."""
    good = None if outcome is None else outcome.is_success
    values: dict[str, Any] = {
        "id": number, "job_name": "j0", "run_id": number, "attempt": 1, "started_at": started, "task_name": None,
        "node_id": 1, "completed_at": None if outcome is None else started, "success": good,
        "outcome": None if outcome is None else outcome.value, "error_message": "no" if good is False else None,
        "records_processed": None, "node": "n", "trigger": "api", "submitted_at": started, "log_lines": 0, "log_cut": 0,
    }  # fmt: skip
    return {**values, **changes}


def made_up(chance: random.Random, size: int) -> list[dict[str, Any]]:
    """Executions at random times, many of them at the edges of hours."""
    starts = [
        BEGIN + chance.randrange(SPAN) * HOUR + chance.choice([timedelta(0), HOUR - TICK, HOUR * chance.random()])
        for _ in range(size)
    ]
    return [
        execution(
            number,
            started,
            chance.choice([None, *Outcome]) if chance.random() < 0.2 else Outcome.SUCCESS,
            job_name=f"j{chance.randrange(3)}",
            task_name=chance.choice([None, "t1", "t2"]),
            run_id=chance.choice(list(GROUPS)),
            attempt=number,
            node=f"n{chance.randrange(3)}",
            records_processed=chance.choice([None, 3, 2**40]),
        )
        for number, started in enumerate(sorted(starts), 1)
    ]


def expected(
    rows: list[dict[str, Any]], start: datetime, end: datetime, seconds: int, of: tuple[HourKind, str]
) -> dict[datetime, Tally]:
    """The counts, one execution after the other."""
    found: dict[datetime, Tally] = {}
    kind, name = of
    for row in rows:
        theirs = {
            HourKind.ALL: "",
            HourKind.JOB: row["job_name"],
            HourKind.TASK: row["task_name"],
            HourKind.GROUP: GROUPS[row["run_id"]],
            HourKind.NODE: row["node"],
        }
        if theirs[kind] == name and start <= row["started_at"] < end:
            at = int(row["started_at"].timestamp())
            bucket = datetime.fromtimestamp(at - at % seconds, UTC)
            one = Tally(1, row["outcome"] in FAILURES, row["outcome"] == "success", row["records_processed"] or 0)
            found[bucket] = found.get(bucket, Tally()) + one
    return found


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(5))
def test_the_counts_are_those_of_the_log_whichever_hours_are_counted(conn: Connection, seed: int) -> None:
    chance = random.Random(seed)
    rows = made_up(chance, chance.choice([20, 150]))
    for run_id, group in GROUPS.items():
        add_run(conn, BEGIN, id=run_id, group_name=group)
    conn.execute(insert(job_execution), rows)
    for number in chance.sample(range(SPAN), chance.randrange(SPAN)):
        hour = BEGIN + number * HOUR
        begun = [row for row in rows if hour <= row["started_at"] < hour + HOUR]
        assert count_hour(conn, hour) == all(row["completed_at"] is not None for row in begun)
    for _ in range(40):
        edges = sorted(BEGIN + chance.choice([1.0, chance.random()]) * chance.randrange(SPAN) * HOUR for _ in "12")
        of, seconds = chance.choice(OF), chance.choice([60, 3600, 86400])
        assert stored_hours.tallies(conn, edges[0], edges[1], seconds, of) == expected(
            rows, edges[0], edges[1], seconds, of
        )


def test_an_hour_is_counted_once_what_began_in_it_has_ended(conn: Connection) -> None:
    conn.execute(insert(job_execution), [execution(1, BEGIN, None), execution(2, BEGIN + HOUR, Outcome.SUCCESS)])
    now = BEGIN + 2 * HOUR + stored_hours.COUNTED_AFTER
    assert stored_hours.uncounted(conn, BEGIN, now) == [BEGIN, BEGIN + HOUR]
    assert [count_hour(conn, BEGIN + number * HOUR) for number in (0, 1)] == [False, True]
    assert stored_hours.uncounted(conn, BEGIN, now) == [BEGIN]
    conn.execute(update(job_execution).values(completed_at=now, success=True, outcome="success").filter_by(id=1))
    assert count_hour(conn, BEGIN)
    assert everything(conn, BEGIN, now) == Tally(2, 0, 2, 0)


def test_an_hour_is_over_only_when_nothing_that_began_in_it_can_be_on_its_way(conn: Connection) -> None:
    end = BEGIN + HOUR + stored_hours.COUNTED_AFTER
    assert stored_hours.uncounted(conn, BEGIN, end - TICK) == []
    assert stored_hours.uncounted(conn, BEGIN, end) == [BEGIN]


def test_counting_an_hour_again_changes_nothing(conn: Connection) -> None:
    conn.execute(insert(job_execution), [execution(1, BEGIN, Outcome.FAILED, task_name="t1")])
    assert [count_hour(conn, BEGIN) for _ in range(2)] == [True, True]
    assert conn.execute(select(func.count()).select_from(execution_hour)).scalar_one() == 4
    assert everything(conn, BEGIN, BEGIN + HOUR) == Tally(1, 1, 0, 0)


def test_an_hour_without_any_execution_is_counted_too(conn: Connection) -> None:
    assert count_hour(conn, BEGIN)
    assert stored_hours.counted(conn, BEGIN, BEGIN + HOUR) == {BEGIN}
    assert stored_hours.tallies(conn, BEGIN, BEGIN + HOUR, 3600, (HourKind.ALL, "")) == {}


def test_counting_begins_with_the_log_and_later_a_week_before_what_is_counted(conn: Connection) -> None:
    now = BEGIN + 30 * 24 * HOUR
    assert stored_hours.first_to_count(conn, now) is None
    conn.execute(insert(job_execution), [execution(1, BEGIN + HOUR / 2, Outcome.SUCCESS)])
    assert stored_hours.first_to_count(conn, now) == BEGIN
    assert stored_hours.first_to_count(conn, BEGIN + stored_hours.FARTHEST + 9 * HOUR) == BEGIN + 9 * HOUR
    count_hour(conn, now)
    assert stored_hours.first_to_count(conn, now) == now - stored_hours.LOOK_BACK


def test_old_hours_are_pruned_in_batches(conn: Connection) -> None:
    for number in range(5):
        count_hour(conn, BEGIN + number * HOUR)
    before = BEGIN + 3 * HOUR
    assert [prune_hours(conn, before, 2) for _ in range(3)] == [2, 1, 0]
    assert stored_hours.counted(conn, BEGIN, BEGIN + 9 * HOUR) == {BEGIN + 3 * HOUR, BEGIN + 4 * HOUR}
    assert prune_hours(conn, BEGIN + 4 * HOUR - TICK, 2) == 0


def test_gaps_are_what_no_hour_covers() -> None:
    start, end = BEGIN + HOUR / 2, BEGIN + 6 * HOUR
    assert gaps(start, end, []) == [(start, end)]
    covered = [BEGIN + number * HOUR for number in (5, 1, 2)]
    assert gaps(start, end, covered) == [(start, BEGIN + HOUR), (BEGIN + 3 * HOUR, BEGIN + 5 * HOUR)]
    assert gaps(BEGIN, BEGIN + HOUR, [BEGIN]) == []
    assert gaps(BEGIN, BEGIN, []) == []


def test_an_hour_that_is_counted_has_a_row_for_each_minute_and_what_is_too_old_goes(conn: Connection) -> None:
    old, now = BEGIN - 2 * KEPT_FOR, BEGIN + HOUR / 2
    conn.execute(
        insert(execution_minute),
        [
            {"minute": at, "shard": shard, "ended": shard, "failures": 1, "successes": 2}
            for at in (old, now) for shard in (MERGED, 7, 8)
        ],
    )  # fmt: skip
    assert count_hour(conn, BEGIN)
    postgres = is_postgresql(conn)
    assert counted_minutes(conn) == {now: (15, 3, 6)}
    shards = conn.execute(select(execution_minute.c.shard)).scalars().all()
    assert len(shards) == (1 if postgres else 3)
    assert count_hour(conn, BEGIN)
    assert counted_minutes(conn) == {now: (15, 3, 6)}
