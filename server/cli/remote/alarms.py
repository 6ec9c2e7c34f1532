"""``cronograph alarms`` and ``channels``: conditions that notify people, and the ways to do so."""

import time
from typing import Annotated, Any, Final

import typer

from ....graphql.client.command_line import (
    ACKNOWLEDGE_ALARMS,
    ALARM_DELIVERIES,
    ALARM_FIRINGS,
    ALARMS,
    CHANNELS,
    CREATE_ALARM,
    DELETE_ALARM,
    DELETE_CHANNEL,
    FIRING_DELIVERIES,
    REDELIVER_ALARM,
    SET_CHANNEL,
    SILENCE_ALARM,
    TEST_CHANNEL,
    UPDATE_ALARM,
)
from ....jobs.core.alarms import ANY, WITHOUT_VALUES, AlarmSpec, Severity, SubjectKind, spec_of
from ....jobs.core.base.errors import ConfigurationError, InvalidInput
from ....jobs.core.base.times import counted
from ..base.application import CommandLine
from ..base.output import Refused
from .api import Api, Limit, at_server, changes_server
from .lists import Columns, Filter, Listing, Sort, Watch, add_list, show, table
from .values import FLAG, NUMBER, TEXT, TIME, WORD, camel, given_of, labels_of

ALARM_LIST: Final = Listing(
    "alarms",
    ALARMS,
    ("name", "isEnabled", "severity", "sentence", "channels", "silenceEndsAt"),
    {
        **dict.fromkeys(("id", "name", "subject", "owner"), TEXT),
        **dict.fromkeys(("severity", "condition", "subjectKind", "source"), WORD),
        **dict.fromkeys(("isEnabled", "isFiring"), FLAG),
        **dict.fromkeys(("createdAt", "updatedAt", "silenceEndsAt"), TIME),
    },
    ("name", "id", "updatedAt"),
)
FIRING_LIST: Final = Listing(
    "firings",
    ALARM_FIRINGS,
    ("id", "severity", "alarmName", "sentence", "firedAt", "resolvedAt", "acknowledgedBy"),
    {
        **dict.fromkeys(("id", "alarmName", "subject", "runId", "acknowledgedBy"), TEXT),
        **dict.fromkeys(("severity", "condition", "subjectKind"), WORD),
        "isOpen": FLAG,
        **dict.fromkeys(("firedAt", "resolvedAt", "acknowledgedAt"), TIME),
    },
    ("id", "firedAt"),
)
CHANNEL_LIST: Final = Listing(
    "channels",
    CHANNELS,
    ("name", "kind", "address", "updatedAt", "updatedBy"),
    {"name": TEXT, "kind": WORD, "createdAt": TIME, "updatedAt": TIME},
    ("name", "updatedAt"),
)
DELIVERY_LIST: Final = Listing(
    "deliveries",
    ALARM_DELIVERIES,
    ("id", "state", "channel", "event", "attempts", "status", "error", "createdAt", "nextAttemptAt"),
    {
        **dict.fromkeys(("id", "messageId", "channel"), TEXT),
        **dict.fromkeys(("state", "event"), WORD),
        "attempts": NUMBER,
        **dict.fromkeys(("createdAt", "endedAt"), TIME),
    },
    ("id", "createdAt"),
)

alarms = CommandLine(
    help="Look at alarms, create, silence and acknowledge them, on a running server.", no_args_is_help=True
)
AlarmName = Annotated[str, typer.Argument(help="Name of the alarm.")]
add_list(alarms, ALARM_LIST, "List alarms.")


@alarms.command(name="firings")
@at_server
def show_firings(
    api: Api,
    resolved: Annotated[bool, typer.Option("--resolved", help="Include firings that are resolved.")] = False,
    filter: Filter = None,
    columns: Columns = None,
    sort: Sort = None,
    limit: Limit = 50,
    watch: Watch = None,
) -> None:
    """List the open firings of alarms, or with --resolved their history."""
    show(api, FIRING_LIST, (filter, columns, sort, limit, watch), None if resolved else {"isOpen": {"eq": True}})


