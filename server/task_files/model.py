"""Describe a file of tasks, groups, alarms, channels, webhooks and hooks; its JSON Schema is made of this."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from ...jobs.core.admission.caps import Cap, Rate, WhenFull
from ...jobs.core.alarms import WORDS, AlarmSpec, Severity, SubjectKind, spec_of
from ...jobs.core.base.times import EARLIEST
from ...jobs.core.model import MisfirePolicy, OverlapPolicy, Priority, ScheduleSpec
from ...jobs.core.schedule import ScheduleError, Syntax, parse_duration
from ...jobs.core.task_sets import DefinitionKind, WantedGroup, WantedSet, WantedTask
from ...jobs.delivery.hooks import new_hook
from ...jobs.delivery.inbound import Hook, HookKind
from ...jobs.delivery.rules import ROUTE, Channel, ChannelKind, stored_settings
from ...jobs.delivery.webhooks import Webhook, new_webhook

SCHEMA_ID: Final = "https://json-schema.org/draft/2020-12/schema"
_SYNTAXES: Final = {
    "cron": Syntax.CRON,
    "calendar": Syntax.CALENDAR,
    "interval": Syntax.INTERVAL,
    "at": Syntax.TIMESTAMP,
}
_ENUMS: Final = {"priority": Priority, "overlap": OverlapPolicy, "misfire": MisfirePolicy}

READY_MADE: Final[Mapping[str, str]] = json.loads(
    (Path(__file__).parents[2] / "graphql" / "client" / "webhook_documents.json").read_text(encoding="utf-8")
)
"""Documents of webhooks by name, which the client has: it stands for itself."""


def _no_truth(value: object) -> object:
    """Refuse `yes` and `on`, which are true to YAML, and true is 1 to pydantic: `retries: yes` would be one retry."""
    if isinstance(value, bool):
        raise ValueError("must be no true or false, as which YAML reads yes, no, on and off; write text in quotes")  # noqa: TRY004 - of pydantic
    return value


def _written_out(value: object) -> object:
    """Refuse a number for a time: pydantic would tell seconds from milliseconds by its size."""
    # TOML, and programs that are asked, have times of their own.
    if isinstance(value, int | float) or str(value).strip().lstrip("+-").replace(".", "", 1).isdigit():
        raise ValueError("must be a time with a zone, e.g. 2030-01-31T09:00:00Z")
    return value


def _in_seconds(value: object) -> object:
    """Return the seconds of a text such as `5m`; a text that is a number is judged as one."""
    if not isinstance(value, str):
        return _no_truth(value)
    try:
        return parse_duration(value)
    except ScheduleError:
        pass
    try:
        return float(value)
    except ValueError:
        raise ValueError("must be seconds, or a text such as 90s, 5m or PT5M") from None


def _number_or_text(value: object) -> object:
    """Refuse all else in one sentence: pydantic has one for each form that it could have been."""
    if not isinstance(_no_truth(value), int | float | str | None):
        raise ValueError("must be a number, or a text")  # noqa: TRY004 - of pydantic
    return value


def _as_schedule(value: object) -> object:
    """Return the table that a mere text stands for."""
    if isinstance(value, str):
        return {"cron": value}
    if value is not None and not any(isinstance(value, form) for form in (dict, ScheduleOfFile)):
        raise ValueError("must be text or a table")
    return value


def _as_text(value: object) -> object:
    return str(value) if isinstance(_no_truth(value), int | float) else value


Whole = Annotated[int, BeforeValidator(_no_truth)]
Number = Annotated[float, BeforeValidator(_no_truth)]
Seconds = Annotated[float, Field(ge=0), BeforeValidator(_in_seconds, json_schema_input_type=float | str)]
WholeOrText = Annotated[int | str, BeforeValidator(_number_or_text)]
NumberOrText = Annotated[float | str, BeforeValidator(_number_or_text)]
Instant = Annotated[AwareDatetime, BeforeValidator(_written_out)]


class FileModel(BaseModel):
    """Only declared fields, and every number finite."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ScheduleOfFile(FileModel):
    """When a task is due: one of `cron`, `calendar`, `interval` and `at`, and perhaps a time zone."""

    cron: str | None = Field(None, description="Six fields: second minute hour day-of-month month day-of-week.")
    calendar: str | None = Field(None, description="A calendar event as systemd has them, e.g. 'Mon..Fri 09:00'.")
    interval: Annotated[str | None, BeforeValidator(_as_text, json_schema_input_type=float | str | None)] = Field(
        None, description="A distance, e.g. 90 (seconds), '90s', '1h30m' or 'PT1H30M'."
    )
    at: str | None = Field(None, description="Once, at a time such as '2030-01-01T00:00:00Z'.")
    timezone: str = Field("UTC", description="An IANA zone, in which wall times are read.")

    @model_validator(mode="after")
    def _one_of_them(self) -> "ScheduleOfFile":
        named = [name for name in _SYNTAXES if getattr(self, name) is not None]
        if len(named) != 1:
            raise ValueError(f"must have one of cron, calendar, interval, at, got {' and '.join(named) or 'none'}")
        return self

    def spec(self) -> ScheduleSpec:
        """Return the engine's form."""
        name = next(name for name in _SYNTAXES if getattr(self, name) is not None)
        return ScheduleSpec(_SYNTAXES[name], getattr(self, name), self.timezone)


