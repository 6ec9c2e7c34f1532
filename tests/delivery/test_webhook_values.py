"""Webhooks that cannot be: values, names that are taken, and rights that nobody may lend."""

from collections.abc import Callable
from typing import Any

import pytest

from cronograph.jobs.accounts.actions.secrets import delete_secret, set_secret
from cronograph.jobs.core.actor import Actor, Role
from cronograph.jobs.core.base.errors import InvalidInput, NotFound, UserError, VersionConflict
from cronograph.jobs.delivery import actions, hooks, webhooks
from cronograph.jobs.delivery.inbound import HookKind
from cronograph.jobs.delivery.rules import ChannelKind
from cronograph.jobs.delivery.webhooks import Webhook
from cronograph.jobs.store.db.transaction import Tx
from tests.delivery.conftest import KEYS, SECRET
from tests.delivery.test_webhooks import RUNS
from tests.support.storage import Stored

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"name": "a/b"}, "name: must not contain"),
    ({"name": "n" * 101}, "name: must have at most 100"),
    ({"url": "ftp://example.com"}, "url: "),
    ({"document": ""}, "document: must have at least 1"),
    ({"secrets": ("a", "b", "c", "d")}, "secrets: must be at most 3"),
    ({"secrets": ("nope",)}, "secret 'nope'"),
]


@pytest.mark.parametrize(("wrong", "message"), REFUSED)
def test_values_that_cannot_be_are_refused(stored: Stored, wrong: dict[str, Any], message: str) -> None:
    values: dict[str, Any] = {"name": "a", "url": "https://example.com", "document": RUNS, "variables": {}}
    wanted = webhooks.new_webhook(**{**values, **wrong})
    with pytest.raises(UserError, match=message):
        stored.do(webhooks.create_webhook, wanted)


def test_names_are_those_of_channels_too(stored: Stored) -> None:
    stored.do(actions.set_channel, "taken", ChannelKind.ALERTMANAGER, {"url": "https://example.com"})
    with pytest.raises(UserError, match="there is a webhook or channel 'taken'"):
        stored.do(webhooks.create_webhook, webhooks.new_webhook("taken", "https://example.com", RUNS, {}))
    stored.do(webhooks.create_webhook, webhooks.new_webhook("ours", "https://example.com", RUNS, {}))
    with pytest.raises(UserError, match="there is a webhook or channel 'ours'"):
        stored.do(actions.set_channel, "ours", ChannelKind.ALERTMANAGER, {"url": "https://example.com"})
    with pytest.raises(NotFound):
        stored.do(actions.delete_channel, "ours", force=True)
    with pytest.raises(VersionConflict):
        stored.do(webhooks.update_webhook, "ours", {"ordered": True}, expected=7)


def test_a_token_of_a_lower_role_cannot_lend_the_rights_of_its_account(stored: Stored) -> None:
    wanted = webhooks.new_webhook("ours", "https://example.com", RUNS, {})

    def by_token(action: Callable[..., Webhook], *args: Any) -> Webhook:
        def acted(tx: Tx) -> Webhook:
            tx.actor = Actor("anna", Role.OPERATOR, 1, full_rights=False)
            return action(tx, *args)

        return stored.do(acted)

    with pytest.raises(UserError, match="acts with all rights of the account 'anna'"):
        by_token(webhooks.create_webhook, wanted)
    stored.do(webhooks.create_webhook, wanted)
    with pytest.raises(UserError, match="acts with all rights of the account 'anna'"):
        by_token(webhooks.update_webhook, "ours", {"url": "https://other.example.com"})
    # Who changes nothing of what is sent, or where to, lends nothing.
    disabled = by_token(webhooks.update_webhook, "ours", {"enabled": False, "description": "until the move"})
    assert (disabled.enabled, disabled.owner) == (False, None)


def keep_webhook(tx: Tx) -> None:
    webhooks.create_webhook(
        tx, webhooks.new_webhook("feed", "https://example.com", RUNS, {}, ["key"]), keys=lambda: KEYS
    )


def keep_channel(tx: Tx) -> None:
    settings = {"url": "https://example.com", "secrets": [{"$secret": "key"}]}
    actions.set_channel(tx, "ops", ChannelKind.WEBHOOK, settings, keys=lambda: KEYS)


def keep_chat(tx: Tx) -> None:
    actions.set_channel(tx, "chat", ChannelKind.CHAT, {"url": {"$secret": "key"}})


def keep_hook(kind: HookKind, name: str = "deploy") -> Callable[[Tx], None]:
    def keep(tx: Tx) -> None:
        chosen: dict[str, Any] = {"secrets": ("key",), "argument": None, "description": "", "enabled": True}
        hooks.create_hook(tx, hooks.new_hook(name, "work", kind, **chosen), KEYS)

    return keep


NO_KEY = "the secret of a webhook must be 'whsec_' and at least 16 bytes in base64"
NO_TEXT = "the secret of a hook must have at least 16 characters"
PROVING: dict[str, tuple[Callable[[Tx], None], str, str]] = {
    "the webhook 'feed'": (keep_webhook, "correct horse battery staple", NO_KEY),
    "the channel 'ops'": (keep_channel, "whsec_c2hvcnQ=", NO_KEY),
    "the hook 'deploy'": (keep_hook(HookKind.STANDARD), "whsec_ünreadable", NO_KEY),
    "the hook 'build'": (keep_hook(HookKind.GITHUB, "build"), "too short", NO_TEXT),
}


@pytest.mark.parametrize("user", PROVING)
def test_a_secret_is_not_replaced_by_one_that_its_user_cannot_use(stored: Stored, user: str) -> None:
    stored.node()
    keep, wrong, reason = PROVING[user]
    stored.do(set_secret, "key", SECRET, KEYS)
    stored.do(keep)
    with pytest.raises(InvalidInput) as refused:
        stored.do(set_secret, "key", wrong, KEYS)
    assert (refused.value.message, refused.value.path) == (f"value: {user} could not use it: {reason}", ("value",))
    # One that was deleted by force is missed by its user, which could not use this one either.
    stored.do(delete_secret, "key", force=True)
    with pytest.raises(InvalidInput):
        stored.do(set_secret, "key", wrong, KEYS)
    stored.do(set_secret, "key", "whsec_" + "A" * 32, KEYS)


def test_a_secret_that_is_an_address_proves_nothing(stored: Stored) -> None:
    stored.do(set_secret, "key", "https://example.com/a", KEYS)
    stored.do(keep_chat)
    stored.do(set_secret, "key", "https://example.com/b", KEYS)


def test_a_channel_whose_secret_cannot_sign_is_refused(stored: Stored) -> None:
    stored.do(set_secret, "key", "correct horse battery staple", KEYS)
    with pytest.raises(InvalidInput) as refused:
        stored.do(keep_channel)
    assert (refused.value.message, refused.value.path) == (f"secrets: 'key': {NO_KEY}", ("webhook", "secrets", "0"))
