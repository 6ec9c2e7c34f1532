"""Alarms and their firings: created, changed, silenced and acknowledged by operators."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import Annotated, Any, ClassVar, Final

import strawberry
from strawberry.scalars import JSON

from ...jobs.core.alarms import (
    MAX_CHANNELS_OF_ALARM,
    AlarmSpec,
    Condition,
    Settings,
    Severity,
    SubjectKind,
    definition_of,
    wish,
)
from ...jobs.core.base.errors import InvalidInput
from ...jobs.delivery import actions, read, rules, write
from ...jobs.delivery.rules import AlarmSource
from ...jobs.store.db.transaction import Tx
from ..base.enums import Described, Role, described
from ..base.fields import SHOWN, Size, mutates, resolved, sized
from ..base.scalars import BigInt, Duration, checked_text
from ..execution.shown import FromModel, Makers
from ..lists.connections import Connection
from ..lists.declared import kind_of, listed
from ..lists.filters import BooleanFilter, DateTimeFilter, Filter, IdFilter, RowFilter, StringFilter, filter_of
from ..lists.filters import condition as where
from ..resolving.context import Info
from ..types.alarm import AlarmFiring, AlarmSubject
from ..types.common import MutationPayload
from .base.changes import changed, given, kept_whole, parse_key, perform
from .base.inputs import MutationInput, optional

VERSION: Final = (
    "The `version` that the alarm must still have, or else the change is refused. Any version unless given."
)
NAME: Final = "The name of the alarm."
_CHANNELS: Final = Size(default=MAX_CHANNELS_OF_ALARM, most=MAX_CHANNELS_OF_ALARM)


@filter_of("A filter of alarms.")
class AlarmFilter(RowFilter):
    """Conditions on alarms."""

    id: IdFilter | None = where("The key.")
    name: StringFilter | None = where("The name.")
    enabled: BooleanFilter | None = where("Whether the alarm is enabled.", "isEnabled")
    firing: BooleanFilter | None = where("Whether a firing of the alarm is open.", "isFiring")
    severity: Filter[Severity] | None = where("The severity.")
    condition: Filter[Condition] | None = where("The condition.")
    subject_kind: Filter[SubjectKind] | None = where("The kind of the subject.")
    subject: StringFilter | None = where("The name of the subject.")
    source: Filter[AlarmSource] | None = where("The place where the alarm is defined.")
    owner: StringFilter | None = where("The job or the set that defines the alarm.")
    created_at: DateTimeFilter | None = where("The time when the alarm was created.")
    updated_at: DateTimeFilter | None = where("The time when the alarm was last changed.")
    silenced_until: DateTimeFilter | None = where("The end of the silence.", "silenceEndsAt")


@described("A field by which alarms can be ordered; by name unless given.")
class AlarmOrderField(Described):
    """Fields of alarms to order by."""

    NAME = "name", "The name."
    ID = "id", "The key: the order of their creation."
    UPDATED_AT = "updated_at", "The time when the alarm was last changed."


ALARM_LIST: Final = kind_of(read.ALARMS, AlarmFilter, AlarmOrderField, "alarms")


@filter_of("A filter of firings of alarms.")
class AlarmFiringFilter(RowFilter):
    """Conditions on firings."""

    id: IdFilter | None = where("The key.")
    alarm_name: StringFilter | None = where("The name of the alarm.")
    condition: Filter[Condition] | None = where("The condition of the alarm.")
    severity: Filter[Severity] | None = where("The severity of the alarm.")
    subject_kind: Filter[SubjectKind] | None = where("The kind of the subject.")
    subject: StringFilter | None = where("The name of the subject.")
    run_id: IdFilter | None = where("The id of the run that the firing is about.")
    open: BooleanFilter | None = where("Whether the firing is not resolved.", "isOpen")
    fired_at: DateTimeFilter | None = where("The time when the alarm fired.")
    resolved_at: DateTimeFilter | None = where("The time when the firing was resolved.")
    acknowledged_at: DateTimeFilter | None = where("The time when the firing was acknowledged.")
    acknowledged_by: StringFilter | None = where("The person or program that acknowledged the firing.")


@described("A field by which firings can be ordered; newest first unless given.")
class AlarmFiringOrderField(Described):
    """Fields of firings to order by."""

    ID = "id", "The key: the order in which alarms fired."
    FIRED_AT = "fired_at", "The time when the alarm fired."


FIRING_LIST: Final = kind_of(read.FIRINGS, AlarmFiringFilter, AlarmFiringOrderField, "firings")


@strawberry.type(description="The values of an alarm's condition; null = the condition does not use the value.")
class AlarmSettings(FromModel):
    """Settings of an alarm."""

    grace: Duration | None = strawberry.field(description="The time by which an occurrence may start late.")
    due_by: str | None = strawberry.field(
        description="The time of day, in the time zone of the task, by which its occurrences have to be done."
    )
    after: Duration | None = strawberry.field(
        description="The time after which an occurrence is overdue, an execution or a flow slow, or a node idle."
    )
    times_p95: float | None = strawberry.field(
        name="timesP95", description="The factor of the usual duration (its p95) after which an execution is slow."
    )
    failed_runs: int | None = strawberry.field(
        description="The number of failed runs in a row after which the alarm fires."
    )
    least_records: BigInt | None = strawberry.field(
        description="The least number of records that an execution has to process."
    )
    failed_share: float | None = strawberry.field(
        description="The part of the last `ofRuns` runs, above 0 to 1, from which on the alarm fires."
    )
    of_runs: int | None = strawberry.field(description="The number of runs of which `failedShare` is a part.")
    quiet: Duration | None = strawberry.field(description="The time after which an error counts as new again.")
    most_skew: Duration | None = strawberry.field(
        description="The most by which the clock of a node may differ from that of the database."
    )
    larger_than: BigInt | None = strawberry.field(description="The most bytes that the database may have.")
    least_free: BigInt | None = strawberry.field(
        description="The least bytes that have to be free on the disk of the database, a SQLite file."
    )
    transaction: Duration | None = strawberry.field(description="The longest that a transaction may be open.")
    lag: Duration | None = strawberry.field(description="The longest that a standby may be behind.")
    older_than: Duration | None = strawberry.field(description="The longest time that a due run may wait.")
    deeper_than: int | None = strawberry.field(description="The largest number of runs that may wait.")


@strawberry.type(description="An alarm: a condition on one thing, and the channels that are notified when it holds.")
class Alarm(FromModel):
    """An alarm."""

    id: strawberry.ID = strawberry.field(description="The decimal key of the alarm.")
    name: str = strawberry.field(description="The unique name of the alarm.")
    description: str = strawberry.field(description="The purpose of the alarm, in words.")
    enabled: bool = strawberry.field(name="isEnabled", description="Whether the alarm watches its subject.")
    severity: Severity = strawberry.field(description="The severity of the alarm, for its receivers.")
    condition: Condition = strawberry.field(description="The condition of the alarm.")
    subject: AlarmSubject = strawberry.field(description="The thing that the alarm watches.")
    settings: AlarmSettings = strawberry.field(description="The values of the condition.")
    sentence: str = strawberry.field(description="The condition with its values, in words.")
    source: AlarmSource = strawberry.field(description="The place where the alarm is defined.")
    owner: str | None = strawberry.field(
        description="The job whose code declares the alarm, or the set of the file that does; null if people made it."
    )
    definition: JSON = strawberry.field(description="The alarm as a task file has it, an object.")
    channels: list[str] = strawberry.field(
        description="The names of the channels that the alarm notifies.", metadata=sized(_CHANNELS)
    )
    silenced_until: datetime | None = strawberry.field(
        name="silenceEndsAt",
        description="The time until which the alarm notifies nobody; null = no silence.",
    )
    silenced_by: str | None = strawberry.field(description="The person or program that silenced the alarm.")
    silence_reason: str | None = strawberry.field(description="The reason of the silence.")
    version: int = strawberry.field(description="The number of changes of the alarm, from 1.")
    created_at: datetime = strawberry.field(description="The time when the alarm was created.")
    created_by: str = strawberry.field(description="The person or program that created the alarm.")
    updated_at: datetime = strawberry.field(description="The time when the alarm was last changed.")
    firings: Connection[AlarmFiring] = listed(
        FIRING_LIST,
        lambda: AlarmFiring,
        description="The firings of the alarm.",
        of=("alarm_id", lambda self: int(self.id)),
    )

    MADE: ClassVar[Makers] = {
        "subject": lambda one: AlarmSubject(kind=one.subject_kind, name=one.subject),
        "settings": lambda one: AlarmSettings.from_model(one.settings),
        "sentence": wish,
        "definition": definition_of,
        "channels": lambda one: list(one.channels),
    }


@strawberry.type
class AlarmChanged(MutationPayload):
    """An alarm or errors."""

    alarm: Alarm | None = strawberry.field(description="The alarm; of a deleted one as it was.", default=None)


@strawberry.type
class AlarmsAcknowledged(MutationPayload):
    """Firings or errors."""

    count: int | None = strawberry.field(description="The number of acknowledged firings.", default=None)
    firings: list[AlarmFiring] | None = strawberry.field(
        description="The firings, at most 200 of them.", default=None, metadata=sized(SHOWN)
    )


@strawberry.input(
    one_of=True, description="Exactly one of these names the watched thing; the condition has to fit to it."
)
class AlarmSubjectInput:
    """A task, a job, a group, a flow, nodes or webhooks."""

    task: str | None = optional("The name of a task; of LATE, OVERDUE, SLOW, FAILING, NEW_ERROR and EMPTY.")
    job: str | None = optional("The name of a job; of SLOW, FAILING, NEW_ERROR and EMPTY.")
    group: str | None = optional("The name of a group; of SLOW, FAILING, NEW_ERROR, EMPTY and BACKLOG.")
    flow: str | None = optional("The name of flows; of SLOW and FAILING.")
    node: str | None = optional("The name of a node; of NODE, IDLE and SKEW.")
    any_node: bool | None = optional("Every node; of NODE, IDLE and SKEW. Only true is taken.")
    webhook: str | None = optional("The name of a webhook; of WEBHOOK.")
    any_webhook: bool | None = optional("Every webhook; of WEBHOOK. Only true is taken.")
    database: bool | None = optional("The database; of DATABASE. Only true is taken.")

    def faults(self) -> Iterator[InvalidInput]:
        """Yield the faults that no action sees."""
        yield from _only_true(self.any_node, "subject", "anyNode")
        yield from _only_true(self.any_webhook, "subject", "anyWebhook")
        yield from _only_true(self.database, "subject", "database")

    def to_subject(self) -> tuple[SubjectKind, str | None]:
        """Return the kind and the name."""
        every = {
            SubjectKind.NODE: self.any_node,
            SubjectKind.WEBHOOK: self.any_webhook,
            SubjectKind.DATABASE: self.database,
        }
        for kind, value in every.items():
            if given(value) is not None:
                return kind, None
        for kind in SubjectKind:
            name: str | None = given(getattr(self, kind.value))
            if name is not None:
                return kind, name
        return SubjectKind.NODE, None


@strawberry.input(description="The condition LATE: an occurrence has not started, or was skipped.")
class LateInput:
    """When a task is late."""

    grace: Duration = strawberry.field(
        description="The seconds by which an occurrence may start late. 60 unless given.", default=Duration(60.0)
    )


@strawberry.input(one_of=True, description="Exactly one of these says when an occurrence of a task has to be done.")
class OverdueInput:
    """When a task is overdue."""

    due_by: str | None = optional("A time of day in the time zone of the task, e.g. `06:00`.")
    after: Duration | None = optional("The seconds after the time that the occurrence was due at.")


@strawberry.input(one_of=True, description="Exactly one of these says when an execution is slow.")
class SlowInput:
    """When an execution is slow."""

    after: Duration | None = optional("The seconds after its start.")
    times_p95: float | None = strawberry.field(
        name="timesP95",
        description="The factor of the duration that 95 of 100 recent successful executions stay under. An execution "
        "is not slow while there are fewer than 20.",
        default=strawberry.UNSET,
    )


@strawberry.input(description="The condition FAILING: runs fail one after the other, or many of the last ones do.")
class FailingInput:
    """When a thing fails."""

    failed_runs: int | None = optional(
        "The number of failed runs in a row. 1 unless given, and unless `failedShare` is."
    )
    failed_share: float | None = optional("The part of the last `ofRuns` runs, above 0 to 1. No part unless given.")
    of_runs: int | None = optional("The number of runs of which `failedShare` is a part, 2 to 60. None unless given.")


@strawberry.input(description="The condition NEW_ERROR: runs fail with an error that they have not had for a while.")
class NewErrorInput:
    """When a thing has a new error."""

    quiet: Duration = strawberry.field(
        description="The seconds after which an error counts as new again. 2592000 (30 days) unless given.",
        default=Duration(2_592_000.0),
    )


@strawberry.input(description="The condition SKEW: the clock of a node differs from that of the database.")
class SkewInput:
    """When a clock is off."""

    most_skew: Duration = strawberry.field(
        description="The seconds by which the clock may differ. 2 unless given.", default=Duration(2.0)
    )


@strawberry.input(description="The condition IDLE: a node sends heartbeats and takes nothing.")
class IdleInput:
    """When a node takes nothing."""

    after: Duration = strawberry.field(
        description="The seconds for which a run has been due that nothing but the node holds back. 300 unless given.",
        default=Duration(300.0),
    )


@strawberry.input(description="The condition DATABASE: the database has too little room, or something holds it up.")
class DatabaseInput:
    """When the database needs attention."""

    larger_than: BigInt | None = optional("The bytes that the database may have. Any number unless given.")
    least_free: BigInt | None = optional(
        "The bytes that have to be free on the disk of a SQLite file. Any number unless given."
    )
    transaction: Duration | None = optional("The seconds that a transaction may be open. Any time unless given.")
    lag: Duration | None = optional("The seconds that a standby may be behind. Any time unless given.")


@strawberry.input(description="The condition EMPTY: an execution succeeds and has processed too few records.")
class EmptyInput:
    """When an execution is empty."""

    least_records: BigInt = strawberry.field(
        description="The least number of records that an execution has to process. 1 unless given.", default=BigInt(1)
    )


@strawberry.input(description="The condition BACKLOG: runs of a group wait too long, or too many wait.")
class BacklogInput:
    """When a queue is too long."""

    older_than: Duration | None = optional("The seconds that a due run may wait. Any time unless given.")
    deeper_than: int | None = optional("The number of runs that may wait. Any number unless given.")


def _settings(chosen: object) -> Settings:
    given_values: dict[str, Any] = {name: given(value) for name, value in vars(chosen).items()}
    return Settings(**given_values)


def _only_true(value: bool | None, *path: str) -> Iterator[InvalidInput]:
    if given(value) is False:
        yield InvalidInput(f"{'.'.join(path)}: must be true or absent, got false", path=path)


@strawberry.input(one_of=True, description="Exactly one of these is the condition of the alarm.")
class AlarmConditionInput:
    """A condition."""

    late: LateInput | None = optional("An occurrence does not start in time, or is missed.")
    overdue: OverdueInput | None = optional("An occurrence is not done in time; noticed while it runs.")
    slow: SlowInput | None = optional("An execution or a flow takes too long; noticed while it runs.")
    failing: FailingInput | None = optional("Runs or flows fail one after the other, or many of the last ones do.")
    new_error: NewErrorInput | None = optional("Runs fail with an error that they have not had for a while.")
    empty: EmptyInput | None = optional("An execution succeeds without records.")
    backlog: BacklogInput | None = optional("Runs of a group wait too long, or too many wait.")
    node: bool | None = optional("A node is lost or silent. Only true is taken.")
    idle: IdleInput | None = optional("A node sends heartbeats and takes nothing, although runs are due.")
    skew: SkewInput | None = optional("The clock of a node is off.")
    database: DatabaseInput | None = optional("The database has too little room, or something holds it up.")
    webhook: bool | None = optional("A webhook was switched off or parked. Only true is taken.")

    def faults(self) -> Iterator[InvalidInput]:
        """Yield the faults that no action sees."""
        yield from _only_true(self.node, "condition", "node")
        yield from _only_true(self.webhook, "condition", "webhook")

    def to_condition(self) -> tuple[Condition, Settings]:
        """Return the condition and its values."""
        for one in Condition:
            chosen: Any = given(getattr(self, one.value))
            if chosen is not None:
                settings = Settings() if isinstance(chosen, bool) else _settings(chosen)
                by_default = one is Condition.FAILING and settings.failed_runs is None and settings.failed_share is None
                return one, replace(settings, failed_runs=1) if by_default else settings
        return Condition.NODE, Settings()


@strawberry.input(description="An alarm as a file defines it.")
class AlarmOfSetInput:
    """A wanted alarm."""

    name: str = strawberry.field(description="The unique name of the alarm, 1 to 200 characters.")
    subject: AlarmSubjectInput = strawberry.field(description="The thing that the alarm watches.")
    condition: AlarmConditionInput = strawberry.field(description="The condition of the alarm.")
    channels: list[str] | None = optional(
        "The names of the channels that the alarm notifies, at most 20. None unless given.", _CHANNELS
    )
    severity: Severity = strawberry.field(
        description="The severity of the alarm. WARNING unless given.", default=Severity.WARNING
    )
    description: str = strawberry.field(
        description="The purpose of the alarm, at most 10,000 characters. Empty unless given.", default=""
    )

    def faults(self) -> Iterator[InvalidInput]:
        """Yield the faults that no action sees."""
        yield from self.subject.faults()
        yield from self.condition.faults()

    def wanted(self) -> AlarmSpec:
        """Return the engine's form."""
        channels = tuple(given(self.channels) or ())
        subject, condition = self.subject.to_subject(), self.condition.to_condition()
        return AlarmSpec(self.name, condition[0], *subject, condition[1], channels, self.severity, self.description)


