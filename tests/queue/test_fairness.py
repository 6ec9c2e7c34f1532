"""The order in which a node takes runs."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronograph.jobs.core.model import Priority
from cronograph.jobs.queue.base.shapes import Candidate
from cronograph.jobs.queue.claims.fairness import MOST_COUNTERS, CountingScheme, FairnessState, choose, take


def candidates(**groups: str) -> tuple[list[Candidate], dict[int, str]]:
    """Runs in groups, first in, first out: ``H1`` is of priority HIGH, ``L1`` LOW, ``S1`` a due stuck one."""
    found: list[Candidate] = []
    names: dict[int, str] = {}
    for group, words in groups.items():
        for word in words.split():
            names[len(names)] = word
            priority = Priority.HIGH if word.startswith("H") else Priority.LOW
            found.append(Candidate(len(names) - 1, group, priority, stuck=word.startswith("S")))
    return found, names


def taken_in_order(count: int, state: FairnessState | None = None, **groups: str) -> str:
    found, names = candidates(**groups)
    return " ".join(names[one.run_id] for one in take(state or FairnessState(), found, count))


def test_groups_take_turns_and_within_a_group_two_high_then_one_low() -> None:
    assert taken_in_order(8, g1="H1 H2 H3 L1 L2", g2="H4 L3 L4") == "H1 H4 H2 L3 L1 L4 H3 L2"


def test_a_large_group_does_not_starve_small_ones() -> None:
    many = " ".join(["a"] * 20)
    assert taken_in_order(10, a=many, b="b b b", c="c c") == "a b c a b c a b a a"


def test_due_stuck_runs_come_first_in_their_group() -> None:
    assert taken_in_order(4, g1="H1 L1 S1", g2="L2") == "S1 L2 H1 L1"


def test_when_one_priority_is_empty_the_other_is_taken() -> None:
    assert taken_in_order(3, g="L1 L2 L3") == "L1 L2 L3"
    assert taken_in_order(3, g="H1 H2 H3") == "H1 H2 H3"


def test_the_pointer_goes_on_after_the_last_served_group_and_wraps() -> None:
    assert taken_in_order(3, FairnessState(last_group="b"), a="a", b="b", c="c") == "c a b"
    assert taken_in_order(3, FairnessState(last_group="bb"), a="a", b="b", c="c") == "c a b"
    assert taken_in_order(3, FairnessState(last_group="z"), a="a", b="b", c="c") == "a b c"


def test_two_nodes_with_pointers_of_their_own_take_each_group_in_turn() -> None:
    found, names = candidates(A="A0 A1", B="B0 B1", C="C0 C1")
    nodes = [FairnessState(), FairnessState()]
    order: list[str] = []
    for place in range(6):
        (one,) = take(nodes[place % 2], found, 1)
        order.append(names[one.run_id])
        found = [other for other in found if other.run_id != one.run_id]
    assert order == ["A0", "A1", "B0", "B1", "C0", "C1"]


def test_two_runs_of_one_exclusive_task_are_never_taken_together() -> None:
    found = [Candidate(1, "g", Priority.LOW, blocks=7), Candidate(2, "g", Priority.LOW, blocks=7)]
    assert [one.run_id for one in take(FairnessState(), found, 2)] == [1]


def test_a_limited_group_gives_no_more_than_its_capacity() -> None:
    found, names = candidates(a="a1 a2 a3", b="b1 b2 b3")
    taken = take(FairnessState(), found, 6, capacities={"a": 1})
    assert [names[one.run_id] for one in taken] == ["a1", "b1", "b2", "b3"]


queues = st.lists(
    st.tuples(
        st.integers(0, 10**6),
        st.sampled_from("abcd"),
        st.sampled_from(Priority),
        st.booleans(),
        st.none() | st.integers(1, 4),
    ).map(lambda given: Candidate(*given)),
    max_size=40,
    unique_by=lambda one: one.run_id,
)
schemes = st.builds(CountingScheme, high=st.integers(1, 4), low=st.integers(1, 4))


@pytest.mark.costly
@given(queues, schemes, st.integers(0, 45), st.none() | st.sampled_from("abcde"))
def test_taking_many_at_once_is_taking_one_many_times(
    found: list[Candidate], scheme: CountingScheme, count: int, last: str | None
) -> None:
    together = take(FairnessState(scheme, last), found, count)
    state, single, left = FairnessState(scheme, last), list[Candidate](), list(found)
    for _ in range(count):
        more = take(state, left, 1)
        if not more:
            break
        single += more
        # A taken exclusive run blocks the others of its task, as it does in the database.
        left = [
            one for one in left if one.run_id != more[0].run_id and (one.blocks is None or one.blocks != more[0].blocks)
        ]
    assert together == single


def first_of_lanes(found: list[Candidate], depth: int) -> list[Candidate]:
    """The first so many of each class of each group."""
    seen: Counter[tuple[str, Priority | None]] = Counter()
    first: list[Candidate] = []
    for one in found:
        lane = (one.group, None if one.stuck else one.priority)
        seen[lane] += 1
        first += [one] if seen[lane] <= depth else []
    return first


@given(queues, schemes, st.integers(0, 45), st.none() | st.sampled_from("abcde"), st.integers(1, 5))
def test_looking_at_the_first_of_each_lane_again_and_again_is_looking_at_all(
    found: list[Candidate], scheme: CountingScheme, count: int, last: str | None, depth: int
) -> None:
    whole, state = FairnessState(scheme, last), FairnessState(scheme, last)
    expected = take(whole, found, count)
    taken, left, goes_on = list[Candidate](), list(found), True
    while goes_on:
        chosen, goes_on, _ = choose(state, first_of_lanes(left, depth), count - len(taken), depth=depth)
        taken += chosen
        gone, blocked = {one.run_id for one in chosen}, {one.blocks for one in chosen} - {None}
        left = [one for one in left if one.run_id not in gone and one.blocks not in blocked]
        depth *= 2
    assert taken == expected
    assert state == whole


lanes_of_groups = st.dictionaries(
    st.sampled_from("abcdef"), st.tuples(st.integers(1, 9), st.sampled_from(Priority), st.booleans()), min_size=1
)


@given(
    lanes_of_groups, st.integers(0, 35), st.none() | st.integers(1, 9), st.none() | st.sampled_from("abcdefg"), schemes
)
def test_one_lane_for_each_group_is_taken_as_if_there_were_more_to_judge(
    groups: dict[str, tuple[int, Priority, bool]],
    count: int,
    depth: int | None,
    last: str | None,
    scheme: CountingScheme,
) -> None:
    lanes = [
        Candidate(10 * place + number, name, priority, stuck)
        for place, (name, (size, priority, stuck)) in enumerate(groups.items())
        for number in range(size if depth is None else min(size, depth))
    ]
    # A task of its own for each forbids nothing, but has to be looked at.
    judged = [one._replace(blocks=one.run_id) for one in lanes]
    plain, general = FairnessState(scheme, last), FairnessState(scheme, last)
    chosen, expected = choose(plain, lanes, count, depth=depth), choose(general, judged, count, depth=depth)
    assert [one.run_id for one in chosen.chosen] == [one.run_id for one in expected.chosen]
    assert chosen.goes_on == expected.goes_on
    assert plain == general


@given(queues, schemes)
def test_whatever_can_be_taken_is_taken_once(found: list[Candidate], scheme: CountingScheme) -> None:
    taken = take(FairnessState(scheme), found, len(found))
    assert all(times == 1 for times in Counter(one.run_id for one in taken).values())
    free = [one for one in found if one.blocks is None]
    assert {one.run_id for one in free} <= {one.run_id for one in taken}
    assert {one.blocks for one in taken} == {one.blocks for one in found}


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 9), min_size=1))
def test_between_two_turns_of_a_group_every_other_waiting_group_has_one(sizes: dict[str, int]) -> None:
    found, _ = candidates(**{name: " ".join(["L"] * size) for name, size in sizes.items()})
    order = [one.group for one in take(FairnessState(), found, len(found))]
    rounds = max(sizes.values())
    for turn in range(rounds):
        expected = sorted(name for name, size in sizes.items() if size > turn)
        begin = sum(min(size, turn) for size in sizes.values())
        assert order[begin : begin + len(expected)] == expected


class TestCountingScheme:
    def test_is_read_from_its_text(self) -> None:
        assert CountingScheme.parse(" 3, 2 ") == CountingScheme(3, 2)

    @pytest.mark.parametrize("text", ["", "2", "2,1,1", "0,1", "a,b", "-1,2", "2;1", "²,1", "99999,1"])
    def test_refuses_anything_but_two_whole_numbers(self, text: str) -> None:
        with pytest.raises(ValueError, match="two whole numbers"):
            CountingScheme.parse(text)


def test_groups_without_end_share_a_counter_and_low_runs_of_theirs_get_their_turns() -> None:
    state = FairnessState()
    for number in range(MOST_COUNTERS + 500):
        taken_in_order(1, state, **{f"g{number}": "L1"})
        state = state.after(f"h{number}", 1)
    assert len(state.counters) == MOST_COUNTERS + 1
    words = [taken_in_order(1, state, **{f"new{number}": "H1 L1"}) for number in range(30)]
    assert Counter(words) == {"H1": 20, "L1": 10}
