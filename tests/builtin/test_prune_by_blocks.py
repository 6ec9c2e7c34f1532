"""Old blocks of the history are dropped as a whole on PostgreSQL, and nothing else is different."""

import logging
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, Table, insert, select, text

from cronograph.jobs.builtin.prune import Retention, prune
from cronograph.jobs.core.defaults import Keeping
from cronograph.jobs.core.steps import StepKind
from cronograph.jobs.runtime.duties.watchers import BlockCutter
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.parts import BLOCK
from cronograph.jobs.store.schema.tables import (
    event,
    execution_log,
    flow,
    job,
    job_execution,
    queue_group,
    remote_attempt,
    run,
    run_awaited,
    run_label,
    run_signal,
    run_step,
)
from cronograph.jobs.store.statements.blocks import (
    carry_over_executions,
    carry_over_runs,
    cut,
    drop_events,
    drop_executions,
    replace_executions,
    replace_runs,
)
from cronograph.jobs.store.statements.events import publish
from cronograph.jobs.store.statements.health import index_faults, read_blocks
from cronograph.jobs.store.statements.prunable import (
    EVENTS,
    EXECUTIONS,
    FEW,
    HISTORIES,
    LINES,
    RUNS,
    OldBlocks,
    blocks_of,
    old_blocks,
)
from cronograph.server.database.doctor import Level, judge_blocks
from tests.support.history import add, add_execution, add_run, add_task, fill_block, history
from tests.support.plans import plans_made, rows_touched

DAY = timedelta(days=1)
RETENTION = Retention(30 * DAY)
KEPT = (run, job_execution, execution_log, run_step, run_signal, run_label, run_awaited, remote_attempt)


@pytest.fixture
async def postgres(postgres_url: str) -> AsyncIterator[Database]:
    """A database of PostgreSQL."""
    database = Database(postgres_url)
    yield database
    await database.close()


def numbers(conn: Connection) -> dict[str, list[int]]:
    """Return the numbers of the blocks of each history."""
    return {one.name: [block.number for block in blocks_of(conn, one.name)] for one in HISTORIES}


def keys(conn: Connection, tables: tuple[Table, ...] = KEPT) -> dict[str, list[Any]]:
    """Return the key of every row that is left."""
    return {one.name: sorted(tuple(row) for row in conn.execute(select(*one.primary_key))) for one in tables}


def past(seed: int) -> Callable[[Tx], None]:
    """A history of all kinds, the same for each seed: most of it is old."""

    def fill(tx: Tx) -> None:
        dice = random.Random(seed)
        for name, keep in (("audit", 90), ("noise", 2)):
            row: dict[str, Any] = {"description": "", "isolation": "async", "args_schema": {}, "tags": []}
            defaults = {"keep": keep * 86400.0}
            tx.conn.execute(insert(job).values(name=name, signature="s", defaults=defaults, **row))
        tx.conn.execute(insert(queue_group).values(name="long", keep=200 * 86400.0))
        for task in (1, 2):
            add_task(tx.conn, task)
        long_ago = tx.now - 100 * DAY
        waits = add_run(tx.conn, None, state="running", node_id=1)
        ended = {"state": "success", "finished_at": long_ago}
        flows = [
            add(tx.conn, flow, name="f", submitted_at=long_ago, closed_at=long_ago, callbacks={}, **more)
            for more in ({"state": "running"}, {**ended, "parent_id": waits}, ended)
        ]
        for number in range(240):
            days = dice.choice([35, 40, 60, 100]) if dice.random() < 0.99 else 3
            at = tx.now - days * DAY
            name = dice.choices(["j", "audit", "noise"], [90, 1, 4])[0]
            group = dice.choices(["default", "long"], [90, 1])[0]
            more: dict[str, Any] = {"job_name": name, "group_name": group, "labels": {"n": str(number)}}
            task_id = dice.choice([None, None, 1, 2, 3])
            if dice.random() < 0.015:
                more |= {"unique_key": f"k{number}", "key_until": tx.now + DAY}
            is_open = dice.random() < 0.02
            if number % 80 < len(flows):
                more["flow_id"] = flows[number % 80]
            run_id = add_run(tx.conn, None if is_open else at, task_id, **more)
            if number == 70:
                tx.conn.execute(insert(run_awaited).values(run_id=waits, step="s", number=0, awaited_id=run_id))
            tx.conn.execute(insert(run_label).values(key="n", value=str(number), run_id=run_id))
            step = {"step": "s", "failure": 0, "kind": StepKind.FUNCTION.value, "state": "done", "attempt": 1}
            tx.conn.execute(insert(run_step).values(run_id=run_id, used=True, started_at=at, finished_at=at, **step))
            add(tx.conn, run_signal, run_id=run_id, name="n", rank=1, sent_at=at)
            for attempt in range(1, dice.choice([1, 2, 3]) + 1):
                ends = None if is_open and dice.random() < 0.5 else at
                execution = add_execution(tx.conn, run_id, at, ends, task_id, attempt, job_name=name)
                line = {"execution_id": execution, "at": at, "level": "INFO", "message": "m"}
                tx.conn.execute(insert(execution_log), [line | {"line": each} for each in range(dice.choice([1, 2]))])
                if number == 75:
                    add_remote(tx, run_id, execution, None if attempt == 1 else at)

    return fill


