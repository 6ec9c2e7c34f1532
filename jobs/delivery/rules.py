"""Alarms as values: their conditions, the sentences about them, and the pace of deliveries. No input or output."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from urllib.parse import quote
from zoneinfo import ZoneInfo

from ..core.alarms import AlarmSpec, Condition, Severity, SubjectKind
from ..core.arguments.secrets import REFERENCE, is_reference
from ..core.base.times import counted, time_text
from ..core.model import Json, SkipReason
from ..core.outcome import exponential

MAX_ALARMS: Final = 20_000
MAX_CHANNELS: Final = 200
LOOK_AGAIN: Final = timedelta(seconds=10)
"""Time between two looks at a queue with a backlog alarm, and at a slow execution while its alarm is firing."""


class DeliveryEvent(StrEnum):
    """The event that a delivery notifies of."""

    EVENTS = "events"
    FIRED = "fired"
    RESOLVED = "resolved"
    TEST = "test"


class DeliveryState(StrEnum):
    """The state of a delivery; ``FAILED`` ones are not tried again."""

    PENDING = "pending"
    SENT = "sent"
    FAILED = "failed"


class ChannelKind(StrEnum):
    """The kind of a channel."""

    CHAT = "chat"
    WEBHOOK = "webhook"
    ALERTMANAGER = "alertmanager"
    MAIL = "mail"
    APPRISE = "apprise"


class TimerKind(StrEnum):
    """The purpose of a timer: look at the subject, look at one running execution, end a silence."""

    LOOK = "look"
    RUNNING = "running"
    SILENCE = "silence"


MISSED: Final = frozenset(
    {SkipReason.MISSED, SkipReason.NO_JOB, SkipReason.OVERLAP, SkipReason.EXPIRED, SkipReason.QUEUE_FULL}
)
"""Reasons for which a skipped occurrence counts as missed; the others are decisions of people or of schedules."""


class AlarmSource(StrEnum):
    """The place where an alarm is defined."""

    API = "api"
    CODE = "code"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Alarm(AlarmSpec):
    """A stored alarm.

    Attributes:
        owner: The job whose code defines it, or the set of the file; None = people do.
        streak: Of FAILING: the failed runs since the last success.
        silenced_until: Until then it notifies nobody.
    """

    id: int
    enabled: bool
    source: AlarmSource
    owner: str | None
    streak: int
    silenced_until: datetime | None
    silenced_by: str | None
    silence_reason: str | None
    version: int
    created_at: datetime
    created_by: str
    updated_at: datetime

    def is_silenced(self, now: datetime) -> bool:
        """Return whether it notifies nobody now."""
        return self.silenced_until is not None and now < self.silenced_until


@dataclass(frozen=True, slots=True)
class Firing:
    """One firing of an alarm, open until ``resolved_at`` is set.

    Attributes:
        sentence: The reason in words.
        explanation: The sentence of ``explain`` about its task at that time.
        policy: The settings that decided it.
        channels: The channels that are notified.
        notified: Whether a delivery was recorded; false while its alarm is silenced.
    """

    id: int
    alarm_id: int
    alarm_name: str
    condition: Condition
    severity: Severity
    subject_kind: SubjectKind
    subject: str
    run_id: int | None
    execution_id: int | None
    flow_id: int | None
    scheduled_for: datetime | None
    sentence: str
    explanation: str | None
    policy: dict[str, Json]
    channels: tuple[str, ...]
    last_success_at: datetime | None
    fired_at: datetime
    resolved_at: datetime | None
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    note: str | None
    notified: bool


@dataclass(frozen=True, slots=True)
class Channel:
    """A way to notify somebody. Values of ``settings`` can be ``{"$secret": "name"}``."""

    name: str
    kind: ChannelKind
    settings: dict[str, Json]
    created_at: datetime
    updated_at: datetime
    updated_by: str
    set_name: str | None = None
    version: int = 1

    @property
    def definition(self) -> dict[str, Json]:
        """Return the alarm in the form of a file: with names of secrets only, and with the settings of its route."""
        found: dict[str, Json] = {"kind": self.kind.value}
        for name, value in self.settings.items():
            if is_reference(value):
                found[f"{name}{_SECRET}"] = value[REFERENCE]
            elif name == "secrets":
                found[name] = [one[REFERENCE] for one in value if is_reference(one)]
            elif name == ROUTE:
                found[name] = {part: one for part, one in value.items() if one}
            elif value is not None:
                found[name] = value
        return found


_SECRET: Final = "_secret"  # noqa: S105 - the end of a name


def stored_settings(values: Mapping[str, Any]) -> dict[str, Json]:
    """Return the settings of a channel as they are stored, of those that a form or a file has: see ``definition``."""
    found: dict[str, Json] = {}
    for name, value in values.items():
        if name.endswith(_SECRET):
            found[name.removesuffix(_SECRET)] = None if value is None else {REFERENCE: value}
        else:
            found[name] = [{REFERENCE: one} for one in value] if name == "secrets" else value
    return found


ROUTE: Final = "route"
"""The member of a channel's settings that has its route."""
MOST_ROUTED: Final = 50
"""Groups, or labels, that a route names."""


