"""`/scale`: the number of nodes that the queue wants, by group and job, and who may ask for it."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import httpx
import pytest

from cronograph.jobs.actions.groups import pause_group, update_group
from cronograph.jobs.core.model import Isolation
from cronograph.jobs.core.nodes import nodes_wanted
from cronograph.jobs.store.statements.figures import cluster
from cronograph.server.metrics.page import scale
from tests.support.processes import ProcessStarter
from tests.support.storage import Stored

ROOM = {Isolation.ASYNC: 1000, Isolation.THREAD: 20, Isolation.PROCESS: 2}


@pytest.mark.parametrize(
    ("taken", "room", "wanted"),
    [
        ({}, ROOM, 0),
        ({Isolation.ASYNC: 1}, ROOM, 1),
        ({Isolation.ASYNC: 1000}, ROOM, 1),
        ({Isolation.ASYNC: 1001}, ROOM, 2),
        # All kinds share the slots of a node, and two kinds have a bound of their own.
        ({Isolation.ASYNC: 990, Isolation.THREAD: 11}, ROOM, 2),
        ({Isolation.THREAD: 41}, ROOM, 3),
        ({Isolation.ASYNC: 5, Isolation.PROCESS: 9}, ROOM, 5),
        ({Isolation.THREAD: 41}, {Isolation.ASYNC: 20}, 3),
        # What runs at an engine needs no slot of a node.
        ({Isolation.REMOTE: 5_000}, ROOM, 0),
    ],
)
def test_nodes_are_wanted_for_the_kind_that_needs_most_of_them(
    taken: Mapping[Isolation, int], room: Mapping[Isolation, int], wanted: int
) -> None:
    assert nodes_wanted(taken, room) == wanted


def scaled(stored: Stored, **asked: Any) -> dict[str, int]:
    return scale(stored.do(lambda tx: cluster.read(tx.conn, tx.now)), **asked)


def test_what_runs_and_what_could_begin_is_counted_by_group_and_job(stored: Stored) -> None:
    nothing = {"wanted": 0, "running": 0, "waiting": 0, "slots": 0, "nodes": 0}
    assert scaled(stored) == nothing
    worker = stored.node(jobs=("work", "other"), slots=2)
    stored.enqueue(group="mail")
    worker.start()
    for _ in range(4):
        stored.enqueue(group="mail")
    stored.enqueue(group="bank", job_name="other")
    # It is not due yet.
    stored.enqueue(group="bank", available_at=stored.do(lambda tx: tx.now) + timedelta(hours=1))
    assert scaled(stored) == {"wanted": 3, "running": 1, "waiting": 5, "slots": 6, "nodes": 1}
    assert scaled(stored, groups=["mail"])["wanted"] == 3
    assert scaled(stored, groups=["bank", "mail"], jobs=["other"])["waiting"] == 1
    assert scaled(stored, slots=6)["wanted"] == 1
    assert scaled(stored, jobs=["nothing"]) == {**nothing, "nodes": 1}


def test_what_no_further_node_could_begin_wants_none(stored: Stored) -> None:
    worker = stored.node(slots=1)
    for group in ("paused", "paused", "limited", "limited", "limited"):
        stored.enqueue(group=group)
    stored.do(pause_group, "paused", actor="ann")
    stored.do(update_group, "limited", max_running=2)
    assert scaled(stored)["waiting"] == 2
    worker.start()
    assert scaled(stored) == {"wanted": 2, "running": 1, "waiting": 1, "slots": 2, "nodes": 1}


def test_heavy_runs_take_the_slots_that_they_say(stored: Stored) -> None:
    stored.node(slots=4, takes=3)
    stored.enqueue()
    stored.enqueue()
    assert scaled(stored) == {"wanted": 2, "running": 0, "waiting": 2, "slots": 6, "nodes": 1}


def test_it_is_asked_with_the_rights_of_the_metrics_and_says_what_it_does_not_know(
    sqlite_url: str, processes: ProcessStarter
) -> None:
    server = processes.serve(sqlite_url)
    with httpx.Client(base_url=server.url, timeout=20) as client:
        assert client.get("/scale?group=mail&slots=5").json()["wanted"] == 0
        for query, words in (
            ("groups=mail", "there is no parameter 'groups'; known are: group, job, slots"),
            ("slots=0", "slots: must be a number from 1 to 10000, got '0'"),
            ("slots=%00", "slots: must be a number from 1 to 10000"),
        ):
            answer = client.get(f"/scale?{query}")
            assert answer.status_code == 400
            assert words in answer.json()["error"]
