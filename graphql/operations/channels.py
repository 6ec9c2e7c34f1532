"""Channels, which administrators set, and the deliveries that were sent through them."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import Enum
from typing import Any, ClassVar, Final, cast

import strawberry
from strawberry.scalars import JSON

from ...jobs.core.admission.labels import label_faults
from ...jobs.core.alarms import Severity
from ...jobs.core.arguments.secrets import references
from ...jobs.core.base.errors import UserError
from ...jobs.core.base.times import EARLIEST
from ...jobs.delivery import actions, read, rules
from ...jobs.delivery.rules import ChannelKind
from ...jobs.store.db.transaction import Tx
from ..base.enums import Described, Role, described
from ..base.fields import Size, mutates, resolved, sized
from ..base.scalars import Labels
from ..execution.shown import FromModel, Makers
from ..lists.connections import Connection
from ..lists.declared import kind_of, listed
from ..lists.filters import DateTimeFilter, Filter, RowFilter, StringFilter, condition, filter_of
from ..resolving.context import Info
from ..types.alarm import DELIVERY_LIST, AlarmDelivery
from ..types.common import MutationPayload
from .base.changes import given, kept_whole, parse_key, perform
from .base.inputs import MutationInput, optional

_SECRETS: Final = Size(default=3, most=3)
_SEVERITIES: Final = Size(default=3, most=3)
_GROUPS: Final = Size(default=rules.MOST_ROUTED, most=rules.MOST_ROUTED)
_RECIPIENTS: Final = Size(default=50, most=50)


@described("The form of the messages to a chat.")
class ChatForm(Described):
    """The form of messages to a chat."""

    SLACK = "slack", "Blocks as Slack, Mattermost and Rocket.Chat take them."
    TEAMS = "teams", "An adaptive card as the workflows of Microsoft Teams take it."


@described("The encryption of the connection to a mail server.")
class MailTls(Described):
    """The encryption of mails on their way."""

    STARTTLS = "starttls", "The connection is encrypted after its begin; usual at port 587."
    IMPLICIT = "implicit", "The connection is encrypted from its begin; usual at port 465."
    NONE = "none", "The connection is not encrypted."


@filter_of("A filter of channels.")
class ChannelFilter(RowFilter):
    """Conditions on channels."""

    name: StringFilter | None = condition("The name.")
    kind: Filter[ChannelKind] | None = condition("The kind.")
    created_at: DateTimeFilter | None = condition("The time when the channel was first set.")
    updated_at: DateTimeFilter | None = condition("The time when the channel was last set.")


@described("A field by which channels can be ordered; by name unless given.")
class ChannelOrderField(Described):
    """Fields of channels to order by."""

    NAME = "name", "The name."
    UPDATED_AT = "updated_at", "The time when the channel was last set."


CHANNEL_LIST: Final = kind_of(read.CHANNELS, ChannelFilter, ChannelOrderField, "channels")


def _route(settings: Mapping[str, Any]) -> "AlarmRoute | None":
    found = rules.Route.of(settings)
    return None if found is None else AlarmRoute.from_model(found)


def _address(channel: rules.Channel) -> str:
    settings = channel.settings
    if channel.kind is ChannelKind.MAIL:
        return ", ".join(settings["recipients"])
    named = references({"url": settings["url"]})
    return f"secret '{min(named)}'" if named else str(settings["url"]).partition("?")[0]


@strawberry.type(description="The alarms that notify a channel although they do not name it.")
class AlarmRoute(FromModel):
    """A route."""

    severities: list[Severity] = strawberry.field(
        description="The severities, one of which the alarm has; empty = any.", metadata=sized(_SEVERITIES)
    )
    groups: list[str] = strawberry.field(
        description="The groups, one of which is that of the watched task, or is watched itself; empty = any.",
        metadata=sized(_GROUPS),
    )
    labels: Labels = strawberry.field(description="The labels, all of which the watched task has.")

    MADE: ClassVar[Makers] = {
        "severities": lambda one: list(one.severities),
        "groups": lambda one: list(one.groups),
        "labels": lambda one: dict(one.labels),
    }


@strawberry.type(description="A way to notify people or programs of alarms.")
class Channel(FromModel):
    """A channel without its secrets."""

    stored: strawberry.Private[rules.Channel]
    name: str = strawberry.field(description="The unique name of the channel.")
    kind: ChannelKind = strawberry.field(description="The kind of the channel.")
    address: str = strawberry.field(
        description="The address of the receiver for people: a URL without its query, the recipients of mails, or the "
        "secret that has the URL."
    )
    version: int = strawberry.field(description="The number of times that the channel was set, from 1.")
    created_at: datetime = strawberry.field(description="The time when the channel was first set.")
    updated_at: datetime = strawberry.field(description="The time when the channel was last set.")
    updated_by: str = strawberry.field(description="The person or program that last set the channel.")
    set_name: str | None = strawberry.field(
        description="The set of the task file that defines the channel; null if people set it."
    )

    route: AlarmRoute | None = strawberry.field(
        description="The alarms that notify the channel although they do not name it; null = none."
    )

    @resolved()
    def definition(self, info: Info) -> JSON | None:
        """The channel as a task file has it, an object; null unless you are an administrator: it has the whole URL."""
        is_admin = info.context.person.role.includes(Role.ADMIN)
        return cast("JSON", self.stored.definition) if is_admin else None

    MADE: ClassVar[Makers] = {"address": _address, "route": lambda one: _route(one.settings)}


@strawberry.type
class ChannelChanged(MutationPayload):
    """A channel or errors."""

    channel: Channel | None = strawberry.field(description="The channel; of a deleted one as it was.", default=None)


@strawberry.type
class AlarmDeliveryMade(MutationPayload):
    """A delivery or errors."""

    delivery: AlarmDelivery | None = strawberry.field(
        description="The delivery, which a node sends at once; `alarmDeliveries` has its outcome.", default=None
    )


@strawberry.input(description="A channel that posts to a chat.")
class ChatInput:
    """A chat."""

    url_secret: str = strawberry.field(
        description="The name of the secret whose value is the URL of the incoming webhook. The URL lets its holder "
        "post."
    )
    form: ChatForm = strawberry.field(description="The form of messages. SLACK unless given.", default=ChatForm.SLACK)


@strawberry.input(description="A channel that posts signed JSON, by the rules of Standard Webhooks.")
class WebhookInput:
    """A webhook."""

    url: str = strawberry.field(description="The URL to post to.")
    secrets: list[str] = strawberry.field(
        description="The names of 1 to 3 secrets whose values are `whsec_` and base64: each signs, so that a receiver "
        "can be moved from one to the next.",
        metadata={"size": _SECRETS},
    )


@strawberry.input(description="A channel that posts to Prometheus' Alertmanager, version 2 of its API.")
class AlertmanagerInput:
    """An Alertmanager."""

    url: str = strawberry.field(description="The URL of the Alertmanager, without `/api/v2/alerts`.")


@strawberry.input(description="A channel that sends mails.")
class MailInput:
    """Mails."""

    host: str = strawberry.field(description="The host of the mail server.")
    port: int = strawberry.field(description="The port of the mail server. 587 unless given.", default=587)
    tls: MailTls = strawberry.field(
        description="The encryption of the connection. STARTTLS unless given.", default=MailTls.STARTTLS
    )
    username: str | None = optional("The name for the sign-in at the mail server. No sign-in unless given.")
    password_secret: str | None = optional("The name of the secret whose value is the password. None unless given.")
    sender: str = strawberry.field(description="The address that mails come from.")
    recipients: list[str] = strawberry.field(
        description="The addresses that mails go to, 1 to 50.", metadata={"size": _RECIPIENTS}
    )


@strawberry.input(description="A channel that sends by the library Apprise, which has to be installed on each node.")
class AppriseInput:
    """A service that Apprise knows."""

    url_secret: str = strawberry.field(
        description="The name of the secret whose value is the URL as Apprise reads it, e.g. `tgram://token/chat`. Its "
        "scheme has to be in the setting `apprise_schemes`."
    )


@strawberry.input(one_of=True, description="Exactly one of these is the kind of the channel, with its settings.")
class ChannelSettingsInput:
    """The settings of a channel."""

    chat: ChatInput | None = optional("A chat such as Slack or Teams, by its incoming webhook.")
    webhook: WebhookInput | None = optional("A program of your own that takes signed JSON.")
    alertmanager: AlertmanagerInput | None = optional("The Alertmanager of Prometheus that gets the alarms.")
    mail: MailInput | None = optional("The mails that are sent by SMTP.")
    apprise: AppriseInput | None = optional("Any service that the library Apprise knows.")

    def to_settings(self) -> tuple[ChannelKind, dict[str, Any]]:
        """Return the kind and the settings as they are stored."""
        kind = next(one for one in ChannelKind if given(getattr(self, one.value)) is not None)
        chosen: object = getattr(self, kind.value)
        values = {name: given(value) for name, value in vars(chosen).items()}
        plain = {name: value.value if isinstance(value, Enum) else value for name, value in values.items()}
        return kind, rules.stored_settings(plain)


@strawberry.input(
    description="The alarms that notify a channel although they do not name it: all conditions that are given hold."
)
class AlarmRouteInput:
    """A route."""

    severities: list[Severity] | None = optional(
        "The severities, one of which the alarm has. Any unless given.", _SEVERITIES
    )
    groups: list[str] | None = optional(
        "The groups, one of which is that of the watched task, or is watched itself. Any unless given; at most 50.",
        _GROUPS,
    )
    labels: Labels | None = optional("The labels, all of which the watched task has. None unless given.")

    def to_route(self) -> rules.Route:
        """Return the route."""
        severities, groups = tuple(given(self.severities) or ()), tuple(given(self.groups) or ())
        return rules.Route(severities, groups, given(self.labels) or {})


@strawberry.input(description="A channel as a file defines it.")
class ChannelOfSetInput:
    """A wanted channel."""

    name: str = strawberry.field(description="The unique name of the channel, 1 to 200 characters.")
    settings: ChannelSettingsInput = strawberry.field(description="The kind of the channel and its settings.")
    route: AlarmRouteInput | None = optional(
        "The alarms that notify the channel although they do not name it. None unless given."
    )

    def faults(self) -> Iterator[UserError]:
        """Yield the faults that no action sees: any JSON comes through the scalar of labels."""
        labels = given(route.labels) if (route := given(self.route)) is not None else None
        yield from () if labels is None else label_faults(labels, "route.labels")

    def wanted(self) -> rules.Channel:
        """Return the engine's form."""
        (kind, settings), route = self.settings.to_settings(), given(self.route)
        routed = {} if route is None else {rules.ROUTE: route.to_route().to_json()}
        return rules.Channel(self.name, kind, {**settings, **routed}, EARLIEST, EARLIEST, "")


