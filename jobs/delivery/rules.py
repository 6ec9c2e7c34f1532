"""Alarms as values: their conditions, the sentences about them, and the pace of deliveries. No input or output."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, Self
from urllib.parse import quote
from zoneinfo import ZoneInfo

from ..core.base.errors import InvalidInput, UserError
from ..core.base.times import counted, number_text, time_text
from ..core.model import Json, SkipReason
from ..core.outcome import exponential
from ..core.rules import MAX_SECONDS, name_faults, text_faults

MAX_ALARMS: Final = 20_000
MAX_CHANNELS: Final = 200
MAX_CHANNELS_OF_ALARM: Final = 20
MAX_COUNT: Final = 1_000_000
LOOK_AGAIN: Final = timedelta(seconds=10)
"""Time between two looks at a queue with a backlog alarm, and at a slow execution while its alarm is firing."""


class Condition(StrEnum):
    """The condition of an alarm."""

    LATE = "late"
    OVERDUE = "overdue"
    SLOW = "slow"
    FAILING = "failing"
    EMPTY = "empty"
    BACKLOG = "backlog"
    NODE = "node"


class SubjectKind(StrEnum):
    """The kind of thing that an alarm watches."""

    TASK = "task"
    JOB = "job"
    GROUP = "group"
    NODE = "node"


class Severity(StrEnum):
    """The severity of an alarm, for its receivers."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class DeliveryEvent(StrEnum):
    """The event that a delivery notifies of."""

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


class TimerKind(StrEnum):
    """The purpose of a timer: look at the subject, look at one running execution, end a silence."""

    LOOK = "look"
    RUNNING = "running"
    SILENCE = "silence"


SUBJECTS: Final[Mapping[Condition, frozenset[SubjectKind]]] = {
    Condition.LATE: frozenset({SubjectKind.TASK}),
    Condition.OVERDUE: frozenset({SubjectKind.TASK}),
    Condition.SLOW: frozenset({SubjectKind.TASK, SubjectKind.JOB, SubjectKind.GROUP}),
    Condition.FAILING: frozenset({SubjectKind.TASK, SubjectKind.JOB, SubjectKind.GROUP}),
    Condition.EMPTY: frozenset({SubjectKind.TASK, SubjectKind.JOB, SubjectKind.GROUP}),
    Condition.BACKLOG: frozenset({SubjectKind.GROUP}),
    Condition.NODE: frozenset({SubjectKind.NODE}),
}
"""The kinds of things that a condition can be about."""

MISSED: Final = frozenset(
    {SkipReason.MISSED, SkipReason.NO_JOB, SkipReason.OVERLAP, SkipReason.EXPIRED, SkipReason.QUEUE_FULL}
)
"""Reasons for which a skipped occurrence counts as missed; the others are decisions of people or of schedules."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The values of a condition; None = the condition does not use it. Times in seconds.

    Attributes:
        grace: Of LATE: the time by which an occurrence may start late.
        due_by: Of OVERDUE: a wall time of the task's zone, ``06:00``.
        after: Of OVERDUE and SLOW: a time since the occurrence was due, or since the execution started.
        times_p95: Of SLOW: a factor of the duration that 95 of 100 recent executions stay under.
        failed_runs: Of FAILING: the number of runs.
        least_records: Of EMPTY: the records that an execution has to process.
        older_than: Of BACKLOG: the longest that a run may have waited.
        deeper_than: Of BACKLOG: the most runs that may wait.
    """

    grace: float | None = None
    due_by: str | None = None
    after: float | None = None
    times_p95: float | None = None
    failed_runs: int | None = None
    least_records: int | None = None
    older_than: float | None = None
    deeper_than: int | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the stored form: only set values."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the settings of a stored form; names that this version does not know are ignored."""
        known: dict[str, Any] = {one.name: stored[one.name] for one in fields(cls) if one.name in stored}
        return cls(**known)


