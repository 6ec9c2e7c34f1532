"""Webhooks, which operators create: subscriptions whose results are posted to other programs."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar, Final, cast

import strawberry
from strawberry.scalars import JSON

from ...jobs.base.services import Result
from ...jobs.core.base.errors import InvalidInput
from ...jobs.core.base.errors import UserError as Refusal
from ...jobs.core.events import Cursor
from ...jobs.core.model import Json
from ...jobs.delivery import webhooks
from ...jobs.delivery.messages import WrittenResults
from ...jobs.delivery.webhooks import MAX_SECRETS, StopReason, WebhookState
from ...jobs.store.db.transaction import Tx
from ...jobs.store.statements import events
from ..base.enums import Described, Role, described
from ..base.fields import Size, mutates, resolved, sized
from ..execution.schema_factory import GuardedSchema
from ..execution.shown import FromModel, Makers
from ..lists.connections import Connection
from ..lists.declared import kind_of, listed
from ..lists.filters import BooleanFilter, DateTimeFilter, RowFilter, StringFilter, condition, filter_of
from ..resolving import following
from ..resolving.context import Info
from ..types.common import MutationPayload
from .base.changes import changed, given, input_faults, is_dry, kept_whole, perform
from .base.inputs import MutationInput, optional

_SECRETS: Final = Size(default=MAX_SECRETS, most=MAX_SECRETS)
_MESSAGES: Final = Size(default=10, most=10)
PREVIEWED: Final = timedelta(hours=1)
"""Time whose events a dry run executes the document for."""
MOST_PREVIEWED: Final = 1_000
"""Results that a dry run looks at."""


@filter_of("A filter of webhooks.")
class WebhookFilter(RowFilter):
    """Conditions on webhooks."""

    name: StringFilter | None = condition("The name.")
    enabled: BooleanFilter | None = condition("Whether the webhook is enabled.", "isEnabled")
    ordered: BooleanFilter | None = condition("Whether the webhook sends in order.", "isOrdered")
    stopped: BooleanFilter | None = condition("Whether the webhook is parked or stopped.", "isStopped")
    created_at: DateTimeFilter | None = condition("The time when the webhook was created.")
    updated_at: DateTimeFilter | None = condition("The time when the webhook was last changed.")


@described("A field by which webhooks can be ordered; by name unless given.")
class WebhookOrderField(Described):
    """Fields of webhooks to order by."""

    NAME = "name", "The name."
    UPDATED_AT = "updated_at", "The time when the webhook was last changed."


WEBHOOK_LIST: Final = kind_of(webhooks.WEBHOOKS, WebhookFilter, WebhookOrderField, "webhooks")


@strawberry.type(description="A subscription whose results are posted to another program.")
class Webhook(FromModel):
    """A webhook without the values of its secrets."""

    stored: strawberry.Private[webhooks.Webhook]
    name: str = strawberry.field(description="The unique name of the webhook.")
    url: str = strawberry.field(description="The URL of the receiver, without its query.")
    secrets: list[str] = strawberry.field(
        description="The names of the secrets that sign the messages; none = they are not signed.",
        metadata=sized(_SECRETS),
    )
    document: str = strawberry.field(description="The subscription whose results are sent.")
    variables: JSON = strawberry.field(description="The variables of the document, an object.")
    description: str = strawberry.field(description="The purpose of the webhook, in words.")
    ordered: bool = strawberry.field(
        name="isOrdered", description="Whether a message is sent only once the one before it was accepted."
    )
    enabled: bool = strawberry.field(name="isEnabled", description="Whether the webhook is enabled.")
    state: WebhookState = strawberry.field(description="The state of the webhook.")
    failures: int = strawberry.field(description="The number of failed tries in a row.")
    failing_since: datetime | None = strawberry.field(
        name="firstFailedAt", description="The time of the first of these tries; null if the last try succeeded."
    )
    blocked_until: datetime | None = strawberry.field(
        name="nextTryAt", description="The time of the next try after a failed one; null if the last try succeeded."
    )
    delivered_at: datetime | None = strawberry.field(
        name="lastDeliveredAt", description="The time when the receiver last accepted a message; null if it never has."
    )
    stop_reason: StopReason | None = strawberry.field(
        description="The reason why nothing is sent until somebody resumes the webhook; null if it is not stopped."
    )
    stop_message: str | None = strawberry.field(description="The same reason as a sentence; null if it is not stopped.")
    stopped_at: datetime | None = strawberry.field(
        description="The time when the webhook was parked or stopped; null if it is not."
    )
    version: int = strawberry.field(description="The number of changes of the webhook, from 1.")
    created_at: datetime = strawberry.field(description="The time when the webhook was created.")
    updated_at: datetime = strawberry.field(description="The time when the webhook was last changed.")
    updated_by: str = strawberry.field(
        name="owner",
        description="The person or program that last changed the document, its variables, the URL or the secrets. The "
        "document is executed with the rights that they have by then. Empty = a task file of the server itself: its "
        "documents have the rights of job code.",
    )
    set_name: str | None = strawberry.field(
        description="The set of the task file that defines the webhook; null if people created it."
    )

    MADE: ClassVar[Makers] = {
        "url": lambda one: one.url.partition("?")[0],
        "secrets": lambda one: list(one.secrets),
        "state": lambda one: one.state,
    }

    @resolved()
    def definition(self, info: Info) -> JSON | None:
        """The webhook as a task file has it, an object; null unless you are an administrator: it has the whole URL."""
        is_admin = info.context.person.role.includes(Role.ADMIN)
        return cast("JSON", self.stored.definition) if is_admin else None

    @resolved()
    async def cursor(self, info: Info) -> str | None:
        """The place in the order of events up to which results were recorded; null for a deleted webhook."""
        found = await info.context.loaders.webhook_places.load(self.name)
        return None if found is None else found[0]

    @resolved()
    async def waiting_count(self, info: Info) -> int:
        """The number of messages that wait for the receiver. From 50 on, further events wait in the event log."""
        found = await info.context.loaders.webhook_places.load(self.name)
        return 0 if found is None else found[1]


@strawberry.type(description="The messages that a webhook would have sent about the last hour.")
class WebhookPreview(FromModel):
    """The answer of a dry run."""

    event_count: int = strawberry.field(description="The number of results, at most 1,000.")
    has_more: bool = strawberry.field(
        description="Whether there were more; only the newest 10,000 transactions of the hour are looked at."
    )
    messages: list[JSON] = strawberry.field(
        description="The first 10 messages, as they would have been posted.", metadata=sized(_MESSAGES)
    )


@strawberry.type
class WebhookSaved(MutationPayload):
    """A webhook or errors."""

    webhook: Webhook | None = strawberry.field(description="The webhook.", default=None)
    preview: WebhookPreview | None = strawberry.field(
        description="On a dry run the messages that the webhook would have sent about the last hour; null otherwise.",
        default=None,
    )


@strawberry.type
class WebhookChanged(MutationPayload):
    """A webhook or errors."""

    webhook: Webhook | None = strawberry.field(description="The webhook; a deleted one as it was.", default=None)


@strawberry.type
class WebhookRedelivered(MutationPayload):
    """A webhook and the number of its messages, or errors."""

    webhook: Webhook | None = strawberry.field(description="The webhook.", default=None)
    count: int | None = strawberry.field(description="The number of messages that are sent again.", default=None)


_DOCUMENT: Final = (
    "The subscription whose results are sent, with the one field `events` or `executions`, and without `after` and "
    "`snapshot`: the server keeps the place. At most 32,768 characters. The results are made with the rights of the "
    "`owner` of the webhook."
)


@strawberry.input(description="A webhook as a file defines it.")
class WebhookOfSetInput:
    """A wanted webhook."""

    name: str = strawberry.field(description="The unique name of the webhook, 1 to 100 characters.")
    url: str = strawberry.field(description="The URL to post to.")
    document: str = strawberry.field(description=_DOCUMENT)
    variables: JSON | None = optional("The variables of the document, an object. None unless given.")
    secrets: list[str] | None = optional(
        "The names of at most 3 secrets whose values are `whsec_` and base64. Each signs, so that a receiver can be "
        "moved from one to the next. Messages are not signed unless given.",
        _SECRETS,
    )
    description: str = strawberry.field(
        description="The purpose of the webhook, at most 10,000 characters. Empty unless given.", default=""
    )
    ordered: bool = strawberry.field(
        description="True sends a message only once the one before it was accepted, and parks the webhook when one "
        "never is. False unless given.",
        default=False,
    )

    def wanted(self, *, enabled: bool = True) -> webhooks.Webhook:
        """Return the engine's form."""
        return webhooks.new_webhook(
            self.name,
            self.url,
            self.document,
            _object(self.variables),
            given(self.secrets) or (),
            description=self.description,
            ordered=self.ordered,
            enabled=enabled,
        )