@dataclass(frozen=True, slots=True)
class Route:
    """Choose alarms for a channel that do not name it: all conditions that are given hold.

    Attributes:
        severities: Severities, one of which the alarm has; none = any.
        groups: Groups, one of which the runs of its subject have; none = any.
        labels: Labels, all of which its subject has.
    """

    severities: tuple[Severity, ...]
    groups: tuple[str, ...]
    labels: Mapping[str, str]

    @classmethod
    def of(cls, settings: Mapping[str, Json]) -> "Route | None":
        """Return the route in the settings of a channel; None = it has none."""
        stored = settings.get(ROUTE)
        if stored is None:
            return None
        return cls(tuple(map(Severity, stored["severities"])), tuple(stored["groups"]), dict(stored["labels"]))

    def to_json(self) -> dict[str, Json]:
        """Return the stored form."""
        severities: list[Json] = [one.value for one in self.severities]
        return {"severities": severities, "groups": list(self.groups), "labels": dict(self.labels)}

    def takes(self, severity: Severity, group: str | None, labels: Mapping[str, str]) -> bool:
        """Return whether it chooses an alarm of this severity about a subject of this group with these labels."""
        if (self.severities and severity not in self.severities) or (self.groups and group not in self.groups):
            return False
        return self.labels.items() <= labels.items()


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message to one channel. ``message_id`` stays the same over all tries, ``cursor`` is that of a webhook."""

    id: int
    message_id: str
    channel: str
    event: DeliveryEvent
    payload: dict[str, Json]
    cursor: str | None
    state: DeliveryState
    attempts: int
    created_at: datetime
    next_attempt_at: datetime | None
    ended_at: datetime | None
    status: int | None
    answer: str | None
    error: str | None


def next_wall_time(due_by: str, zone: ZoneInfo, after: datetime) -> datetime:
    """Return the first instant after ``after`` at which clocks of the zone show ``due_by``."""
    hour, minute = map(int, due_by.split(":"))
    local = after.astimezone(zone)
    day = local.date()
    while True:
        # A time that a change of clocks leaves out is read by the offset before it, one that comes twice is the first.
        found = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone).astimezone(after.tzinfo)
        if found > after:
            return found
        day += timedelta(days=1)


def heading(notices: "list[dict[str, Json]]", event: DeliveryEvent) -> str:
    """Return one line for a message about these alarms."""
    if event is DeliveryEvent.TEST:
        return "Test of this channel by Cronograph"
    word = "Alarm" if event is DeliveryEvent.FIRED else "Resolved"
    if len(notices) == 1:
        return f"{word}: {notices[0]['sentence']}"
    return f"{word}: {counted(len(notices), 'alarm')}, first {notices[0]['alarm']}"


def notice(firing: Firing) -> dict[str, Json]:
    """Return a firing as receivers get it, once ``addressed`` has put the server before the paths of its pages."""
    return {
        "id": str(firing.id),
        "alarm": firing.alarm_name,
        "condition": firing.condition.value,
        "severity": firing.severity.value,
        "subject": {"kind": firing.subject_kind.value, "name": firing.subject},
        "sentence": firing.sentence,
        "explanation": firing.explanation,
        "scheduledFor": _time(firing.scheduled_for),
        "runId": None if firing.run_id is None else str(firing.run_id),
        "executionId": None if firing.execution_id is None else str(firing.execution_id),
        "flowId": None if firing.flow_id is None else str(firing.flow_id),
        "policy": firing.policy,
        "lastSuccessAt": _time(firing.last_success_at),
        "firedAt": time_text(firing.fired_at),
        "resolvedAt": _time(firing.resolved_at),
        "url": _page(firing),
        "links": _links(firing),
    }


def _links(firing: Firing) -> dict[str, Json]:
    """Return the pages on which a person repairs the subject of an alarm; each asks who it is."""
    links: dict[str, Json] = {"Open in Cronograph": _page(firing)}
    if firing.resolved_at is None and (firing.run_id is not None or firing.flow_id is not None):
        links["Retry"] = _page(firing)
    if firing.subject_kind is SubjectKind.TASK:
        links["Pause"] = f"/tasks/{quote(firing.subject, safe='')}"
    elif firing.subject_kind is SubjectKind.GROUP:
        links["Pause"] = "/groups"
    return {**links, "Silence": "/alarms"}


def _time(at: datetime | None) -> str | None:
    return None if at is None else time_text(at)


def _page(firing: Firing) -> str:
    if firing.run_id is not None:
        return f"/runs/{firing.run_id}"
    if firing.flow_id is not None:
        return f"/flows/{firing.flow_id}"
    if firing.subject_kind is SubjectKind.WEBHOOK:
        return "/webhooks"
    pages = {SubjectKind.TASK: "/tasks/", SubjectKind.JOB: "/jobs/", SubjectKind.GROUP: "/runs?group="}
    page = pages.get(firing.subject_kind)
    return "/nodes" if page is None else f"{page}{quote(firing.subject, safe='')}"


GIVE_UP_AFTER: Final = timedelta(hours=75)
"""Time after which a delivery is not tried again."""
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 3_600.0
"""Seconds before the second try, and before a late one."""


def next_try(
    attempts: int, created_at: datetime, now: datetime, *, chance: float, asked: float | None
) -> datetime | None:
    """Return the time of the next try of a delivery that failed; None = it is given up.

    Args:
        attempts: The tries so far.
        created_at: The time when it was recorded.
        chance: A random number from 0 to 1: a pause is drawn between half and all of its length.
        asked: The seconds for which the receiver asked in ``Retry-After``.
    """
    if now - created_at >= GIVE_UP_AFTER:
        return None
    pause = exponential(FIRST_PAUSE, LONGEST_PAUSE, attempts - 1) * (0.5 + chance / 2)
    return now + timedelta(seconds=max(pause, min(asked or 0.0, LONGEST_PAUSE)))