@dataclass(frozen=True, slots=True)
class Alarm:
    """A stored alarm.

    Attributes:
        subject: The name of what it watches; None = every node.
        channels: The names of the channels that it notifies.
        streak: Of FAILING: the failed runs since the last success.
        silenced_until: Until then it notifies nobody.
    """

    id: int
    name: str
    description: str
    enabled: bool
    severity: Severity
    condition: Condition
    subject_kind: SubjectKind
    subject: str | None
    settings: Settings
    channels: tuple[str, ...]
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
    scheduled_for: datetime | None
    sentence: str
    explanation: str | None
    policy: dict[str, Json]
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


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message to one channel. ``message_id`` stays the same over all tries."""

    id: int
    message_id: str
    channel: str
    event: DeliveryEvent
    payload: dict[str, Json]
    state: DeliveryState
    attempts: int
    created_at: datetime
    next_attempt_at: datetime | None
    ended_at: datetime | None
    status: int | None
    answer: str | None
    error: str | None


_WALL: Final = re.compile(r"([01]\d|2[0-3]):[0-5]\d", re.ASCII)
_NUMBERS: Final[Mapping[str, tuple[float, float]]] = {
    "grace": (0, MAX_SECONDS),
    "after": (1, MAX_SECONDS),
    "times_p95": (1, 1000),
    "failed_runs": (1, MAX_COUNT),
    "least_records": (1, 2**53),
    "older_than": (1, MAX_SECONDS),
    "deeper_than": (1, MAX_COUNT),
}
"""The least and the largest value of each number."""
_PLACES: Final = {
    "times_p95": "timesP95",
    "failed_runs": "failedRuns",
    "least_records": "leastRecords",
    "older_than": "olderThan",
    "deeper_than": "deeperThan",
}
"""The names of some settings in the API."""


def alarm_faults(alarm: Alarm) -> Iterator[UserError]:
    """Yield the faults of an alarm."""
    yield from name_faults(alarm.name, "name")
    yield from text_faults(alarm.description, "description")
    if alarm.subject is not None:
        yield from name_faults(alarm.subject, "subject")
    elif alarm.subject_kind is not SubjectKind.NODE:
        yield InvalidInput(f"subject: must be the name of a {alarm.subject_kind.value}, got nothing", path=("subject",))
    if alarm.subject_kind not in SUBJECTS[alarm.condition]:
        possible = " or a ".join(sorted(one.value for one in SUBJECTS[alarm.condition]))
        yield InvalidInput(
            f"subject: the condition {alarm.condition.value} must be about a {possible}, "
            f"got a {alarm.subject_kind.value}",
            path=("subject",),
        )
    if len(alarm.channels) > MAX_CHANNELS_OF_ALARM:
        yield InvalidInput(
            f"channels: must be at most {MAX_CHANNELS_OF_ALARM}, got {len(alarm.channels)}", path=("channels",)
        )
    yield from _settings_faults(alarm.condition, alarm.settings)


def _settings_faults(condition: Condition, settings: Settings) -> Iterator[InvalidInput]:
    for name, (least, most) in _NUMBERS.items():
        value: float | None = getattr(settings, name)
        if value is not None and not least <= value <= most:
            place = _PLACES.get(name, name)
            yield InvalidInput(
                f"{condition.value}.{place}: must be {number_text(least)} to {number_text(most)}, "
                f"got {number_text(value)}",
                path=("condition", condition.value, place),
            )
    if settings.due_by is not None and _WALL.fullmatch(settings.due_by) is None:
        yield InvalidInput(
            f"overdue.dueBy: must be a time of day such as 06:00, got {settings.due_by[:40]!r}",
            path=("condition", "overdue", "dueBy"),
        )
    if condition is Condition.BACKLOG and settings.older_than is None and settings.deeper_than is None:
        yield InvalidInput(
            "condition.backlog: must have olderThan or deeperThan, or both, got neither", path=("condition", "backlog")
        )


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


def seconds_text(seconds: float) -> str:
    """Return a time in words: ``90 s``, ``15 min``, ``2 h``."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length and seconds % length == 0:
            return f"{number_text(seconds / length)} {unit}"
    return f"{number_text(round(seconds, 1))} s"


def wish(alarm: Alarm) -> str:
    """Return the condition of an alarm in words: ``task 'billing' starts more than 5 min late``."""
    settings = alarm.settings
    about = "a node" if alarm.subject is None else f"{alarm.subject_kind.value} '{alarm.subject}'"
    wishes: Mapping[Condition, Callable[[], str]] = {
        Condition.LATE: lambda: f"starts more than {seconds_text(settings.grace or 0)} late or misses an occurrence",
        Condition.OVERDUE: lambda: f"is not done {_deadline(settings)}",
        Condition.SLOW: lambda: f"runs longer than {_pace(settings)}",
        Condition.FAILING: lambda: f"fails {counted(settings.failed_runs or 1, 'time')} in a row",
        Condition.EMPTY: lambda: f"processes fewer than {counted(settings.least_records or 1, 'record')}",
        Condition.BACKLOG: lambda: f"has {_queue(settings)}",
        Condition.NODE: lambda: "is lost or silent",
    }
    return f"{about} {wishes[alarm.condition]()}"


def _deadline(settings: Settings) -> str:
    if settings.due_by is not None:
        return f"by {settings.due_by}"
    return f"{seconds_text(settings.after or 0)} after it was due"


def _pace(settings: Settings) -> str:
    if settings.times_p95 is not None:
        return f"{number_text(settings.times_p95)} x its p95"
    return seconds_text(settings.after or 0)


def _queue(settings: Settings) -> str:
    parts: list[str] = []
    if settings.older_than is not None:
        parts.append(f"a run that waits longer than {seconds_text(settings.older_than)}")
    if settings.deeper_than is not None:
        parts.append(f"more than {counted(settings.deeper_than, 'waiting run')}")
    return " or ".join(parts)


def heading(notices: "list[dict[str, Json]]", event: DeliveryEvent) -> str:
    """Return one line for a message about these alarms."""
    if event is DeliveryEvent.TEST:
        return "Test of this channel by Cronograph"
    word = "Alarm" if event is DeliveryEvent.FIRED else "Resolved"
    if len(notices) == 1:
        return f"{word}: {notices[0]['sentence']}"
    return f"{word}: {counted(len(notices), 'alarm')}, first {notices[0]['alarm']}"


def notice(firing: Firing, public_url: str | None) -> dict[str, Json]:
    """Return a firing as receivers get it."""
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
        "policy": firing.policy,
        "lastSuccessAt": _time(firing.last_success_at),
        "firedAt": time_text(firing.fired_at),
        "resolvedAt": _time(firing.resolved_at),
        "url": None if public_url is None else f"{public_url.rstrip('/')}{_page(firing)}",
    }


def _time(at: datetime | None) -> str | None:
    return None if at is None else time_text(at)


def _page(firing: Firing) -> str:
    if firing.run_id is not None:
        return f"/runs/{firing.run_id}"
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
        now: The time.
        chance: A random number from 0 to 1: a pause is drawn between half and all of its length.
        asked: The seconds for which the receiver asked in ``Retry-After``.
    """
    if now - created_at >= GIVE_UP_AFTER:
        return None
    pause = exponential(FIRST_PAUSE, LONGEST_PAUSE, attempts - 1) * (0.5 + chance / 2)
    return now + timedelta(seconds=max(pause, min(asked or 0.0, LONGEST_PAUSE)))
