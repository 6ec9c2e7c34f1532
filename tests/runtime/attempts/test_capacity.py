"""How many runs of which kind a node begins, and how many short ones ahead."""

from collections import Counter

import pytest

from cronograph.jobs.core.model import Isolation
from cronograph.jobs.registry import define
from cronograph.jobs.runtime.attempts.capacity import GATHER, HORIZON, PAUSE, Allowance, Capacity, Overcommit

ASYNC, THREAD, PROCESS = Isolation.ASYNC, Isolation.THREAD, Isolation.PROCESS
NOBODY = {THREAD: 0, PROCESS: 0}


async def awaits() -> None:
    """A coroutine."""


def blocks() -> None:
    """A thread."""


def computes() -> None:
    """A child process."""


class Node:
    """Rooms, and a clock that a test sets."""

    def __init__(self, slots: int = 10, threads: int = 4, processes: int = 2) -> None:
        self.now = 100.0
        jobs = [define("awaits", awaits), define("blocks", blocks), define("computes", computes, isolation="process")]
        self.capacity = Capacity(jobs, slots, {THREAD: threads, PROCESS: processes}, clock=lambda: self.now)

    def allowances(self, **held: int) -> list[tuple[str, int]]:
        found = self.capacity.allowances(Counter({Isolation(kind): count for kind, count in held.items()}), NOBODY)
        return [(" ".join(allowance.jobs), allowance.count) for allowance in found]


def test_a_claim_for_several_kinds_is_as_large_as_the_narrowest_and_others_follow_without_it() -> None:
    node = Node()
    assert node.allowances() == [("awaits blocks computes", 2), ("awaits blocks", 4), ("awaits", 10)]
    assert node.allowances(process=2, thread=3) == [("awaits blocks", 1), ("awaits", 5)]
    assert node.allowances(process=2, thread=4) == [("awaits", 4)]
    assert node.allowances(**{"async": 10}) == []


def test_kinds_with_equal_room_are_claimed_together() -> None:
    assert Node(slots=2, threads=2, processes=2).allowances() == [("awaits blocks computes", 2)]


def test_a_kind_that_is_closed_is_left_out() -> None:
    node = Node()
    node.capacity.close(PROCESS)
    assert node.allowances() == [("awaits blocks", 4), ("awaits", 10)]
    node.capacity.open(PROCESS)
    assert len(node.allowances()) == 3


def test_only_where_a_claim_left_slots_free_a_run_follows_another_in_its_slot() -> None:
    node = Node()
    assert not node.capacity.unlimited
    node.capacity.note_left(AWAITS, is_left=True)
    node.capacity.note_left(BLOCKS, is_left=True)
    assert "blocks" in node.capacity.unlimited
    node.capacity.note_left(BLOCKS, is_left=False)
    assert node.capacity.unlimited == ("awaits",)


AWAITS = Allowance(("awaits",), 3, frozenset({ASYNC}))
BLOCKS = Allowance(("blocks",), 3, frozenset({THREAD}))


def test_where_nothing_was_found_nobody_looks_for_a_moment_unless_there_is_news() -> None:
    node = Node()
    node.capacity.note_empty(AWAITS, node.capacity.notices(AWAITS))
    assert node.capacity.was_empty(AWAITS)
    assert not node.capacity.was_empty(BLOCKS)
    node.capacity.forget_empty()
    assert not node.capacity.was_empty(AWAITS)
    node.capacity.note_empty(AWAITS, node.capacity.notices(AWAITS))
    node.now += PAUSE
    assert not node.capacity.was_empty(AWAITS)


def test_what_is_announced_while_a_claim_is_under_way_is_looked_for_at_once_though_the_claim_found_nothing() -> None:
    node = Node()
    began = node.capacity.notices(AWAITS)
    node.capacity.forget_empty()
    node.capacity.note_empty(AWAITS, began)
    assert not node.capacity.was_empty(AWAITS)


