"""Caps on waiting runs, on both databases: all that enqueues keeps them, and nothing is dropped without a row."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import select

from cronograph.jobs import QueueFull, RunSpec, enqueue_many_sync, enqueue_sync
from cronograph.jobs.actions.groups import set_group_cap
from cronograph.jobs.actions.runs import cancel_runs, enqueue_runs
from cronograph.jobs.actions.tasks import trigger_task
from cronograph.jobs.core.admission.caps import Cap, WhenFull
from cronograph.jobs.core.admission.holding import Debounce
from cronograph.jobs.core.base.errors import InvalidInput, InvalidState
from cronograph.jobs.core.defaults import FOLLOWED
from cronograph.jobs.core.limits import Limits, UniqueKey
from cronograph.jobs.core.model import MisfirePolicy, NewRun, OverlapPolicy, SkipReason, Trigger
from cronograph.jobs.core.outcome import Failed, Snoozed
from cronograph.jobs.queue.enqueue.enqueue import put_or_drop
from cronograph.jobs.store.db.dialect import is_postgresql
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema import tables
from tests.support.storage import START, Stored, retry_runs

CUSTOMER = UniqueKey(("customer",), "{customer}")
REFUSE, OLDEST, NEWEST = WhenFull.REFUSE, WhenFull.DROP_OLDEST, WhenFull.DROP_NEWEST


def each(limit: int, policy: WhenFull = REFUSE) -> Limits:
    return Limits(cap=Cap(limit, policy), cap_key=CUSTOMER)


def put(stored: Stored, customers: str, **changes: object) -> list[int]:
    return [stored.enqueue_by_job(args={"customer": one}, **changes).id for one in customers]


def waiting(stored: Stored) -> list[int]:
    return [row.id for row in stored.rows(tables.run, state="waiting")]


def skipped(stored: Stored) -> list[int]:
    rows = stored.rows(tables.run, state="skipped")
    assert {row.skip_reason for row in rows} <= {"queue_full"}
    assert all(row.finished_at is not None and row.error.startswith("queue full: ") for row in rows)
    return [row.id for row in rows]


def test_a_full_queue_refuses_and_says_how_many_may_wait(stored: Stored) -> None:
    worker = stored.node(limits=each(2))
    first, second, other = put(stored, "aab")
    with pytest.raises(QueueFull) as refused:
        put(stored, "a")
    assert (refused.value.code, refused.value.limit, refused.value.path) == ("QUEUE_FULL", 2, ("jobName",))
    assert str(refused.value) == (
        "queue full: job 'work' with key 'a' may have 2 runs waiting, and has 2; try again once some have "
        "started, or raise the cap"
    )
    assert waiting(stored) == [first, second, other]
    assert worker.start().run.id == first
    assert len(put(stored, "a")) == 1


def test_the_oldest_gives_way_and_says_why(stored: Stored) -> None:
    stored.node(limits=each(2, OLDEST))
    a1, b1, a2, a3, a4 = put(stored, "abaaa")
    assert waiting(stored) == [b1, a3, a4]
    assert skipped(stored) == [a1, a2]
    (row,) = stored.rows(tables.run, id=a1)
    assert row.error == (
        "queue full: job 'work' with key 'a' may have 2 runs waiting, and of more the oldest is dropped"
    )


def test_the_newest_is_dropped_and_its_caller_hears_of_it(stored: Stored) -> None:
    stored.node(limits=each(1, NEWEST))
    (first,) = put(stored, "a")
    run = stored.enqueue_by_job(args={"customer": "a"})
    assert (run.state, run.skip_reason, run.attempt) == ("skipped", SkipReason.QUEUE_FULL, 0)
    assert (waiting(stored), skipped(stored)) == ([first], [run.id])


WAYS: dict[str, Callable[[Stored], object]] = {
    "api": lambda stored: stored.enqueue_by_job(args={"customer": "a"}),
    "code": lambda stored: stored.do(lambda tx: enqueue_sync(tx.conn, "work", {"customer": "a"}, run_at=START)),
    "many": lambda stored: stored.do(lambda tx: enqueue_many_sync(tx.conn, [RunSpec("work", {"customer": "a"})])),
    "nobody": lambda stored: stored.do(
        put_or_drop, [NewRun("work", Trigger.API, {"customer": "a"}, inherits=FOLLOWED)]
    ),
}


@pytest.mark.costly
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("of_group", [False, True])
@pytest.mark.parametrize("policy", WhenFull)
def test_every_way_to_enqueue_keeps_the_cap(stored: Stored, way: str, policy: WhenFull, *, of_group: bool) -> None:
    stored.node(limits=None if of_group else each(2, policy))
    if of_group:
        stored.do(set_group_cap, "default", cap=Cap(2, policy))
    for _ in range(2):
        WAYS[way](stored)
    before = waiting(stored)
    if policy is REFUSE and way != "nobody":
        with pytest.raises(QueueFull, match="group 'default' may have 2" if of_group else "with key 'a' may have 2"):
            WAYS[way](stored)
        assert (waiting(stored), skipped(stored)) == (before, [])
        return
    WAYS[way](stored)
    newest = max(row.id for row in stored.rows(tables.run))
    drops_oldest = policy is OLDEST
    assert waiting(stored) == ([before[1], newest] if drops_oldest else before)
    assert skipped(stored) == ([before[0]] if drops_oldest else [newest])


def test_many_are_refused_as_a_whole_or_fill_the_room_that_there_is(stored: Stored) -> None:
    stored.node()
    many = [NewRun("work", Trigger.API, group="mail")] * 5
    stored.do(set_group_cap, "mail", cap=Cap(3))
    with pytest.raises(QueueFull, match="group 'mail' may have 3"):
        stored.do(enqueue_runs, many)
    assert stored.rows(tables.run) == []
    stored.do(set_group_cap, "mail", cap=Cap(3, NEWEST))
    made = [one.run for one in stored.do(enqueue_runs, many)]
    assert [one.state.value for one in made] == ["waiting"] * 3 + ["skipped"] * 2
    stored.do(set_group_cap, "mail", cap=Cap(3, OLDEST))
    again = [one.run for one in stored.do(enqueue_runs, many)]
    assert waiting(stored) == [one.id for one in again[2:]]
    assert [one.state.value for one in again] == ["skipped"] * 2 + ["waiting"] * 3


def test_a_refusal_leaves_the_transaction_of_the_application_as_it_was(stored: Stored) -> None:
    stored.node()
    stored.do(set_group_cap, "default", cap=Cap(2))

    def enqueue_with_keys(tx: Tx) -> int:
        kept = enqueue_sync(tx.conn, "work", {"n": 1}, unique_key="one").id
        with pytest.raises(QueueFull):
            enqueue_many_sync(tx.conn, [RunSpec("work", {"n": n}, unique_key=f"k{n}") for n in range(3)])
        return kept

    kept = stored.do(enqueue_with_keys)
    assert [row.id for row in stored.rows(tables.run)] == [kept]


def test_a_key_that_is_refused_in_a_full_line_leaves_the_transaction_as_it_was(stored: Stored) -> None:
    """What another job's debounced run holds is refused while it is inserted: nothing is left open behind it."""
    stored.node(jobs=("work", "other"))
    stored.do(set_group_cap, "default", cap=Cap(1))
    held = stored.enqueue(unique_key="d", hold=Debounce(5.0).hold())

    def enqueue_apart(tx: Tx) -> None:
        with pytest.raises(InvalidState, match="is held by run"), tx.savepoint():
            enqueue_runs(tx, [NewRun("other", Trigger.API, unique_key="d", hold=Debounce(5.0).hold())])
        with pytest.raises(QueueFull), tx.savepoint():
            enqueue_runs(tx, [NewRun("work", Trigger.API, unique_key="e")])
        assert tx.changes == []

    stored.do(enqueue_apart)
    assert [row.id for row in stored.rows(tables.run)] == [held.id]