class RateOfFile(FileModel):
    """A token bucket, of which each start takes a token."""

    limit: Whole = Field(description="How many tokens come in `per` seconds.")
    per: Seconds = Field(1.0, description="Seconds.")
    burst: Whole | None = Field(None, description="How many start at once after a pause; a twentieth unless given.")

    def rate(self) -> Rate:
        """Return the engine's form, of which nobody has seen yet whether it is one."""
        return Rate.of(self.limit, self.per, self.burst)


class ResourcesOfFile(FileModel):
    """The resources that runs need at the engine of their job. Absent ones are as the job says."""

    cpus: Number | None = Field(None, description="Processor cores.")
    memory: Whole | None = Field(None, description="Bytes.")
    gpus: Whole | None = Field(None, description="Graphics processors.")
    image: str | None = Field(None, description="The container image that has the code.")
    queue: str | None = Field(None, description="The queue or the partition of the engine.")
    options: dict[str, str] | None = Field(None, description="Further words of the executor.")


class TaskOfFile(FileModel):
    """A task. Absent fields are left as they are; `null` sets the default."""

    job: str | None = Field(None, description="The job it runs; needed for a new task.")
    schedule: Annotated[
        ScheduleOfFile | None, BeforeValidator(_as_schedule, json_schema_input_type=str | ScheduleOfFile | None)
    ] = Field(
        None, description="When it is due; text is a cron expression of six fields in UTC. Needed for a new task."
    )
    args: dict[str, Any] | None = Field(None, description="The arguments of its runs.")
    description: str | None = Field(None, description="Its purpose.")
    enabled: bool | None = Field(None, description="Whether it begins enabled. Counts when the task is made, only.")
    group: str | None = Field(None, description="The group of its runs.")
    priority: Literal["high", "low"] | None = Field(None, description="The priority of its runs.")
    owner: str | None = Field(None, description="The outside thing on whose behalf it exists.")
    overlap: Literal["skip", "queue", "allow", "replace"] | None = Field(
        None, description="The rule for occurrences while a run of it is unfinished."
    )
    misfire: Literal["last", "all", "none"] | None = Field(None, description="The rule for late occurrences.")
    misfire_grace: Seconds | None = Field(None, description="Seconds by which an occurrence may be late.")
    catch_up_limit: Whole | None = Field(None, description="How many missed occurrences `misfire: all` makes up for.")
    tolerance: Seconds | None = Field(None, description="Intervals only: seconds by which a run may start early.")
    timeout: Seconds | None = Field(None, description="Time box of an attempt in seconds.")
    max_duration: Seconds | None = Field(
        None, description="Seconds that a run may take from its first start, sleeping and waiting included."
    )
    retries: Whole | None = Field(None, description="How many failures a run survives.")
    retry_delay: Seconds | None = Field(None, description="Seconds before the first retry.")
    jitter: Seconds | None = Field(None, description="Most seconds by which it is delayed.")
    labels: dict[str, str] | None = Field(None, description="Labels of its runs, by which they are found.")
    resources: ResourcesOfFile | None = Field(
        None, description="The resources of its runs at the engine of their job, each over that of the job."
    )
    rate: RateOfFile | None = Field(None, description="How many of its runs start in how long.")
    start_at: Instant | None = Field(None, description="No occurrence before this time.")
    end_at: Instant | None = Field(None, description="No occurrence after this time.")

    def wanted(self, name: str) -> WantedTask:
        """Return the engine's form, with only the fields that were written."""
        settings: dict[str, Any] = {}
        for key in sorted(self.model_fields_set - {"job", "schedule"}):
            value = getattr(self, key)
            settings[key] = _ENUMS[key](value) if value is not None and key in _ENUMS else value
            if isinstance(value, RateOfFile):
                settings[key] = value.rate()
            if isinstance(value, ResourcesOfFile):
                settings[key] = value.model_dump(exclude_none=True) or None
        if self.job is not None:
            settings["job_name"] = self.job
        if self.schedule is not None:
            settings["schedule"] = self.schedule.spec()
        return WantedTask(name, settings)


