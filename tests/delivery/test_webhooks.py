"""Webhooks against a real receiver: each result in a message that keeps its id, whatever happens to the receiver."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, text
from sqlalchemy.exc import SQLAlchemyError
from standardwebhooks import Webhook as Verifier

from cronograph.graphql.resolving.context import LOCAL_ADMINISTRATOR, Context
from cronograph.graphql.schema import shared_schema
from cronograph.jobs.accounts.actions import accounts
from cronograph.jobs.accounts.actions.secrets import set_secret
from cronograph.jobs.core.actor import Actor, Role, Submitter
from cronograph.jobs.core.base.errors import InvalidState, NotFound
from cronograph.jobs.core.events import DELIVERIES, Cursor, EventKind
from cronograph.jobs.delivery import actions, read, webhooks
from cronograph.jobs.delivery.rules import DeliveryState
from cronograph.jobs.delivery.webhooks import MOST_WAITING, StopReason, Webhook, WebhookState
from cronograph.jobs.queue.base.changes import publish
from cronograph.jobs.runtime.duties.webhooks import WebhookReader
from cronograph.jobs.runtime.live.bus import EventBus
from cronograph.jobs.runtime.live.feeds import LogFeed
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.schema.tables import event
from cronograph.jobs.store.statements import events
from cronograph.server.auth.sign_in import person_behind
from cronograph.server.installation import OwnApi
from tests.builtin.http_server import Asked, answering, reply
from tests.delivery.conftest import KEYS, SECRET, Alarms
from tests.support.storage import Stored

RUNS = """subscription Runs($kinds: [EventKind!]) {
  events(filter: { kinds: $kinds }) { kind ... on RunEvent { runId runState } }
}"""
CREATED = {"kinds": ["RUN_CREATED"]}
DAY = 24 * 3600


class Hooks:
    """The webhooks of a database, and one node that reads for them and sends."""

    def __init__(self, alarms: Alarms, database: Database) -> None:
        self.alarms = alarms
        self.stored = alarms.stored
        self._database = database
        self.api = OwnApi(shared_schema(), self._context_of)
        self.signs_in = False
        self.away: Database | None = None
        self.readers: list[WebhookReader] = []
        self.reader = self.another_reader(1)

    async def _context_of(self, owner: Submitter | None, _place: str | None) -> Context:
        person = await person_behind(self.away or self._database, owner) if self.signs_in else LOCAL_ADMINISTRATOR
        return Context(self.away or self._database, EventBus(self._database), LogFeed(self._database), person)

    def another_reader(self, node_id: int) -> WebhookReader:
        """A reader of another node."""
        self.readers.append(WebhookReader(self.alarms.services(self.api), node_id, poll=60.0))
        return self.readers[-1]

    def create(self, port: int, name: str = "ours", document: str = RUNS, **chosen: Any) -> Webhook:
        """Keep a webhook to a server of the test."""
        after = chosen.pop("after", None)
        variables = chosen.pop("variables", CREATED)
        wanted = webhooks.new_webhook(name, f"http://127.0.0.1:{port}/hook?key=1", document, variables, **chosen)
        return self.alarms.acting(lambda tx: webhooks.create_webhook(tx, wanted, after, keys=lambda: KEYS))

    def change(self, name: str = "ours", **values: Any) -> Webhook:
        """Change a webhook."""
        return self.alarms.acting(lambda tx: webhooks.update_webhook(tx, name, values, keys=lambda: KEYS))

    def resume(self, name: str = "ours", *, skip: bool = False) -> Webhook:
        """Resume a webhook."""
        return self.alarms.acting(lambda tx: webhooks.resume_webhook(tx, name, skip=skip))

    def find(self, name: str = "ours") -> Webhook:
        """Return a webhook as it is stored."""
        found = self.stored.do(lambda tx: webhooks.NAMED.find(tx.conn, name))
        assert found is not None
        return found

    def runs(self, number: int = 1) -> list[str]:
        """Put runs into the queue, each in a transaction of its own, and return their ids."""
        made = [str(self.stored.enqueue().id) for _ in range(number)]
        # On PostgreSQL the server numbers events.
        self.stored.do(publish, 500)
        return made


@pytest.fixture
async def hooks(alarms: Alarms, database_url: str) -> AsyncIterator[Hooks]:
    """Webhooks on a fresh database, once on SQLite and once on PostgreSQL."""
    database = Database(database_url, clock=lambda: alarms.stored.now)
    made = Hooks(alarms, database)
    alarms.stored.node()
    yield made
    for reader in made.readers:
        await reader.stop()
    await database.close()


def ok(_: Asked) -> bytes:
    """Accept everything."""
    return reply(200, b"thanks")


def bodies(asked: list[Asked]) -> list[dict[str, Any]]:
    """The data of messages."""
    return [json.loads(one.body)["data"] for one in asked]


def run_ids(asked: list[Asked]) -> list[str]:
    """The ids of the runs that messages are about, in their order."""
    return [one["data"]["events"]["runId"] for body in bodies(asked) for one in body["events"]]


@pytest.mark.costly
async def test_a_message_has_the_results_of_the_document_and_is_signed(hooks: Hooks, alarms: Alarms) -> None:
    async with answering(ok) as server:
        alarms.stored.do(set_secret, "new", "whsec_" + "A" * 32, KEYS)
        alarms.stored.do(set_secret, "old", SECRET, KEYS)
        hooks.create(server.port, secrets=("new", "old"))
        made = hooks.runs(2)
        await hooks.reader.look()
        alarms.stored.now = datetime.now(UTC)
        (sent,) = await alarms.send()
    (asked,) = server.asked
    body = Verifier(SECRET).verify(asked.body, asked.headers)
    assert body == Verifier("whsec_" + "A" * 32).verify(asked.body, asked.headers)
    assert body["type"] == "subscription.events"
    assert [one["data"]["events"] for one in body["data"]["events"]] == [
        {"kind": "RUN_CREATED", "runId": run_id, "runState": "WAITING"} for run_id in made
    ]
    assert body["data"]["cursor"] == body["data"]["events"][-1]["cursor"] == sent.cursor
    assert asked.headers["webhook-id"] == sent.message_id
    assert asked.target == "/hook?key=1"
    assert (sent.state, sent.answer) == (DeliveryState.SENT, "thanks")
    assert hooks.find().delivered_at == alarms.stored.now


async def test_without_a_secret_a_message_is_not_signed(hooks: Hooks, alarms: Alarms) -> None:
    async with answering(ok) as server:
        hooks.create(server.port)
        hooks.runs()
        await hooks.reader.look()
        await alarms.send()
    (asked,) = server.asked
    assert {"webhook-id", "webhook-timestamp"} <= asked.headers.keys()
    assert "webhook-signature" not in asked.headers


@pytest.mark.costly
async def test_executions_are_sent_as_they_start_and_end(hooks: Hooks, alarms: Alarms) -> None:
    async with answering(ok) as server:
        document = 'subscription { executions(jobName: "work") { id success } }'
        hooks.create(server.port, document=document, variables={})
        worker = alarms.stored.node("node-b")
        alarms.stored.enqueue()
        worker.end(worker.start())
        await hooks.reader.look()
        await alarms.send()
    (body,) = bodies(server.asked)
    assert [one["data"]["executions"]["success"] for one in body["events"]] == [True, True]


async def test_a_webhook_of_all_events_hears_nothing_of_its_own_messages(hooks: Hooks, alarms: Alarms) -> None:
    async with answering(ok) as server:
        hooks.create(server.port, document="subscription { events { kind } }", variables={})
        hooks.runs()
        for _ in range(4):
            await hooks.reader.look()
            await alarms.send()
            alarms.stored.do(publish, 500)
            alarms.stored.pass_time(5)
    kinds = [one["data"]["events"]["kind"] for body in bodies(server.asked) for one in body["events"]]
    assert (len(server.asked), kinds.count("RUN_CREATED"), "DELIVERIES_UPDATED" in kinds) == (1, 1, False)
    told = [one.change for one in alarms.stored.do(lambda tx: events.after(tx.conn, Cursor(0, 0), 500))]
    # As it was recorded, and as the receiver accepted it.
    assert told.count(DELIVERIES) == 2


async def test_results_that_webhooks_have_in_common_reach_each_as_its_own(hooks: Hooks, alarms: Alarms) -> None:
    async with answering(ok) as server:
        hooks.create(server.port)
        hooks.create(server.port, 'with "quotes" and ü')
        hooks.create(server.port, "other", variables={"kinds": ["RUN_UPDATED"]})
        made = hooks.runs(2)
        await hooks.reader.look()
        await alarms.send()
    first, second = sorted(bodies(server.asked), key=lambda one: len(one["webhook"]))
    assert first | {"webhook": 'with "quotes" and ü'} == second
    assert [one["data"]["events"]["runId"] for one in first["events"]] == made
    assert first["cursor"] == first["events"][-1]["cursor"] == alarms.deliveries()[0].cursor


async def test_events_that_nobody_asked_for_are_passed_over_and_the_place_is_kept(hooks: Hooks, alarms: Alarms) -> None:
    hooks.create(1, variables={"kinds": ["FLOW_CREATED"]})
    for _ in range(3):
        hooks.runs()
        await hooks.reader.look()
        alarms.stored.pass_time(5)
    (place,) = alarms.stored.do(lambda tx: webhooks.places(tx.conn, ["ours"])).values()
    assert Cursor.parse(place[0]) > Cursor(2, 0)
    assert alarms.deliveries() == []


async def test_two_readers_record_each_event_once(hooks: Hooks, alarms: Alarms) -> None:
    async with answering(ok) as server:
        hooks.create(server.port)
        other, made = hooks.another_reader(2), []
        for _ in range(3):
            made += hooks.runs(2)
            await hooks.reader.look()
            await other.look()
            # The other takes over: nobody has read for longer than a reader is held.
            alarms.stored.pass_time(60)
            made += hooks.runs()
            await other.look()
            await hooks.reader.look()
            alarms.stored.pass_time(60)
        await alarms.send()
        while len(run_ids(server.asked)) < len(made):
            await alarms.send()
    assert sorted(run_ids(server.asked), key=int) == made


async def test_a_node_that_dies_before_it_stored_anything_loses_nothing(hooks: Hooks, alarms: Alarms) -> None:
    """Its reader knows a place that was not stored; the next one begins at the stored one."""
    async with answering(ok) as server:
        hooks.create(server.port)
        made = hooks.runs()
        await hooks.reader.look()
        made += hooks.runs()
        await hooks.reader.stop()
        alarms.stored.pass_time(60)
        await hooks.another_reader(2).look()
        await alarms.send()
    assert sorted(run_ids(server.asked), key=int) == made


@pytest.mark.costly
async def test_a_failing_receiver_gets_one_probe_at_a_time_and_then_all(hooks: Hooks, alarms: Alarms) -> None:
    status = [500]
    async with answering(lambda _: reply(status[0])) as server:
        hooks.create(server.port)
        made: list[str] = []
        for _ in range(6):
            made += hooks.runs()
            await hooks.reader.look()
        await alarms.send()
        # As many were on their way as to any receiver: from the first failure on, one is.
        assert len(server.asked) == 4
        assert hooks.find().state is WebhookState.FAILING
        await alarms.send(1)
        assert len(server.asked) == 4
        tries: list[float] = []
        while (until := hooks.find().blocked_until) is not None and len(tries) < 30:
            before, pause = len(server.asked), (until - alarms.stored.now).total_seconds()
            await alarms.send(pause)
            assert len(server.asked) == before + 1
            tries.append(pause)
        assert max(tries) <= 3600
        assert sum(one >= 1800 for one in tries) > 10
        status[0] = 200
        until = hooks.find().blocked_until
        assert until is not None
        await alarms.send((until - alarms.stored.now).total_seconds())
        assert hooks.find().state is WebhookState.ACTIVE
        # Each message has a pause of its own, drawn at random, from the tries before.
        for _ in range(24):
            await alarms.send(3600)
    assert {one.state for one in alarms.deliveries()} == {DeliveryState.SENT}
    assert set(run_ids(server.asked)) == set(made)
    ids = {one.headers["webhook-id"]: one.body for one in server.asked}
    assert len(ids) == 6


async def test_retry_after_is_honoured_up_to_an_hour(hooks: Hooks, alarms: Alarms) -> None:
    async with answering(lambda _: reply(429, retry_after="90000")) as server:
        hooks.create(server.port)
        hooks.runs()
        await hooks.reader.look()
        await alarms.send()
        assert hooks.find().blocked_until == alarms.stored.now + timedelta(hours=1)
        await alarms.send(3599)
        assert len(server.asked) == 1
        await alarms.send(1)
        assert len(server.asked) == 2


async def test_410_stops_at_once_and_a_resumed_webhook_loses_nothing(hooks: Hooks, alarms: Alarms) -> None:
    status = [410]
    async with answering(lambda _: reply(status[0])) as server:
        hooks.create(server.port)
        made = hooks.runs()
        await hooks.reader.look()
        await alarms.send()
        stopped = hooks.find()
        assert (stopped.state, stopped.stop_reason) == (WebhookState.STOPPED, StopReason.GONE)
        status[0] = 200
        made += hooks.runs()
        await hooks.reader.look()
        await alarms.send(DAY)
        assert len(server.asked) == 1
        assert hooks.resume().state is WebhookState.ACTIVE
        await hooks.reader.look()
        await alarms.send()
    assert sorted(set(run_ids(server.asked)), key=int) == made
    assert len({one.headers["webhook-id"] for one in server.asked}) == 2
    changes = alarms.stored.do(lambda tx: events.after(tx.conn, Cursor(0, 0), 500))
    found = [(one.change.webhook, one.change.state) for one in changes if one.change.kind is EventKind.WEBHOOK_UPDATED]
    assert found == [("ours", "active"), ("ours", "stopped"), ("ours", "active")]


@pytest.mark.costly
async def test_five_days_without_a_success_switch_it_off(hooks: Hooks, alarms: Alarms) -> None:
    async with answering(lambda _: reply(500)) as server:
        hooks.create(server.port)
        for day in range(6):
            assert hooks.find().state is (WebhookState.FAILING if day else WebhookState.ACTIVE)
            hooks.runs()
            await hooks.reader.look()
            await alarms.send()
            alarms.stored.pass_time(DAY)
        stopped = hooks.find()
    assert (stopped.state, stopped.stop_reason) == (WebhookState.STOPPED, StopReason.FAILING)
    assert "has accepted nothing since 2026-03-01T12:00:00Z: the receiver answered 500" in (stopped.stop_message or "")


async def test_unordered_a_message_is_given_up_after_75_hours(hooks: Hooks, alarms: Alarms) -> None:
    async with answering(lambda _: reply(500)) as server:
        hooks.create(server.port)
        hooks.runs()
        await hooks.reader.look()
        await alarms.send()
        (failed,) = await alarms.send(75 * 3600)
    assert (failed.state, failed.attempts) == (DeliveryState.FAILED, 2)
    assert hooks.find().state is WebhookState.FAILING


async def test_in_order_one_message_is_on_its_way_and_a_refused_one_parks(hooks: Hooks, alarms: Alarms) -> None:
    poisoned = ""

    def judge(asked: Asked) -> bytes:
        return reply(422 if run_ids([asked]) == [poisoned] else 200)

    async with answering(judge) as server:
        hooks.create(server.port, ordered=True)
        made: list[str] = []
        for _ in range(4):
            made += hooks.runs()
            await hooks.reader.look()
        poisoned = made[1]
        await alarms.send()
        assert run_ids(server.asked) == made[:1]
        await alarms.send()
        assert run_ids(server.asked) == made[:2]
        await alarms.send(1)
        assert run_ids(server.asked) == made[:2]
        await alarms.send(75 * 3600)
        parked = hooks.find()
        assert (parked.state, parked.stop_reason) == (WebhookState.PARKED, StopReason.PARKED)
        assert "was not accepted: the receiver answered 422" in (parked.stop_message or "")
        await alarms.send(DAY)
        assert run_ids(server.asked) == [made[0], poisoned, poisoned]
        hooks.resume(skip=True)
        await alarms.send()
        await alarms.send()
    assert run_ids(server.asked)[3:] == made[2:]
    (skipped,) = [one for one in alarms.deliveries() if one.state is DeliveryState.FAILED]
    assert skipped.error == "skipped by anna"


@pytest.mark.costly
async def test_what_waits_for_a_dead_receiver_is_bounded_and_harms_no_other(hooks: Hooks, alarms: Alarms) -> None:
    async with answering(lambda _: None) as dead, answering(ok) as well:
        hooks.create(dead.port, "dead")
        hooks.create(well.port, "well")
        made: list[str] = []
        for _ in range(MOST_WAITING + 10):
            made += hooks.runs()
            await hooks.reader.look()
            await alarms.sender.look()
        while len(run_ids(well.asked)) < len(made):
            await alarms.sender.look()
            await next_turn(alarms)
        waiting = [one for one in alarms.deliveries() if one.channel == "dead"]
        assert len(waiting) == MOST_WAITING
        assert len(dead.asked) == 4
        await alarms.sender.stop()
    assert sorted(run_ids(well.asked), key=int) == made


async def next_turn(alarms: Alarms) -> None:
    """Let the sender get on: each read of the database is a turn of the event loop."""
    await alarms.sender._database.read(read.next_delivery)  # noqa: SLF001


@pytest.mark.parametrize("kept", [0, 1], ids=["from the oldest on", "between others"])
async def test_events_that_were_pruned_unread_are_announced(hooks: Hooks, alarms: Alarms, kept: int) -> None:
    async with answering(ok) as server:
        hooks.create(server.port)
        seen, first = hooks.runs(kept), alarms.stored.do(lambda tx: events.newest(tx.conn)).seq * kept
        hooks.runs(2)
        second = alarms.stored.do(lambda tx: events.newest(tx.conn)).seq
        seen += hooks.runs()
        gone = delete(event).where(event.c.seq.between(first + 1, second))
        alarms.stored.do(lambda tx: tx.conn.execute(gone).rowcount)
        for _ in range(4):
            await hooks.reader.look()
        await alarms.send()
    found = [one["data"]["events"] for body in bodies(server.asked) for one in body["events"]]
    made = [{"kind": "RUN_CREATED", "runId": one, "runState": "WAITING"} for one in seen]
    assert sorted(found, key=str) == [{"kind": "RESYNC"}, *made]


async def test_rights_that_are_taken_away_stop_it_visibly(hooks: Hooks, alarms: Alarms) -> None:
    async with answering(ok) as server:
        ada = alarms.stored.do(accounts.add_account, "ada", Role.OPERATOR, None)
        hooks.signs_in = True
        alarms.actor = Actor("ada", Role.OPERATOR, ada.id)
        hooks.create(server.port)
        made = hooks.runs()
        await hooks.reader.look()
        alarms.stored.do(accounts.disable, "ada")
        made += hooks.runs()
        await hooks.reader.look()
        stopped = hooks.find()
        assert (stopped.state, stopped.stop_reason) == (WebhookState.STOPPED, StopReason.REFUSED)
        assert "'ada', who is disabled now" in (stopped.stop_message or "")
        # Somebody else takes it over, and nothing is lost.
        eva = alarms.stored.do(accounts.add_account, "eva", Role.OPERATOR, None)
        alarms.actor = Actor("eva", Role.OPERATOR, eva.id)
        hooks.change(description="mine now")
        assert hooks.find().updated_by == "ada"
        hooks.change(variables={**CREATED})
        assert hooks.find().updated_by == "eva"
        hooks.resume()
        await hooks.reader.look()
        await alarms.send()
    assert sorted(run_ids(server.asked), key=int) == made


@pytest.fixture
async def away(tmp_path: Path) -> AsyncIterator[Database]:
    """A database that cannot be reached."""
    database = Database(f"sqlite:///{tmp_path}/nowhere/at-all.db")
    yield database
    await database.close()


RUN_OF_EVENT = "subscription { events(filter: { kinds: [RUN_CREATED] }) { ... on RunEvent { runId run { state } } } }"


@pytest.mark.costly
@pytest.mark.parametrize(("document", "signs_in"), [(RUNS, True), (RUN_OF_EVENT, False)], ids=["rights", "fields"])
async def test_a_database_that_is_away_stops_nothing_and_loses_nothing(
    hooks: Hooks, alarms: Alarms, away: Database, document: str, *, signs_in: bool
) -> None:
    async with answering(ok) as server:
        ada = alarms.stored.do(accounts.add_account, "ada", Role.OPERATOR, None)
        hooks.signs_in = signs_in
        alarms.actor = Actor("ada", Role.OPERATOR, ada.id)
        hooks.create(server.port, document=document, variables=CREATED if document == RUNS else {})
        made = hooks.runs(2)
        hooks.away = away
        await hooks.reader.look()
        assert (hooks.find().state, alarms.deliveries()) == (WebhookState.ACTIVE, [])
        hooks.away = None
        await hooks.another_reader(1).look()
        await alarms.send()
    assert run_ids(server.asked) == made


async def test_results_that_could_not_be_stored_are_made_again(hooks: Hooks, alarms: Alarms) -> None:
    async with answering(ok) as server:
        hooks.create(server.port)
        hooks.create(server.port, "theirs")
        made = hooks.runs(2)
        rename(alarms.stored, "delivery", "away")
        with pytest.raises(SQLAlchemyError):
            await hooks.reader.look()
        rename(alarms.stored, "away", "delivery")
        made += hooks.runs(1)
        await hooks.reader.look()
        await alarms.send()
    for name in ("ours", "theirs"):
        assert run_ids([one for one in server.asked if bodies([one])[0]["webhook"] == name]) == made


def rename(stored: Stored, before: str, after: str) -> None:
    """Give a table another name."""
    schema = "" if stored.database.is_sqlite else "cronograph."
    stored.do(lambda tx: tx.conn.execute(text(f"ALTER TABLE {schema}{before} RENAME TO {after}")).rowcount)


async def test_one_run_is_followed_to_its_end(hooks: Hooks, alarms: Alarms) -> None:
    async with answering(ok) as server:
        run_id, _ = hooks.runs(2)
        document = "subscription($id: ID!) { run(id: $id) { id state } }"
        hooks.create(server.port, document=document, variables={"id": run_id})
        worker = alarms.stored.node("node-b")
        started = worker.start()
        await hooks.reader.look()
        await alarms.send()
        worker.end(started)
        hooks.runs()
        await hooks.reader.look()
        await alarms.send()
    found = [one["data"]["run"] for body in bodies(server.asked) for one in body["events"]]
    assert list(dict.fromkeys(one["state"] for one in found)) == ["RUNNING", "SUCCESS"]
    assert {one["id"] for one in found} == {run_id}


async def test_a_document_that_the_schema_no_longer_takes_stops_it(hooks: Hooks, alarms: Alarms) -> None:
    hooks.create(1, document="subscription { events { gone } }", variables={})
    hooks.runs()
    await hooks.reader.look()
    stopped = hooks.find()
    assert stopped.stop_reason is StopReason.REFUSED
    assert "Cannot query field 'gone'" in (stopped.stop_message or "")


async def test_sending_again_from_a_cursor_keeps_the_ids(hooks: Hooks, alarms: Alarms) -> None:
    async with answering(ok) as server:
        hooks.create(server.port)
        made: list[str] = []
        for _ in range(3):
            made += hooks.runs()
            await hooks.reader.look()
            await alarms.send()
        first = Cursor.parse(alarms.deliveries()[0].cursor or "")
        _, count = alarms.acting(lambda tx: webhooks.redeliver_after(tx, "ours", first))
        assert count == 2
        await alarms.send()
    assert run_ids(server.asked)[:3] == made
    assert sorted(run_ids(server.asked)[3:]) == made[1:]
    assert len({one.headers["webhook-id"] for one in server.asked}) == 3


async def test_it_can_begin_behind_a_cursor(hooks: Hooks, alarms: Alarms) -> None:
    async with answering(ok) as server:
        hooks.runs()
        place = alarms.stored.do(lambda tx: events.newest(tx.conn))
        made = hooks.runs()
        hooks.create(server.port, after=place)
        await hooks.reader.look()
        await alarms.send()
    assert run_ids(server.asked) == made


async def test_a_disabled_one_sends_nothing_and_goes_on_where_it_was(hooks: Hooks, alarms: Alarms) -> None:
    async with answering(ok) as server:
        hooks.create(server.port)
        hooks.change(enabled=False)
        made = hooks.runs()
        await hooks.reader.look()
        await alarms.send()
        assert (server.asked, hooks.find().state) == ([], WebhookState.DISABLED)
        with pytest.raises(InvalidState, match="is disabled"):
            hooks.resume()
        hooks.change(enabled=True)
        await hooks.reader.look()
        await alarms.send()
    assert run_ids(server.asked) == made


async def test_a_deleted_one_gives_up_its_messages(hooks: Hooks, alarms: Alarms) -> None:
    hooks.create(1)
    hooks.runs()
    await hooks.reader.look()
    alarms.acting(lambda tx: webhooks.delete_webhook(tx, "ours"))
    (ended,) = alarms.deliveries()
    assert (ended.state, ended.error) == (DeliveryState.FAILED, "the webhook was deleted")
    with pytest.raises(NotFound):
        hooks.resume()


async def test_a_test_message_goes_the_same_way(hooks: Hooks, alarms: Alarms) -> None:
    async with answering(ok) as server:
        hooks.create(server.port)
        alarms.acting(lambda tx: actions.send_test(tx, "ours"))
        await alarms.send()
    assert json.loads(server.asked[0].body)["type"] == "subscription.test"


@pytest.mark.costly
async def test_a_message_has_a_bounded_number_of_results(hooks: Hooks, alarms: Alarms) -> None:
    async with answering(ok) as server:
        hooks.create(server.port)
        made = hooks.runs(250)
        await hooks.reader.look()
        await alarms.send()
    assert sorted(len(one["events"]) for one in bodies(server.asked)) == [50, 100, 100]
    assert sorted(run_ids(server.asked), key=int) == made