def test_a_run_that_another_one_stands_for_needs_no_room(stored: Stored) -> None:
    stored.node()
    stored.do(set_group_cap, "default", cap=Cap(1))
    first = stored.enqueue(unique_key="k")
    assert stored.enqueue(unique_key="k").id == first.id
    with pytest.raises(QueueFull):
        stored.enqueue(unique_key="other")
    hold = Debounce(5.0).hold()
    stored.do(cancel_runs, [first.id])
    debounced = stored.enqueue(unique_key="d", hold=hold)
    assert stored.enqueue(unique_key="d", hold=hold, args={"n": 2}).id == debounced.id
    assert len(waiting(stored)) == 1


def test_what_has_begun_is_not_counted_and_never_dropped(stored: Stored) -> None:
    worker = stored.node(limits=each(1, OLDEST))
    retried, snoozed = put(stored, "a", retry_delay=10.0)[0], 0
    worker.end(worker.start(), Failed("E", "e"))
    snoozed = put(stored, "a")[0]
    worker.end(worker.start(), Snoozed(10.0))
    third, last = put(stored, "aa")
    assert skipped(stored) == [third]
    assert {row.id for row in stored.rows(tables.run) if row.finished_at is None} == {retried, snoozed, last}


def test_what_was_handed_to_a_node_and_has_not_begun_is_counted(stored: Stored) -> None:
    worker = stored.node()
    stored.do(set_group_cap, "default", cap=Cap(1))
    stored.enqueue()
    assert len(worker.take(0, prefetch=1).reserved) == 1
    with pytest.raises(QueueFull):
        stored.enqueue()
    stored.do(set_group_cap, "default", cap=Cap(1, OLDEST))
    assert stored.enqueue().state == "waiting"
    assert skipped(stored) == [1]


