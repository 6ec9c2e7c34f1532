"""Webhooks through the API: documents are judged as they are stored, and a dry run shows what would be sent."""

from typing import Any

import pytest

from cronograph.graphql.client.mutations import WEBHOOK_DOCUMENTS
from cronograph.jobs.delivery import webhooks
from cronograph.jobs.queue.base.changes import publish
from tests.graphql_api.api import Api

CREATE = """mutation($input: CreateWebhookInput!) { createWebhook(input: $input) {
  webhook { name url secrets document variables isOrdered isEnabled state failures version owner cursor waitingCount }
  preview { eventCount hasMore messages }
  errors { code message path }
} }"""
UPDATE = """mutation($input: UpdateWebhookInput!) { updateWebhook(input: $input) {
  webhook { isOrdered document variables url version } preview { eventCount } errors { code message path }
} }"""
KINDS = "subscription($kinds: [EventKind!]) { events(filter: { kinds: $kinds }) { kind ... on RunEvent { runId } } }"
GIVEN: dict[str, Any] = {
    "name": "feed",
    "url": "https://example.com/hook?key=1",
    "document": KINDS,
    "variables": {"kinds": ["RUN_CREATED"]},
}


async def create(api: Api, **changed: Any) -> dict[str, Any]:
    """The payload of a creation."""
    payload: dict[str, Any] = (await api.ask(CREATE, input={**GIVEN, **changed}))["createWebhook"]
    return payload


async def test_a_webhook_is_stored_and_its_url_is_shown_without_its_query(api: Api) -> None:
    made = (await create(api, ordered=True))["webhook"]
    assert made.pop("cursor")
    assert made == {
        "name": "feed", "url": "https://example.com/hook", "secrets": [], "document": KINDS,
        "variables": {"kinds": ["RUN_CREATED"]}, "isOrdered": True, "isEnabled": True, "state": "ACTIVE",
        "failures": 0, "version": 1, "owner": "local administrator", "waitingCount": 0,
    }  # fmt: skip
    changed: dict[str, Any] = {"name": "feed", "ordered": None, "variables": {}, "expectedVersion": 1}
    after = (await api.ask(UPDATE, input=changed))["updateWebhook"]["webhook"]
    assert (after["isOrdered"], after["variables"], after["document"], after["version"]) == (False, {}, KINDS, 2)
    both = "{ webhooks(filter: { isStopped: { eq: false } }) { nodes { name } } channels { totalCount } }"
    found = await api.ask(both)
    assert found == {"webhooks": {"nodes": [{"name": "feed"}]}, "channels": {"totalCount": 0}}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"document": "{ asOf }"}, "one field, which is one of 'events', 'executions', 'run'"),
    ({"document": "subscription { overview { now } }"}, "Cannot query field 'now'"),
    (
        {"document": "subscription { overview { at: __typename } }"},
        "must be a subscription with one field, which is one of",
    ),
    ({"document": 'subscription { run(id: "77") { state } }'}, "there is no run 77"),
    ({"document": 'subscription { executionLog(executionId: "1") { hasEnded } }'}, "one field, which is one of"),
    ({"document": "subscription { executions(snapshot: true) { id } }"}, "must not have the argument 'snapshot'"),
    ({"document": 'subscription { events(after: "1.0") { at } }'}, "must not have the argument 'after'"),
    ({"document": "subscription { events { nope } }"}, "Cannot query field 'nope'"),
    ({"document": "subscription { events {"}, "Syntax Error"),
    ({"variables": {"kinds": ["NOPE"]}}, "NOPE"),
    ({"variables": {"kinds": ["DELIVERIES_UPDATED"]}}, "of kind DELIVERIES_UPDATED, which webhooks do not get"),
    ({"variables": [1]}, "variables: must be an object"),
    ({"after": "yesterday"}, "after: must be an event cursor"),
    ({"secrets": ["nope"]}, "secret 'nope' does not exist"),
    ({"url": "http://"}, "url"),
]


@pytest.mark.parametrize(("wrong", "message"), REFUSED)
async def test_what_could_never_be_sent_is_refused_with_its_place(
    api: Api, wrong: dict[str, Any], message: str
) -> None:
    payload = await create(api, **wrong)
    assert payload["webhook"] is None
    (error,) = payload["errors"]
    assert message in error["message"]
    assert error["path"][:1] in ([*wrong], ["document"])


async def test_a_dry_run_shows_what_would_have_been_sent_about_the_last_hour(api: Api) -> None:
    api.stored.enqueue()
    api.stored.pass_time(3601)
    made = [str(api.stored.enqueue().id) for _ in range(3)]
    api.stored.do(publish, 500)
    payload = await create(api, dryRun=True)
    preview = payload["preview"]
    assert (payload["errors"], preview["eventCount"], preview["hasMore"]) == ([], 3, False)
    (message,) = preview["messages"]
    assert [one["data"]["events"]["runId"] for one in message["data"]["events"]] == made
    assert (await api.ask("{ webhooks { totalCount } }")) == {"webhooks": {"totalCount": 0}}


async def test_a_webhook_whose_document_can_be_executed_no_more_is_disabled_and_mended(api: Api) -> None:
    document = 'subscription { run(id: "77") { state } }'
    wanted = webhooks.new_webhook("feed", "https://example.com/hook", document, {})
    api.stored.do(webhooks.create_webhook, wanted)

    async def update(**changed: Any) -> list[str]:
        payload = (await api.ask(UPDATE, input={"name": "feed", **changed}))["updateWebhook"]
        return [one["message"] for one in payload["errors"]]

    unknown = webhooks.new_webhook("old", "https://example.com/hook", "subscription { gone { id } }", {})
    api.stored.do(webhooks.create_webhook, unknown)
    assert await update(name="old", enabled=False, dryRun=True) == []
    for dry in (True, False):
        assert await update(enabled=False, description="until the move", dryRun=dry) == []
    assert await update(variables={}) == ["document: id: there is no run 77"]
    assert await update(document="subscription { executions { id } }") == []


@pytest.mark.parametrize("name", WEBHOOK_DOCUMENTS)
async def test_every_ready_made_document_can_be_stored(api: Api, name: str) -> None:
    assert (await create(api, document=WEBHOOK_DOCUMENTS[name], variables={}))["errors"] == []