class CapOfFile(FileModel):
    """Limit how many runs wait, and choose the rule for one more."""

    limit: Whole = Field(description="How many runs wait that have never begun.")
    when_full: Literal["refuse", "drop_oldest", "drop_newest"] = Field(
        "refuse", description="The rule for one more when so many wait."
    )

    def cap(self) -> Cap:
        """Return the engine's form, of which nobody has seen yet whether it is one."""
        return Cap(self.limit, WhenFull(self.when_full))


class GroupOfFile(FileModel):
    """The limits of a group. Absent fields are left as they are; `null` takes a limit away."""

    max_running: Whole | None = Field(None, description="How many of its runs run at once, on all nodes together.")
    rate: RateOfFile | None = Field(None, description="How many of its runs start in how long, on all nodes together.")
    cap: CapOfFile | None = Field(None, description="How many of its runs wait at most.")
    max_wait_low: Seconds | None = Field(
        None, description="Seconds after which a due run of low priority goes before those of high priority."
    )
    keep: Seconds | None = Field(None, description="Seconds that the history of its finished runs is kept.")

    def wanted(self, name: str) -> WantedGroup:
        """Return the engine's form, with only the fields that were written."""
        limits: dict[str, Any] = {}
        for key in sorted(self.model_fields_set):
            value = getattr(self, key)
            if isinstance(value, RateOfFile):
                value = value.rate()
            limits[key] = value.cap() if isinstance(value, CapOfFile) else value
        return WantedGroup(name, limits)


class AlarmOfFile(FileModel):
    """An alarm: one subject, one condition on it, and the channels that are notified."""

    task: str | None = Field(None, description="The task that it watches.")
    job: str | None = Field(None, description="The job whose runs it watches.")
    group: str | None = Field(None, description="The group whose runs it watches.")
    flow: str | None = Field(None, description="The name of the flows that it watches.")
    node: str | None = Field(None, description="The node that it watches; `any` = every node.")
    webhook: str | None = Field(None, description="The webhook that it watches; `any` = every webhook.")
    database: Literal["any"] | None = Field(None, description="The database.")
    late: NumberOrText | None = Field(None, description="An occurrence starts so much late, or is missed: '5m'.")
    due_by: str | None = Field(None, description="An occurrence is not done by this time of day: '06:00'.")
    overdue: NumberOrText | None = Field(None, description="An occurrence is not done so long after it was due.")
    slow: NumberOrText | None = Field(None, description="An execution takes longer; '3x' = 3 times its p95.")
    failing: WholeOrText | None = Field(None, description="So many runs in a row fail; '50% of 20' = 10 of 20.")
    new_error: NumberOrText | None = Field(None, description="It fails as it has not for so long.")
    empty: Whole | None = Field(None, description="An execution succeeds with fewer records.")
    older_than: NumberOrText | None = Field(None, description="A run of the group waits for longer.")
    deeper_than: Whole | None = Field(None, description="More runs of the group wait.")
    skew: NumberOrText | None = Field(None, description="The clock of the node is more than so much off.")
    idle: NumberOrText | None = Field(None, description="The node takes nothing, although a run has been due so long.")
    larger_than: Whole | None = Field(None, description="The database has more bytes.")
    least_free: Whole | None = Field(None, description="Fewer bytes are free on the disk of the database, a file.")
    transaction: NumberOrText | None = Field(None, description="A transaction is open for longer.")
    lag: NumberOrText | None = Field(None, description="A standby is further behind.")
    channels: list[str] = Field([], description="The channels that it notifies.")
    severity: Literal["info", "warning", "critical"] = Field("warning", description="For its receivers.")
    description: str = Field("", description="Its purpose.")

    @model_validator(mode="after")
    def _one_of_them(self) -> "AlarmOfFile":
        self.wanted("alarm")
        return self

    def wanted(self, name: str) -> AlarmSpec:
        """Return the engine's form."""
        words = self.model_dump(include=set(WORDS) | {kind.value for kind in SubjectKind}, exclude_none=True)
        severity = Severity(self.severity)
        return spec_of(name, words, channels=self.channels, severity=severity, description=self.description)


