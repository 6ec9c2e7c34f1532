"""Rates and concurrency keys: what may start, what is held back, and what lets it go, on both databases."""

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from cronograph.jobs.actions.runs import cancel_runs, edit_run, enqueue_runs, retry_now
from cronograph.jobs.core.admission.caps import Rate
from cronograph.jobs.core.limits import NEVER, Limits, UniqueKey
from cronograph.jobs.core.model import NewRun, Priority, Trigger
from cronograph.jobs.core.outcome import Failed, HandedBack, Snoozed
from cronograph.jobs.queue.claims.claim import claim
from cronograph.jobs.queue.limits.admission import is_anything_held, look_for_slots, look_for_tokens
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.statements.runs import by_ids
from tests.support.storage import START, Stored, Worker

CUSTOMER = UniqueKey(("customer",), "{customer}")
ONE_EACH = Limits(concurrency_key=CUSTOMER, max_concurrent=1)
TEN_A_SECOND = Limits(rate=Rate(10, 1.0, 2))
ONE_A_SECOND_EACH = Limits(rate=Rate(1, 1.0, 1), rate_key=CUSTOMER)


def put(stored: Stored, customers: str, **changes: object) -> list[int]:
    return [stored.enqueue_by_job(args={"customer": one}, **changes).id for one in customers]


def ids(worker: Worker, slots: int = 20) -> list[int]:
    return [one.run.id for one in worker.take(slots).started]


def held(stored: Stored) -> list[int]:
    return [row.id for row in stored.rows(tables.run) if row.due_at is not None and row.finished_at is None]


@pytest.mark.costly
def test_runs_with_one_key_run_one_after_the_other_in_their_order(stored: Stored) -> None:
    worker = stored.node(limits=ONE_EACH)
    a1, a2, a3, b1 = put(stored, "aaab")
    first = worker.take(20).started
    assert [one.run.id for one in first] == [a1, b1]
    assert held(stored) == [a2, a3]
    worker.end(first[0])
    assert held(stored) == [a3]
    (second,) = worker.take(20).started
    assert second.run.id == a2
    worker.end(second)
    assert ids(worker) == [a3]


def test_a_key_has_as_many_slots_as_its_job_says_over_all_nodes(stored: Stored) -> None:
    limits = Limits(max_concurrent=3)
    a, b = stored.node("a", limits=limits), stored.node("b", limits=limits)
    put(stored, "vwxyz")
    assert [len(a.take(2).started), len(b.take(20).started)] == [2, 1]
    assert len(held(stored)) == 2


def test_a_run_waits_for_its_own_maximum_and_for_nobody_elses(stored: Stored) -> None:
    worker = stored.node()

    def of_key(count: int, max_concurrent: int) -> list[int]:
        new = NewRun("work", Trigger.API, concurrency_key="a", max_concurrent=max_concurrent)
        return [one.run.id for one in stored.do(enqueue_runs, [new] * count)]

    of_key(3, 3)
    started = worker.take(20).started
    (alone,), (second, third) = of_key(1, 1), of_key(2, 3)
    assert ids(worker) == []
    assert held(stored) == [alone, second, third]
    worker.end(started[0])
    assert held(stored) == [alone, third]
    again = worker.take(20).started
    assert [one.run.id for one in again] == [second]
    for one in (*started[1:], *again):
        worker.end(one)
    assert ids(worker) == [alone, third]


def test_a_run_that_is_held_back_is_waiting_since_it_was_due(stored: Stored) -> None:
    worker = stored.node(limits=ONE_EACH)
    _, second = put(stored, "aa")
    worker.take(20)
    run = stored.do(lambda tx: by_ids(tx.conn, [second])[second])
    assert (run.state.value, run.available_at, run.due_at) == ("waiting", START, START)
    (row,) = stored.rows(tables.run, id=second)
    assert row.available_at == NEVER


def test_a_long_row_of_one_key_is_read_once_and_hides_nothing_behind_it(stored: Stored) -> None:
    worker = stored.node(limits=ONE_EACH)
    new = [NewRun("work", Trigger.API, args={"customer": "a"}, concurrency_key="a", max_concurrent=1)] * 700
    stored.do(enqueue_runs, new)
    (last,) = put(stored, "b")
    found = ids(worker, 2)
    while len(found) < 2:
        found += ids(worker, 2)
    assert found[1] == last
    assert len(held(stored)) == 699
    assert ids(worker, 20) == []


def test_of_those_held_back_a_retry_goes_first_then_high_priority_then_the_oldest(stored: Stored) -> None:
    worker = stored.node(limits=ONE_EACH)
    retried, low = put(stored, "aa", retry_delay=10.0)
    high = put(stored, "a", priority=Priority.HIGH)[0]
    # High first, by the counting scheme.
    started = worker.start()
    assert started.run.id == high
    worker.take(20)
    assert held(stored) == [retried, low]
    worker.end(started)
    first = worker.start()
    assert first.run.id == retried
    worker.end(first, Failed("ValueError", "boom"))
    second = worker.start()
    assert second.run.id == low
    another = put(stored, "a", priority=Priority.HIGH)[0]
    stored.pass_time(11)
    assert ids(worker) == []
    assert held(stored) == [retried, another]
    worker.end(second)
    assert worker.start().run.id == retried


