"""Taking runs from the queue, on both databases."""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from cronograph.jobs.actions.groups import pause_group, resume_group, update_group
from cronograph.jobs.actions.nodes import drain_node
from cronograph.jobs.actions.runs import cancel_runs, enqueue_runs, put, retry_now
from cronograph.jobs.core.model import NewRun, OverlapPolicy, Priority, Trigger
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.core.outcome import Failed, Lost, Snoozed, Succeeded
from cronograph.jobs.queue.base.shapes import Candidate
from cronograph.jobs.queue.claims import starts as claims
from cronograph.jobs.queue.claims.claim import Claimant, Standing, Started, claim_more, standing_of, start_more
from cronograph.jobs.queue.claims.fairness import FairnessState, take
from cronograph.jobs.queue.claims.starts import Source
from cronograph.jobs.queue.finish import Finish, finish
from cronograph.jobs.queue.turn import Order, turn
from cronograph.jobs.store.db.database import sync_engine
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.statements import nodes
from tests.support.storage import START, Stored, Worker


def start_reserved(tx: Tx, claimant: Claimant, ids: Sequence[int]) -> tuple[Started, ...]:
    """Return what a node does that has reserved runs, in one transaction."""
    return start_more(tx, claimant, ids) if standing_of(tx, claimant) is Standing.TAKES else ()