class RouteOfFile(FileModel):
    """The alarms that notify a channel although they do not name it; all conditions that are given hold."""

    severities: list[Literal["info", "warning", "critical"]] = Field([], description="One of them is the alarm's.")
    groups: list[str] = Field([], description="One of them is the group of the watched task, or is watched itself.")
    labels: dict[str, str] = Field({}, description="The watched task has all of them.")


class ChannelOfFile(FileModel):
    """A way to notify somebody of alarms. Secrets are named, and set by `cronograph secret set`."""

    route: RouteOfFile | None = Field(None, description="The alarms that notify it although they do not name it.")

    def wanted(self, name: str) -> Channel:
        """Return the engine's form."""
        values = self.model_dump(exclude={"kind", "route"})
        route = {} if self.route is None else {ROUTE: self.route.model_dump()}
        kind = ChannelKind(getattr(self, "kind"))  # noqa: B009 - each kind of channel has its own
        return Channel(name, kind, {**stored_settings(values), **route}, EARLIEST, EARLIEST, "")


class ChatOfFile(ChannelOfFile):
    """A chat such as Slack or Teams, by its incoming webhook."""

    kind: Literal["chat"] = Field(description="The kind of the channel.")
    url_secret: str = Field(description="The secret that has the URL.")
    form: Literal["slack", "teams"] = Field("slack", description="The form of its messages.")


class SignedOfFile(ChannelOfFile):
    """A program that takes signed JSON."""

    kind: Literal["webhook"] = Field(description="The kind of the channel.")
    url: str = Field(description="The URL to post to.")
    secrets: list[str] = Field(description="The 1 to 3 secrets that sign.", min_length=1, max_length=3)


class AlertmanagerOfFile(ChannelOfFile):
    """The Alertmanager of Prometheus."""

    kind: Literal["alertmanager"] = Field(description="The kind of the channel.")
    url: str = Field(description="Its URL, without `/api/v2/alerts`.")


class MailOfFile(ChannelOfFile):
    """Mails by SMTP."""

    kind: Literal["mail"] = Field(description="The kind of the channel.")
    host: str = Field(description="The mail server.")
    port: Whole = Field(587, description="Its port.")
    tls: Literal["starttls", "implicit", "none"] = Field("starttls", description="The encryption of the connection.")
    username: str | None = Field(None, description="The name for the sign-in.")
    password_secret: str | None = Field(None, description="The secret that has the password.")
    sender: str = Field(description="The address that mails come from.")
    recipients: list[str] = Field(description="The addresses that mails go to, 1 to 50.")


class AppriseOfFile(ChannelOfFile):
    """Any service that the library Apprise knows."""

    kind: Literal["apprise"] = Field(description="The kind of the channel.")
    url_secret: str = Field(description="The secret that has the URL.")


_Channel = Annotated[
    ChatOfFile | SignedOfFile | AlertmanagerOfFile | MailOfFile | AppriseOfFile, Field(discriminator="kind")
]


