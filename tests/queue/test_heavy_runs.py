"""Runs that take several slots of a node: claimed in their place of the fair order, and overtaken by nobody."""

import random
from collections import Counter, deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronograph.jobs.core.model import Priority
from cronograph.jobs.queue.base.shapes import Candidate
from cronograph.jobs.queue.claims.claim import claim
from cronograph.jobs.queue.claims.fairness import FairnessState, choose
from cronograph.jobs.store.schema import tables
from tests.actions.test_explaining import of_run, says
from tests.support.storage import Stored

LIGHT, HEAVY = "work", "render"


def candidate(run_id: int, slots: int = 1, group: str = "default", priority: Priority = Priority.LOW) -> Candidate:
    return Candidate(run_id, group, priority, slots=slots, heavy=HEAVY if slots > 1 else None)


def test_what_fits_is_taken_and_the_first_that_does_not_keeps_the_rest_for_itself() -> None:
    found = [candidate(1), candidate(2, 3), candidate(3, 4), candidate(4)]
    choice = choose(FairnessState(), found, 6, room=6)
    assert ([one.run_id for one in choice.chosen], choice.next_one) == ([1, 2], found[2])
    again = choose(FairnessState(), found[2:], 4, room=4)
    assert ([one.run_id for one in again.chosen], again.next_one) == ([3], None)


def test_a_run_that_finds_no_room_costs_its_group_no_turn() -> None:
    state = FairnessState()
    found = [candidate(1, 4, "a"), candidate(2, group="b")]
    assert choose(state, found, 2, room=2).chosen == []
    assert (state.last_group, state.counters) == (None, {})


def test_slots_that_are_free_soon_are_for_runs_that_take_one() -> None:
    found = [candidate(1), candidate(2), candidate(3, 2)]
    choice = choose(FairnessState(), found, 5, room=3)
    assert ([one.run_id for one in choice.chosen], choice.next_one) == ([1, 2], found[2])


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.sampled_from((1, 1, 1, 2, 4, 8)), st.sampled_from("ab"), st.sampled_from(Priority))),
    st.randoms(use_true_random=False),
)
def test_a_node_of_eight_slots_is_never_too_full_and_starves_nobody(
    runs: list[tuple[int, str, Priority]], chance: random.Random
) -> None:
    waiting = deque(candidate(number, *one) for number, one in enumerate(runs))
    state, held = FairnessState(), dict[int, int]()
    first_refused, overtaken = dict[int, int](), Counter[int]()
    steps = 0
    while waiting or held:
        steps += 1
        assert steps <= 4 * len(runs) + 4, "something starves"
        free = 8 - sum(held.values())
        choice = choose(state, waiting, free, room=free)
        for one in choice.chosen:
            waiting.remove(one)
            held[one.run_id] = one.slots
            for run_id in first_refused.keys() - {one.run_id}:
                overtaken[run_id] += 1
            first_refused.pop(one.run_id, None)
        assert sum(held.values()) <= 8
        if choice.next_one is not None:
            first_refused.setdefault(choice.next_one.run_id, steps)
        if held:
            del held[chance.choice(list(held))]
    # Once it is next, and nothing new comes, nobody goes before it.
    assert not overtaken


@pytest.mark.parametrize("behind", [1, 30])
def test_a_claim_takes_a_heavy_run_in_its_turn_and_nothing_that_came_later(stored: Stored, behind: int) -> None:
    worker = stored.node(jobs=(LIGHT, HEAVY))
    worker.weigh(render=4)
    first = [stored.enqueue().id for _ in range(3)]
    heavy = stored.enqueue(job_name=HEAVY).id
    for _ in range(behind):
        stored.enqueue()
    claimed = worker.take(6)
    assert ([one.run.id for one in claimed.started], claimed.next_job) == (first, HEAVY)
    for one in claimed.started[:1]:
        worker.end(one)
    claimed = worker.take(4)
    assert ([one.run.id for one in claimed.started], claimed.next_job, claimed.left) == ([heavy], None, 0)


def test_nothing_is_handed_out_ahead_past_a_heavy_run(stored: Stored) -> None:
    worker = stored.node(jobs=(LIGHT, HEAVY))
    worker.weigh(render=4)
    lights = [stored.enqueue().id for _ in range(3)]
    stored.enqueue(job_name=HEAVY)
    stored.enqueue()
    claimed = worker.take(2, prefetch=5)
    assert [one.run.id for one in claimed.started] == lights[:2]
    assert list(claimed.reserved) == lights[2:]


def test_a_node_without_heavy_jobs_sends_no_further_statement(stored: Stored) -> None:
    worker = stored.node(jobs=(LIGHT, HEAVY))
    stored.enqueue()
    plain = stored.statements(lambda tx: claim(tx, worker.claimant, worker.fairness, slots=5))
    worker.weigh(render=4)
    stored.enqueue()
    weighing = stored.statements(lambda tx: claim(tx, worker.claimant, worker.fairness, slots=5))
    assert weighing - plain == 1


def test_explain_says_that_no_node_is_large_enough(stored: Stored) -> None:
    stored.node(slots=8, takes=16)
    run = stored.enqueue()
    says(of_run(stored, run.id), "TOO_FEW_SLOTS", "takes 16 slots of one node, and node node-a has 8")
    stored.node("large", slots=16, takes=16)
    says(of_run(stored, run.id), "NEXT", "about to take it")


def test_explain_says_that_slots_are_kept_for_a_heavy_run(stored: Stored) -> None:
    worker = stored.node(slots=8, takes=3)
    worker.weigh(work=3)
    for _ in range(3):
        stored.enqueue()
    claimed = worker.take(8)
    assert (len(claimed.started), claimed.next_job, claimed.left) == (2, "work", 2)
    waiting = max(row.id for row in stored.rows(tables.run))
    says(of_run(stored, waiting), "NO_SLOT", "It takes 3 slots of one node, of which 2 are free", "keeps the slots")
