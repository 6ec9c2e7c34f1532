"""A task may say a rate of its own: its runs share a bucket, instead of those of its job."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cronograph.jobs.actions.runs import edit_run
from cronograph.jobs.actions.tasks import trigger_task, update_task
from cronograph.jobs.core.admission.caps import Rate
from cronograph.jobs.core.base.errors import UserError
from cronograph.jobs.core.explain import explain_run
from cronograph.jobs.core.limits import Limits, UniqueKey, key_of_task, task_of_key
from cronograph.jobs.core.model import MisfirePolicy, OverlapPolicy, Task
from cronograph.jobs.core.outcome import HandedBack
from cronograph.jobs.queue.limits.admission import look_for_tokens
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.statements import tasks as stored_tasks
from cronograph.jobs.store.statements.facts import of_runs
from cronograph.jobs.store.statements.runs import by_ids
from tests.support.storage import START, Stored, Worker, retry_runs

ONE_A_MINUTE = Rate(1, 60.0, 1)
OF_JOB = Limits(rate=Rate(1000, 1.0, 1000), rate_key=UniqueKey(("customer",), "{customer}"))


def rated(stored: Stored, **changes: Any) -> Task:
    """A task that makes up for ten occurrences at once, at one start a minute."""
    policies: dict[str, Any] = {"overlap": OverlapPolicy.ALLOW, "misfire": MisfirePolicy.ALL, "rate": ONE_A_MINUTE}
    task = stored.task("* * * * * *", **{**policies, **changes})
    stored.at(10)
    stored.dispatch()
    return task


def started(worker: Worker) -> int:
    return len(worker.take(20).started)


def test_the_runs_of_a_task_start_by_its_rate_whether_its_schedule_or_a_hand_makes_them(stored: Stored) -> None:
    a, b = stored.node("a"), stored.node("b")
    task = rated(stored)
    stored.do(trigger_task, task.name)
    other = stored.enqueue_by_job()
    assert {row.rate_key for row in stored.rows(tables.run, task_id=task.id)} == {key_of_task(task.id)}
    assert [started(a), started(b)] == [2, 0]
    (row,) = stored.rows(tables.run, id=other.id)
    assert row.started_at is not None
    for _ in range(3):
        stored.pass_time(60)
        stored.do(look_for_tokens)
        assert [started(b), started(a)] == [1, 0]


def test_the_rate_of_a_task_holds_instead_of_that_of_its_job(stored: Stored) -> None:
    worker = stored.node(limits=replace(OF_JOB, max_concurrent=100))
    task = rated(stored, args={"customer": "a"})
    rows = stored.rows(tables.run)
    assert {(row.rate_key, row.concurrency_key) for row in rows} == {(key_of_task(task.id), "work")}
    assert started(worker) == 1
    stored.enqueue_by_job(args={"customer": "a"})
    assert started(worker) == 1


def test_a_run_that_is_made_again_or_changed_keeps_the_bucket_of_its_task(stored: Stored) -> None:
    worker = stored.node(limits=OF_JOB)
    task = rated(stored, args={"customer": "a"})
    first = worker.start()
    worker.end(first)
    again = stored.do(retry_runs, [first.run.id])
    waiting = next(row for row in stored.rows(tables.run) if row.finished_at is None)
    stored.do(edit_run, waiting.id, args={"customer": "b"})
    assert len(again) == 1
    assert {row.rate_key for row in stored.rows(tables.run)} == {key_of_task(task.id)}


def test_another_rate_holds_at_once_for_what_waits_and_none_lets_it_go(stored: Stored) -> None:
    worker = stored.node()
    task = rated(stored)
    assert started(worker) == 1
    stored.do(update_task, task.name, {"rate": Rate(3, 1.0, 3)})
    stored.pass_time(1)
    stored.do(look_for_tokens)
    assert started(worker) == 3
    stored.do(update_task, task.name, {"rate": None})
    stored.do(look_for_tokens)
    assert started(worker) == 7


def test_a_run_that_is_handed_back_gives_the_token_of_its_task_back(stored: Stored) -> None:
    worker = stored.node()
    rated(stored)
    first = worker.start()
    worker.end(first, HandedBack("drained"))
    stored.do(look_for_tokens)
    assert started(worker) == 1


def test_explain_names_the_task_whose_tokens_are_gone(stored: Stored) -> None:
    worker = stored.node()
    task = rated(stored)
    started(worker)
    waiting = next(row.id for row in stored.rows(tables.run) if row.started_at is None)
    run = stored.do(lambda tx: by_ids(tx.conn, [waiting])[waiting])
    facts = stored.do(lambda tx: of_runs(tx.conn, [run], tx.now)[run.id])
    said = explain_run(run, facts, stored.now)
    assert f"a token of its task '{task.name}': none of 1 a minute is left until" in said.sentence
    assert said.until == START + timedelta(seconds=70)


def test_a_task_is_read_back_with_its_rate(stored: Stored) -> None:
    stored.node()
    task = stored.task(rate=Rate(5, 90.0, 2))
    assert stored.do(lambda tx: stored_tasks.by_ids(tx.conn, [task.id])[task.id]).spec.rate == Rate(5, 90.0, 2)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("rate", "path", "said"),
    [
        (Rate(0, 1.0, 1), ("rate", "limit"), "must be a whole number from 1 to 100,000,000, got 0"),
        (Rate(1, 86401.0, 1), ("rate",), "must be at least one a day, got 1 in 86,401 s"),
        (Rate(100_001, 1.0, 1), ("rate",), "must be at most 100,000 a second, got 100,001 in 1 s"),
        (Rate(1, 0.0, 1), ("rate", "per"), "must be seconds from 0.001"),
        (Rate(1, 1.0, 0), ("rate", "burst"), "must be a whole number from 1"),
    ],
)
def test_a_rate_that_cannot_be_is_refused(stored: Stored, rate: Rate, path: tuple[str, ...], said: str) -> None:
    stored.node()
    task = stored.task()
    with pytest.raises(UserError, match=said) as refused:
        stored.do(update_task, task.name, {"rate": rate})
    assert refused.value.path == path


def test_no_key_of_arguments_is_that_of_a_task() -> None:
    made = UniqueKey(("x",), "{x}").of("work", {"x": key_of_task(7)})
    assert (task_of_key(key_of_task(7)), task_of_key(made), task_of_key(None)) == (7, None, None)