@strawberry.input(description="The webhook that `createWebhook` creates.")
class CreateWebhookInput(WebhookOfSetInput, MutationInput):
    """The input of ``createWebhook``."""

    enabled: bool = strawberry.field(
        description="False creates the webhook disabled; its place is kept. True unless given.", default=True
    )
    after: str | None = optional("The event cursor behind which the results begin. Events from now on unless given.")


@strawberry.input
class WebhookChangeInput(MutationInput):
    """The input of a mutation that changes one webhook."""

    name: str = strawberry.field(description="The name of the webhook.")
    expected_version: int | None = optional(
        "The `version` that the webhook must still have, or else the change is refused. Any version unless given."
    )


@strawberry.input(description="The changes of a webhook that `updateWebhook` makes. Absent fields stay as they are.")
class UpdateWebhookInput(WebhookChangeInput):
    """The input of ``updateWebhook``."""

    url: str | None = optional("The URL to post to. Unchanged unless given.")
    document: str | None = optional("The subscription whose results are sent. Unchanged unless given.")
    variables: JSON | None = optional("The variables of the document; null = none. Unchanged unless given.")
    secrets: list[str] | None = optional(
        "The names of the secrets that sign; null = messages are not signed. Unchanged unless given.", _SECRETS
    )
    description: str | None = optional("The purpose of the webhook; null = empty. Unchanged unless given.")
    ordered: bool | None = optional("True sends messages in order; null = false. Unchanged unless given.")
    enabled: bool | None = optional("False keeps the place and sends nothing; null = true. Unchanged unless given.")

    def changes(self) -> dict[str, Any]:
        """Return the values that are given, by the names of the model."""
        kept = dict.fromkeys(("url", "document"), strawberry.UNSET)
        usual: dict[str, Any] = {"variables": {}, "secrets": (), "description": "", "ordered": False, "enabled": True}
        return changed(self, {**kept, **usual})


