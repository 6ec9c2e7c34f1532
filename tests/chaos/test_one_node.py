"""One process on SQLite: killed at any moment, it goes on where it was; every second has its run or its reason."""

import os
import random
import signal
from collections import Counter
from datetime import timedelta
from functools import partial

import pytest

from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.states import RunState
from tests.chaos.cluster import Cluster, figures, losses_were_made_good
from tests.chaos.rules import nominal_times
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import let_pass, wait_until

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(180)]

SOAK = float(os.environ.get("CRONOGRAPH_SOAK_SECONDS", "0"))
"""Seconds of the long versions of these tests; 0 = the short ones."""


@pytest.fixture
def cluster(processes: ProcessStarter, sqlite_url: str) -> Cluster:
    return Cluster(processes, sqlite_url)


def seeded() -> random.Random:
    """Chance that can be repeated: the seed is printed, and taken from ``CRONOGRAPH_CHAOS_SEED``."""
    seed = int(os.environ.get("CRONOGRAPH_CHAOS_SEED", random.SystemRandom().randrange(2**32)))
    print(f"CRONOGRAPH_CHAOS_SEED={seed}")  # noqa: T201 - pytest shows it when the test fails
    return random.Random(seed)


@pytest.mark.costly
@pytest.mark.timeout(120 + 3 * SOAK)
def test_no_second_is_lost_or_doubled_by_kills_at_random_moments(cluster: Cluster) -> None:
    chance = seeded()
    cluster.start("node-0")
    cluster.create_task("often")
    cluster.create_task("impatient", misfireGrace=0.5)
    cluster.create_task("long", overlap="ALLOW", args={"seconds": 1.5}, retries=9)
    cluster.create_task("queued", overlap="QUEUE", args={"seconds": 0.2}, retries=9)
    for life in range(1, 3 if not SOAK else int(SOAK / 4)):
        cluster.wait_executions(1)
        let_pass(chance.uniform(0.2, 2.0))
        cluster.kill(f"node-{life - 1}")
        let_pass(chance.choice([0.0, 1.5]))
        cluster.start(f"node-{life}")
    cluster.wait_caught_up()
    wait_until(lambda: cluster.count("run", "state = 'stuck'") == 0, message="what was lost to be tried again")
    cluster.stop_all()
    history = cluster.verify(at_rest=True)
    print(figures(history))  # noqa: T201 - pytest shows it on request
    assert losses_were_made_good(history) > 0
    assert {node.state.value for node in history.nodes[:-1]} == {"expired"}


@pytest.mark.costly
@pytest.mark.timeout(120 + 2 * SOAK)
def test_a_task_of_every_second_runs_every_second(cluster: Cluster) -> None:
    cluster.start("steady")
    cluster.create_task("tick")
    let_pass(max(4.0, SOAK))
    cluster.stop_all()
    history = cluster.verify(at_rest=True)
    print(figures(history))  # noqa: T201 - pytest shows it on request
    (task,) = [task for task in history.tasks if task.name == "tick"]
    due = list(nominal_times(task))
    assert due == [due[0] + timedelta(seconds=second) for second in range(len(due))]
    assert len(due) >= max(4.0, SOAK)
    ran = Counter(one.scheduled_for for one in history.executions if one.task_name == "tick")
    skipped = sum(row.count for row in history.skipped if row.task_name == "tick")
    assert set(ran.values()) == {1}
    # What came due as the node stopped waits for the next one.
    kept = [one.scheduled_for for one in history.runs if one.state is RunState.WAITING]
    assert kept in ([], [due[-1]])
    assert len(ran) + len(kept) + skipped == len(due)


def is_over(process: CronographProcess) -> bool:
    return not process.running


def test_a_job_that_kills_its_node_ends_failed_and_names_the_nodes(cluster: Cluster) -> None:
    cluster.start("victim-0")
    query = "mutation ($runs: [EnqueueRunInput!]!) { enqueueRuns(input: { runs: $runs }) { errors { message } } }"
    cluster.ask(query, runs=[{"jobName": "poison", "retries": 1}])
    for life in range(2):
        victim = cluster.nodes[f"victim-{life}"]
        wait_until(partial(is_over, victim), message="the poison to work")
        cluster.nodes.pop(f"victim-{life}")
        cluster.begin(f"victim-{life + 1}")
    cluster.nodes["victim-2"].wait_ready()
    cluster.stop_all()
    history = cluster.verify(at_rest=True)
    (run,) = [run for run in history.runs if run.job_name == "poison"]
    assert (run.state, run.attempt, run.failures) == (RunState.FAILED, 2, 2)
    assert [one.node for one in history.executions_of[run.id]] == ["victim-0", "victim-1"]
    assert "node victim-1 was lost while it ran this job" in (run.error or "")


@pytest.mark.costly
def test_two_hours_of_downtime_become_one_run_and_one_folded_row(cluster: Cluster) -> None:
    cluster.start("before")
    cluster.create_task("tick")
    cluster.wait_executions(1)
    cluster.kill("before")
    cluster.move_into_the_past("tick", timedelta(hours=2))
    cluster.start("after")
    cluster.wait_caught_up()
    cluster.stop_all()
    history = cluster.verify(at_rest=True)
    (folded,) = [row for row in history.skipped if row.reason.value == "coalesced"]
    assert 7100 < folded.count <= 7300
    newest = folded.last_scheduled_for + timedelta(seconds=1)
    (newest_missed,) = [run for run in history.runs if run.scheduled_for == newest]
    assert newest_missed.state is RunState.SUCCESS


def _asked_again(node: CronographProcess) -> bool:
    """Signals within a second are one, so it is repeated until it counts as the second."""
    node.terminate()
    return not node.running


@pytest.mark.costly
def test_a_second_signal_ends_at_once_and_the_next_start_takes_over(cluster: Cluster) -> None:
    cluster.start("ada")
    cluster.trigger("work", seconds=6.0)
    cluster.wait_rows("run", "state = 'running'")
    ada = cluster.nodes.pop("ada")
    ada.terminate()
    wait_until(lambda: _asked_again(ada), message="the process to end")
    assert ada.wait() == 128 + signal.SIGTERM
    cluster.start("bob")
    cluster.wait_rows("run", "state = 'success'")
    cluster.stop_all()
    history = cluster.verify(at_rest=True)
    attempts = [(one.node, one.outcome) for one in history.executions if one.job_name == "work"]
    assert attempts == [("ada", Outcome.LOST), ("bob", Outcome.SUCCESS)]