@strawberry.input(description="The channel that `setChannel` sets.")
class SetChannelInput(ChannelOfSetInput, MutationInput):
    """The input of ``setChannel``."""

    expected_version: int | None = optional(
        "The `version` that the channel must still have, or else the change is refused; 0 = there must be none of its "
        "name. Any version, or none, unless given."
    )


@strawberry.input(description="The channel that `deleteChannel` deletes.")
class DeleteChannelInput(MutationInput):
    """The input of ``deleteChannel``."""

    name: str = strawberry.field(description="The name of the channel to delete.")
    expected_version: int | None = optional(
        "The `version` that the channel must still have, or else it is not deleted. Any version unless given."
    )
    force: bool | None = optional(
        "True deletes the channel although alarms notify it; messages that wait for it fail. False unless given."
    )


@strawberry.input(description="The channel that `testChannel` tests.")
class TestChannelInput(MutationInput):
    """The input of ``testChannel``."""

    __test__ = False

    name: str = strawberry.field(description="The name of the channel to test.")


@strawberry.input(description="The delivery that `redeliverAlarm` sends again.")
class RedeliverAlarmInput(MutationInput):
    """The input of ``redeliverAlarm``."""

    id: strawberry.ID = strawberry.field(description="The id of the delivery, which has ended.")


