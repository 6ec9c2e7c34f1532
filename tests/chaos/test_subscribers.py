"""Subscribers that go away and come back have seen every event exactly once, whichever node serves them."""

import os

import pytest

from tests.chaos.cluster import Cluster
from tests.chaos.subscriber import Subscriber
from tests.support.processes import ProcessStarter
from tests.support.waiting import let_pass

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(180)]

ABSENCE = 10.0 if os.environ.get("CRONOGRAPH_SOAK_SECONDS") else 3.0
"""Seconds that a subscriber is away."""


def create_tasks(cluster: Cluster) -> None:
    for number in range(3):
        cluster.create_task(f"task-{number}", overlap="ALLOW", args={"seconds": 0.2})


def saw_everything_once(cluster: Cluster, reader: Subscriber) -> None:
    stored = [event.cursor for event in cluster.history().events if event.cursor <= reader.last]
    assert reader.seen == stored
    assert {"RUN_CREATED", "RUN_UPDATED", "EXECUTION_STARTED", "EXECUTION_FINISHED"} <= reader.kinds
    assert "RESYNC" not in reader.kinds


@pytest.mark.costly
def test_a_subscriber_that_was_away_for_seconds_has_seen_every_event_once(
    processes: ProcessStarter, sqlite_url: str
) -> None:
    cluster = Cluster(processes, sqlite_url)
    cluster.start("ada")
    create_tasks(cluster)
    reader = Subscriber()
    reader.read(cluster.nodes["ada"], events=30)
    let_pass(ABSENCE)
    reader.read(cluster.nodes["ada"], events=5)
    reader.read_up_to(cluster.nodes["ada"], cluster.history().events[-1].cursor)
    cluster.stop_all()
    saw_everything_once(cluster, reader)
    cluster.verify(at_rest=True)


@pytest.mark.costly
def test_a_subscriber_outlives_the_kill_of_its_server(processes: ProcessStarter, sqlite_url: str) -> None:
    cluster = Cluster(processes, sqlite_url)
    cluster.start("ada")
    create_tasks(cluster)
    reader = Subscriber()
    assert reader.read_until_cut_off(cluster.nodes.pop("ada"), at_least=25) >= 25
    cluster.start("bob")
    reader.read(cluster.nodes["bob"], events=10)
    reader.read_up_to(cluster.nodes["bob"], cluster.history().events[-1].cursor)
    cluster.stop_all()
    saw_everything_once(cluster, reader)
    cluster.verify(at_rest=True)


@pytest.mark.costly
@pytest.mark.postgres
def test_subscribers_that_move_between_nodes_all_see_every_event_once(
    processes: ProcessStarter, postgres_url: str
) -> None:
    cluster = Cluster(processes, postgres_url)
    cluster.start("ada", "bob")
    create_tasks(cluster)
    mover, stayer = Subscriber(), Subscriber()
    for number in range(6):
        mover.read(cluster.nodes[("ada", "bob")[number % 2]], events=7 + number)
    stayer.read(cluster.nodes["bob"], events=20)
    let_pass(ABSENCE)
    newest = cluster.history().events[-1].cursor
    mover.read_up_to(cluster.nodes["bob"], newest)
    stayer.read_up_to(cluster.nodes["bob"], newest)
    cluster.kill("ada")
    cluster.wait_executions(5)
    newest = cluster.history().events[-1].cursor
    mover.read_up_to(cluster.nodes["bob"], newest)
    cluster.stop_all()
    saw_everything_once(cluster, mover)
    saw_everything_once(cluster, stayer)
