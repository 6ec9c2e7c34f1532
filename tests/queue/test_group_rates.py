"""Rates of groups, and how long low priority waits there, on both databases."""

from datetime import timedelta

import pytest

from cronograph.jobs.actions.groups import set_group_rate, set_max_wait_low, update_group
from cronograph.jobs.core.admission.caps import Rate
from cronograph.jobs.core.base.errors import InvalidInput
from cronograph.jobs.core.model import Priority
from cronograph.jobs.core.outcome import HandedBack
from cronograph.jobs.queue.claims.candidates import Want, candidates
from cronograph.jobs.queue.claims.fairness import CountingScheme, FairnessState
from cronograph.jobs.queue.turn import Order, turn
from cronograph.jobs.store.schema import tables
from tests.support.storage import START, Stored, Worker


def ids(worker: Worker) -> list[int]:
    return [one.run.id for one in worker.take(20).started]


def test_a_group_starts_as_many_as_its_rate_has_tokens_and_others_go_on(stored: Stored) -> None:
    a, b = stored.node("a"), stored.node("b")
    stored.do(set_group_rate, "mail", rate=Rate(10, 1.0, 2))
    for _ in range(4):
        stored.enqueue(group="mail")
    plain = [stored.enqueue(group="other").id for _ in range(3)]
    assert [len(a.take(3).started), len(b.take(20).started)] == [3, 2]
    assert [row.group_name for row in stored.rows(tables.run, state="running")].count("mail") == 2
    assert {row.id for row in stored.rows(tables.run, state="running")} > set(plain)
    assert ids(b) == []
    stored.pass_time(0.1)
    assert [len(a.take(20).started), len(b.take(20).started)] == [1, 0]


def test_a_node_with_free_slots_looks_again_when_the_group_gets_its_token(stored: Stored) -> None:
    worker = stored.node()
    stored.do(set_group_rate, "mail", rate=Rate(1, 10.0, 1))
    for _ in range(2):
        stored.enqueue(group="mail")
    order = Order((), (), 5, 0)
    first = stored.do(turn, worker.claimant, worker.fairness, order)
    assert (len(first.started), first.next_in) == (1, 10.0)
    stored.pass_time(4)
    # Another look does not read the group's runs, and knows the time as well.
    again = stored.do(turn, worker.claimant, worker.fairness, order)
    assert (len(again.started), again.next_in) == (0, 6.0)


def test_a_group_that_waits_for_a_token_is_not_looked_into(stored: Stored) -> None:
    worker = stored.node()
    stored.do(set_group_rate, "mail", rate=Rate(1, 10.0, 1))
    for _ in range(30):
        stored.enqueue(group="mail")
    worker.take(20)
    want = Want(stored.now, ("work",), 20)
    assert stored.do(lambda tx: candidates(tx.conn, want, None)) == []


def test_a_rate_and_a_limit_of_a_group_hold_both(stored: Stored) -> None:
    worker = stored.node()
    stored.do(set_group_rate, "mail", rate=Rate(10, 1.0, 5))
    stored.do(update_group, "mail", max_running=2)
    for _ in range(9):
        stored.enqueue(group="mail")
    assert len(worker.take(20).started) == 2
    (group,) = stored.rows(tables.queue_group)
    # Two tokens were taken, not five.
    assert group.rate_full_at == START + timedelta(seconds=0.2)


def test_a_rate_of_a_group_can_be_changed_and_taken_away(stored: Stored) -> None:
    worker = stored.node()
    stored.do(set_group_rate, "mail", rate=Rate(1, 86400.0, 1))
    for _ in range(9):
        stored.enqueue(group="mail")
    assert [len(ids(worker)), len(ids(worker))] == [1, 0]
    stored.do(set_group_rate, "mail", rate=Rate(10, 1.0, 1))
    stored.pass_time(0.1)
    assert len(ids(worker)) == 1
    stored.do(set_group_rate, "mail", rate=None)
    assert len(ids(worker)) == 7


def test_a_run_of_a_group_that_is_handed_back_gives_its_token_back(stored: Stored) -> None:
    worker = stored.node()
    stored.do(set_group_rate, "mail", rate=Rate(1, 60.0, 1))
    stored.enqueue(group="mail")
    worker.end(worker.start(), HandedBack("the node stops"))
    assert len(ids(worker)) == 1


def test_what_was_reserved_when_its_group_got_a_rate_goes_back(stored: Stored) -> None:
    worker = stored.node()
    for _ in range(3):
        stored.enqueue(group="mail")
    assert len(worker.take(1, prefetch=2).reserved) == 2
    stored.do(set_group_rate, "mail", rate=Rate(1, 60.0, 1))
    assert [row.state for row in stored.rows(tables.run)] == ["running", "waiting", "waiting"]
    assert worker.take(0, prefetch=2).reserved == ()


def high_and_low(stored: Stored) -> None:
    """Low ones that are due now, and more high ones than anybody takes."""
    for name in ("L1", "L2", "L3"):
        stored.enqueue(description=name)
    stored.pass_time(30)
    for place in range(40):
        stored.enqueue(description=f"H{place}", priority=Priority.HIGH)


def test_low_priority_goes_first_once_it_has_waited_as_long_as_its_group_says(stored: Stored) -> None:
    worker = stored.node()
    worker.fairness = FairnessState(CountingScheme(20, 1))
    high_and_low(stored)
    stored.do(set_max_wait_low, "default", seconds=60.0)
    assert {one.run.description[0] for one in worker.take(5).started} == {"H"}
    stored.pass_time(30)
    stored.enqueue(description="L4")
    taken = [one.run.description for one in worker.take(5).started]
    assert taken[:3] == ["L1", "L2", "L3"]
    assert {one[0] for one in taken[3:]} == {"H"}


def test_without_a_bound_low_priority_waits_for_its_turn_by_the_scheme(stored: Stored) -> None:
    worker = stored.node()
    worker.fairness = FairnessState(CountingScheme(20, 1))
    high_and_low(stored)
    stored.pass_time(3600)
    assert {one.run.description[0] for one in worker.take(20).started} == {"H"}
    assert worker.start().run.description == "L1"


def test_a_bound_that_cannot_be_is_refused(stored: Stored) -> None:
    with pytest.raises(InvalidInput, match="maxWaitLow: must be from 0 to"):
        stored.do(set_max_wait_low, "default", seconds=-1.0)