def add_remote(tx: Tx, run_id: int, execution: int, over: datetime | None) -> None:
    """Let an attempt of a run have gone to an engine, which is to forget it until ``over``."""
    values: dict[str, Any] = {
        "name": "n",
        "executor": "e",
        "engine_state": "unknown",
        "engine_text": "",
        "begin": {},
        "sequence": 0,
    }
    at = tx.now - DAY
    times = {"submitted_at": at, "engine_since": at, "ended_at": at, "over_at": over}
    keys_of_it = {"execution_id": execution, "run_id": run_id, "attempt": execution, "token_hash": str(execution)}
    tx.conn.execute(insert(remote_attempt).values(**values, **times, **keys_of_it, log_lines=0))


@pytest.mark.costly
@pytest.mark.both_databases
@pytest.mark.parametrize("seed", range(4))
async def test_what_is_left_is_the_same_by_blocks_and_row_by_row(
    postgres: Database, sqlite_url: str, seed: int
) -> None:
    sqlite = Database(sqlite_url)
    left = {}
    for database in (postgres, sqlite):
        await database.write(past(seed))
        await database.write(fill_block)
        pruned = await prune(database, RETENTION)
        counts = {name: count for name, count in pruned.counts().items() if count}
        left[database.is_sqlite] = await database.read(keys), counts
        assert counts["executions"] > 300
    await sqlite.close()
    assert left[True] == left[False]
    assert await postgres.read(numbers) == {one.name: [0, 2] for one in HISTORIES}
    assert await postgres.read(index_faults) == []


def old_rows(tx: Tx) -> None:
    history(tx.conn, None, *[tx.now - 40 * DAY] * 30)
    tx.conn.execute(insert(event), [{"at": tx.now - 40 * DAY, "changes": []}] * 30)
    tx.conn.execute(event.update().values(seq=event.c.id))


async def test_a_block_that_is_being_filled_is_pruned_row_by_row(postgres: Database) -> None:
    await postgres.write(old_rows)
    assert (await prune(postgres, RETENTION)).executions == 30
    assert (await postgres.read(numbers))["run_done"] == [1, 2]


async def test_several_old_blocks_become_one_and_the_next_one_is_made_ahead(postgres: Database) -> None:
    cutter = BlockCutter(postgres)
    await postgres.write(old_rows)
    assert await cutter.look() == 0
    await postgres.write(fill_block)
    assert await cutter.look() == 4
    assert await cutter.look() == 0
    await postgres.write(old_rows)
    await postgres.write(fill_block, 2)
    assert await cutter.look() == 4
    assert await postgres.read(numbers) == {one.name: [1, 2, 3, 4] for one in HISTORIES}
    assert (await postgres.read(blocks_of, RUNS.name))[-1].first == 3 * BLOCK
    assert await postgres.read(index_faults) == []
    pruned = await prune(postgres, RETENTION)
    assert (pruned.executions, pruned.runs) == (60, 60)
    assert await postgres.read(numbers) == {one.name: [0, 3, 4] for one in HISTORIES}
    assert (await prune(postgres, RETENTION)).total == 0
    assert await postgres.read(index_faults) == []


