"""Kills that are aimed: a node is stopped by a lock at the very place where it must not die, and dies there."""

import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from tests.chaos.client import SIGNAL
from tests.chaos.cluster import WITNESS
from tests.chaos.flow_client import ENQUEUE_FLOW, FAN_IN, member
from tests.chaos.holding import held
from tests.chaos.stage import Stage
from tests.support.waiting import wait_until
from tests.support.web import post

LIVES = 50
"""Retries of a run that outlives every kill of its node."""
GATES = 3
"""Runs of a fan-in that end last, at the same moment, on whichever nodes have them."""


def kill_before_a_step_is_stored(stage: Stage) -> None:
    """A step is over, its result is on the way to the database, and its node dies."""
    file = _new_file(stage)
    run_id = stage.enqueue("steps_until", LIVES, file=file.name)
    wait_until(lambda: _steps_over(stage, run_id) > 0, message="a step to be over")
    with held(stage, "LOCK TABLE cronograph.run_step IN SHARE MODE") as lock:
        stored = stage.cluster.count("run_step", f"run_id = {run_id}")
        wait_until(lambda: _steps_over(stage, run_id) > stored, message="a step that cannot be stored to be over")
        victim = _node_of(stage, run_id)
        if stage.postmaster is not None:
            wait_until(lambda: victim in lock.blocked(), message=f"node {victim} to store a step")
        stage.cluster.kill(victim)
    file.touch()
    stage.replace(victim)


def kill_before_a_signal_is_stored(stage: Stage) -> None:
    """A signal is in its box, the run is woken, nothing of it is committed, and the node that does it dies."""
    run_id = _waiting_for_a_signal(stage)
    victim = stage.some_node()
    asking = threading.Thread(target=_ask_for_a_signal, args=(stage, victim, run_id, "first"), daemon=True)
    # The event is the last thing that such a transaction writes.
    with held(stage, "LOCK TABLE cronograph.event IN SHARE MODE") as lock:
        asking.start()
        if stage.postmaster is None:
            stage.pause(0.0, 0.2)
        else:
            wait_until(lambda: victim in lock.blocked(writes="run_signal"), message=f"node {victim} to store a signal")
        stage.cluster.kill(victim)
    asking.join()
    stage.replace(victim)
    _signal_twice(stage, run_id)


def kill_before_a_signal_wakes(stage: Stage) -> None:
    """A signal was acknowledged, and anyone who is about to begin the run that waited for it dies."""
    run_id = _waiting_for_a_signal(stage)
    if stage.postmaster is None:
        (victim,) = stage.cluster.nodes
        stage.ask(SIGNAL, _signal(run_id, "first"))
        stage.cluster.kill(victim)
        stage.replace(victim)
        _signal_twice(stage, run_id)
        return
    with held(stage, "LOCK TABLE cronograph.job_execution IN SHARE MODE") as lock:
        stage.ask(SIGNAL, _signal(run_id, "first"))
        wait_until(lock.blocked, message="a node to begin a run")
        victims = lock.blocked() & set(stage.cluster.nodes)
        for victim in victims:
            stage.cluster.kill(victim)
    for victim in victims:
        stage.begin(victim)
    stage.wait_ready()
    _signal_twice(stage, run_id)


def kill_in_a_fan_in(stage: Stage) -> None:
    """The last runs before one that comes after all of them end at once, and the node that lets it start dies."""
    file = _new_file(stage)
    gates, parts = [f"gate-{one}" for one in range(GATES)], [f"part-{one}" for one in range(FAN_IN)]
    runs = [member(key, "gate", file=file.name) for key in gates]
    runs += [member(key, "brings", value=1) for key in parts]
    runs += [
        member("last", "brings", *gates, *parts, value=2),
        member("never", "brings", *gates, *parts, when="FAILURE", value=3),
    ]
    flow_id = int(stage.ask(ENQUEUE_FLOW, {"name": "aimed", "runs": runs})["enqueueFlow"]["flow"]["id"])
    stage.flows[flow_id] = {**dict.fromkeys((*gates, *parts, "last"), "success"), "never": "skipped"}
    mine = f"flow_id = {flow_id}"
    begun = f"{mine} AND job_name = 'gate' AND state = 'running'"
    wait_until(lambda: stage.cluster.count("run", begun) == GATES, message="every gate to stand")
    stage.cluster.wait_rows("run", f"{mine} AND state = 'success'", FAN_IN - 1)
    last = f"SELECT id FROM cronograph.run WHERE {mine} AND state = 'suspended' FOR UPDATE"
    with held(stage, last) as lock:
        ended = _lines(stage, "end")
        victim = _node_of(stage, stage.cluster.newest("run", begun))
        file.touch()
        if stage.postmaster is None:
            wait_until(lambda: _lines(stage, "end") >= ended + GATES, message="every gate to be open")
        else:
            wait_until(lock.blocked, message="a node to let the last run start")
            victim = stage.chance.choice(sorted(lock.blocked()))
            stage.cluster.kill(victim)
    if stage.postmaster is None:
        # The ends are being written now.
        stage.pause(0.0, 0.005)
        stage.cluster.kill(victim)
    stage.replace(victim)


def _new_file(stage: Stage) -> Path:
    stage.files += 1
    return stage.cluster.starter.folder / f"enough-{stage.files}"


def _witness(stage: Stage) -> list[list[str]]:
    path = stage.cluster.starter.folder / WITNESS
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def _lines(stage: Stage, word: str) -> int:
    return sum(line[0] == word for line in _witness(stage))


def _steps_over(stage: Stage, run_id: int) -> int:
    return sum(line[0].startswith("step:") and line[1] == str(run_id) for line in _witness(stage))


def _node_of(stage: Stage, run_id: int) -> str:
    """The node that executes a run."""
    history = f"SELECT n.name FROM cronograph.run r JOIN cronograph.node n ON n.id = r.node_id WHERE r.id = {run_id}"
    return str(stage.cluster.value(history))


def _waiting_for_a_signal(stage: Stage) -> int:
    """A run that waits for the first of its two signals."""
    run_id = stage.enqueue("collects", LIVES)
    waiting = f"id = {run_id} AND state = 'suspended'"
    stage.cluster.wait_rows("run", waiting)
    return run_id


def _signal(run_id: int, payload: str) -> dict[str, Any]:
    return {"run": {"id": str(run_id)}, "name": "go", "payload": payload, "idempotencyKey": f"{payload}-{run_id}"}


def _ask_for_a_signal(stage: Stage, node: str, run_id: int, payload: str) -> None:
    """Ask a node that will not live to answer."""
    url = f"{stage.cluster.nodes[node].url}/graphql"
    with suppress(httpx.TransportError):
        post(url, {"query": SIGNAL, "variables": {"input": _signal(run_id, payload)}})


def _signal_twice(stage: Stage, run_id: int) -> None:
    """Send both signals; the first one again, which changes nothing if it was stored."""
    for payload in ("first", "second"):
        stage.ask(SIGNAL, _signal(run_id, payload))
    stage.sent[run_id] = ["first", "second"]
