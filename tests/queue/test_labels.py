"""Labels are stored with runs, by whichever statement makes them, and the index of labels says the same."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from cronograph.jobs import RunSpec, enqueue_many_sync, enqueue_sync
from cronograph.jobs.actions.runs import edit_run, enqueue_runs, trigger_job
from cronograph.jobs.actions.tasks import trigger_task, update_task
from cronograph.jobs.core.admission.labels import LabelRule
from cronograph.jobs.core.base.errors import UserError
from cronograph.jobs.core.defaults import FOLLOWED, JobDefaults, Keeping
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.schema.rows import defaults_document
from cronograph.jobs.store.statements import runs as stored_runs
from cronograph.jobs.store.statements.listing.criteria import (
    AllOf,
    AnyOf,
    Condition,
    LabelMatch,
    Not,
    Operator,
    PathMatch,
    Spread,
    joined,
)
from cronograph.jobs.store.statements.listing.pages import count, ids
from cronograph.jobs.store.statements.lists import EXECUTIONS, RUNS
from cronograph.jobs.store.statements.prunable import RunPlace
from cronograph.jobs.store.statements.prune import delete_executions, delete_old_runs
from tests.support.storage import Stored, retry_runs

BILLING = {"team": "billing"}
OF_CUSTOMERS = LabelRule(BILLING, {"customer": "customer_id"})

LATER = datetime.now(UTC) + timedelta(hours=1)
"""Runs of a session are due by the clock of the machine."""


def give_labels(stored: Stored, rule: LabelRule = OF_CUSTOMERS, job: str = "work") -> None:
    """Have a published job say which labels its runs get."""
    document = defaults_document(JobDefaults(labels=rule))
    stored.do(lambda tx: tx.conn.execute(update(tables.job).where(tables.job.c.name == job).values(defaults=document)))


def all_labels(stored: Stored) -> list[Any]:
    """The labels of all runs, which the index of labels has, too."""
    found = {row.id: row.labels for row in stored.rows(tables.run)}
    indexed: dict[int, dict[str, str]] = {}
    for row in stored.do(lambda tx: list(tx.conn.execute(select(tables.run_label)))):
        indexed.setdefault(row.run_id, {})[row.key] = row.value
    assert indexed == {run_id: own for run_id, own in found.items() if own}
    return list(found.values())


def test_runs_that_are_put_by_name_have_their_labels_and_those_of_their_job(stored: Stored) -> None:
    stored.node()
    stored.do(lambda tx: enqueue_sync(tx.conn, "work", {"n": 1}))
    stored.do(lambda tx: enqueue_sync(tx.conn, "work", labels={"a": "1"}))
    stored.do(lambda tx: enqueue_many_sync(tx.conn, [RunSpec("work"), RunSpec("work", labels={"a": "2", "b": "3"})]))
    assert all_labels(stored) == [None, {"a": "1"}, None, {"a": "2", "b": "3"}]
    give_labels(stored)
    runs = [RunSpec("work", {"customer_id": 7}), RunSpec("work", labels={"team": "x"}), RunSpec("other")]
    stored.do(lambda tx: enqueue_many_sync(tx.conn, runs))
    assert all_labels(stored)[4:] == [{**BILLING, "customer": "7"}, {"team": "x"}, None]


@pytest.mark.parametrize("wrong", [{"a": 1}, {"a": [1]}, {"": "x"}, ["a"], 5])
def test_labels_that_cannot_be_are_refused_before_anything_is_stored(stored: Stored, wrong: Any) -> None:
    with pytest.raises(UserError, match="labels"):
        stored.do(lambda tx: enqueue_many_sync(tx.conn, [RunSpec("work", labels=wrong)]))
    with pytest.raises(UserError, match="labels"):
        stored.do(lambda tx: enqueue_sync(tx.conn, "work", labels=wrong))
    assert all_labels(stored) == []


def test_runs_of_the_api_a_person_and_a_retry_have_the_labels_of_their_job(stored: Stored) -> None:
    worker = stored.node()
    give_labels(stored)
    asked = NewRun("work", Trigger.API, {"customer_id": 7}, labels={"x": "1"}, inherits=FOLLOWED)
    stored.do(enqueue_runs, [asked])
    stored.do(trigger_job, "work", args={"customer_id": 8}, labels={"y": "2"})
    (first, _) = worker.take(2).started
    worker.end(first)
    stored.do(retry_runs, [first.run.id])
    assert first.run.labels == {**BILLING, "customer": "7", "x": "1"}
    assert all_labels(stored) == [first.run.labels, {**BILLING, "customer": "8", "y": "2"}, first.run.labels]


def test_occurrences_and_triggered_runs_have_the_labels_of_their_task(stored: Stored) -> None:
    worker = stored.node()
    stored.task("0 * * * * *", labels={"a": "1"}, args={"customer_id": 7})
    stored.at(60)
    assert stored.dispatch() == 1
    give_labels(stored)
    stored.at(120)
    worker.end(worker.start())
    assert stored.dispatch() == 1
    worker.end(worker.start())
    name = stored.rows(tables.periodic_task)[0].name
    stored.do(trigger_task, name, args={"customer_id": 8})
    mine = {"a": "1", **BILLING}
    assert all_labels(stored) == [{"a": "1"}, {**mine, "customer": "7"}, {**mine, "customer": "8"}]
    edited = stored.do(update_task, name, {"labels": {"b": "2"}})
    assert (edited.spec.labels, edited.version) == ({"b": "2"}, 2)
    with pytest.raises(UserError, match=r"labels\.b: must be a text"):
        stored.do(update_task, name, {"labels": {"b": 2}})


def test_a_run_that_gets_other_arguments_is_found_by_their_labels(stored: Stored) -> None:
    stored.node()
    give_labels(stored)
    run_id = stored.do(trigger_job, "work", args={"customer_id": 7}, labels={"x": "1"}).run.id
    stored.do(edit_run, run_id, args={"customer_id": 8})
    assert all_labels(stored) == [{**BILLING, "customer": "8", "x": "1"}]
    stored.do(edit_run, run_id, args={})
    assert all_labels(stored) == [{**BILLING, "x": "1"}]


def test_a_retry_with_other_arguments_is_found_by_their_labels(stored: Stored) -> None:
    worker = stored.node()
    give_labels(stored)
    run_id = stored.do(trigger_job, "work", args={"customer_id": 7}, labels={"x": "1"}).run.id
    worker.end(worker.start())
    same, other = (stored.do(retry_runs, [run_id], args=args)[0] for args in (None, {"customer_id": 8}))
    assert [one.labels for one in (same, other)] == [{**BILLING, "customer": n, "x": "1"} for n in "78"]
    with pytest.raises(UserError, match=r"args\.customer_id: is a label of the run"):
        stored.do(retry_runs, [run_id], args={"customer_id": [8]})


@pytest.mark.costly
@pytest.mark.parametrize("spread", Spread)
def test_runs_and_executions_are_found_by_labels_and_arguments(stored: Stored, spread: Spread) -> None:
    worker = stored.node()
    stored.now = LATER
    pairs = [{"c": "1"}, {"c": "2"}, {"c": "1", "d": "x"}, None]
    documents: list[dict[str, Any]] = [
        {"a": {"b": 1}},
        {"a": {"b": "1"}},
        {"a": {"b": True}},
        {"a": {"b": None}, "q x": 1.5},
    ]
    both = zip(pairs, documents, strict=True)
    made = stored.do(lambda tx: enqueue_many_sync(tx.conn, [RunSpec("work", args, labels=own) for own, args in both]))
    executed = {one.execution_id: one.run.id for one in worker.take(9).started}

    def found(condition: Any) -> list[int]:
        runs = stored.do(lambda tx: ids(tx.conn, RUNS, condition, 10))
        executions = stored.do(lambda tx: ids(tx.conn, EXECUTIONS, condition, 10))
        assert sorted(executed[one] for one in executions) == runs
        assert stored.do(lambda tx: count(tx.conn, RUNS, condition)) == len(runs)
        return [made.index(one) for one in runs]

    def label(key: str, *values: str) -> Condition:
        return Condition("labels", Operator.LABELLED, LabelMatch(key, values or None, spread))

    assert found(label("c", "1")) == [0, 2]
    assert found(label("c", "1", "2")) == [0, 1, 2]
    assert found(label("c", "3")) == []
    assert found(label("d")) == [2]
    assert found(Not(label("c"))) == [3]
    assert found(AllOf((label("c", "1"), label("d", "x")))) == [2]

    def argument(value: Any, *path: str) -> Condition:
        return Condition("args", Operator.HAS_VALUE, PathMatch(path, value))

    assert [found(argument(value, "a", "b")) for value in (1, 1.0, "1", True, None)] == [[0], [0], [1], [2], [3]]
    assert found(argument(1.5, "q x")) == [3]
    assert found(argument("1", "a", "x")) == found(argument("1", "a")) == []


def test_a_count_by_a_common_label_that_has_to_hold_is_planned_by_the_database() -> None:
    def label(spread: Spread) -> Condition:
        return Condition("labels", Operator.LABELLED, LabelMatch("c", ("1",), spread))

    many, few, planned = label(Spread.MANY), label(Spread.FEW), label(Spread.UNKNOWN)
    mine = Condition("job_name", Operator.EQ, "work")
    assert [joined(one) for one in (many, few, mine)] == [planned, few, mine]
    assert joined(AllOf((AllOf((mine, many)), few))) == AllOf((AllOf((mine, planned)), few))
    # There it would become a list of keys without an index.
    assert [joined(one) for one in (Not(many), AnyOf((many, mine)))] == [Not(many), AnyOf((many, mine))]


def test_keys_and_values_of_labels_are_reported_with_their_runs(stored: Stored) -> None:
    runs = [RunSpec("work", labels={"c": str(place % 3), "z": "1"}) for place in range(10)]
    stored.do(lambda tx: enqueue_many_sync(tx.conn, runs))
    assert stored.do(lambda tx: stored_runs.label_keys(tx.conn, 10)) == ["c", "z"]
    assert stored.do(lambda tx: stored_runs.label_keys(tx.conn, 1)) == ["c"]
    assert stored.do(lambda tx: stored_runs.label_values(tx.conn, "c", "", 10)) == [("0", 4), ("1", 3), ("2", 3)]
    assert stored.do(lambda tx: stored_runs.label_values(tx.conn, "c", "0", 1, cap=1)) == [("1", 2)]
    few, many = LabelMatch("c", ("0",)), LabelMatch("c", None)
    assert stored.do(lambda tx: stored_runs.label_spreads(tx.conn, [few, many])) == {few: Spread.FEW, many: Spread.FEW}


@pytest.mark.altered_log
def test_what_is_pruned_leaves_no_label_behind(stored: Stored) -> None:
    worker = stored.node()
    stored.now = LATER
    stored.do(lambda tx: enqueue_many_sync(tx.conn, [RunSpec("work", labels={"c": "1"}), RunSpec("work")]))
    taken = worker.take(9).started
    for one in taken:
        worker.end(one)
    kept = stored.do(lambda tx: enqueue_sync(tx.conn, "work", labels={"c": "2"})).id
    stored.pass_time(60)

    def prune(tx: Tx) -> int:
        delete_executions(tx.conn, [one.execution_id for one in taken])
        later = tx.now + timedelta(days=1)
        return delete_old_runs(tx.conn, RunPlace(), later, 100, Keeping(later, timedelta()))[0]

    assert stored.do(prune) == 2
    assert [row.id for row in stored.rows(tables.run)] == [kept]
    assert all_labels(stored) == [{"c": "2"}]


def test_a_run_without_labels_costs_no_statement(stored: Stored) -> None:
    stored.node()
    plain = stored.statements(lambda tx: enqueue_many_sync(tx.conn, [RunSpec("work")] * 3))
    labelled = stored.statements(lambda tx: enqueue_many_sync(tx.conn, [RunSpec("work", labels={"a": "1"})] * 3))
    assert plain <= labelled <= plain + 1
    assert json.dumps(all_labels(stored)) == json.dumps([None] * 3 + [{"a": "1"}] * 3)