async def test_an_end_whose_id_is_older_than_every_block_has_its_place(postgres: Database) -> None:
    await postgres.write(old_rows)
    asleep = await postgres.write(lambda tx: add_run(tx.conn, None, state="running", node_id=1))
    await postgres.write(fill_block)
    await prune(postgres, RETENTION)
    ended = {"state": "success", "finished_at": text("now()")}
    await postgres.write(lambda tx: tx.conn.execute(run.update().where(run.c.id == asleep).values(**ended)))
    found = "SELECT count(*) FROM cronograph.run_done_0"
    assert await postgres.read(lambda conn: conn.execute(text(found)).scalar_one()) == 1


def asked_for_each_row(plan: dict[str, Any]) -> list[str]:
    """Return the parts of a plan that were executed again and again for something else than a join."""
    again = plan.get("Parent Relationship") == "SubPlan" and plan["Actual Loops"] > 1
    return [plan["Node Type"]] * again + [one for part in plan.get("Plans", []) for one in asked_for_each_row(part)]


@pytest.mark.parametrize("carry_over", [carry_over_executions, carry_over_runs])
async def test_nothing_is_asked_of_one_old_row_after_the_other(
    postgres: Database, carry_over: Callable[[Connection, OldBlocks, Keeping], object]
) -> None:
    await postgres.write(old_rows)
    await postgres.write(fill_block)
    history_of = EXECUTIONS if carry_over is carry_over_executions else RUNS

    def plans(tx: Tx) -> list[dict[str, Any]]:
        kept = Keeping(tx.now, RETENTION.max_age)
        old = old_blocks(tx.conn, history_of, kept)
        return plans_made(tx.conn, lambda: carry_over(tx.conn, old, kept))

    if history_of is RUNS:
        await postgres.write(lambda tx: tx.conn.execute(job_execution.delete()))
    found = await postgres.write(plans)
    assert len(found) > 3
    assert [part for plan in found for part in asked_for_each_row(plan)] == []


def spread(tx: Tx) -> None:
    """As much that is old as is not, in the first block."""
    history(tx.conn, None, *[tx.now - 32 * DAY] * 3, *[tx.now - 28 * DAY] * 3)


async def test_blocks_of_which_much_is_young_are_not_old_and_those_that_soon_are_wait(postgres: Database) -> None:
    await postgres.write(spread)
    await postgres.write(fill_block)
    kept = await postgres.write(lambda tx: Keeping(tx.now, RETENTION.max_age))
    for few, numbers_of_old, spared_from in ((6, [1], None), (2, [], 0), (0, [], 0)):
        found = await postgres.read(old_blocks, EXECUTIONS, kept, few)
        assert [one.number for one in found.blocks] == numbers_of_old
        assert found.spared == spared_from
    young = await postgres.write(lambda tx: Keeping(tx.now, 24 * DAY))
    for age, spared in ((24 * DAY, None), (30 * DAY, 0)):
        assert (await postgres.read(old_blocks, EXECUTIONS, replace(young, age=age), 0)).spared == spared
    # By the usual bound the block is old, but half of it would have to be carried over.
    assert (await prune(postgres, RETENTION)).executions == 3
    assert (await postgres.read(numbers))["run_done"] == [1, 2]


def change(tx: Tx) -> None:
    """What may happen to a history while it is copied: an end, a change, a deletion, somebody who waits."""
    conn = tx.conn
    conn.execute(run.update().where(run.c.id == ENDS).values(state="success", finished_at=tx.now))
    execution = job_execution.update().where(job_execution.c.id == ENDS)
    conn.execute(execution.values(completed_at=tx.now, success=True, outcome="success"))
    conn.execute(run.update().where(run.c.id == CHANGED).values(labels={"a": "b"}))
    conn.execute(job_execution.delete().where(job_execution.c.id == DELETED))
    conn.execute(run.delete().where(run.c.id == DELETED))
    conn.execute(insert(run_awaited).values(run_id=BLOCK, step="s", number=0, awaited_id=AWAITED))
    lines = [{"execution_id": one, "line": 2, "at": tx.now, "level": "INFO", "message": "late"} for one in (ENDS, OPEN)]
    conn.execute(insert(execution_log), lines)