@strawberry.input(description="The webhook that `deleteWebhook` deletes.")
class DeleteWebhookInput(WebhookChangeInput):
    """The input of ``deleteWebhook``."""


@strawberry.input(description="The webhook that `resumeWebhook` resumes.")
class ResumeWebhookInput(WebhookChangeInput):
    """The input of ``resumeWebhook``."""

    skip: bool = strawberry.field(
        description="True gives up the oldest message that waits, e.g. one that the receiver cannot take. False unless "
        "given.",
        default=False,
    )


@strawberry.input(description="The messages that `redeliverWebhook` sends again.")
class RedeliverWebhookInput(WebhookChangeInput):
    """The input of ``redeliverWebhook``."""

    after: str = strawberry.field(
        description="An event cursor. The messages that have results behind it are sent again, at most the newest "
        "10,000 of the last 7 days, each with its message id."
    )


WEBHOOK: Final = kept_whole(webhooks.Webhook)


@strawberry.type
class WebhookQueries:
    """Queries of webhooks."""

    webhooks: Connection[Webhook] | None = listed(
        WEBHOOK_LIST,
        lambda: Webhook,
        description="The webhooks, without the values of their secrets. `alarmDeliveries` has their messages, with the "
        "name of the webhook as `channel`.",
        requires=Role.OPERATOR,
    )


