"""What the pruning statements choose: by age, by count, and never what must stay."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Table, func, insert, select

from cronograph.jobs.actions import idempotent
from cronograph.jobs.core.defaults import Keeping
from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.jobs.store.schema.tables import (
    execution_log,
    flow,
    flow_edge,
    flow_run,
    idempotency_key,
    job_execution,
    node,
    run,
    run_signal,
    run_step,
    signal_link,
    skipped_occurrence,
)
from cronograph.jobs.store.statements import prunable as stored_prunable
from cronograph.jobs.store.statements import prune
from cronograph.jobs.store.statements.prunable import RunPlace
from tests.support.history import add, add_execution, add_run, add_task, history

NOW = datetime(2030, 5, 17, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
MOMENT = timedelta(microseconds=1)
CUTOFF = NOW - 30 * DAY
OLD = NOW - 31 * DAY
KEPT = Keeping(NOW, 30 * DAY)
MANY = 1000


@pytest.fixture
def conn(database_url: str) -> Iterator[Connection]:
    engine = sync_engine(parse_url(database_url))
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def left(conn: Connection, table: Table, column: str = "id") -> set[Any]:
    return set(conn.execute(select(table.c[column])).scalars())


def test_an_execution_is_old_strictly_after_its_age(conn: Connection) -> None:
    (_, over), (_, equal), (_, young) = history(conn, None, CUTOFF - MOMENT, CUTOFF, CUTOFF + MOMENT)
    walk = stored_prunable.old_executions(conn, 0, None, MANY, KEPT)
    assert walk.doomed == [over]
    assert not walk.more
    assert prune.delete_executions(conn, walk.doomed) == 1
    assert left(conn, job_execution) == {equal, young}


def test_an_execution_that_began_long_ago_but_ended_lately_stays(conn: Connection) -> None:
    add_execution(conn, add_run(conn, NOW), OLD, NOW)
    assert stored_prunable.old_executions(conn, 0, None, MANY, KEPT).doomed == []


def test_open_executions_stay(conn: Connection) -> None:
    running = add_run(conn, None, state="running", node_id=1)
    opened = add_execution(conn, running, OLD, None)
    assert stored_prunable.old_executions(conn, 0, None, MANY, KEPT).doomed == []
    assert prune.delete_executions(conn, [opened]) == 0


def test_the_newest_execution_of_a_task_stays_and_so_does_its_newest_finished_one(conn: Connection) -> None:
    add_task(conn, 1)
    add_task(conn, 2)
    first = history(conn, 1, OLD, OLD, OLD)
    second = history(conn, 2, OLD, OLD)
    running = add_run(conn, None, 2, state="running", node_id=1)
    add_execution(conn, running, OLD, None, 2)
    walk = stored_prunable.old_executions(conn, 0, None, MANY, KEPT)
    assert walk.doomed == [execution for _, execution in [*first[:-1], *second[:-1]]]


def test_a_deleted_task_keeps_nothing(conn: Connection) -> None:
    pairs = history(conn, 77, OLD, OLD)
    assert stored_prunable.old_executions(conn, 0, None, MANY, KEPT).doomed == [execution for _, execution in pairs]


def test_the_walk_goes_on_where_it_was_and_ends_at_the_first_young_step(conn: Connection) -> None:
    pairs = history(conn, None, *[OLD] * 5, *[NOW] * 7)
    ids = [execution for _, execution in pairs]
    steps = [stored_prunable.old_executions(conn, 0, None, 3, KEPT)]
    while steps[-1].more:
        steps.append(stored_prunable.old_executions(conn, steps[-1].last, None, 3, KEPT))
    assert [step.doomed for step in steps] == [ids[:3], ids[3:5], []]
    assert [step.last for step in steps] == [ids[2], ids[5], ids[8]]


def test_log_lines_go_in_batches_and_only_those_of_the_execution(conn: Connection) -> None:
    (_, doomed), (_, kept) = history(conn, None, OLD, NOW)
    for execution_id in (doomed, kept):
        for number in range(5):
            values = {"at": OLD, "level": "INFO", "message": "m"}
            conn.execute(insert(execution_log).values(execution_id=execution_id, line=number, **values))
    assert [prune.delete_log_lines(conn, [doomed], 2) for _ in range(4)] == [2, 2, 1, 0]
    assert left(conn, execution_log, "execution_id") == {kept}


def test_a_run_goes_only_after_its_executions(conn: Connection) -> None:
    executed = history(conn, None, OLD)[0][0]
    bare = add_run(conn, OLD, state="cancelled")
    young = add_run(conn, CUTOFF, state="cancelled")
    waiting = add_run(conn, None)
    assert prune.delete_old_runs(conn, RunPlace(), CUTOFF, MANY, KEPT) == (1, None)
    assert left(conn, run) == {executed, young, waiting}
    assert bare not in left(conn, run)


def test_what_is_stored_of_its_steps_and_signals_goes_with_a_run(conn: Connection) -> None:
    gone, stays = add_run(conn, OLD, state="cancelled"), add_run(conn, CUTOFF, state="cancelled")
    for of in (gone, stays):
        step = {"run_id": of, "step": "approved", "failure": 0, "kind": "signal", "state": "waiting", "attempt": 1}
        conn.execute(insert(run_step).values(**step, started_at=OLD, used=True))
        conn.execute(insert(run_signal).values(run_id=of, name="approved", rank=2, sent_at=OLD))
        link = {"run_id": of, "token_hash": f"{of:064}", "step": "approved", "created_at": OLD}
        conn.execute(insert(signal_link).values(**link))
    assert prune.delete_old_runs(conn, RunPlace(), CUTOFF, MANY, KEPT) == (1, None)
    assert [left(conn, table, "run_id") for table in (run_step, run_signal, signal_link)] == [{stays}] * 3


def test_a_suspended_run_stays_however_old_it_is(conn: Connection) -> None:
    asleep = add_run(conn, None, 1, state="suspended", awaits={"kind": "signal", "name": "approved"})
    gone = add_run(conn, OLD, 1, state="cancelled")
    assert prune.delete_old_runs(conn, RunPlace(), NOW, MANY, replace(KEPT, age=timedelta())) == (1, None)
    assert prune.delete_surplus_runs(conn, 1, KEPT, 1, 0, MANY) == (0, None)
    assert left(conn, run) == {asleep}
    assert gone not in left(conn, run)


def test_the_walk_over_runs_passes_those_that_stay(conn: Connection) -> None:
    kept = [run_id for run_id, _ in history(conn, None, *[OLD] * 4)]
    for _ in range(3):
        add_run(conn, OLD, state="skipped")
    place: RunPlace | None = RunPlace()
    deleted: list[int] = []
    while place is not None:
        count, place = prune.delete_old_runs(conn, place, CUTOFF, 2, KEPT)
        deleted.append(count)
    assert deleted == [0, 0, 2, 1]
    assert left(conn, run) == set(kept)


def test_by_count_the_oldest_executions_of_a_task_go_first(conn: Connection) -> None:
    add_task(conn, 1)
    ids = [execution for _, execution in history(conn, 1, *[NOW] * 6)]
    history(conn, 2, *[NOW] * 6)
    assert stored_prunable.surplus_executions(conn, 1, 4, None, MANY) == ids[:2]
    assert stored_prunable.surplus_executions(conn, 1, 1, None, 3) == ids[:3]
    assert stored_prunable.surplus_executions(conn, 1, 6, None, MANY) == []
    assert stored_prunable.surplus_executions(conn, 1, 60, None, MANY) == []


def test_by_count_open_executions_and_the_newest_finished_one_stay(conn: Connection) -> None:
    add_task(conn, 1)
    finished = [execution for _, execution in history(conn, 1, NOW, NOW)]
    for _ in range(3):
        add_execution(conn, add_run(conn, None, 1, state="running", node_id=1), NOW, None, 1)
    assert stored_prunable.surplus_executions(conn, 1, 1, None, MANY) == finished[:1]


def test_by_count_runs_without_executions_go_but_no_unfinished_one(conn: Connection) -> None:
    waiting = add_run(conn, None, 1)
    bare = [add_run(conn, NOW, 1, state="cancelled") for _ in range(5)]
    other = add_run(conn, NOW, 2, state="cancelled")
    assert prune.delete_surplus_runs(conn, 1, KEPT, 2, 0, 2) == (2, bare[1])
    assert prune.delete_surplus_runs(conn, 1, KEPT, 2, bare[1], 2) == (1, None)
    assert left(conn, run) == {waiting, *bare[3:], other}


def test_skipped_occurrences_go_by_the_time_of_their_last_extension_and_by_count(conn: Connection) -> None:
    ids = [
        add(
            conn, skipped_occurrence, task_id=1, task_name="t", reason="overlap", first_scheduled_for=OLD,
            last_scheduled_for=at, occurrences=1, policy={}, at=at,
        )
        for at in (OLD, CUTOFF, NOW, NOW)
    ]  # fmt: skip
    assert prune.delete_old_skips(conn, CUTOFF, MANY) == 1
    assert left(conn, skipped_occurrence) == set(ids[1:])
    assert prune.delete_surplus_skips(conn, 1, 2, None, MANY) == 1
    assert left(conn, skipped_occurrence) == set(ids[2:])
    assert prune.delete_surplus_skips(conn, 1, 5, None, MANY) == 0


def test_idempotency_keys_go_strictly_after_their_time(conn: Connection) -> None:
    for key, created_at in (("over", CUTOFF - MOMENT), ("equal", CUTOFF)):
        values = {"operation": "createTask", "request_hash": "h"}
        conn.execute(insert(idempotency_key).values(key=key, created_at=created_at, answer={}, **values))
    assert idempotent.forget_older(conn, CUTOFF, MANY) == 1
    assert left(conn, idempotency_key, "key") == {"equal"}


def test_a_request_frees_some_keys_and_always_its_own_once_their_time_is_over(conn: Connection) -> None:
    for place in range(6):
        values = {"operation": "createTask", "request_hash": "h", "created_at": OLD + place * MOMENT}
        conn.execute(insert(idempotency_key).values(key=str(place), answer={}, **values))
    assert idempotent.forget_older(conn, CUTOFF, 2, "4") == 3
    assert left(conn, idempotency_key, "key") == {"2", "3", "5"}
    assert idempotent.forget_older(conn, OLD, 2, "5") == 0


@pytest.mark.parametrize(
    ("state", "heard", "holds_run", "goes"),
    [
        ("stopped", OLD, False, True),
        ("expired", OLD, False, True),
        ("expired", OLD, True, False),
        ("stopped", CUTOFF, False, False),
        ("active", OLD, False, False),
        ("draining", OLD, False, False),
    ],
)
def test_only_nodes_that_are_over_for_long_go(
    conn: Connection, state: str, heard: datetime, holds_run: bool, goes: bool
) -> None:
    node_id = add(
        conn, node, name="n", state=state, slots=1, running=0, version="0", seq=1, started_at=OLD, heartbeat_at=heard,
        expires_at=heard, clock_skew=0, jobs=[], signatures={}, choice={},
    )  # fmt: skip
    if holds_run:
        add_run(conn, None, state="running", node_id=node_id)
    assert prune.delete_old_nodes(conn, CUTOFF, MANY) == int(goes)


def test_tasks_with_any_history_are_found_in_order(conn: Connection) -> None:
    history(conn, 5, NOW)
    add_run(conn, None, 3)
    add_run(conn, None, None)
    add(
        conn, skipped_occurrence, task_id=9, task_name="t", reason="missed", first_scheduled_for=NOW,
        last_scheduled_for=NOW, occurrences=1, policy={}, at=NOW,
    )  # fmt: skip
    assert stored_prunable.tasks_with_history(conn, 0, MANY) == [3, 5, 9]
    assert stored_prunable.tasks_with_history(conn, 3, 1) == [5]
    assert conn.execute(select(func.count()).select_from(run)).scalar_one() == 3


def test_a_flow_goes_as_a_whole_once_it_has_ended_long_ago(conn: Connection) -> None:
    flows = [
        add(conn, flow, name="f", state=state, submitted_at=OLD, closed_at=OLD, finished_at=finished, callbacks={})
        for state, finished in (("running", None), ("success", CUTOFF), ("success", CUTOFF - MOMENT))
    ]
    runs = {one: [add_run(conn, OLD, state="cancelled", flow_id=one) for _ in range(2)] for one in flows}
    for one, (first, second) in runs.items():
        for key, run_id in (("a", first), ("b", second)):
            add(conn, flow_run, run_id=run_id, flow_id=one, key=key, condition="success")
        add(conn, flow_edge, run_id=second, after_id=first)
    assert prune.delete_old_runs(conn, RunPlace(), CUTOFF, MANY, KEPT) == (0, None)
    assert prune.delete_old_flows(conn, RunPlace(), CUTOFF, MANY) == (1, None)
    assert left(conn, flow) == set(flows[:2])
    assert left(conn, flow_run, "flow_id") == set(flows[:2])
    assert left(conn, flow_edge, "after_id") == {runs[one][0] for one in flows[:2]}
    assert prune.delete_old_runs(conn, RunPlace(), CUTOFF, MANY, KEPT) == (2, None)
    assert left(conn, run) == {one for key in flows[:2] for one in runs[key]}