ENDS, OPEN, CHANGED, DELETED, AWAITED = 1, 2, 3, 4, 5


def before_change(tx: Tx) -> None:
    at = tx.now - 40 * DAY
    for key in (ENDS, OPEN):
        add_run(tx.conn, None, state="running", node_id=1)
        add_execution(tx.conn, key, at, None)
    for _ in (CHANGED, DELETED):
        history(tx.conn, None, tx.now - DAY)
    line = {"execution_id": OPEN, "line": 1, "at": at, "level": "INFO", "message": "early"}
    tx.conn.execute(insert(execution_log).values(**line))
    history(tx.conn, None, *[at] * 100)
    fill_block(tx)


async def test_what_happens_while_executions_are_copied_happens_to_the_copies(postgres: Database) -> None:
    await postgres.write(before_change)
    kept = await postgres.write(lambda tx: Keeping(tx.now, RETENTION.max_age))
    other = postgres.separate_pool("other")

    def prune_beside(tx: Tx) -> dict[str, int]:
        executions = carry_over_executions(tx.conn, old_blocks(tx.conn, EXECUTIONS, kept), kept)
        assert executions is not None
        other.write_sync(change)
        return replace_executions(tx.conn, *executions)

    gone = await postgres.write(prune_beside)
    await other.close()
    left = await postgres.read(keys)
    assert left["job_execution"] == [(ENDS,), (OPEN,), (CHANGED,), (BLOCK,)]
    assert left["execution_log"] == [(ENDS, 2), (OPEN, 1), (OPEN, 2)]
    assert gone == {"executions": 100, "log_lines": 0}


async def test_what_happens_while_runs_are_copied_happens_to_the_copies(postgres: Database) -> None:
    await postgres.write(before_change)
    kept = await postgres.write(lambda tx: Keeping(tx.now, RETENTION.max_age))
    other = postgres.separate_pool("other")

    def prune_beside(tx: Tx) -> int:
        runs = carry_over_runs(tx.conn, old_blocks(tx.conn, RUNS, kept), kept)
        assert runs is not None
        other.write_sync(change)
        return replace_runs(tx.conn, runs)

    await postgres.write(lambda tx: drop_executions(tx.conn, old_blocks(tx.conn, EXECUTIONS, kept), kept))
    assert await postgres.write(prune_beside) == 100 - 1
    await other.close()
    left = await postgres.read(keys)
    assert left["run"] == [(ENDS,), (OPEN,), (CHANGED,), (AWAITED,), (BLOCK,)]
    labels = select(run.c.labels).where(run.c.id == CHANGED)
    assert await postgres.read(lambda conn: conn.execute(labels).scalar_one()) == {"a": "b"}
    assert await postgres.read(index_faults) == []