def test_stored_ends_are_news_of_their_own_kind_alone() -> None:
    node = Node()
    for allowance in (AWAITS, BLOCKS):
        node.capacity.note_empty(allowance, node.capacity.notices(allowance))
    node.capacity.ended(ASYNC, 0)
    node.capacity.ends_stored()
    assert not node.capacity.was_empty(AWAITS)
    assert node.capacity.was_empty(BLOCKS)


class TestFullClaims:
    """While as many runs wait as claims can take, each kind has its own, and coroutines are claimed by thirds."""

    def test_each_kind_is_claimed_by_itself_and_coroutines_leave_the_others_their_places(self) -> None:
        node = Node(slots=20)
        node.capacity.filled(is_full=True)
        assert node.allowances() == [("awaits", 14), ("blocks", 4), ("computes", 2)]
        assert node.allowances(**{"async": 14}) == [("blocks", 4), ("computes", 2)]
        node.capacity.filled(is_full=False)
        assert node.allowances()[0] == ("awaits blocks computes", 2)

    def test_where_the_others_have_more_than_half_of_the_slots_all_kinds_share_them(self) -> None:
        node = Node(slots=10, threads=4)
        node.capacity.filled(is_full=True)
        assert node.allowances()[0] == ("awaits blocks computes", 2)

    def test_a_claim_of_coroutines_pays_off_when_a_third_of_the_slots_is_free(self) -> None:
        node = Node(slots=20)
        assert node.capacity.pays_off(19)
        node.capacity.begun(ASYNC, 0)
        node.capacity.filled(is_full=True)
        assert [node.capacity.pays_off(held) for held in (14, 13)] == [False, True]

    def test_where_only_others_were_begun_no_claim_waits(self) -> None:
        node = Node(slots=20)
        node.capacity.begun(THREAD, 0)
        node.capacity.filled(is_full=True)
        assert node.capacity.pays_off(19)


class TestTurns:
    """Ends and claims share turns on SQLite: all that a claim brought may have ended before the next one."""

    @staticmethod
    def after(turns: int, pause: float, *, is_full: bool) -> int:
        """Return how many runs the last claim is for."""
        node, count = Node(slots=200, threads=20), 0
        for _ in range(turns):
            count = next(places for jobs, places in node.allowances() if jobs in {"awaits blocks", "blocks"})
            for held in range(count):
                node.capacity.begun(THREAD, held)
            node.capacity.claimed(0.01)
            node.capacity.filled(is_full=is_full)
            node.now += 0.002
            for _ in range(count):
                node.capacity.ended(THREAD, 0)
            node.now += pause
        return count

    def test_where_claims_are_full_more_is_begun_than_there_are_threads(self) -> None:
        assert self.after(20, pause=0.01, is_full=True) > 40

    def test_where_a_claim_leaves_places_free_none_of_them_waits_for_claims(self) -> None:
        assert self.after(20, pause=10.0, is_full=False) == 20