@strawberry.type
class WebhookMutations:
    """Everything that changes webhooks."""

    @mutates(requires=Role.OPERATOR)
    async def create_webhook(self, info: Info, input: CreateWebhookInput) -> WebhookSaved:
        """Creates a webhook, which posts the results of a subscription for each event from now on."""
        after, wanted = given(input.after), input.wanted(enabled=input.enabled)

        def action(tx: Tx) -> webhooks.Webhook:
            begin = None if after is None else Cursor.parse(after)
            return webhooks.create_webhook(tx, wanted, begin, keys=info.context.keys)

        return await _saved(info, input, action, wanted)

    @mutates(requires=Role.OPERATOR)
    async def update_webhook(self, info: Info, input: UpdateWebhookInput) -> WebhookSaved:
        """Changes a webhook. Its place in the order of events stays."""
        changes = input.changes()
        if "variables" in changes:
            changes["variables"] = _object(changes["variables"])
        action = partial(
            webhooks.update_webhook,
            name=input.name,
            changes=changes,
            expected=given(input.expected_version),
            keys=info.context.keys,
        )
        is_judged = webhooks.LENDING & changes.keys() and not any(input_faults(input))
        known = await info.context.database.read(webhooks.NAMED.find, input.name) if is_judged else None
        sent = {name: changes[name] for name in ("document", "variables") if name in changes}
        return await _saved(info, input, action, known and replace(known, **sent))

    @mutates(requires=Role.OPERATOR)
    async def delete_webhook(self, info: Info, input: DeleteWebhookInput) -> WebhookChanged:
        """Deletes a webhook. Messages that wait are given up."""
        action = partial(webhooks.delete_webhook, name=input.name, expected=given(input.expected_version))
        done = await perform(info, input, action, WEBHOOK)
        return done.answer(WebhookChanged, webhook=Webhook.from_model)

    @mutates(requires=Role.OPERATOR)
    async def resume_webhook(self, info: Info, input: ResumeWebhookInput) -> WebhookChanged:
        """Lets a webhook send again that was parked or stopped, or that leaves a failing receiver alone for a while."""
        action = partial(
            webhooks.resume_webhook, name=input.name, skip=input.skip, expected=given(input.expected_version)
        )
        done = await perform(info, input, action, WEBHOOK)
        return done.answer(WebhookChanged, webhook=Webhook.from_model)

    @mutates(requires=Role.OPERATOR)
    async def redeliver_webhook(self, info: Info, input: RedeliverWebhookInput) -> WebhookRedelivered:
        """Sends messages of a webhook again that have ended, each with its message id."""

        def action(tx: Tx) -> tuple[webhooks.Webhook, int]:
            expected = given(input.expected_version)
            return webhooks.redeliver_after(tx, input.name, Cursor.parse(input.after), expected=expected)

        done = await perform(info, input, action, kept_whole(tuple[webhooks.Webhook, int]))
        return done.answer(
            WebhookRedelivered, webhook=lambda both: Webhook.from_model(both[0]), count=lambda both: both[1]
        )


def _object(variables: object) -> dict[str, Json]:
    """Return variables; a value that is no object is refused with the other faults of the input."""
    return cast("dict[str, Json]", variables) if isinstance(variables, dict) else {}


async def _saved(
    info: Info,
    input: MutationInput,
    action: Callable[[Tx], webhooks.Webhook],
    judged: webhooks.Webhook | None,
) -> WebhookSaved:
    """Keep a webhook, whose document is judged if its messages change; on a dry run show the messages."""
    faults: list[Refusal] = []
    if judged is not None and not any(input_faults(input)):
        faults = await document_faults(info, judged.document, judged.variables)
    done = await perform(info, input, action, WEBHOOK, faults=faults)
    payload = done.answer(WebhookSaved, webhook=Webhook.from_model)
    if is_dry(input) and done.result is not None:
        payload.preview = await _preview(info, cast("GuardedSchema", info.schema), done.result)
    return payload


async def document_faults(info: Info, document: str, variables: Mapping[str, Json]) -> list[Refusal]:
    """Return why a document cannot be that of a webhook of the person who asks."""
    try:
        await following.check(cast("GuardedSchema", info.schema), document, variables, info.context)
    except InvalidInput as fault:
        return [fault]
    return []


async def _preview(info: Info, schema: GuardedSchema, webhook: webhooks.Webhook) -> WebhookPreview | None:
    """Return the messages about the last hour; None of a document that this version does not know any more."""
    try:
        prepared = following.prepare(schema, webhook.document, webhook.variables)
    except InvalidInput:
        return None
    now, began = await info.context.now(), time.monotonic()
    cursor = await info.context.database.read(events.place_at, now - PREVIEWED)
    found: list[Result] = []
    has_more = False
    while cursor is not None:
        page = await info.context.database.read(events.after, cursor, events.BATCHES)
        if not page:
            break
        left = MOST_PREVIEWED - len(found)
        followed = await following.follow(schema, prepared, info.context, page, left)
        found += followed.answers
        cursor = followed.through
        has_more = len(found) >= MOST_PREVIEWED or time.monotonic() - began > following.ENOUGH
        if has_more:
            break
    written = [WrittenResults.of(one) for one in webhooks.messages_of(found)]
    messages: list[Any] = [json.loads(one.for_webhook(webhook.name, now).text) for one in written[: _MESSAGES.most]]
    return WebhookPreview(event_count=len(found), has_more=has_more, messages=messages)