def test_a_retry_that_waits_holds_no_slot(stored: Stored) -> None:
    worker = stored.node(limits=ONE_EACH)
    _, other = put(stored, "aa", retry_delay=60.0)
    started = worker.start()
    worker.take(20)
    worker.end(started, Failed("ValueError", "boom"))
    assert ids(worker) == [other]


def test_a_snoozed_run_holds_no_slot(stored: Stored) -> None:
    worker = stored.node(limits=ONE_EACH)
    _, other = put(stored, "aa")
    started = worker.start()
    worker.take(20)
    worker.end(started, Snoozed(60.0))
    assert ids(worker) == [other]


def test_a_slot_that_nobody_took_is_found_by_the_next_look(stored: Stored) -> None:
    worker = stored.node(limits=ONE_EACH)
    _, second, third = put(stored, "aaa")
    started = worker.start()
    worker.take(20)
    worker.end(started)
    # The second was let go, and is cancelled before it starts.
    stored.do(cancel_runs, [second])
    assert held(stored) == [third]
    assert stored.do(lambda tx: is_anything_held(tx.conn))
    stored.do(look_for_slots, "")
    assert ids(worker) == [third]
    assert not stored.do(lambda tx: is_anything_held(tx.conn))


def test_a_look_goes_on_where_the_last_one_ended(stored: Stored) -> None:
    worker = stored.node(limits=ONE_EACH)
    put(stored, "aabbcc")
    worker.take(20)
    after, seen = "", []
    for _ in range(3):
        after = stored.do(look_for_slots, after, at_most=2)
        seen.append(after)
    assert seen == ["b", "", "b"]


def test_a_cancelled_run_that_was_held_back_is_over(stored: Stored) -> None:
    worker = stored.node(limits=ONE_EACH)
    _, second = put(stored, "aa")
    started = worker.start()
    worker.take(20)
    stored.do(cancel_runs, [second])
    worker.end(started)
    assert ids(worker) == []


def test_what_is_edited_is_judged_again(stored: Stored) -> None:
    worker = stored.node(limits=ONE_EACH)
    _, second, third = put(stored, "aaa")
    worker.start()
    worker.take(20)
    stored.do(edit_run, second, args={"customer": "b"})
    assert ids(worker) == [second]
    stored.do(retry_now, third)
    assert ids(worker) == []
    assert held(stored) == [third]


def test_runs_of_a_task_have_the_key_of_its_arguments(stored: Stored) -> None:
    worker = stored.node(limits=ONE_EACH)
    stored.task(args={"customer": "a"})
    put(stored, "a")
    stored.pass_time(60)
    assert stored.dispatch() == 1
    assert len(ids(worker)) == 1
    assert [row.concurrency_key for row in stored.rows(tables.run)] == ["a", "a"]


def test_nothing_that_is_limited_is_reserved_ahead(stored: Stored) -> None:
    worker = stored.node(limits=ONE_EACH)
    put(stored, "abc")
    claimed = worker.take(1, prefetch=5)
    assert (len(claimed.started), claimed.reserved) == (1, ())


def test_a_job_starts_as_many_as_there_are_tokens_on_all_nodes_together(stored: Stored) -> None:
    a, b = stored.node("a", limits=TEN_A_SECOND), stored.node("b", limits=TEN_A_SECOND)
    put(stored, "vwxyz")
    first, second = a.take(20), b.take(20)
    assert [len(first.started), len(second.started)] == [2, 0]
    assert first.blocked == second.blocked == {"work": START + timedelta(seconds=0.1)}
    # They wait in the queue, not one by one: the node leaves their job alone until then.
    assert held(stored) == []
    stored.pass_time(0.1)
    assert [len(a.take(20).started), len(b.take(20).started)] == [1, 0]


def test_a_rate_keeps_no_other_job_waiting(stored: Stored) -> None:
    worker = stored.node(jobs=("work",), limits=TEN_A_SECOND)
    other = stored.node("b", jobs=("work", "other"))
    stored.node("c", jobs=("work",), limits=TEN_A_SECOND)
    put(stored, "vwxyz")
    plain = stored.enqueue(job_name="other").id
    assert len(worker.take(20).started) == 2
    assert ids(other) == [plain]


def test_each_key_of_a_rate_has_its_own_tokens(stored: Stored) -> None:
    worker = stored.node(limits=ONE_A_SECOND_EACH)
    a1, a2, a3, b1 = put(stored, "aaab")
    assert ids(worker) == [a1, b1]
    assert held(stored) == [a2, a3]
    assert stored.do(look_for_tokens) == START + timedelta(seconds=1)
    stored.pass_time(1)
    assert stored.do(look_for_tokens) == START + timedelta(seconds=2)
    assert held(stored) == [a3]
    assert ids(worker) == [a2]
    stored.pass_time(1)
    assert stored.do(look_for_tokens) == START + timedelta(seconds=3)
    assert ids(worker) == [a3]
    stored.pass_time(1)
    assert stored.do(look_for_tokens) is None


