"""Alarms, webhooks and hooks whose task, channel, secret or job is gone can still be disabled and described."""

import json
from datetime import timedelta
from functools import partial

import pytest

from cronograph.jobs.accounts.actions.secrets import delete_secret, set_secret
from cronograph.jobs.accounts.rules.secrets import KeyRing
from cronograph.jobs.actions.tasks import delete_task
from cronograph.jobs.builtin.prune import Retention, prune
from cronograph.jobs.core.alarms import Condition
from cronograph.jobs.core.base.errors import InvalidInput, InvalidState, NotFound, UserError
from cronograph.jobs.delivery import actions, hooks, webhooks
from cronograph.jobs.delivery.inbound import HookKind
from cronograph.jobs.delivery.rules import DeliveryState
from cronograph.jobs.store.schema.tables import job_execution, run
from tests.builtin.http_server import answering, reply
from tests.delivery.conftest import KEYS, SECRET, Alarms
from tests.delivery.test_sending import fire
from tests.support.storage import Stored

DOCUMENT = "subscription { executions { id } }"


async def test_an_alarm_without_its_task_and_channel_is_disabled(alarms: Alarms, stored: Stored) -> None:
    stored.node()
    stored.task()
    alarms.webhook(1)
    alarms.create(Condition.LATE, grace=30, channels=("ops",))
    stored.do(delete_task, "nightly")
    alarms.acting(lambda tx: actions.delete_channel(tx, "ops", force=True))
    assert not alarms.change(enabled=False, description="until the move").enabled
    with pytest.raises(NotFound, match="channel 'other'"):
        alarms.change(channels=("ops", "other"))
    with pytest.raises(NotFound, match="task 'nightli'"):
        alarms.change(subject="nightli")


async def test_a_webhook_without_its_secret_is_disabled(alarms: Alarms, stored: Stored) -> None:
    stored.do(set_secret, "key", SECRET, KEYS)
    wanted = webhooks.new_webhook("feed", "https://feed.example.com/", DOCUMENT, {}, ["key"])
    alarms.acting(lambda tx: webhooks.create_webhook(tx, wanted, keys=lambda: KEYS))
    stored.do(delete_secret, "key", force=True)
    done = alarms.acting(lambda tx: webhooks.update_webhook(tx, "feed", {"enabled": False}))
    assert not done.enabled
    with pytest.raises(NotFound, match="secret 'key'"):
        alarms.acting(lambda tx: webhooks.update_webhook(tx, "feed", {"secrets": ("key",)}))


async def test_a_webhook_that_cannot_sign_by_a_secret_is_refused(alarms: Alarms, stored: Stored) -> None:
    stored.do(set_secret, "key", SECRET, KEYS)
    stored.do(set_secret, "word", "no key at all", KEYS)
    wanted = webhooks.new_webhook("feed", "https://feed.example.com/", DOCUMENT, {}, ["key", "word"])
    with pytest.raises(InvalidInput, match="'word': the secret of a webhook must be 'whsec_' and") as refused:
        alarms.acting(lambda tx: webhooks.create_webhook(tx, wanted, keys=lambda: KEYS))
    assert refused.value.path == ("secrets", "1")
    signed = webhooks.new_webhook("feed", "https://feed.example.com/", DOCUMENT, {}, ["key"])
    alarms.acting(lambda tx: webhooks.create_webhook(tx, signed, keys=lambda: KEYS))
    cases: list[tuple[KeyRing, type[UserError], str]] = [
        (KEYS, InvalidInput, "'word': the secret of a webhook must"),
        (KeyRing(), InvalidState, "which this node does not have"),
    ]
    for ring, kind, words in cases:
        change = partial(webhooks.update_webhook, name="feed", changes={"secrets": ("word",)})
        with pytest.raises(kind, match=words):
            alarms.acting(partial(change, keys=partial(KeyRing, ring.keys)))
    # What does not change them needs no key.
    assert not alarms.acting(lambda tx: webhooks.update_webhook(tx, "feed", {"enabled": False})).enabled
    with pytest.raises(InvalidState, match="secret 'key' is used by the webhook 'feed'; change"):
        stored.do(delete_secret, "key")


async def test_a_hook_without_its_secret_is_disabled(alarms: Alarms, stored: Stored) -> None:
    stored.node()
    stored.do(set_secret, "key", SECRET, KEYS)
    chosen = {"secrets": ("key",), "argument": None, "description": "", "enabled": True}
    wanted = hooks.new_hook("deploy", "work", HookKind.BEARER, **chosen)
    alarms.acting(lambda tx: hooks.create_hook(tx, wanted, KEYS))
    stored.do(delete_secret, "key", force=True)
    assert not alarms.acting(lambda tx: hooks.update_hook(tx, "deploy", {"enabled": False}, KEYS)).enabled
    with pytest.raises(NotFound, match="secret 'key'"):
        alarms.acting(lambda tx: hooks.update_hook(tx, "deploy", {"kind": HookKind.GITHUB}, KEYS))


@pytest.mark.altered_log
async def test_a_message_that_waits_outlives_the_history_that_it_is_about(alarms: Alarms, stored: Stored) -> None:
    answers = [reply(500), reply(200)]
    async with answering(lambda _: answers.pop(0)) as server:
        alarms.webhook(server.port)
        await fire(alarms, stored)
        assert [one.state for one in await alarms.send()] == [DeliveryState.PENDING]
        stored.pass_time(3600)
        done = await prune(alarms.services().database, Retention(timedelta(minutes=1)))
        assert (done.complete, stored.rows(run), stored.rows(job_execution)) == (True, [], [])
        assert [one.state for one in await alarms.send()] == [DeliveryState.SENT]
    first, second = server.asked
    assert (first.body, first.headers["webhook-id"]) == (second.body, second.headers["webhook-id"])
    assert json.loads(second.body)["data"]["alarms"][0]["runId"] == "1"
