"""Alarms on flows, webhooks and nodes that take nothing; and the messages about one firing."""

from typing import Any

import pytest
from sqlalchemy import select

from cronograph.jobs.accounts.actions.secrets import set_secret
from cronograph.jobs.actions.flows import enqueue_flow
from cronograph.jobs.actions.groups import pause_group
from cronograph.jobs.actions.nodes import heartbeat
from cronograph.jobs.core.alarms import Condition, SubjectKind
from cronograph.jobs.core.flows import NewFlow, NewMember
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.core.outcome import Failed, JobOutcome, Succeeded
from cronograph.jobs.delivery import webhooks
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.delivery import delivery_firing as df
from tests.builtin.http_server import answering, reply
from tests.delivery.conftest import KEYS, SECRET, Alarms
from tests.support.storage import Stored, Worker

FAILED = Failed("ValueError", "no such invoice", permanent=True)


def flow(stored: Stored, name: str = "orders") -> int:
    """Enqueue a flow of one run, and return its id."""
    member = NewMember("only", NewRun("work", Trigger.API, retries=0))
    return stored.do(enqueue_flow, NewFlow(name, (member,))).id


def end(worker: Worker, outcome: JobOutcome) -> None:
    """Execute the only run that waits."""
    worker.end(worker.start(), outcome)


async def test_flows_of_a_name_fail_and_succeed(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.create(Condition.FAILING, "orders", SubjectKind.FLOW, failed_runs=2)
    flow(stored)
    end(worker, FAILED)
    flow(stored, "others")
    end(worker, FAILED)
    assert await alarms.look(1) == []
    second = flow(stored)
    end(worker, FAILED)
    (firing,) = await alarms.look(1)
    assert firing.sentence == f"Flow 'orders' failed 2 times in a row, last in flow {second}"
    assert (firing.flow_id, firing.run_id, firing.last_success_at) == (second, None, None)
    flow(stored)
    end(worker, Succeeded())
    assert await alarms.look(1) == []
    for _ in range(2):
        flow(stored)
        end(worker, FAILED)
    (firing,) = await alarms.look(1)
    assert firing.last_success_at is not None


async def test_a_flow_is_slow_while_it_runs_and_until_it_ends(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    alarms.create(Condition.SLOW, "orders", SubjectKind.FLOW, after=60)
    slow = flow(stored)
    assert await alarms.look(1) == []
    (firing,) = await alarms.look(60)
    assert firing.sentence == f"Flow 'orders' has been running for 61 s, in flow {slow}"
    assert firing.flow_id == slow
    end(worker, Succeeded())
    assert await alarms.look(1) == []
    # Begun and ended between two looks.
    flow(stored)
    stored.pass_time(90)
    end(worker, Succeeded())
    assert await alarms.look(1) == []
    assert alarms.firings()[1].sentence.startswith("Flow 'orders' took 90 s in flow ")


@pytest.mark.costly
async def test_a_flow_is_slow_by_its_own_p95(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    for _ in range(20):
        flow(stored)
        stored.pass_time(10)
        end(worker, Succeeded())
    alarms.create(Condition.SLOW, "orders", SubjectKind.FLOW, times_p95=3.0)
    flow(stored)
    assert await alarms.look() == []
    assert await alarms.look(29) == []
    assert len(await alarms.look(2)) == 1


@pytest.mark.parametrize("named", [True, False])
async def test_a_webhook_that_stops_fires_and_a_resumed_one_resolves(
    alarms: Alarms, stored: Stored, *, named: bool
) -> None:
    def made(tx: Tx) -> webhooks.Webhook:
        wanted = webhooks.new_webhook("feed", "https://example.com", "subscription { events { at } }", {})
        return webhooks.create_webhook(tx, wanted)

    webhook = alarms.acting(made)
    alarms.create(Condition.WEBHOOK, "feed" if named else None, SubjectKind.WEBHOOK)
    assert await alarms.look(1) == []
    alarms.acting(lambda tx: webhooks.stop(tx, webhook, webhooks.StopReason.PARKED, "message msg_1 was not accepted"))
    (firing,) = await alarms.look(1)
    assert (firing.subject, firing.sentence) == (
        "feed",
        "Webhook 'feed' is parked: message msg_1 was not accepted",
    )
    alarms.acting(lambda tx: webhooks.resume_webhook(tx, "feed"))
    assert await alarms.look(1) == []
    alarms.acting(lambda tx: webhooks.stop(tx, webhook, webhooks.StopReason.GONE, "it wants nothing more"))
    (firing,) = await alarms.look(1)
    assert firing.sentence == "Webhook 'feed' is switched off: it wants nothing more"
    alarms.acting(lambda tx: webhooks.delete_webhook(tx, "feed"))
    assert await alarms.look(1) == []


async def test_a_node_that_beats_and_takes_nothing_is_idle(alarms: Alarms, stored: Stored) -> None:
    first, other = stored.node("w1"), stored.node("w2", jobs=("other",))
    alarms.create(Condition.IDLE, None, SubjectKind.NODE, after=60)

    async def idle(seconds: float) -> list[str]:
        stored.pass_time(seconds)
        for one in (first, other):
            stored.do(heartbeat, one.node.id, lease=3600.0, running=0)
        return [one.sentence for one in await alarms.look()]

    assert await idle(300) == []
    stored.enqueue()
    assert await idle(60) == []
    assert await idle(61) == ["Node 'w1' sends heartbeats and takes nothing: a run has been due for 121 s"]
    first.end(first.start())
    assert await idle(61) == []
    # Nothing but the node may hold the run back.
    stored.do(pause_group, "default")
    stored.enqueue()
    assert await idle(300) == []
    assert len(alarms.firings()) == 1


@pytest.mark.costly
async def test_the_messages_about_a_firing_are_found_by_it(alarms: Alarms, stored: Stored) -> None:
    worker = stored.node()
    stored.do(set_secret, "hook", SECRET, KEYS)
    async with answering(lambda _: reply(200)) as server:
        alarms.webhook(server.port)
        for number in range(2):
            about: dict[str, Any] = {"channels": ("ops",), "name": f"alarm-{number}"}
            alarms.create(Condition.FAILING, "work", SubjectKind.JOB, failed_runs=number + 1, **about)
        stored.enqueue(retries=0)
        worker.end(worker.start(), FAILED)
        await alarms.look(1)
        stored.enqueue(retries=0)
        worker.end(worker.start(), FAILED)
        await alarms.look(1)
        stored.enqueue()
        worker.end(worker.start())
        await alarms.look(1)
        await alarms.send()
    messages = {one.id: one.payload["data"]["alarms"] for one in alarms.deliveries()}
    rows = stored.do(lambda tx: list(tx.conn.execute(select(df).order_by(df.c.firing_id, df.c.delivery_id))))
    assert [(row.firing_id, row.delivery_id) for row in rows] == sorted(
        (int(one["id"]), message) for message, about in messages.items() for one in about
    )
    assert len(rows) == 4
