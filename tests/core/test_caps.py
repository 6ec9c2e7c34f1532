"""Caps on waiting runs: the rule as tables, and against a model that keeps the queues themselves."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from cronograph.jobs.core.admission.caps import Cap, Line, Verdict, Waiter, WhenFull, cap_faults, judge, needed
from cronograph.jobs.core.limits import Limits, UniqueKey

REFUSE, OLDEST, NEWEST = WhenFull.REFUSE, WhenFull.DROP_OLDEST, WhenFull.DROP_NEWEST
A, B, G = Line("job", "a"), Line("job", "b"), Line(None, "group")


def waiters(first: int, count: int, *lines: Line) -> list[Waiter]:
    return [Waiter(first + place, lines) for place in range(count)]


@pytest.mark.parametrize(
    ("policy", "limit", "waiting", "new", "expected"),
    [
        (REFUSE, 3, 2, 1, Verdict()),
        (REFUSE, 3, 2, 2, Verdict(refused=A)),
        (REFUSE, 3, 5, 1, Verdict(refused=A)),
        (NEWEST, 3, 2, 3, Verdict(dropped={1: A, 2: A})),
        (OLDEST, 3, 2, 1, Verdict()),
        (OLDEST, 3, 2, 3, Verdict(replaced={100: A, 101: A})),
        # More than may wait at all: the first of them give way, too.
        (OLDEST, 2, 2, 3, Verdict(replaced={100: A, 101: A}, dropped={0: A})),
        # The cap was lowered: no enqueue drops more than it adds.
        (OLDEST, 2, 9, 2, Verdict(replaced={100: A, 101: A})),
    ],
)
def test_what_becomes_of_new_runs(policy: WhenFull, limit: int, waiting: int, new: int, expected: Verdict) -> None:
    found = judge([(A,)] * new, {A: Cap(limit, policy)}, {A: waiting}, {A: waiters(100, waiting, A)})
    assert found == expected


def test_what_gives_way_in_one_line_makes_room_in_the_other() -> None:
    caps = {A: Cap(1, OLDEST), G: Cap(2, OLDEST)}
    oldest = {A: waiters(7, 1, A, G), G: [Waiter(5, (B, G)), *waiters(7, 1, A, G)]}
    assert judge([(A, G)], caps, {A: 1, G: 2}, oldest) == Verdict(replaced={7: A})


def test_a_run_that_one_line_drops_takes_no_place_in_another_and_makes_nobody_give_way() -> None:
    caps = {A: Cap(1, NEWEST), G: Cap(1, OLDEST)}
    assert judge([(A, G)], caps, {A: 1, G: 1}, {G: waiters(5, 1, B, G)}) == Verdict(dropped={0: A})


def test_anyone_who_gave_too_few_is_informed() -> None:
    assert judge([(A,)], {A: Cap(1, OLDEST)}, {A: 1}, {}).is_short


class Model:
    """Queues as lists: each run is put, and anyone who has to go goes at once."""

    def __init__(self, caps: Mapping[Line, Cap], stored: Sequence[Waiter]) -> None:
        self.caps = caps
        self.runs = list(stored)
        self.gone: dict[int, Line] = {}

    def in_line(self, line: Line) -> list[Waiter]:
        return [one for one in self.runs if line in one.lines]

    def put(self, new: Waiter) -> Line | None:
        """The line that refuses it, if one does."""
        full = [line for line in new.lines if len(self.in_line(line)) >= self.caps[line].limit]
        for policy in (REFUSE, NEWEST):
            for line in full:
                if self.caps[line].when_full is policy:
                    if policy is NEWEST:
                        self.gone[new.ref] = line
                        return None
                    return line
        for line in full:
            if len(self.in_line(line)) >= self.caps[line].limit:
                oldest = self.in_line(line)[0]
                self.runs.remove(oldest)
                self.gone[oldest.ref] = line
        self.runs.append(new)
        return None


def test_the_rule_does_what_a_queue_does_that_is_kept_run_by_run() -> None:
    for seed in range(400):
        chance = random.Random(seed)
        caps = {line: Cap(chance.randint(1, 4), chance.choice(list(WhenFull))) for line in (A, B, G)}
        kinds: list[tuple[Line, ...]] = [(A, G), (B, G), (A,), (G,)]
        stored = [Waiter(100 + place, chance.choice(kinds)) for place in range(chance.randint(0, 9))]
        new = [chance.choice(kinds) for _ in range(chance.randint(1, 8))]
        model = Model(caps, stored)
        counts = {line: len(model.in_line(line)) for line in caps}
        oldest = {line: model.in_line(line)[: needed(len(new))] for line in caps}
        found = judge(new, caps, counts, oldest)
        refused = None
        for place, lines in enumerate(new):
            refused = model.put(Waiter(-1 - place, lines))
            if refused is not None:
                break
        if refused is not None:
            assert found == Verdict(refused=refused), seed
            continue
        told = {**found.replaced, **{-1 - place: line for place, line in found.dropped.items()}}
        assert told == model.gone, seed
        for line, cap in caps.items():
            assert len(model.in_line(line)) <= max(cap.limit, counts[line]), seed


@pytest.mark.parametrize(
    ("limit", "when_full", "fault"),
    [
        (0, REFUSE, "cap.limit: must be a whole number of waiting runs from 1 to 100,000, got 0"),
        (100_001, REFUSE, "cap.limit: must be a whole number of waiting runs from 1 to 100,000, got 100001"),
        (2.5, REFUSE, "cap.limit: must be a whole number of waiting runs from 1 to 100,000, got 2.5"),
        (True, REFUSE, "cap.limit: must be a whole number of waiting runs from 1 to 100,000, got True"),
        (5, "drop", "cap.when_full: must be one of 'refuse', 'drop_oldest', 'drop_newest', got 'drop'"),
        (5, None, "cap.when_full: must be one of 'refuse', 'drop_oldest', 'drop_newest', got None"),
    ],
)
def test_a_cap_that_cannot_be_is_refused(limit: Any, when_full: Any, fault: str) -> None:
    (found,) = cap_faults(limit, when_full)
    assert str(found) == fault


def test_the_key_of_a_cap_is_its_own_or_that_of_the_concurrency_or_all_runs_of_the_job_have_one() -> None:
    cap, own, other = Cap(5), UniqueKey(("a",), "{a}"), UniqueKey(("b",), "b{b}")
    args = {"a": "1", "b": "2"}
    rules = [Limits(cap=cap, cap_key=own, concurrency_key=other, max_concurrent=1)]
    rules += [Limits(cap=cap, concurrency_key=other, max_concurrent=1), Limits(cap=cap), Limits()]
    assert [rule.keys_of("work", args).cap_key for rule in rules] == ["1", "b2", "", None]
    assert [Limits.from_json(rule.to_json()) for rule in rules] == rules
