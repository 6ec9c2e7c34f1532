"""Several processes on one PostgreSQL: killed, paused, cut off and stopped, they make of every occurrence one run."""

import os
from collections import Counter

import pytest

from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.states import RunState
from tests.chaos.cluster import LONG, UNFENCED, Cluster, figures, losses_were_made_good
from tests.chaos.history import History
from tests.chaos.proxy import Proxy
from tests.chaos.testimony import contradictions
from tests.support.processes import ProcessStarter
from tests.support.waiting import let_pass, wait_until

pytestmark = [pytest.mark.chaos, pytest.mark.postgres, pytest.mark.timeout(180)]

SOAK = float(os.environ.get("CRONOGRAPH_SOAK_SECONDS", "0"))
"""Seconds of the long versions of these tests; 0 = the short ones."""
TASKS = 10
FEW_SLOTS = {"CRONOGRAPH_SLOTS": "4", "CRONOGRAPH_PREFETCH": "0"}
"""No node can take all that is due at once, so that every node has its part."""


@pytest.fixture
def cluster(processes: ProcessStarter, postgres_url: str) -> Cluster:
    # A node that is frozen in the middle of a transaction loses it sooner than it would in earnest.
    return Cluster(processes, f"{postgres_url}?options=-c%20idle_in_transaction_session_timeout%3D1500")


def create_tasks(cluster: Cluster, seconds: float = 0.1) -> None:
    """Ten tasks due every second, each of the overlap policies among them."""
    for number in range(TASKS):
        overlap = ("SKIP", "QUEUE", "ALLOW", "SKIP", "ALLOW")[number % 5]
        cluster.create_task(f"task-{number}", overlap=overlap, retries=9, args={"seconds": seconds})


def judged(cluster: Cluster) -> History:
    """Let the nodes catch up, stop them, and judge everything."""
    cluster.wait_caught_up()
    wait_until(lambda: cluster.count("run", "state = 'stuck'") == 0, message="what was lost to be tried again")
    cluster.stop_all()
    assert "Traceback" not in "".join(one.output() for one in cluster.starter.started)
    history = cluster.verify(at_rest=True)
    print(figures(history))  # noqa: T201 - pytest shows it on request
    return history


@pytest.mark.costly
@pytest.mark.timeout(120 + 2 * SOAK)
def test_two_nodes_make_of_every_occurrence_exactly_one_run(cluster: Cluster) -> None:
    cluster.start("ada", "bob", **FEW_SLOTS)
    create_tasks(cluster, seconds=0.3)
    let_pass(max(4.0, SOAK))
    history = judged(cluster)
    made = Counter((run.task_name, run.scheduled_for) for run in history.runs)
    assert set(made.values()) == {1}
    assert {one.node for one in history.executions} == {"ada", "bob"}
    assert {one.outcome for one in history.executions} == {Outcome.SUCCESS}
    assert "error" not in "".join(one.output() for one in cluster.starter.started)


@pytest.mark.costly
def test_a_killed_node_and_a_paused_one_lose_nothing(cluster: Cluster) -> None:
    cluster.start("ada", "bob", "cyd", **FEW_SLOTS)
    create_tasks(cluster, seconds=0.9)
    cluster.wait_rows("job_execution", "node = 'ada' AND completed_at IS NULL")
    cluster.kill("ada")
    cluster.wait_rows("job_execution", "node = 'bob' AND completed_at IS NULL")
    with cluster.frozen_node("bob") as paused:
        cluster.wait_rows("node", "state = 'expired'", more_than=1)
    # It has been missed and rescued: what it knows is no longer true, and what its jobs now return is too late.
    cluster.wait_rows("job_execution", "node LIKE 'bob%' AND node_id > 3 AND success")
    history = judged(cluster)
    assert losses_were_made_good(history) > 0
    lost = Counter(one.node for one in history.executions if one.outcome is Outcome.LOST)
    assert lost.keys() == {"ada", "bob"}
    assert "is dead: no heartbeat since" in cluster.starter.started[2].output() + paused.output()
    assert "was taken for dead; it ends its jobs and joins again" in paused.output()


@pytest.mark.costly
def test_a_node_cut_off_from_the_database_is_missed_and_joins_again(cluster: Cluster) -> None:
    with Proxy(cluster.url) as proxy:
        cluster.begin("ada", url=proxy.url).wait_ready()
        cluster.begin("bob").wait_ready()
        create_tasks(cluster, seconds=0.9)
        cluster.wait_rows("job_execution", "node = 'ada' AND completed_at IS NULL")
        proxy.hold()
        cluster.wait_rows("node", "state = 'expired'")
        cluster.wait_executions(TASKS)
        assert not cluster.nodes["ada"].is_ready()
        proxy.let_go()
        cluster.wait_rows("job_execution", "node LIKE 'ada%' AND node_id > 2 AND success")
        history = judged(cluster)
    assert losses_were_made_good(history) > 0
    assert "had no good heartbeat for" in cluster.starter.started[0].output()


@pytest.mark.costly
def test_a_node_without_a_fence_is_found_out_by_what_its_jobs_write_down(cluster: Cluster) -> None:
    cluster.start("ada")
    with Proxy(cluster.url) as proxy:
        cluster.begin("bob", url=proxy.url, modules=(LONG, UNFENCED)).wait_ready()
        cluster.trigger("long_coroutine", "bob")
        cluster.wait_rows("job_execution", "node = 'bob' AND completed_at IS NULL")
        wait_until(lambda: cluster.testimony().acted, message="the job to begin")
        proxy.hold()
        found = wait_until(lambda: contradictions(cluster.history(), cluster.testimony()), message="it to be found")
        proxy.let_go()
    assert {rule for rule, _ in found} == {"no attempt acts after the lease of its node"}


@pytest.mark.costly
def test_a_node_that_stops_finishes_what_runs_and_hands_back_the_rest(cluster: Cluster) -> None:
    cluster.start("ada", CRONOGRAPH_SLOTS="1", CRONOGRAPH_PREFETCH="3")
    for _ in range(4):
        cluster.trigger("work", seconds=5.0)
    # Arriving one by one, they are reserved until more than half of the places are taken.
    cluster.wait_rows("run", "state = 'scheduled'", more_than=1)
    cluster.nodes["ada"].terminate()
    cluster.wait_rows("run", "state = 'waiting'", more_than=2)
    assert cluster.count("run", "state = 'running'") == 1
    assert cluster.nodes.pop("ada").wait(30) == 0
    history = cluster.verify(at_rest=True)
    (execution,) = history.executions
    assert (execution.outcome, execution.records_processed, execution.error_message) == (Outcome.SUCCESS, 1, None)
    assert Counter(run.state for run in history.runs) == {RunState.SUCCESS: 1, RunState.WAITING: 3}


@pytest.mark.costly
def test_a_drained_node_ends_with_status_0_and_the_others_go_on(cluster: Cluster) -> None:
    cluster.start("ada", "bob")
    create_tasks(cluster)
    cluster.wait_executions(TASKS)
    drained = cluster.ask('mutation { drainNode(input: { name: "ada" }) { errors { message } } }', "bob")
    assert drained["drainNode"]["errors"] == []
    assert cluster.nodes["ada"].wait() == 0
    before = cluster.count("job_execution", "node = 'ada'")
    cluster.wait_executions(2 * TASKS)
    assert cluster.count("job_execution", "node = 'ada'") == before
    judged(cluster)