@alarms.command(name="deliveries")
@at_server
def show_messages(api: Api, firing: Annotated[str, typer.Argument(help="Id of the firing.", metavar="FIRING")]) -> None:
    """List the messages about a firing, with the answers of the receivers."""
    found = api.ask(FIRING_DELIVERIES, id=firing)["alarmFirings"]["nodes"]
    if not found:
        raise Refused(f"there is no firing {firing}; `cronograph alarms firings --resolved` lists them")
    rows = found[0]["deliveries"]["nodes"]
    api.result({"deliveries": rows}, table(rows, DELIVERY_LIST.shown) if rows else "Nobody was notified of it")


def _flag(name: str, metavar: str | None, text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(name, metavar=metavar, help=text)
    return option


@alarms.command(name="create")
@changes_server()
def create_alarm(
    api: Api,
    name: AlarmName,
    task: Annotated[str | None, _flag("--task", "NAME", "Watch this task.")] = None,
    job: Annotated[str | None, _flag("--job", "NAME", "Watch the runs of this job.")] = None,
    group: Annotated[str | None, _flag("--group", "NAME", "Watch the runs of this group.")] = None,
    node: Annotated[str | None, _flag("--node", "NAME", "Watch this node; `any` = every node.")] = None,
    flow: Annotated[str | None, _flag("--flow", "NAME", "Watch the flows of this name.")] = None,
    webhook: Annotated[str | None, _flag("--webhook", "NAME", "Watch this webhook; `any` = every one.")] = None,
    database: Annotated[bool, typer.Option("--database", help="Watch the database.")] = False,
    late: Annotated[str | None, _flag("--late", "TIME", "An occurrence starts so late, or is missed.")] = None,
    due_by: Annotated[str | None, _flag("--due-by", "HH:MM", "It is not done by this time of day.")] = None,
    overdue: Annotated[str | None, _flag("--overdue", "TIME", "It is not done so long after it was due.")] = None,
    slow: Annotated[str | None, _flag("--slow", "TIME", "It runs for longer; `3x` = 3 times its p95.")] = None,
    failing: Annotated[str | None, _flag("--failing", "N", "N runs in a row fail; `50% of 20` = 10 of 20.")] = None,
    new_error: Annotated[str | None, _flag("--new-error", "TIME", "It fails as it has not for so long.")] = None,
    skew: Annotated[str | None, _flag("--skew", "TIME", "The clock of the node is more than so much off.")] = None,
    idle: Annotated[str | None, _flag("--idle", "TIME", "The node takes none of the runs due for so long.")] = None,
    larger: Annotated[int | None, _flag("--larger-than", "BYTES", "The database has more bytes.")] = None,
    least_free: Annotated[int | None, _flag("--least-free", "BYTES", "Fewer bytes are free on its disk.")] = None,
    transaction: Annotated[str | None, _flag("--transaction", "TIME", "A transaction is open for longer.")] = None,
    lag: Annotated[str | None, _flag("--lag", "TIME", "A standby is further behind.")] = None,
    empty: Annotated[bool, typer.Option("--empty", help="It succeeds without records.")] = False,
    older: Annotated[str | None, _flag("--older-than", "TIME", "A run waits for longer.")] = None,
    deeper: Annotated[int | None, _flag("--deeper-than", "N", "More than N runs wait.")] = None,
    channel: Annotated[list[str] | None, _flag("--channel", "NAME", "Notify this channel; repeatable.")] = None,
    severity: Annotated[str, _flag("--severity", "WORD", "`info`, `warning` or `critical`.")] = "warning",
) -> None:
    """Create an alarm: one subject, and one condition on it."""
    words: dict[str, Any] = {"task": task, "job": job, "group": group, "node": node, "late": late, "due_by": due_by}
    words |= {"overdue": overdue, "slow": slow, "failing": _counted(failing), "empty": empty}
    words |= {"older_than": older, "deeper_than": deeper, "new_error": new_error, "skew": skew}
    words |= {"larger_than": larger, "least_free": least_free, "transaction": transaction, "lag": lag}
    words |= {"database": ANY if database else None, "flow": flow, "webhook": webhook, "idle": idle}
    try:
        spec = spec_of(name, words, channels=channel or (), severity=_severity(severity), description="")
    except InvalidInput as fault:
        raise ConfigurationError(f"an alarm needs one subject and one condition: {fault}") from None
    made = api.change(CREATE_ALARM, **alarm_input(spec))["alarm"]
    api.result({"alarm": made}, f"Alarm {name}: {made['sentence']}")


def alarm_input(spec: AlarmSpec) -> dict[str, Any]:
    """Return an alarm as the API takes it."""
    subject: dict[str, Any] = {spec.subject_kind.value: spec.subject}
    if spec.subject is None:
        named = "database" if spec.subject_kind is SubjectKind.DATABASE else f"any{spec.subject_kind.value.title()}"
        subject = {named: True}
    values = {camel(name): value for name, value in spec.settings.to_json().items()}
    return {
        "name": spec.name,
        "subject": subject,
        "condition": {camel(spec.condition.value): True if spec.condition in WITHOUT_VALUES else values},
        "channels": list(spec.channels),
        "severity": spec.severity.name,
        "description": spec.description,
    }


def _counted(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 10 else text


def _severity(word: str) -> Severity:
    try:
        return Severity(word)
    except ValueError:
        raise ConfigurationError(f"--severity: must be info, warning or critical, got {word[:40]!r}") from None


@alarms.command(name="enable")
@changes_server(version=True)
def enable_alarm(api: Api, name: AlarmName) -> None:
    """Let an alarm watch its subject again."""
    api.result({"alarm": api.change(UPDATE_ALARM, name=name, enabled=True)["alarm"]}, f"Alarm {name} enabled")


@alarms.command(name="disable")
@changes_server(version=True)
def disable_alarm(api: Api, name: AlarmName) -> None:
    """Keep an alarm, but let it watch nothing; its open firings are resolved."""
    api.result({"alarm": api.change(UPDATE_ALARM, name=name, enabled=False)["alarm"]}, f"Alarm {name} disabled")


@alarms.command(name="delete")
@changes_server(version=True)
def delete_alarm(api: Api, name: AlarmName) -> None:
    """Delete an alarm; its open firings are resolved, and its history is kept."""
    api.result({"alarm": api.change(DELETE_ALARM, name=name)["alarm"]}, f"Alarm {name} deleted")


@alarms.command(name="silence")
@changes_server(version=True)
def silence_alarm(
    api: Api,
    name: AlarmName,
    until: Annotated[str | None, typer.Argument(help="RFC 3339 time, e.g. `2026-01-31T09:30:00Z`; none = now.")] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why; shown to others.")] = None,
) -> None:
    """Let an alarm notify nobody until a time; without a time the silence ends."""
    changed = api.change(SILENCE_ALARM, name=name, endsAt=until, reason=reason)["alarm"]
    ends = changed["silenceEndsAt"]
    api.result(
        {"alarm": changed}, f"Alarm {name} notifies again" if ends is None else f"Alarm {name} silent until {ends}"
    )


@alarms.command(name="acknowledge")
@changes_server()
def acknowledge_alarms(
    api: Api,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of firings.")] = None,
    alarm: Annotated[str | None, typer.Option("--alarm", help="All open firings of this alarm.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="All open firings.")] = False,
    note: Annotated[str | None, typer.Option("--note", help="A note for others.")] = None,
) -> None:
    """Say that you take care of firings."""
    chosen = {name: value for name, value in {"ids": ids, "alarm": alarm, "all": all_ or None}.items() if value}
    if len(chosen) != 1:
        raise ConfigurationError("give ids of firings, --alarm NAME or --all")
    done = api.change(ACKNOWLEDGE_ALARMS, firings=chosen, note=note)
    api.result({"count": done["count"], "firings": done["firings"]}, f"{counted(done['count'], 'firing')} acknowledged")


channels = CommandLine(help="Look at channels, set and test them, on a running server.", no_args_is_help=True)
ChannelName = Annotated[str, typer.Argument(help="Name of the channel.")]
add_list(channels, CHANNEL_LIST, "List channels.")


RoutedSeverities = Annotated[
    list[str] | None,
    _flag("--route-severity", "WORD", "Notify it of all alarms of this severity, too; repeatable."),
]
RoutedGroups = Annotated[
    list[str] | None,
    _flag("--route-group", "NAME", "Notify it of all alarms about this group and its tasks, too; repeatable."),
]
RoutedLabels = Annotated[
    list[str] | None,
    _flag("--route-label", "KEY=VALUE", "Notify it of all alarms about tasks with this label, too; repeatable."),
]
Routed = tuple[list[str] | None, list[str] | None, list[str] | None]


def _set(api: Api, name: str, routed: Routed, **settings: object) -> None:
    severities, groups, labels = routed
    words = {
        "severities": [_severity(one).name for one in severities or ()],
        "groups": groups,
        "labels": labels_of(labels),
    }
    route = {key: value for key, value in words.items() if value}
    chosen = {"settings": settings, "route": route} if route else {"settings": settings}
    channel = api.change(SET_CHANNEL, name=name, **chosen)["channel"]
    api.result({"channel": channel}, f"Channel {name} set: {channel['address']}")


@channels.command(name="set-chat")
@changes_server()
def set_chat(
    api: Api,
    name: ChannelName,
    url_secret: Annotated[str, typer.Option("--url-secret", metavar="NAME", help="The secret that has the URL.")],
    teams: Annotated[bool, typer.Option("--teams", help="Send cards as Teams takes them. (default: Slack)")] = False,
    severities: RoutedSeverities = None,
    groups: RoutedGroups = None,
    labels: RoutedLabels = None,
) -> None:
    """Set a channel that posts to Slack, Teams, Mattermost and the like."""
    _set(api, name, (severities, groups, labels), chat={"urlSecret": url_secret, "form": "TEAMS" if teams else "SLACK"})


@channels.command(name="set-webhook")
@changes_server()
def set_webhook(
    api: Api,
    name: ChannelName,
    address: Annotated[str, typer.Argument(help="URL to post to.", metavar="URL")],
    secret: Annotated[list[str], typer.Option("--secret", metavar="NAME", help="A secret that signs; repeatable.")],
    severities: RoutedSeverities = None,
    groups: RoutedGroups = None,
    labels: RoutedLabels = None,
) -> None:
    """Set a channel that posts signed JSON, by the rules of Standard Webhooks."""
    _set(api, name, (severities, groups, labels), webhook={"url": address, "secrets": secret})


@channels.command(name="set-alertmanager")
@changes_server()
def set_alertmanager(
    api: Api,
    name: ChannelName,
    address: Annotated[str, typer.Argument(help="URL of the Alertmanager.", metavar="URL")],
    severities: RoutedSeverities = None,
    groups: RoutedGroups = None,
    labels: RoutedLabels = None,
) -> None:
    """Set a channel that posts to Prometheus' Alertmanager."""
    _set(api, name, (severities, groups, labels), alertmanager={"url": address})


@channels.command(name="set-mail")
@changes_server()
def set_mail(
    api: Api,
    name: ChannelName,
    host: Annotated[str, typer.Argument(help="Host of the mail server.")],
    recipient: Annotated[list[str], typer.Option("--to", metavar="ADDRESS", help="Who gets the mails; repeatable.")],
    sender: Annotated[str, typer.Option("--from", metavar="ADDRESS", help="The address that mails come from.")],
    port: Annotated[int, typer.Option("--port", help="Port of the mail server.")] = 587,
    tls: Annotated[str, typer.Option("--tls", help="`starttls`, `implicit` or `none`.")] = "starttls",
    username: Annotated[str | None, typer.Option("--username", help="Name for the sign-in.")] = None,
    password_secret: Annotated[
        str | None, typer.Option("--password-secret", metavar="NAME", help="The secret that has the password.")
    ] = None,
    severities: RoutedSeverities = None,
    groups: RoutedGroups = None,
    labels: RoutedLabels = None,
) -> None:
    """Set a channel that sends mails by SMTP."""
    if tls not in {"starttls", "implicit", "none"}:
        raise ConfigurationError(f"--tls: must be starttls, implicit or none, got {tls[:40]!r}")
    settings: dict[str, Any] = {
        "host": host,
        "port": port,
        "tls": tls.upper(),
        "sender": sender,
        "recipients": recipient,
    }
    given = settings | given_of(username=username, passwordSecret=password_secret)
    _set(api, name, (severities, groups, labels), mail=given)


@channels.command(name="set-apprise")
@changes_server()
def set_apprise(
    api: Api,
    name: ChannelName,
    url_secret: Annotated[str, typer.Option("--url-secret", metavar="NAME", help="The secret that has the URL.")],
    severities: RoutedSeverities = None,
    groups: RoutedGroups = None,
    labels: RoutedLabels = None,
) -> None:
    """Set a channel that sends by Apprise; the setting `apprise_schemes` has to name the scheme of its URL."""
    _set(api, name, (severities, groups, labels), apprise={"urlSecret": url_secret})


@channels.command(name="delete")
@changes_server()
def delete_channel(
    api: Api,
    name: ChannelName,
    force: Annotated[bool, typer.Option("--force", help="Although alarms notify it.")] = False,
) -> None:
    """Delete a channel; refused as long as alarms notify it."""
    api.result({"channel": api.change(DELETE_CHANNEL, name=name, force=force)["channel"]}, f"Channel {name} deleted")


WAIT: Final = 40.0
"""Seconds that a test waits for the outcome of a try."""


@channels.command(name="test")
@changes_server()
def send_test(api: Api, name: ChannelName) -> None:
    """Send a test message, wait for the answer of the receiver, and show it; status 1 if it fails."""
    delivery = api.change(TEST_CHANNEL, name=name)["delivery"]
    if api.is_dry:
        api.result({"delivery": delivery}, f"a test message to channel {name}")
        return
    give_up_at = time.monotonic() + WAIT
    while delivery["state"] == "PENDING" and delivery["error"] is None and time.monotonic() < give_up_at:
        time.sleep(0.5)
        (delivery,) = api.rows(ALARM_DELIVERIES, 1, filter={"id": {"eq": delivery["id"]}}, orderBy=[])
    if delivery["state"] != "SENT":
        answer = "" if delivery["answer"] is None else f"; it said {delivery['answer'][:200]!r}"
        raise Refused(f"channel {name}: {delivery['error'] or f'no outcome within {WAIT:g} s'}{answer}")
    api.result(
        {"delivery": delivery}, f"Channel {name} accepted the message: {delivery['status']} {delivery['answer']}"
    )


@channels.command(name="deliveries")
@at_server
def show_deliveries(
    api: Api,
    filter: Filter = None,
    columns: Columns = None,
    sort: Sort = None,
    limit: Limit = 50,
    watch: Watch = None,
) -> None:
    """List the messages to channels, with the answers of the receivers."""
    show(api, DELIVERY_LIST, (filter, columns, sort, limit, watch))


@channels.command(name="redeliver")
@changes_server()
def redeliver(api: Api, delivery_id: Annotated[str, typer.Argument(help="Id of the delivery.", metavar="ID")]) -> None:
    """Send a delivery that has ended again, with the same message id."""
    delivery = api.change(REDELIVER_ALARM, id=delivery_id)["delivery"]
    api.result({"delivery": delivery}, f"Delivery {delivery_id} is sent again")