class TestAhead:
    @staticmethod
    def after(places: int, rate: float, claim: float, seconds: float = 1.0, waiting: int = 1) -> int:
        """Return how many are begun ahead after runs have ended at this rate for so long."""
        ahead, now, count = Overcommit(places), 0.0, 0
        ahead.begin(now)
        step = 0.02
        for _ in range(round(seconds / step)):
            now += step
            for _ in range(round(rate * step)):
                ahead.end(1)
            ahead.claimed(claim)
            count = ahead.count(now, waiting)
        return count

    def test_short_runs_are_begun_for_the_time_of_two_turns(self) -> None:
        assert self.after(20, rate=4000, claim=0.005) == pytest.approx(4000 * 2 * 0.01, abs=2)

    def test_never_for_longer_than_the_horizon(self) -> None:
        assert self.after(20, rate=4000, claim=1.0) <= 4000 * HORIZON + 1

    def test_long_runs_are_not_begun_ahead(self) -> None:
        assert self.after(20, rate=50, claim=0.003) == 0

    def test_a_run_that_would_wait_longer_than_the_horizon_is_not_begun_ahead(self) -> None:
        assert self.after(1, rate=10, claim=0.02) == 0

    def test_two_child_processes_have_one_or_two_ahead(self) -> None:
        assert self.after(2, rate=100, claim=0.005) in {1, 2, 3}

    def test_where_claims_are_what_is_awaited_the_rate_grows(self) -> None:
        assert self.after(20, rate=4000, claim=0.005, waiting=0) > self.after(20, rate=4000, claim=0.005)

    def test_two_ends_that_fall_together_are_no_rate(self) -> None:
        ahead = Overcommit(2)
        ahead.begin(0.0)
        assert ahead.count(0.2, 0) == 0
        ahead.end(1)
        ahead.end(1)
        assert ahead.count(0.21, 0) == 0
        assert ahead.count(0.26, 0) == 0

    def test_a_run_that_found_no_place_ends_it(self) -> None:
        ahead = Overcommit(20)
        ahead.begin(0.0)
        for _ in range(400):
            ahead.end(1)
        assert ahead.count(0.1, 0) > 0
        ahead.stall()
        assert ahead.count(0.2, 0) == 0

    def test_idle_time_says_nothing_about_the_rate(self) -> None:
        ahead = Overcommit(20)
        ahead.begin(0.0)
        for _ in range(400):
            ahead.end(1)
        before = ahead.count(0.1, 1)
        ahead.begin(1000.0)
        for _ in range(40):
            ahead.end(1)
        assert ahead.count(1000.01, 1) == before


