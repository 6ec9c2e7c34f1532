"""A node takes the runs it was started for, in fair order, and leaves the others where they are."""

import pytest

from cronograph.jobs.actions.groups import pause_group, update_group
from cronograph.jobs.actions.nodes import NewNode, heartbeat, join
from cronograph.jobs.core.defaults import JobInfo
from cronograph.jobs.core.explain import Explanation, explain_run, explain_task
from cronograph.jobs.core.nodes import NodeChoice, NodeState
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.statements import facts, nodes
from cronograph.jobs.store.statements import jobs as stored_jobs
from cronograph.jobs.store.statements import runs as stored_runs
from cronograph.jobs.store.statements import tasks as stored_tasks
from tests.support.storage import ANY_ARGS, Stored, Worker

JOBS = (JobInfo("work", args_schema=ANY_ARGS), JobInfo("render", args_schema=ANY_ARGS, tags=("gpu",)))


def a_node(stored: Stored, choice: NodeChoice, name: str = "node-a", slots: int = 20) -> Worker:
    """A live node that knows both jobs."""
    node = stored.do(join, NewNode(name, slots, "1", JOBS, 60.0, choice=choice), only_node=False)
    stored.do(lambda tx: nodes.set_state(tx.conn, node.id, NodeState.ACTIVE))
    taken = tuple(job.name for job in JOBS if choice.takes_job(job.name, job.tags))
    worker = Worker(stored, node, taken)
    worker.choose(choice.groups)
    return worker


def why_run(stored: Stored, run_id: int) -> Explanation:
    """Why a run waits."""

    def ask(tx: Tx) -> Explanation:
        found = stored_runs.by_ids(tx.conn, [run_id])[run_id]
        return explain_run(found, facts.of_runs(tx.conn, [found], tx.now)[run_id], tx.now)

    return stored.do(ask)


def why_task(stored: Stored) -> Explanation:
    """Return what keeps the one task."""

    def ask(tx: Tx) -> Explanation:
        task = stored_tasks.by_name(tx.conn, "nightly")
        assert task is not None
        return explain_task(task, facts.of_tasks(tx.conn, [task], tx.now)[task.id], tx.now)

    return stored.do(ask)


def test_only_the_chosen_groups_are_served_round_robin_and_by_class(stored: Stored) -> None:
    worker = a_node(stored, NodeChoice(groups=("c", "a")))
    runs = {name: [stored.enqueue(group=name).id for _ in range(2)] for name in ("a", "b", "c", "d")}
    order = [worker.start().run.id for _ in range(4)]
    assert order == [runs["a"][0], runs["c"][0], runs["a"][1], runs["c"][1]]
    assert worker.take(5).started == ()


@pytest.mark.parametrize("slots", [1, 3, 8])
def test_the_order_is_that_of_a_node_for_which_there_is_nothing_else(stored: Stored, slots: int) -> None:
    worker = a_node(stored, NodeChoice(groups=("a", "b", "d", "f")))
    for number in range(12):
        stored.enqueue(group="bdfbad"[number % 6])
        stored.enqueue(group="ce"[number % 2])
    taken: list[str] = []
    while started := worker.take(slots).started:
        taken += [one.run.group for one in started]
    alone = [name for turn in range(4) for name in "abdf" if turn < {"a": 2, "b": 4, "d": 4, "f": 2}[name]]
    assert taken == alone


def test_paused_and_limited_groups_stay_so_for_a_node_that_chose_them(stored: Stored) -> None:
    worker = a_node(stored, NodeChoice(groups=("a", "b")))
    stored.do(pause_group, "a")
    stored.do(update_group, "b", max_running=1)
    for name in ("a", "b", "b"):
        stored.enqueue(group=name)
    assert [one.run.group for one in worker.take(5).started] == ["b"]


def test_jobs_and_tags_are_left_to_others(stored: Stored) -> None:
    with_gpu = a_node(stored, NodeChoice(tags=("gpu",)), "with-gpu")
    plain = stored.enqueue()
    gpu = stored.enqueue(job_name="render")
    without = a_node(stored, NodeChoice(without_tags=("gpu",)), "without")
    assert [one.run.id for one in with_gpu.take(5).started] == [gpu.id]
    assert [one.run.id for one in without.take(5).started] == [plain.id]


def test_explain_names_what_nobody_takes(stored: Stored) -> None:
    a_node(stored, NodeChoice(groups=("a",)))
    run = stored.enqueue(group="b")
    said = why_run(stored, run.id)
    assert (said.code, said.sentence) == (
        "NO_TAKER",
        "No node that takes the group 'b' is alive, so it waits. Start one.",
    )
    assert said.details == ("Node node-a takes only the group 'a'.",)
    stored.task("0 * * * * *", group="b")
    assert why_task(stored).code == "NO_TAKER"
    a_node(stored, NodeChoice(groups=("b",)), "node-b")
    assert why_run(stored, run.id).code == "NEXT"
    assert why_task(stored).code == "WAITING"


def test_slots_of_nodes_that_leave_a_run_do_not_count_for_it(stored: Stored) -> None:
    a_node(stored, NodeChoice(without_tags=("gpu",)), "plain", slots=50)
    gpu = a_node(stored, NodeChoice(tags=("gpu",)), "gpu", slots=1)
    stored.enqueue(job_name="render")
    run = stored.enqueue(job_name="render")
    gpu.start()
    assert why_run(stored, run.id).sentence.startswith("The only slot of node gpu is taken")


def test_a_job_that_a_node_knows_and_nobody_takes_is_still_known(stored: Stored) -> None:
    a_node(stored, NodeChoice(only_jobs=("work",)))
    a_node(stored, NodeChoice(only_jobs=("work",)), "node-b")
    known = stored.do(lambda tx: stored_jobs.by_names(tx.conn, ["render", "work"]))
    assert known["render"].tags == ("gpu",)
    assert (known["render"].nodes, known["work"].nodes) == ((), ("node-a", "node-b"))
    assert "only the job 'work'" in why_run(stored, stored.enqueue(job_name="render").id).details[0]


def test_a_version_is_left_only_to_nodes_that_take_it_in_all_the_same_groups(stored: Stored) -> None:
    other = tuple(JobInfo(job.name, args_schema={"type": "object", "required": ["x"]}) for job in JOBS)

    def newer(choice: NodeChoice, name: str) -> None:
        node = stored.do(join, NewNode(name, 1, "2", other, 60.0, choice=choice), only_node=False)
        stored.do(lambda tx: nodes.set_state(tx.conn, node.id, NodeState.ACTIVE))

    def heard(worker: Worker) -> int:
        return len(stored.do(heartbeat, worker.node.id, lease=60.0, running=0).foreign)

    everywhere, in_a = a_node(stored, NodeChoice(), "all"), a_node(stored, NodeChoice(groups=("a",)), "in-a")
    newer(NodeChoice(groups=("a", "b"), only_jobs=("work",)), "newer")
    # Of `work`; `render` is taken there in no version.
    assert heard(in_a) == 1
    assert heard(everywhere) == 0
    newer(NodeChoice(), "newest")
    assert heard(everywhere) == 2
