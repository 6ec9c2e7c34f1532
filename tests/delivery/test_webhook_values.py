"""Webhooks that cannot be: values, names that are taken, and rights that nobody may lend."""

from collections.abc import Callable
from typing import Any

import pytest

from cronograph.jobs.core.actor import Actor, Role
from cronograph.jobs.core.base.errors import NotFound, UserError, VersionConflict
from cronograph.jobs.delivery import actions, webhooks
from cronograph.jobs.delivery.rules import ChannelKind
from cronograph.jobs.delivery.webhooks import Webhook
from cronograph.jobs.store.db.transaction import Tx
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