@pytest.mark.costly
async def test_somebody_who_reads_the_history_for_long_does_not_stop_the_pruning(
    postgres: Database, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    await postgres.write(old_rows)
    await postgres.write(fill_block)
    with psycopg.connect(postgres_url) as reader, caplog.at_level(logging.INFO):
        reader.execute("SELECT count(*) FROM cronograph.job_execution")
        assert await BlockCutter(postgres).look() == 3
        pruned = await prune(postgres, RETENTION)
    assert (pruned.executions, pruned.runs, pruned.complete) == (30, 30, True)
    assert await postgres.read(numbers) == {
        "run_done": [0, 2, 3], "job_execution_done": [1, 2], "execution_log": [1, 2, 3], "event": [0, 2, 3]
    }  # fmt: skip
    said = [one.getMessage() for one in caplog.records]
    assert "no further block for job_execution_done now: a transaction of somebody else uses them" in said
    assert "old blocks of job_execution_done are deleted row by row: a transaction of somebody else uses them" in said


def past_events(tx: Tx) -> None:
    """Old events, of which one has no number yet, and a young one."""
    times = [*[tx.now - 40 * DAY] * 30, tx.now]
    rows: list[dict[str, Any]] = [
        {"at": at, "seq": None if key == 2 else key, "changes": []} for key, at in enumerate(times, 1)
    ]
    tx.conn.execute(insert(event), rows)


async def test_old_events_go_as_a_whole_and_none_before_it_has_its_number(postgres: Database) -> None:
    await postgres.write(past_events)
    assert (await prune(postgres, RETENTION)).events == 29
    await postgres.write(lambda tx: tx.conn.execute(event.delete()))
    await postgres.write(past_events)
    await postgres.write(fill_block)
    kept = await postgres.write(lambda tx: Keeping(tx.now, RETENTION.max_age))
    gone = await postgres.write(lambda tx: drop_events(tx.conn, old_blocks(tx.conn, EVENTS, kept), kept))
    assert gone == {"events": 29}
    left = select(event.c.seq).order_by(event.c.id)
    assert await postgres.read(lambda conn: conn.execute(left).scalars().all()) == [None, 31, None]
    assert await postgres.write(lambda tx: publish(tx.conn)) == 2
    assert (await postgres.read(numbers))["event"] == [0, 2]
    assert await postgres.read(index_faults) == []


async def test_numbers_are_given_to_the_oldest_events_without_a_look_at_all(postgres: Database) -> None:
    backlog = "INSERT INTO cronograph.event (at, changes) SELECT now(), '[]' FROM generate_series(1, 20000)"
    await postgres.write(lambda tx: tx.conn.execute(text(backlog)))
    # By the statistics, which are those of an empty table, it would cost nothing to sort them.
    touched = await postgres.write(lambda tx: rows_touched(tx.conn, lambda: publish(tx.conn, 100)))
    assert touched < 1000
    numbered = select(event.c.id).where(event.c.seq.is_not(None)).order_by(event.c.seq)
    assert await postgres.read(lambda conn: conn.execute(numbered).scalars().all()) == list(range(1, 101))


async def test_a_role_that_does_not_own_the_tables_prunes_row_by_row(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute("DROP ROLE IF EXISTS runner_of_blocks")
        owner.execute("CREATE ROLE runner_of_blocks LOGIN")
        owner.execute("GRANT USAGE ON SCHEMA cronograph TO runner_of_blocks")
        owner.execute("GRANT ALL ON ALL TABLES IN SCHEMA cronograph TO runner_of_blocks")
        owner.execute("GRANT ALL ON ALL SEQUENCES IN SCHEMA cronograph TO runner_of_blocks")
    database = Database(postgres_url.replace("postgres@", "runner_of_blocks@"))
    try:
        await database.write(old_rows)
        await database.write(lambda tx: add_run(tx.conn, tx.now, id=BLOCK))
        assert await BlockCutter(database).look() == 0
        assert (await prune(database, RETENTION)).runs == 30
        (finding,) = judge_blocks(await database.read(read_blocks))
        says = "the tables belong to role postgres, so old history is deleted row by row, not in blocks"
        assert (finding.level, finding.says) == (Level.ADVICE, says)
    finally:
        await database.close()
        with psycopg.connect(postgres_url, autocommit=True) as owner:
            owner.execute("DROP OWNED BY runner_of_blocks")
            owner.execute("DROP ROLE runner_of_blocks")


async def test_ids_that_are_far_in_the_last_block_stay_there(postgres: Database) -> None:
    assert await postgres.write(lambda tx: cut(tx.conn, LINES, 2 * BLOCK)) is False
    assert await postgres.write(lambda tx: cut(tx.conn, EXECUTIONS, BLOCK // 2)) is False
    assert await postgres.write(lambda tx: cut(tx.conn, EXECUTIONS, BLOCK // 2 + 1)) is True
    assert [one.says for one in judge_blocks(await postgres.read(read_blocks))] == ["old history is dropped as a whole"]
    await postgres.write(lambda tx: add_run(tx.conn, tx.now, id=BLOCK + FEW))
    (finding,) = judge_blocks(await postgres.read(read_blocks))
    assert finding.says.startswith("the last block of run_done was full of rows")