@strawberry.input(description="The alarm that `createAlarm` creates.")
class CreateAlarmInput(AlarmOfSetInput, MutationInput):
    """The input of ``createAlarm``."""

    enabled: bool = strawberry.field(description="False creates the alarm disabled. True unless given.", default=True)


@strawberry.input
class AlarmInput(MutationInput):
    """The input of a mutation that changes one alarm."""

    name: str = strawberry.field(description=NAME)
    expected_version: int | None = optional(VERSION)


@strawberry.input(description="The changes of an alarm that `updateAlarm` makes. Absent fields stay as they are.")
class UpdateAlarmInput(AlarmInput):
    """The input of ``updateAlarm``."""

    subject: AlarmSubjectInput | None = optional("The thing that the alarm watches. Unchanged unless given.")
    condition: AlarmConditionInput | None = optional("The condition of the alarm. Unchanged unless given.")
    channels: list[str] | None = optional(
        "The names of the channels that the alarm notifies, at most 20; null = none. Unchanged unless given.", _CHANNELS
    )
    severity: Severity | None = optional("The severity of the alarm; null = WARNING. Unchanged unless given.")
    description: str | None = optional("The purpose of the alarm; null = empty. Unchanged unless given.")
    enabled: bool | None = optional("False disables the alarm; null = true. Unchanged unless given.")

    def changes(self) -> dict[str, Any]:
        """Return the values that are given, by the names of the model."""
        usual = {"severity": Severity.WARNING, "description": "", "enabled": True, "channels": ()}
        values = changed(self, usual)
        if (subject := given(self.subject)) is not None:
            values["subject_kind"], values["subject"] = subject.to_subject()
        if (condition := given(self.condition)) is not None:
            values["condition"], values["settings"] = condition.to_condition()
        return values