CHANNEL: Final = kept_whole(rules.Channel)
DELIVERY: Final = kept_whole(rules.Delivery)


@strawberry.type
class ChannelQueries:
    """Queries of channels and deliveries."""

    channels: Connection[Channel] | None = listed(
        CHANNEL_LIST, lambda: Channel, description="The channels, without their secrets.", requires=Role.OPERATOR
    )
    alarm_deliveries: Connection[AlarmDelivery] | None = listed(
        DELIVERY_LIST,
        lambda: AlarmDelivery,
        description="The messages to channels of the last 90 days, with the answers of the receivers.",
        requires=Role.OPERATOR,
    )


@strawberry.type
class ChannelMutations:
    """Everything that changes channels and deliveries."""

    @mutates(requires=Role.ADMIN)
    async def set_channel(self, info: Info, input: SetChannelInput) -> ChannelChanged:
        """Sets a channel, new or in the place of the old one of its name."""

        def action(tx: Tx) -> rules.Channel:
            wanted, expected = input.wanted(), given(input.expected_version)
            chosen: dict[str, Any] = {"expected": expected, "keys": info.context.keys}
            return actions.set_channel(tx, wanted.name, wanted.kind, wanted.settings, **chosen)

        done = await perform(info, input, action, CHANNEL, faults=input.faults())
        return done.answer(ChannelChanged, channel=Channel.from_model)

    @mutates(requires=Role.ADMIN)
    async def delete_channel(self, info: Info, input: DeleteChannelInput) -> ChannelChanged:
        """Deletes a channel; refused with code IN_USE as long as alarms notify it."""

        def action(tx: Tx) -> rules.Channel:
            expected = given(input.expected_version)
            return actions.delete_channel(tx, input.name, force=bool(given(input.force)), expected=expected)

        done = await perform(info, input, action, CHANNEL)
        return done.answer(ChannelChanged, channel=Channel.from_model)

    @mutates(requires=Role.OPERATOR)
    async def test_channel(self, info: Info, input: TestChannelInput) -> AlarmDeliveryMade:
        """Sends a test message through a channel. The delivery has the answer of the receiver once it has come."""

        def action(tx: Tx) -> rules.Delivery:
            return actions.send_test(tx, input.name)

        done = await perform(info, input, action, DELIVERY)
        return done.answer(AlarmDeliveryMade, delivery=AlarmDelivery.from_model)

    @mutates(requires=Role.OPERATOR)
    async def redeliver_alarm(self, info: Info, input: RedeliverAlarmInput) -> AlarmDeliveryMade:
        """Sends a delivery that has ended again, with the same message id."""

        def action(tx: Tx) -> rules.Delivery:
            return actions.redeliver(tx, parse_key(input.id, "id"))

        done = await perform(info, input, action, DELIVERY)
        return done.answer(AlarmDeliveryMade, delivery=AlarmDelivery.from_model)