def test_a_run_made_again_by_hand_needs_room_as_a_new_one(stored: Stored) -> None:
    worker = stored.node(limits=each(1))
    (first,) = put(stored, "a", retries=0)
    worker.end(worker.start(), Failed("E", "e"))
    put(stored, "a")
    with pytest.raises(QueueFull):
        stored.do(retry_runs, [first])
    worker.start()
    assert len(stored.do(retry_runs, [first])) == 1


def test_an_occurrence_without_room_is_a_recorded_skip(stored: Stored) -> None:
    worker = stored.node()
    stored.do(set_group_cap, "default", cap=Cap(1))
    stored.task("0 * * * * *", overlap=OverlapPolicy.ALLOW)
    for minute in (1, 2, 3):
        stored.at(60 * minute)
        stored.dispatch()
    assert len(stored.rows(tables.run)) == 1
    (row,) = stored.rows(tables.skipped_occurrence)
    assert (row.reason, row.occurrences, row.policy) == (
        "queue_full", 2, {"group": "default", "cap": 1, "whenFull": "refuse"},
    )  # fmt: skip
    worker.start()
    stored.at(240)
    assert stored.dispatch() == 1
    with pytest.raises(QueueFull):
        stored.do(trigger_task, "nightly")


def test_late_occurrences_fill_the_room_that_there_is(stored: Stored) -> None:
    stored.node(limits=Limits(cap=Cap(2, NEWEST)))
    stored.task("0 * * * * *", overlap=OverlapPolicy.ALLOW, misfire=MisfirePolicy.ALL, misfire_grace=0.0)
    stored.at(300)
    stored.dispatch()
    assert len(waiting(stored)) == 2
    rows = stored.rows(tables.skipped_occurrence)
    assert sum(row.occurrences for row in rows) == 3
    assert {row.reason for row in rows} == {"queue_full"}


def test_an_occurrence_makes_the_oldest_give_way_which_its_task_remembers(stored: Stored) -> None:
    stored.node(limits=Limits(cap=Cap(1, OLDEST)))
    stored.task("0 * * * * *", overlap=OverlapPolicy.ALLOW)
    for minute in (1, 2, 3):
        stored.at(60 * minute)
        stored.dispatch()
    assert (len(waiting(stored)), len(skipped(stored))) == (1, 2)
    (row,) = stored.rows(tables.skipped_occurrence)
    assert (row.reason, row.occurrences, row.run_id) == ("queue_full", 2, 1)
    assert row.first_scheduled_for == START + timedelta(seconds=60)


def test_a_cap_that_is_lowered_drops_nothing_and_taken_away_lets_all_in(stored: Stored) -> None:
    stored.node()
    for _ in range(5):
        stored.enqueue()
    stored.do(set_group_cap, "default", cap=Cap(2, OLDEST))
    assert len(waiting(stored)) == 5
    stored.enqueue()
    assert (len(waiting(stored)), skipped(stored)) == (5, [1])
    stored.do(set_group_cap, "default", cap=None)
    stored.enqueue()
    assert len(waiting(stored)) == 6
    with pytest.raises(InvalidInput, match=r"cap\.limit: must be a whole number"):
        stored.do(set_group_cap, "default", cap=Cap(0))


def test_runs_without_a_cap_send_as_few_statements_as_without_caps(stored: Stored) -> None:
    stored.node()
    specs = [RunSpec("work")]
    # SQLite: the job with the caps, the runs, and twice for their event.
    expected = 1 if stored.do(lambda tx: is_postgresql(tx.conn)) else 4
    assert stored.statements(lambda tx: enqueue_many_sync(tx.conn, specs)) == expected


def put_specs(tx: Tx, specs: list[RunSpec]) -> list[int]:
    return enqueue_many_sync(tx.conn, specs)


@pytest.mark.costly
@pytest.mark.timeout(180)
@pytest.mark.parametrize(("policy", "keys"), [*((policy, 3) for policy in WhenFull), (OLDEST, 201)])
def test_however_many_enqueue_at_once_no_more_wait_than_may(stored: Stored, policy: WhenFull, keys: int) -> None:
    stored.node(limits=each(2, policy))
    names = [f"c{number}" for number in range(keys)]

    def enqueue(place: int) -> int:
        made = 0
        for turn in range(6 if keys == 3 else 3):
            some = names if keys != 3 else [names[(place + turn) % keys]]
            specs = [RunSpec("work", {"customer": one}) for one in some]
            try:
                made += len(stored.do(put_specs, specs))
            except QueueFull:
                assert policy is REFUSE
        return made

    with ThreadPoolExecutor(3) as pool:
        made = sum(pool.map(enqueue, range(3)))
    rows = stored.do(lambda tx: tx.conn.execute(select(tables.run.c.cap_key, tables.run.c.state)).all())
    left = [row.cap_key for row in rows if row.state == "waiting"]
    assert {left.count(name) for name in names} == {2}
    assert len(rows) == made == len(left) + len(skipped(stored))