@strawberry.input(description="The alarm that `deleteAlarm` deletes.")
class DeleteAlarmInput(AlarmInput):
    """The input of ``deleteAlarm``."""


@strawberry.input(description="The silence that `silenceAlarm` sets or ends.")
class SilenceAlarmInput(AlarmInput):
    """The input of ``silenceAlarm``."""

    ends_at: datetime | None = optional(
        "The time until which the alarm notifies nobody, in the future. The silence ends now unless given."
    )
    reason: str | None = optional("The reason, which others see. None unless given; at most 1,000 characters.")


MOST: Final = 1_000


@strawberry.input(one_of=True, description="Exactly one of these says which open firings are meant.")
class AlarmFiringSelection:
    """Firings by key, by alarm, or all."""

    ids: list[strawberry.ID] | None = optional("The firings with these ids, at most 1,000.", Size(most=MOST))
    alarm: str | None = optional("The open firings of the alarm of this name.")
    all: bool | None = optional("Every open firing, the oldest 1,000 of them. Only true is taken.")


@strawberry.input(description="The firings that `acknowledgeAlarms` acknowledges.")
class AcknowledgeAlarmsInput(MutationInput):
    """The input of ``acknowledgeAlarms``."""

    firings: AlarmFiringSelection = strawberry.field(description="The firings to acknowledge.")
    note: str | None = optional("A note, which others see. None unless given; at most 1,000 characters.")