def test_a_claimed_run_is_running_with_its_attempt_counted_and_its_execution_open(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue(args={"x": 1})
    started = worker.start()
    assert (started.run.id, started.run.attempt, started.run.args) == (run.id, 1, {"x": 1})
    (row,) = stored.rows(tables.run)
    assert (row.state, row.attempt, row.node_id) == ("running", 1, worker.node.id)
    (execution,) = stored.rows(tables.job_execution)
    assert (execution.id, execution.run_id, execution.attempt) == (started.execution_id, run.id, 1)
    assert (execution.completed_at, execution.success, execution.node) == (None, None, "node-a")


def test_a_run_is_given_to_one_node_only(stored: Stored) -> None:
    a, b = stored.node("a"), stored.node("b")
    stored.enqueue()
    assert len(a.take(5).started) + len(b.take(5).started) == 1


def test_fair_order_holds_across_many_claims(stored: Stored) -> None:
    worker = stored.node()
    for group, count in (("a", 20), ("b", 3), ("c", 2)):
        for _ in range(count):
            stored.enqueue(group=group)
    order = "".join(worker.start().run.group for _ in range(10))
    assert order == "abcabcabaa"


@pytest.mark.parametrize("size", [1, 3, 8])
def test_a_batch_is_taken_in_the_order_of_single_takes(stored: Stored, size: int) -> None:
    worker = stored.node()
    words = {"g1": "H1 H2 H3 L1 L2", "g2": "H4 L3 L4"}
    for group, names in words.items():
        for name in names.split():
            priority = Priority.HIGH if name.startswith("H") else Priority.LOW
            stored.enqueue(group=group, priority=priority, description=name)
    order: list[str] = []
    while claimed := worker.take(size).started:
        order += [started.run.description for started in claimed]
    assert " ".join(order) == "H1 H4 H2 L3 L1 L4 H3 L2"


@pytest.mark.parametrize("unknown", [False, True])
def test_what_is_looked_at_first_of_each_group_changes_no_order(stored: Stored, unknown: bool) -> None:
    worker = stored.node(jobs=("play", "work"))
    sizes = {"a": 60, "b": 1, "c": 6, "d": 2}
    runs = [
        NewRun(
            "play" if place % 5 < 2 else "work",
            Trigger.API,
            group=group,
            priority=Priority.HIGH if place % 7 == 0 else Priority.LOW,
        )
        for group, size in sizes.items()
        for place in range(size)
    ]
    ids = [one.run.id for one in stored.do(enqueue_runs, runs)]
    if unknown:
        stored.node("other", jobs=("nobody knows it",))
        stored.enqueue(job_name="nobody knows it", group="c")
    queue = [Candidate(run_id, run.group, run.priority) for run_id, run in zip(ids, runs, strict=True)]
    expected = [one.run_id for one in take(FairnessState(), queue, len(queue))]
    # The first look tells how many groups there are, the next ones begin with their part of each.
    assert [one.run.id for slots in (1, 40, 40) for one in worker.take(slots).started] == expected


def test_two_nodes_alternating_serve_every_group_in_turn(stored: Stored) -> None:
    a, b = stored.node("a"), stored.node("b")
    for name in ("A0", "A1", "B0", "B1", "C0", "C1"):
        stored.enqueue(group=name[0], description=name)
    order = [worker.start().run.description for _ in range(3) for worker in (a, b)]
    assert order == ["A0", "A1", "B0", "B1", "C0", "C1"]


def test_a_due_stuck_run_comes_before_waiting_ones_of_its_group(stored: Stored) -> None:
    worker = stored.node()
    first = stored.enqueue()
    worker.end(worker.start(), Failed("ValueError", "boom"))
    stored.enqueue(priority=Priority.HIGH)
    stored.pass_time(61)
    assert worker.start().run.id == first.id


@pytest.mark.parametrize("unknown", [False, True])
def test_due_stuck_runs_come_in_the_order_of_their_times_whatever_their_priorities(
    stored: Stored, unknown: bool
) -> None:
    worker = stored.node(jobs=("work", "play"))
    if unknown:
        stored.node("other", jobs=("nobody knows it",))
        stored.enqueue(job_name="nobody knows it", available_at=START - timedelta(days=1))
    put = [
        stored.enqueue(job_name=job, priority=priority, retry_delay=delay).id
        for job, priority, delay in (
            ("work", Priority.LOW, 30.0),
            ("play", Priority.HIGH, 20.0),
            ("work", Priority.HIGH, 40.0),
            ("play", Priority.LOW, 10.0),
        )
    ]
    for one in worker.take(4).started:
        worker.end(one, Failed("ValueError", "boom"))
    stored.at(41)
    again = [one.run.id for slots in (1, 2, 1) for one in worker.take(slots).started]
    assert again == [put[3], put[1], put[0], put[2]]


def test_a_retry_is_due_strictly_after_its_time(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue(retry_delay=10.0)
    worker.end(worker.start(), Failed("ValueError", "boom"))
    stored.at(10)
    assert worker.take().started == ()
    stored.now += timedelta(microseconds=1)
    assert worker.start().run.attempt == 2


def test_a_stuck_run_can_be_made_due_now_by_hand(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    worker.end(worker.start(), Failed("ValueError", "boom"))
    stored.do(retry_now, run.id)
    assert worker.start().run.attempt == 2


def test_a_run_for_later_waits_for_its_time(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue(available_at=START + timedelta(seconds=30))
    assert worker.take().started == ()
    stored.at(30)
    assert len(worker.take().started) == 1


def test_a_snoozed_run_is_taken_again_and_no_failure_is_counted(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue()
    worker.end(worker.start(), Snoozed(5.0))
    assert worker.take().started == ()
    stored.at(5)
    again = worker.start().run
    assert (again.attempt, again.failures) == (2, 0)


def test_a_node_takes_only_jobs_it_knows(stored: Stored) -> None:
    a, b = stored.node("a", jobs=["work", "other"]), stored.node("b", jobs=["work"])
    stored.do(enqueue_runs, [NewRun("other", Trigger.API)])
    assert b.take().started == ()
    assert len(a.take().started) == 1


def test_a_paused_group_is_passed_over_until_it_resumes(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue(group="a")
    stored.enqueue(group="b")
    stored.do(pause_group, "a", actor="ann")
    assert [one.run.group for one in worker.take(5).started] == ["b"]
    stored.do(resume_group, "a", actor="ann")
    assert [one.run.group for one in worker.take(5).started] == ["a"]


def test_a_limited_group_never_runs_more_than_its_limit_on_all_nodes(stored: Stored) -> None:
    a, b = stored.node("a"), stored.node("b")
    for _ in range(6):
        stored.enqueue(group="acme")
    stored.do(update_group, "acme", max_running=3)
    first = a.take(2).started
    second = b.take(5).started
    assert (len(first), len(second), len(a.take(5).started)) == (2, 1, 0)
    a.end(first[0])
    assert len(b.take(5).started) == 1


def test_what_is_beyond_the_free_slots_is_reserved_without_an_attempt(stored: Stored) -> None:
    worker = stored.node()
    for _ in range(4):
        stored.enqueue()
    claimed = worker.take(1, prefetch=2)
    assert (len(claimed.started), len(claimed.reserved)) == (1, 2)
    reserved = [run for run in stored.rows(tables.run) if run.state == "scheduled"]
    assert [(run.attempt, run.node_id) for run in reserved] == [(0, worker.node.id)] * 2
    assert len(stored.rows(tables.job_execution)) == 1
    later = stored.do(start_reserved, worker.claimant, claimed.reserved)
    assert [one.run.attempt for one in later] == [1, 1]


def test_a_reserved_run_that_was_cancelled_is_not_started(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue()
    claimed = worker.take(0, prefetch=1)
    stored.do(cancel_runs, [run.id], actor="ann")
    assert stored.do(start_reserved, worker.claimant, claimed.reserved) == ()


def test_pausing_a_group_gives_its_reserved_runs_back(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue(group="a")
    claimed = worker.take(0, prefetch=1)
    stored.do(pause_group, "a", actor="ann")
    (run,) = stored.rows(tables.run)
    assert (run.state, run.node_id) == ("waiting", None)
    assert stored.do(start_reserved, worker.claimant, claimed.reserved) == ()


def test_a_node_declared_dead_takes_nothing(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue()
    stored.do(lambda tx: nodes.set_state(tx.conn, worker.node.id, NodeState.EXPIRED))
    assert worker.take().fenced


def test_a_node_that_drains_takes_nothing_from_the_moment_it_was_asked_to(stored: Stored) -> None:
    worker, other = stored.node("a"), stored.node("b")
    for _ in range(3):
        stored.enqueue()
    reserved = worker.take(0, prefetch=1).reserved
    stored.do(drain_node, "a")
    claimed = worker.take(1)
    assert (claimed.started, claimed.fenced) == ((), False)
    assert stored.do(start_reserved, worker.claimant, reserved) == ()
    turned = stored.do(turn, worker.claimant, worker.fairness, Order((), reserved, 2, 0))
    assert (turned.started, turned.standing) == ((), Standing.DRAINS)
    assert len(other.take(5).started) == 2


def test_many_groups_and_a_deep_queue_are_all_served(stored: Stored) -> None:
    worker = stored.node()
    runs = [NewRun("work", Trigger.API, group=f"group-{place % 70:02}") for place in range(210)]
    stored.do(enqueue_runs, runs)
    order = [started.run.group for started in worker.take(210).started]
    assert Counter(order) == {f"group-{place:02}": 3 for place in range(70)}
    assert order[:70] == sorted(order[:70])


@pytest.mark.postgres
def test_eight_nodes_claiming_at_once_take_every_run_once(postgres_url: str) -> None:
    stored = Stored(postgres_url)
    workers = [stored.node(f"node-{place}") for place in range(8)]
    task = stored.task("* * * * * *", overlap=None)
    stored.do(enqueue_runs, [NewRun("work", Trigger.API, group=f"g{place % 3}") for place in range(200)])
    stored.do(
        enqueue_runs, [NewRun("work", Trigger.API, task_id=task.id, exclusive=True, group="x") for _ in range(20)]
    )

    def take_six_times(worker: Worker) -> list[int]:
        return [started.run.id for _ in range(6) for started in worker.take(7).started]

    with ThreadPoolExecutor(8) as pool:
        taken = [run_id for ids in pool.map(take_six_times, workers) for run_id in ids]
    assert len(taken) == len(set(taken)) == 201
    exclusive = [row for row in stored.rows(tables.run, task_id=task.id) if row.state == "running"]
    assert len(exclusive) == 1
    stored.close()


def test_a_lost_run_is_due_again_at_once(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue()
    worker.end(worker.start(), Lost("its node died"))
    stored.now += timedelta(microseconds=1)
    assert worker.start().run.attempt == 2


def test_a_reserved_run_of_a_group_that_was_paused_meanwhile_goes_back(stored: Stored) -> None:
    worker = stored.node()
    stored.enqueue(group="g")
    (run_id,) = worker.take(0, prefetch=1).reserved
    stored.do(pause_group, "g", actor="ann")
    assert stored.do(start_reserved, worker.claimant, [run_id]) == ()
    (row,) = stored.rows(tables.run)
    assert (row.state, row.node_id, row.attempt) == ("waiting", None, 0)


def test_a_group_that_is_paused_between_the_look_and_the_start_starts_nothing(stored: Stored) -> None:
    worker = stored.node()
    run = stored.enqueue(group="g")
    stored.do(pause_group, "g", actor="ann")
    node = (worker.node.id, worker.node.name)
    assert stored.do(lambda tx: claims.start(tx, [run.id], node, Source.QUEUE)) == {}
    assert stored.do(lambda tx: claims.reserve(tx.conn, [run.id], worker.node.id)) == {}


@pytest.mark.postgres
def test_times_of_an_exclusive_task_never_cross(postgres_url: str) -> None:
    """The claim has begun before the attempt ended that it waits for."""
    stored = Stored(postgres_url)
    worker = stored.node()
    task = stored.task(overlap=OverlapPolicy.QUEUE)
    stored.database.clock = None
    for _ in range(2):
        stored.do(put, [NewRun("work", Trigger.MANUAL, task_id=task.id, exclusive=True)])
    first = worker.start()

    def claim_late(tx: Tx) -> None:
        assert claim_more(tx, worker.claimant, worker.fairness, slots=1, prefetch=0).started == ()
        with ThreadPoolExecutor(1) as other:
            other.submit(end_first).result()
        (started,) = claim_more(tx, worker.claimant, worker.fairness, slots=1, prefetch=0).started
        assert started.run.attempt == 1

    def end_first() -> None:
        engine = sync_engine(stored.database.url)
        with engine.begin() as conn:
            finish(Tx(conn), worker.node.id, worker.node.name, [Finish(first.run, first.execution_id, Succeeded())])
        engine.dispose()

    stored.do(claim_late)
    before, after = stored.rows(tables.job_execution)
    assert before.completed_at <= after.started_at
    stored.close()
