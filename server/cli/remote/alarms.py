"""``cronograph alarms`` and ``channels``: conditions that notify people, and the ways to do so."""

import time
from collections.abc import Mapping
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
from ....jobs.core.alarms import WITHOUT_VALUES, WORDS, AlarmSpec, SubjectKind
from ....jobs.core.base.errors import ConfigurationError
from ....jobs.core.base.times import counted
from ....jobs.core.task_sets import DefinitionKind, Named
from ....jobs.delivery.inbound import Hook
from ....jobs.delivery.rules import Channel
from ....jobs.delivery.webhooks import Webhook
from ...task_files.reading import wanted
from ..base.application import CommandLine
from ..base.output import Refused
from .api import Api, Limit, at_server, changes_server
from .lists import Columns, Filter, Listing, Sort, Watch, add_list, show, table
from .values import FLAG, NUMBER, TEXT, TIME, UNTIL, WORD, camel, pairs_of

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


@alarms.command(name="create")
@changes_server()
def create_alarm(
    api: Api,
    name: AlarmName,
    fields: Annotated[
        list[str],
        typer.Argument(
            help=f"Its fields as a task file has them. One is the subject: {', '.join(SubjectKind)}, e.g. "
            f"`task=billing`, or `any` of nodes, webhooks and the database. One is the condition, e.g. `late=5m`: "
            f"{', '.join(WORDS)}; nodes and webhooks need none. Others: `channels=a,b`, `severity` and `description`.",
            metavar="FIELD=VALUE",
        ),
    ],
) -> None:
    """Create an alarm: one subject, and one condition on it."""
    alarm = wanted(DefinitionKind.ALARM, name, pairs_of(fields, "severity=critical"))
    made = api.change(CREATE_ALARM, **input_of(alarm))["alarm"]
    api.result({"alarm": made}, f"Alarm {name}: {made['sentence']}")


def input_of(thing: Named) -> dict[str, Any]:
    """Return an alarm, a channel, a webhook or a hook as the API takes it."""
    if isinstance(thing, AlarmSpec):
        return _alarm_input(thing)
    assert isinstance(thing, Channel | Webhook | Hook)
    values = {camel(name): value for name, value in thing.definition.items()}
    if isinstance(thing, Channel):
        kind, route = values.pop("kind"), values.pop("route", None)
        values |= {name: str(values[name]).upper() for name in ("form", "tls") if name in values}
        given: dict[str, Any] = {"name": thing.name, "settings": {kind: values}}
        if route is not None:
            given["route"] = {**route, "severities": [one.upper() for one in route.get("severities", ())]}
        return given
    if isinstance(thing, Hook):
        values |= {"jobName": values.pop("job"), "kind": thing.kind.name}
    return {"name": thing.name, **values}


def _alarm_input(spec: AlarmSpec) -> dict[str, Any]:
    subject: Mapping[str, Any] = {spec.subject_kind.value: spec.subject}
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
    until: Annotated[str | None, typer.Argument(help=f"{UNTIL}; none = now.")] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why; shown to others.")] = None,
) -> None:
    """Let an alarm notify nobody until a time; without a time the silence ends."""
    changed = api.change(SILENCE_ALARM, name=name, endsAt=api.instant("until", until), reason=reason)["alarm"]
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
add_list(
    channels, DELIVERY_LIST, "List the messages to channels, with the answers of the receivers.", name="deliveries"
)


@channels.command(name="set")
@changes_server(version=True)
def set_channel(
    api: Api,
    name: ChannelName,
    fields: Annotated[
        list[str],
        typer.Argument(
            help="Its fields as a task file has them: `kind=chat`, `webhook`, `alertmanager`, `mail` or `apprise`, and "
            "those of that kind, e.g. `url_secret=slack-url`. A list is `a,b`, a route is JSON.",
            metavar="FIELD=VALUE",
        ),
    ],
) -> None:
    """Set a channel, new or in the place of the old one."""
    channel = wanted(DefinitionKind.CHANNEL, name, pairs_of(fields, "kind=chat"))
    kept = api.change(SET_CHANNEL, **input_of(channel))["channel"]
    api.result({"channel": kept}, f"Channel {name} set: {kept['address']}")


@channels.command(name="delete")
@changes_server(version=True)
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


@channels.command(name="redeliver")
@changes_server()
def redeliver(api: Api, delivery_id: Annotated[str, typer.Argument(help="Id of the delivery.", metavar="ID")]) -> None:
    """Send a delivery that has ended again, with the same message id."""
    delivery = api.change(REDELIVER_ALARM, id=delivery_id)["delivery"]
    api.result({"delivery": delivery}, f"Delivery {delivery_id} is sent again")