ALARM: Final = kept_whole(rules.Alarm)
FIRINGS: Final = kept_whole(list[rules.Firing])


@strawberry.type
class AlarmQueries:
    """Queries of alarms."""

    alarms: Connection[Alarm] | None = listed(
        ALARM_LIST, lambda: Alarm, description="The alarms.", requires=Role.VIEWER
    )
    alarm_firings: Connection[AlarmFiring] | None = listed(
        FIRING_LIST,
        lambda: AlarmFiring,
        description="The firings of all alarms: the open ones, and the history of 90 days.",
        requires=Role.VIEWER,
    )

    @resolved(requires=Role.VIEWER)
    async def alarm(
        self, info: Info, name: Annotated[str, strawberry.argument(description="The name.")]
    ) -> Alarm | None:
        """One alarm; null if there is none of this name."""
        found = await info.context.database.read(write.ALARMS.find, checked_text(name, "name"))
        return None if found is None else Alarm.from_model(found)


@strawberry.type
class AlarmMutations:
    """Everything that changes alarms."""

    @mutates(requires=Role.OPERATOR)
    async def create_alarm(self, info: Info, input: CreateAlarmInput) -> AlarmChanged:
        """Creates an alarm. It judges everything that happens from now on."""

        def action(tx: Tx) -> rules.Alarm:
            return actions.create_alarm(tx, input.wanted(), enabled=input.enabled)

        done = await perform(info, input, action, ALARM, faults=input.faults())
        return done.answer(AlarmChanged, alarm=Alarm.from_model)

    @mutates(requires=Role.OPERATOR)
    async def update_alarm(self, info: Info, input: UpdateAlarmInput) -> AlarmChanged:
        """Changes an alarm. Another condition or subject resolves its open firings."""

        def action(tx: Tx) -> rules.Alarm:
            return actions.update_alarm(tx, input.name, input.changes(), expected=given(input.expected_version))

        parts = [one for one in (given(input.subject), given(input.condition)) if one is not None]
        done = await perform(info, input, action, ALARM, faults=chain.from_iterable(one.faults() for one in parts))
        return done.answer(AlarmChanged, alarm=Alarm.from_model)

    @mutates(requires=Role.OPERATOR)
    async def delete_alarm(self, info: Info, input: DeleteAlarmInput) -> AlarmChanged:
        """Deletes an alarm. Its open firings are resolved, and its history is kept."""

        def action(tx: Tx) -> rules.Alarm:
            return actions.delete_alarm(tx, input.name, expected=given(input.expected_version))

        done = await perform(info, input, action, ALARM)
        return done.answer(AlarmChanged, alarm=Alarm.from_model)

    @mutates(requires=Role.OPERATOR)
    async def silence_alarm(self, info: Info, input: SilenceAlarmInput) -> AlarmChanged:
        """Lets an alarm notify nobody until a time. A firing that is open then is notified then."""

        def action(tx: Tx) -> rules.Alarm:
            version = given(input.expected_version)
            return actions.silence_alarm(tx, input.name, given(input.ends_at), given(input.reason), expected=version)

        done = await perform(info, input, action, ALARM)
        return done.answer(AlarmChanged, alarm=Alarm.from_model)

    @mutates(requires=Role.OPERATOR, size=SHOWN)
    async def acknowledge_alarms(self, info: Info, input: AcknowledgeAlarmsInput) -> AlarmsAcknowledged:
        """Notes that the caller takes care of firings. It resolves those of lost nodes, which do not come back."""

        def action(tx: Tx) -> list[rules.Firing]:
            chosen = given(input.firings.ids)
            ids = None if chosen is None else [parse_key(one, "firings", "ids", str(i)) for i, one in enumerate(chosen)]
            return actions.acknowledge(tx, ids, given(input.note), alarm=given(input.firings.alarm), most=MOST)

        done = await perform(info, input, action, FIRINGS, faults=_only_true(input.firings.all, "firings", "all"))
        return done.answer(
            AlarmsAcknowledged,
            count=len,
            firings=lambda found: [AlarmFiring.from_model(one) for one in found[: SHOWN.most]],
        )
