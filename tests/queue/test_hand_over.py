"""A node goes on with runs that wait for the concurrency keys of runs that it has ended, in the same transaction."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from cronograph.jobs.actions.groups import pause_group
from cronograph.jobs.actions.runs import put
from cronograph.jobs.core.model import NewRun, Priority, Trigger
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.core.outcome import Succeeded
from cronograph.jobs.core.states import RunState
from cronograph.jobs.queue.base import statements
from cronograph.jobs.queue.cancel import cancel_all
from cronograph.jobs.queue.claims.claim import Started
from cronograph.jobs.queue.finish import Finish, Finished, finish_common
from cronograph.jobs.queue.limits.admission import slots_of
from cronograph.jobs.store.db.autocommit import PLANNED
from cronograph.jobs.store.db.transaction import Tx, Wake
from cronograph.jobs.store.statements import nodes
from cronograph.jobs.store.statements import runs as run_store
from tests.queue.test_lane import Party
from tests.support.plans import work

pytestmark = pytest.mark.postgres


@pytest.fixture
async def node(postgres_url: str) -> AsyncIterator[Party]:
    party = Party(postgres_url, common=True)
    await party.begin()
    yield party
    await party.close()


def of_key(count: int = 3, key: str = "k", **more: Any) -> list[NewRun]:
    values: dict[str, Any] = {"concurrency_key": key, "max_concurrent": 1, **more}
    return [NewRun("work", Trigger.API, **values) for _ in range(count)]


async def end(node: Party, started: tuple[Started, ...], **heir: Any) -> tuple[Finished, Wake]:
    """End attempts well; what has begun in their place, and who is woken."""
    assert node.line is not None
    ended = [Finish(one.run, one.execution_id, Succeeded(None)) for one in started]
    own = (node.claimant.node_id, node.claimant.node)
    return await finish_common(node.line, own, ended, replace(node.claimant, **heir))


async def test_the_first_that_waits_begins_with_the_end_and_nobody_needs_to_claim(node: Party) -> None:
    await node.database.write(put, of_key(3) + of_key(2, "other"))
    first = await node.claim(9)
    assert [one.run.id for one in first] == [1, 4]
    finished, wake = await end(node, first)
    assert finished.accepted == {1, 4}
    assert [(one.run.id, one.run.attempt, one.run.concurrency_key) for one in finished.started] == [
        (2, 1, "k"),
        (5, 1, "other"),
    ]
    assert wake == Wake.EVENTS
    states = await node.database.read(run_store.by_ids, [1, 2, 3, 4, 5])
    assert [states[run_id].state.value for run_id in range(1, 6)] == [
        *("success", "running", "waiting", "success", "running")
    ]
    assert states[2].available_at <= datetime.now(UTC)
    begun = [one.run_id for one in await node.changes() if one.state == RunState.RUNNING.value]
    assert set(begun) == {1, 2, 4, 5}
    finished, wake = await end(node, finished.started)
    assert [one.run.id for one in finished.started] == [3]
    # One has left a slot that nobody takes: claims may know who does.
    assert Wake.RUNS in wake
    finished, _ = await end(node, finished.started)
    assert finished == Finished(frozenset({3}))


async def test_as_many_begin_as_have_ended_and_the_others_are_let_go(node: Party) -> None:
    await node.database.write(put, of_key(7, max_concurrent=3))
    first = await node.claim(9)
    assert len(first) == 3
    finished, _ = await end(node, first[:1])
    assert [one.run.id for one in finished.started] == [4]
    finished, _ = await end(node, (*first[1:], *finished.started))
    assert [one.run.id for one in finished.started] == [5, 6, 7]


async def test_no_run_begins_beyond_its_own_maximum(node: Party) -> None:
    await node.database.write(put, of_key(4, max_concurrent=3))
    first = await node.claim(9)
    await node.database.write(put, of_key(1))
    assert await node.claim(9) == ()
    assert [one.run.id for one in first] == [1, 2, 3]
    finished, _ = await end(node, first)
    assert [one.run.id for one in finished.started] == [4]
    finished, _ = await end(node, finished.started)
    assert [one.run.id for one in finished.started] == [5]


async def test_what_comes_first_among_those_that_wait_is_what_a_claim_would_take_first(node: Party) -> None:
    await node.database.write(put, of_key(2))
    first = await node.claim(9)
    await node.database.write(put, of_key(1, priority=Priority.HIGH))
    assert await node.claim(9) == ()
    finished, _ = await end(node, first)
    assert [one.run.id for one in finished.started] == [3]


async def test_a_run_that_is_asked_to_stop_hands_nothing_over(node: Party) -> None:
    await node.database.write(put, of_key(2))
    first = await node.claim(9)
    await node.database.write(cancel_all, [1], reason="enough")
    finished, _ = await end(node, first)
    assert finished == Finished(frozenset())


def paused(tx: Tx) -> None:
    pause_group(tx, "g")


def limited(tx: Tx) -> None:
    tx.conn.execute(text("INSERT INTO cronograph.queue_group (name, max_running) VALUES ('g', 5)"))


LATER: dict[str, tuple[dict[str, Any], dict[str, Any], Callable[[Tx], None] | None]] = {
    "of another job": ({}, {"jobs": ("play",)}, None),
    "of another version": ({"signature": "other"}, {"foreign": frozenset({"other"})}, None),
    "of a group that the node leaves alone": ({}, {"groups": ("h",)}, None),
    "of a paused group": ({}, {}, paused),
    "of a limited group": ({}, {}, limited),
    "with a rate": ({"rate_key": "r"}, {}, None),
    "of an exclusive task": ({"exclusive": True, "task_id": 1, "task_name": "nightly"}, {}, None),
}


@pytest.mark.parametrize("kind", LATER)
async def test_a_run_that_a_claim_has_to_judge_is_let_go(node: Party, kind: str) -> None:
    changes, heir, act = LATER[kind]
    await node.database.write(put, of_key(1, group="g") + [replace(one, **changes) for one in of_key(1, group="g")])
    if "signature" in changes or "rate_key" in changes:
        # Neither a claim nor an end of this test is to judge what these say.
        await node.database.write(lambda tx: hold(tx, 2))
    first = await node.claim(9)
    assert [one.run.id for one in first] == [1]
    if act is not None:
        await node.database.write(act)
    finished, wake = await end(node, first, **heir)
    assert finished == Finished(frozenset({1}))
    assert Wake.RUNS in wake
    assert (await node.database.read(run_store.by_ids, [2]))[2].available_at <= datetime.now(UTC)


def hold(tx: Tx, run_id: int) -> None:
    later = datetime.now(UTC) + timedelta(days=9)
    held = text("UPDATE cronograph.run SET due_at = available_at, available_at = :later WHERE id = :id")
    tx.conn.execute(held, {"id": run_id, "later": later})


async def test_a_node_that_drains_goes_on_with_nothing(node: Party) -> None:
    await node.database.write(put, of_key(2))
    first = await node.claim(9)
    await node.database.write(lambda tx: nodes.set_state(tx.conn, node.claimant.node_id, NodeState.DRAINING))
    finished, _ = await end(node, first)
    assert finished == Finished(frozenset({1}))


@pytest.mark.costly
async def test_what_is_let_go_costs_no_look_at_all_that_waits(node: Party) -> None:
    await node.database.write(put, [one for place in range(10) for one in of_key(40, f"k{place}")])
    first = await node.claim(20)
    assert len(first) == 10
    await end(node, first, jobs=())

    def look(tx: Tx) -> int:
        tx.conn.execute(text(f"SELECT {PLANNED}"))
        keys = [f"k{place}" for place in range(10)]
        return work(tx.conn, lambda: statements.execute(tx.conn, "let_go_by_slots", slots_of(keys)))

    assert await node.database.write(look) < 100