def test_what_was_let_go_for_a_token_that_is_gone_waits_again(stored: Stored) -> None:
    worker = stored.node(limits=ONE_A_SECOND_EACH)
    _, second = put(stored, "aa")
    worker.take(20)
    stored.pass_time(1)
    stored.do(look_for_tokens)
    newer = put(stored, "a", priority=Priority.HIGH)[0]
    assert ids(worker) == [newer]
    assert held(stored) == [second]
    stored.pass_time(1)
    stored.do(look_for_tokens)
    assert ids(worker) == [second]


def test_a_run_that_is_handed_back_gives_its_token_back(stored: Stored) -> None:
    worker = stored.node(limits=ONE_A_SECOND_EACH)
    put(stored, "a")
    worker.end(worker.start(), HandedBack("the node stops"))
    assert len(ids(worker)) == 1


def test_a_retry_takes_a_token_of_its_own(stored: Stored) -> None:
    worker = stored.node(limits=Limits(rate=Rate(1, 60.0, 1)))
    put(stored, "a", retry_delay=1.0)
    worker.end(worker.start(), Failed("ValueError", "boom"))
    stored.pass_time(2)
    assert ids(worker) == []
    stored.pass_time(58)
    assert len(ids(worker)) == 1


def test_a_run_may_need_a_slot_and_a_token(stored: Stored) -> None:
    limits = Limits(rate=Rate(1, 1.0, 1), concurrency_key=CUSTOMER, max_concurrent=1, rate_key=CUSTOMER)
    worker = stored.node(limits=limits)
    put(stored, "aa")
    started = worker.start()
    worker.take(20)
    worker.end(started)
    # The slot is free, the token is not.
    assert ids(worker) == []
    stored.pass_time(1)
    stored.do(look_for_tokens)
    assert len(ids(worker)) == 1


def test_a_new_rate_of_a_job_holds_at_once(stored: Stored) -> None:
    worker = stored.node(limits=Limits(rate=Rate(1, 86400.0, 1), rate_key=CUSTOMER))
    put(stored, "aaa")
    assert len(ids(worker)) == 1
    worker = stored.node("b", limits=ONE_A_SECOND_EACH)
    stored.pass_time(86400)
    stored.do(look_for_tokens)
    assert len(ids(worker)) == 1
    stored.pass_time(1)
    stored.do(look_for_tokens)
    assert len(ids(worker)) == 1


def test_a_rate_that_is_taken_away_keeps_nobody_waiting(stored: Stored) -> None:
    worker = stored.node(limits=Limits(rate=Rate(1, 1.0, 1), rate_key=CUSTOMER))
    put(stored, "aaa")
    assert len(ids(worker)) == 1
    worker = stored.node("b")
    stored.pass_time(1)
    stored.do(look_for_tokens)
    assert len(ids(worker)) == 2


def test_runs_without_any_limit_cost_no_further_statement(stored: Stored) -> None:
    plain, limited = stored.node("a"), stored.node("b", jobs=("limited",), limits=ONE_EACH)

    def taken(worker: Worker) -> int:
        return stored.statements(lambda tx: claim(tx, worker.claimant, worker.fairness, slots=1))

    stored.enqueue()
    of_plain = taken(plain)
    stored.enqueue_by_job(job_name="limited", args={"customer": "x"})
    # By what it is limited, and how many with its key run.
    assert taken(limited) - of_plain == 2


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(3))
def test_two_nodes_at_once_never_pass_a_limit(stored: Stored, seed: int) -> None:
    limits = Limits(Rate(1000, 1.0, 7), UniqueKey(("rate",), "{rate}"), CUSTOMER, 2)
    workers = [stored.node(name, limits=limits) for name in ("a", "b")]
    chance = random.Random(seed)
    wanted = [{"customer": chance.choice("ab"), "rate": chance.choice("xy")} for _ in range(60)]
    for args in wanted:
        stored.enqueue_by_job(args=args)
    for _ in range(40):
        with ThreadPoolExecutor(2) as pool:
            claims = list(pool.map(lambda worker: worker.take(5), workers))
        started = [one for claimed in claims for one in claimed.started]
        running = Counter(row.concurrency_key for row in stored.rows(tables.run, state="running"))
        assert all(count <= 2 for count in running.values()), running
        for worker, claimed in zip(workers, claims, strict=True):
            for one in claimed.started:
                worker.end(one)
        stored.pass_time(0.001)
        stored.do(look_for_tokens)
        stored.do(look_for_slots, "")
        if not started and not held(stored):
            break
    executions = stored.rows(tables.job_execution)
    assert len(executions) == 60
    by_run = {row.id: row.rate_key for row in stored.rows(tables.run)}
    for key in "xy":
        times = sorted(one.started_at for one in executions if by_run[one.run_id] == key)
        for place, first in enumerate(times):
            within = sum(1 for at in times[place:] if at - first < timedelta(seconds=0.003))
            assert within <= 7 + 3
