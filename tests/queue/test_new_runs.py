"""A new run is what a later read of it finds, although nothing but its id is read when it is inserted."""

from dataclasses import fields
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from cronograph.jobs.core.model import NewRun, Priority, Trigger
from cronograph.jobs.queue.base.new_runs import NewRuns
from cronograph.jobs.queue.base.shapes import HeldRun, Reserved
from cronograph.jobs.queue.enqueue.enqueue import put
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.statements.runs import by_ids
from tests.support.storage import Stored

ELSEWHERE = timezone(timedelta(hours=5, minutes=30))
# The names of arguments are in the order in which PostgreSQL gives them back: an object has none.
RUNS: dict[str, NewRun] = {
    "plain": NewRun("work", Trigger.API),
    "with all": NewRun(
        "work",
        Trigger.MANUAL,
        args={"a": "ä", "b": [1, {"a": None}], "n": 0.1},
        group="g",
        priority=Priority.HIGH,
        available_at=datetime(2026, 3, 1, 1, 2, 3, 45, tzinfo=ELSEWHERE),
        retries=0,
        retry_delay=5,
        timeout=7,
        retried_from=12,
        submitter="somebody",
        submitter_id=3,
        description="what for",
        signature="s",
        carried={"trace": "t"},
        labels={"customer": "42"},
    ),
    "of Python's own kinds": NewRun("work", Trigger.API, args={"pair": (1, 2), "nothing": {}}),
    "of a task": NewRun(
        "work",
        Trigger.SCHEDULE,
        task_id=1,
        task_name="t",
        scheduled_for=datetime(2026, 3, 1, 1, tzinfo=ELSEWHERE),
        exclusive=True,
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_new_run_is_what_is_stored(stored: Stored, name: str) -> None:
    (made,) = stored.do(lambda tx: [one.run for one in put(tx, [RUNS[name]])])
    assert repr(made) == repr(stored.do(lambda tx: by_ids(tx.conn, [made.id])[made.id]))


def test_many_runs_have_their_ids_in_their_order(stored: Stored) -> None:
    runs = [NewRun("work", Trigger.API, args={"number": number}) for number in range(50)]
    made = stored.do(lambda tx: [one.run for one in put(tx, runs)])
    found: dict[int, Any] = stored.do(lambda tx: by_ids(tx.conn, [run.id for run in made]))
    assert [found[run.id].args["number"] for run in made] == list(range(50))
    assert [run.id for run in made] == sorted(found)


def test_a_run_with_a_unique_key_is_what_is_stored_and_the_second_is_the_first(stored: Stored) -> None:
    run = NewRun("work", Trigger.API, unique_key="once")
    (made,) = stored.do(lambda tx: put(tx, [run]))
    assert not made.deduplicated
    assert repr(made.run) == repr(stored.do(lambda tx: by_ids(tx.conn, [made.run.id])[made.run.id]))
    (again,) = stored.do(lambda tx: put(tx, [run]))
    assert (again.run.id, again.deduplicated) == (made.run.id, True)


def test_the_shapes_that_travel_have_the_columns_of_a_run() -> None:
    columns = {"group" if one.name == "group_name" else one.name for one in tables.run.columns}
    assert set(HeldRun._fields) - {"node"} <= columns
    assert set(Reserved._fields) <= columns
    assert {one.name for one in fields(NewRun)} - {
        "inherits",
        "parent_labels",
        "suspended",
        "ttl",
        "hold",
        "cap",
        "on_conflict",
    } <= columns


def test_runs_of_one_kind_are_alike_in_all_but_what_each_has_by_itself() -> None:
    new = NewRuns.of([RUNS["plain"], RUNS["of Python's own kinds"], RUNS["with all"], RUNS["plain"]])
    assert new.kind == [0, 0, 1, 0]
    assert new.apart()[2] == RUNS["with all"]
