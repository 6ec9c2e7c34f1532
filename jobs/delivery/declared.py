"""Alarms that code and files define follow their definitions, in one transaction with the tasks."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from ..actions.declarations import Declared, declare_tasks
from ..actions.task_sets import Applied, apply_sets
from ..core.alarms import AlarmSpec
from ..core.base.errors import InvalidState, UserError, refuse
from ..core.model import TaskSpec
from ..core.task_sets import (
    ApplyOptions,
    FieldChange,
    PlannedAlarm,
    TaskAction,
    WantedGroup,
    WantedSet,
    check_version,
    shown,
)
from ..store.db.transaction import Tx
from . import read
from .actions import Owner, change_alarm, create_alarm, remove_alarm
from .rules import Alarm, AlarmSource

_COMPARED: Final = tuple(one.name for one in fields(AlarmSpec) if one.name != "name")


def declare(
    tx: Tx, tasks: Sequence[TaskSpec], job_names: Collection[str], wanted: Mapping[str, Sequence[AlarmSpec]]
) -> Declared:
    """Write the schedules and alarms that code declares; idempotent across nodes. See ``declare_tasks``.

    Alarms of these jobs that their code declares no more are deleted. People silence and disable declared alarms, and
    that stays.

    Args:
        tx: The transaction.
        tasks: The declared schedules.
        job_names: All jobs that this node knows.
        wanted: The declared alarms of each job that has any.
    """
    done = declare_tasks(tx, tasks, job_names)
    existing = {one.name: one for one in read.owned_alarms(tx.conn, AlarmSource.CODE, job_names)}
    names = [spec.name for specs in wanted.values() for spec in specs]
    warnings = [*done.warnings]
    # First those that go: a name may have moved to another job.
    for name in existing.keys() - names:
        remove_alarm(tx, existing[name])
    for job, specs in wanted.items():
        for spec in specs:
            try:
                _bring(tx, Owner(AlarmSource.CODE, job), spec)
            except UserError as refusal:
                warnings.append(f"job '{job}' declares alarm '{spec.name}', which cannot be: {refusal}")
            else:
                missing = sorted(set(spec.channels) - read.channels(tx.conn, spec.channels).keys())
                warnings += [
                    f"alarm '{spec.name}' of job '{job}' notifies channel '{one}', which does not exist"
                    for one in missing
                ]
    return Declared(tuple(warnings), done.postponed)


def apply_files(
    tx: Tx,
    wanted: Sequence[WantedSet],
    options: ApplyOptions | None = None,
    *,
    groups: Sequence[WantedGroup] = (),
    actor: str | None = None,
) -> Applied:
    """Bring tasks, limits of groups and alarms about as files want them; see ``apply_sets``.

    Raises:
        UserError: a task, a group or an alarm cannot be as it is wanted; nothing was changed.
    """
    options = options or ApplyOptions()
    applied = apply_sets(tx, wanted, options, groups=groups, actor=actor)
    faults: list[UserError] = []
    for place, one in enumerate(wanted):
        for number, spec in enumerate(one.alarms or ()):
            try:
                planned = _bring(tx, Owner(AlarmSource.FILE, one.name), spec)
                check_version(planned, options.expected_alarms)
                applied.alarms.append(planned)
            except UserError as refusal:
                path = ("sets", str(place), "alarms", str(number))
                faults += [fault.with_prefix(*path) for fault in refusal.faults]
        if one.alarms is not None:
            applied.alarms += _left_over(tx, one.name, {spec.name for spec in one.alarms}, options)
    refuse(faults)
    return applied


def _bring(tx: Tx, owner: Owner, spec: AlarmSpec) -> PlannedAlarm:
    """Make or change an alarm until it is as it is wanted."""
    source, name = owner
    alarm = read.alarm_by_name(tx.conn, spec.name, lock=True)
    if alarm is None:
        create_alarm(tx, spec, owner=owner)
        return PlannedAlarm(spec.name, name or "", TaskAction.CREATE, None, _differences(None, spec))
    changes = _differences(alarm, spec)
    if alarm.source is AlarmSource.API and source is AlarmSource.FILE:
        # What people made, a file may take over.
        changes = (*changes, FieldChange("set_name", None, name))
    elif (alarm.source, alarm.owner) != owner:
        whose = "people" if alarm.owner is None else f"{_OWNERS[alarm.source]} '{alarm.owner}'"
        raise InvalidState(
            f"name: there is an alarm '{spec.name}' of {whose} already; choose another name", path=("name",)
        )
    action = TaskAction.CHANGE if changes else TaskAction.KEEP
    if changes:
        values: dict[str, Any] = {one: getattr(spec, one) for one in _COMPARED}
        change_alarm(tx, alarm, {**values, "source": source, "owner": name})
    return PlannedAlarm(spec.name, name or "", action, alarm.version, changes)


_OWNERS: Final = {AlarmSource.CODE: "job", AlarmSource.FILE: "set"}


def _differences(before: Alarm | None, after: AlarmSpec) -> tuple[FieldChange, ...]:
    return tuple(
        FieldChange(name, None if before is None else _shown(getattr(before, name)), _shown(getattr(after, name)))
        for name in _COMPARED
        if before is None or getattr(before, name) != getattr(after, name)
    )


def _shown(value: Any) -> Any:  # noqa: ANN401 - any field of an alarm
    return value.to_json() if hasattr(value, "to_json") else shown(list(value) if isinstance(value, tuple) else value)  # pyright: ignore[reportUnknownArgumentType]


def _left_over(tx: Tx, set_name: str, names: Collection[str], options: ApplyOptions) -> list[PlannedAlarm]:
    others = [one for one in read.owned_alarms(tx.conn, AlarmSource.FILE, [set_name]) if one.name not in names]
    action = TaskAction.ARCHIVE if options.prune else TaskAction.LEFT_OVER
    for one in others if options.prune else ():
        remove_alarm(tx, one)
    return [PlannedAlarm(one.name, set_name, action, one.version) for one in others]