class TestGathering:
    """Where few runs end in the time of a transaction, their ends and the claims for more are gathered."""

    @staticmethod
    def at(rate: float) -> Overcommit:
        """Two places whose runs end at this rate."""
        found = Overcommit(2, GATHER)
        found.begin(0.0)
        for _ in range(round(rate / 2)):
            found.end(1)
        found.count(0.5, 1)
        for _ in range(round(rate / 2)):
            found.end(1)
        found.count(1.0, 1)
        return found

    def test_more_is_begun_ahead_and_never_for_longer_than_the_horizon(self) -> None:
        counts = [self.at(100).count(1.0, 0), self.at(1000).count(1.0, 0)]
        assert 3 <= counts[0] <= 100 * HORIZON
        assert 30 <= counts[1] <= 1000 * HORIZON

    def test_an_end_waits_as_long_as_those_begun_ahead_leave_time_to_store_it_and_to_claim_more(self) -> None:
        found = self.at(1000)
        assert found.gathering(1000) == GATHER
        assert 0 < found.gathering(20) < found.gathering(30) < GATHER
        assert found.gathering(4) == 0
        for _ in range(20):
            found.claimed(0.05)
        assert found.gathering(20) == 0

    def test_an_end_does_not_wait_where_none_was_begun_ahead_or_none_ends(self) -> None:
        assert self.at(1000).gathering(0) == 0
        assert Overcommit(2, GATHER).gathering(3) == 0

    def test_nothing_is_added_until_half_of_what_was_begun_ahead_has_found_a_place(self) -> None:
        found = self.at(1000)
        most = found.count(1.0, 0)
        half = most // 2
        assert found.count(1.0, half) == most
        assert found.count(1.0, half + 1) == half + 1

    def test_a_slow_claim_is_no_reason_for_small_ones(self) -> None:
        found = self.at(1000)
        for _ in range(20):
            found.claimed(0.05)
        assert found.gathering(half := found.count(1.0, 0) // 2 + 1) == 0
        assert found.count(1.0, half) == half

    def test_where_places_went_empty_more_is_begun_ahead_though_some_wait_again(self) -> None:
        fed, dry = self.at(1000), self.at(1000)
        for found, waiting in ((fed, 1), (dry, 0)):
            for _ in range(500):
                found.end(waiting)
        assert dry.count(1.5, 1) > fed.count(1.5, 1)

    def test_only_ends_in_child_processes_wait(self) -> None:
        node = Node()
        for kind in (THREAD, PROCESS):
            node.capacity.begun(kind, 0)
        node.capacity.allowances(Counter(), NOBODY)
        for kind in (ASYNC, THREAD, PROCESS):
            for _ in range(100):
                node.capacity.ended(kind, 1)
        node.now += 0.1
        node.capacity.allowances(Counter(), {THREAD: 10, PROCESS: 10})
        assert [node.capacity.gathering(kind, 10) > 0 for kind in (ASYNC, THREAD, PROCESS)] == [False, False, True]


def renders() -> None:
    """A large child process."""


class TestHeavyRuns:
    """Runs that take several slots, and find them kept free."""

    def node(self, slots: int = 10, threads: int = 4, processes: int = 4) -> Node:
        node = Node(slots, threads, processes)
        jobs = [
            define("awaits", awaits),
            define("blocks", blocks),
            define("computes", computes, isolation="process"),
            define("renders", renders, isolation="process", slots=3),
            define("gathers", awaits, slots=8),
        ]
        node.capacity = Capacity(jobs, slots, {THREAD: threads, PROCESS: processes}, clock=lambda: node.now)
        return node

    def claim(self, node: Node, next_job: str | None, **held: int) -> bool:
        """The first claim finds that this job is next."""
        counted = Counter({Isolation(kind): count for kind, count in held.items()})
        return node.capacity.keep_free(node.capacity.allowances(counted, NOBODY)[0], next_job)

    def test_a_claim_knows_what_its_jobs_take_and_how_many_slots_are_free_now(self) -> None:
        first, *_, last = self.node().capacity.allowances(Counter({ASYNC: 3}), NOBODY)
        assert (first.heavy, first.room) == ({"renders": 3, "gathers": 8}, 4)
        assert (last.heavy, last.room) == ({"gathers": 8}, 7)
        assert Node().capacity.allowances(Counter(), NOBODY)[0].heavy == {}

    def test_others_leave_its_slots_alone_until_it_has_them(self) -> None:
        node = self.node()
        assert self.claim(node, "renders", process=2)
        everybody = "awaits blocks computes gathers renders"
        # Of 8 free slots 3 are kept for it.
        assert node.allowances(process=2) == [(everybody, 2), ("awaits blocks gathers", 4), ("awaits gathers", 5)]
        assert node.allowances(**{"process": 2, "async": 6}) == [("computes renders", 2)]
        assert self.claim(node, None, process=2)
        assert node.allowances(process=2)[-1] == ("awaits gathers", 8)

    def test_two_kinds_never_keep_slots_from_each_other(self) -> None:
        node = self.node()
        assert self.claim(node, "renders", process=2)
        widest = node.capacity.allowances(Counter({PROCESS: 2}), NOBODY)[-1]
        assert node.capacity.keep_free(widest, "gathers")
        # The first one is served first.
        assert node.allowances(process=1)[-1] == ("awaits gathers", 6)

    def test_nothing_is_begun_ahead_beside_a_heavy_run(self) -> None:
        node = self.node(threads=2)
        overcommitted = Counter({THREAD: 2})
        node.capacity.begun(THREAD, 0)
        for _ in range(200):
            node.capacity.ended(THREAD, 1)
        node.now += 0.1
        found = node.capacity.allowances(overcommitted, {THREAD: 1, PROCESS: 0})
        assert any("blocks" in one.jobs for one in found)
        found = node.capacity.allowances(overcommitted, {THREAD: 1, PROCESS: 0}, [THREAD])
        assert all("blocks" not in one.jobs for one in found)

    def test_a_job_that_takes_more_than_the_node_has_is_left_to_others(self, caplog: pytest.LogCaptureFixture) -> None:
        node = self.node(slots=6, processes=2)
        assert [job for job in ("renders", "gathers") if job in node.capacity.jobs] == []
        assert "job renders takes 3 slots, and this node has 2 of the kind" in caplog.text