class WebhookOfFile(FileModel):
    """A subscription whose results are posted. Secrets are named, and set by `cronograph secret set`."""

    url: str = Field(description="The URL to post to.")
    document: str = Field("executions", description=f"The subscription, or one of {', '.join(READY_MADE)}.")
    variables: dict[str, Any] = Field({}, description="The variables of the document.")
    secrets: list[str] = Field([], description="The secrets that sign, at most 3.")
    ordered: bool = Field(False, description="Whether a message waits until the one before it was accepted.")
    description: str = Field("", description="Its purpose.")

    def wanted(self, name: str) -> Webhook:
        """Return the engine's form."""
        document = READY_MADE.get(self.document, self.document)
        chosen = {"description": self.description, "ordered": self.ordered}
        return new_webhook(name, self.url, document, self.variables, self.secrets, **chosen)  # type: ignore[arg-type]


class HookOfFile(FileModel):
    """An address at which other programs start runs. Secrets are named, and set by `cronograph secret set`."""

    job: str = Field(description="The job whose runs it starts.")
    kind: Literal["github", "stripe", "standard", "bearer"] = Field("bearer", description="How a sender proves itself.")
    secrets: list[str] = Field(description="The 1 to 3 secrets that senders know.", min_length=1, max_length=3)
    argument: str | None = Field(None, description="The argument of the job that gets the whole payload.")
    description: str = Field("", description="Its purpose.")

    def wanted(self, name: str) -> Hook:
        """Return the engine's form."""
        chosen = self.model_dump(include={"argument", "description"})
        return new_hook(name, self.job, HookKind(self.kind), secrets=tuple(self.secrets), enabled=True, **chosen)


OF_FILE: Final[Mapping[DefinitionKind, Any]] = {
    DefinitionKind.ALARM: AlarmOfFile,
    DefinitionKind.CHANNEL: _Channel,
    DefinitionKind.WEBHOOK: WebhookOfFile,
    DefinitionKind.HOOK: HookOfFile,
}
"""The form of each kind of definition."""


class TaskFile(FileModel):
    """A file: the tasks of one set by name, its alarms, and limits of groups."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": ["set", "tasks"]}, {"required": ["groups"]}],
            "dependentRequired": {
                "tasks": ["set"],
                "set": ["tasks"],
                **{f"{kind.value}s": ["set"] for kind in DefinitionKind},
            },
        }
    )

    set: str | None = Field(
        None, min_length=1, max_length=200, description="The set of these tasks; it is stored at each of them."
    )
    tasks: dict[str, TaskOfFile] | None = Field(None, description="The tasks by name.")
    alarms: dict[str, AlarmOfFile] | None = Field(None, description="The alarms of the set by name.")
    channels: dict[str, _Channel] | None = Field(None, description="The channels of the set by name.")
    webhooks: dict[str, WebhookOfFile] | None = Field(None, description="The webhooks of the set by name.")
    hooks: dict[str, HookOfFile] | None = Field(None, description="The hooks of the set by name.")
    groups: dict[str, GroupOfFile] | None = Field(None, description="Limits of groups by name; groups are of no set.")

    @model_validator(mode="after")
    def _of_a_set(self) -> "TaskFile":
        if (self.set is None) != (self.tasks is None):
            lacking = "set" if self.set is None else "tasks"
            raise ValueError(f"must have set and tasks together, and has no {lacking}")
        for kind in DefinitionKind if self.set is None else ():
            if getattr(self, f"{kind.value}s") is not None:
                raise ValueError(f"must have set and tasks where it has {kind.value}s")
        if self.tasks is None and self.groups is None:
            raise ValueError("must have set and tasks, or groups, or all three")
        return self

    def wanted(self) -> WantedSet | None:
        """Return the set in the engine's form; None if there are only groups."""
        if self.set is None or self.tasks is None:
            return None
        tasks = tuple(task.wanted(name) for name, task in self.tasks.items())
        named = {kind: getattr(self, f"{kind.value}s") for kind in DefinitionKind}
        definitions = {
            kind: [one.wanted(name) for name, one in several.items()]
            for kind, several in named.items()
            if several is not None
        }
        return WantedSet(self.set, tasks, definitions)

    def wanted_groups(self) -> list[WantedGroup]:
        """Return the groups in the engine's form."""
        return [group.wanted(name) for name, group in (self.groups or {}).items()]


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a file, for editors."""
    made = TaskFile.model_json_schema()
    return {"$schema": SCHEMA_ID, "title": "Tasks of Cronograph", **{k: v for k, v in made.items() if k != "title"}}
