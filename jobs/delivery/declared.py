"""Alarms, channels, webhooks and hooks that code and files define follow their definitions, with the tasks."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from sqlalchemy import Connection

from ..accounts.rules.secrets import KeySource, no_keys
from ..actions.task_sets import Applied, Declared, apply_sets, declare_tasks
from ..core.actor import Role
from ..core.alarms import AlarmSpec, definition_of
from ..core.base.errors import ErrorCode, InvalidInput, InvalidState, UserError, refuse
from ..core.model import Json, TaskSpec
from ..core.task_sets import (
    ApplyOptions,
    DefinitionKind,
    FieldChange,
    PlannedDefinition,
    TaskAction,
    WantedGroup,
    WantedSet,
    check_version,
)
from ..store.db.transaction import Tx
from ..store.schema.delivery import alarm
from ..store.schema.delivery import channel as channel_table
from ..store.schema.delivery import hook as hook_table
from . import hooks, read, webhooks, write
from .actions import Owner, change_alarm, create_alarm, delete_channel, remove_alarm, set_channel
from .inbound import Hook
from .rules import Alarm, AlarmSource, Channel
from .webhooks import Webhook


@dataclass(frozen=True, slots=True)
class _Noun:
    """Find, compare and change the definitions of one kind.

    Attributes:
        find: Returns the one of a name, locked.
        members: Returns those of an owner.
        owner: Returns the owner of one.
        definition: Returns one as a file has it.
        change: Makes one like another one, for an owner.
        remove: Deletes one.
        needs: The role of those who change one.
    """

    find: Callable[[Connection, str], Any]
    members: Callable[[Connection, Owner], Sequence[Any]]
    owner: Callable[[Any], Owner]
    definition: Callable[[Any], dict[str, Json]]
    create: Callable[[Tx, Any, Owner], object]
    change: Callable[[Tx, Any, Any, Owner], object]
    remove: Callable[[Tx, Any], object]
    needs: Role = Role.OPERATOR


def _of_set(one: Channel | Webhook | Hook) -> Owner:
    return Owner(AlarmSource.API if one.set_name is None else AlarmSource.FILE, one.set_name)


def _changes(before: object, wanted: object, names: str) -> dict[str, Any]:
    values = {name: getattr(wanted, name) for name in names.split()}
    return {name: value for name, value in values.items() if value != getattr(before, name)}


def _alarms_of(conn: Connection, source: AlarmSource, owners: Collection[str]) -> list[Alarm]:
    return write.ALARMS.having(conn, alarm.c.source == source.value, alarm.c.owner.in_(owners))


_ALARM: Final = _Noun(
    find=lambda conn, name: write.ALARMS.find(conn, name, lock=True),
    members=lambda conn, owner: _alarms_of(conn, owner.source, [owner.name or ""]),
    owner=lambda one: Owner(one.source, one.owner),
    definition=definition_of,
    create=lambda tx, wanted, owner: create_alarm(tx, wanted, owner=owner),
    change=lambda tx, before, wanted, owner: change_alarm(
        tx,
        before,
        {one.name: getattr(wanted, one.name) for one in fields(AlarmSpec)}
        | {"source": owner.source, "owner": owner.name},
    ),
    remove=remove_alarm,
)


def _nouns(keys: KeySource) -> dict[DefinitionKind, _Noun]:
    def set_one(tx: Tx, wanted: Channel, owner: Owner) -> Channel:
        return set_channel(tx, wanted.name, wanted.kind, wanted.settings, set_name=owner.name, keys=keys)

    channel = _Noun(
        find=write.CHANNELS.find,
        members=lambda conn, owner: write.CHANNELS.having(conn, channel_table.c.set_name == (owner.name or "")),
        owner=_of_set,
        definition=lambda one: one.definition,
        create=set_one,
        change=lambda tx, _, wanted, owner: set_one(tx, wanted, owner),
        remove=lambda tx, one: delete_channel(tx, one.name),
        needs=Role.ADMIN,
    )

    def change_webhook(tx: Tx, before: Webhook, wanted: Webhook, owner: Owner) -> Webhook:
        changes = _changes(before, wanted, "url secrets document variables description ordered")
        return webhooks.update_webhook(tx, before.name, {**changes, "set_name": owner.name}, keys=keys)

    webhook = _Noun(
        find=webhooks.NAMED.find,
        members=lambda conn, owner: webhooks.of_set(conn, owner.name or ""),
        owner=_of_set,
        definition=lambda one: one.definition,
        create=lambda tx, wanted, owner: webhooks.create_webhook(tx, replace(wanted, set_name=owner.name), keys=keys),
        change=change_webhook,
        remove=lambda tx, one: webhooks.delete_webhook(tx, one.name),
    )

    def change_hook(tx: Tx, before: Hook, wanted: Hook, owner: Owner) -> Hook:
        changes = _changes(before, wanted, "job_name kind secrets argument description")
        return hooks.update_hook(tx, before.name, {**changes, "set_name": owner.name}, keys())

    hook = _Noun(
        find=hooks.NAMED.find,
        members=lambda conn, owner: hooks.NAMED.having(conn, hook_table.c.set_name == (owner.name or "")),
        owner=_of_set,
        definition=lambda one: one.definition,
        create=lambda tx, wanted, owner: hooks.create_hook(tx, replace(wanted, set_name=owner.name), keys()),
        change=change_hook,
        remove=lambda tx, one: hooks.delete_hook(tx, one.name),
        needs=Role.ADMIN,
    )
    kinds = DefinitionKind
    return {kinds.CHANNEL: channel, kinds.WEBHOOK: webhook, kinds.HOOK: hook, kinds.ALARM: _ALARM}


def declare(
    tx: Tx, tasks: Sequence[TaskSpec], job_names: Collection[str], wanted: Mapping[str, Sequence[AlarmSpec]]
) -> Declared:
    """Write the schedules and alarms that code declares; idempotent across nodes. See ``declare_tasks``.

    Alarms of these jobs that their code declares no more are deleted. People silence and disable declared alarms, and
    that stays.

    Args:
        tasks: The declared schedules.
        job_names: All jobs that this node knows.
        wanted: The declared alarms of each job that has any.
    """
    done = declare_tasks(tx, tasks, job_names)
    write.lock_readers(tx.conn)
    existing = {one.name: one for one in _alarms_of(tx.conn, AlarmSource.CODE, job_names)}
    names = [spec.name for specs in wanted.values() for spec in specs]
    warnings = [*done.warnings]
    # First those that go: a name may have moved to another job.
    for name in existing.keys() - names:
        remove_alarm(tx, existing[name])
    for job, specs in wanted.items():
        for spec in specs:
            try:
                _bring(tx, DefinitionKind.ALARM, _ALARM, Owner(AlarmSource.CODE, job), spec)
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
    keys: KeySource = no_keys,
) -> Applied:
    """Bring tasks, limits of groups and all other definitions about as files want them; see ``apply_sets``.

    ``keys``: those of secrets, with which the values of hooks and webhooks are judged.

    Raises:
        UserError: something cannot be as it is wanted; nothing was changed.
    """
    options = options or ApplyOptions()
    refuse(_named_twice(wanted))
    applied = apply_sets(tx, wanted, options, groups=groups, actor=actor)
    faults: list[UserError] = []
    nouns = _nouns(keys)
    if any(one.definitions for one in wanted):
        write.lock_readers(tx.conn)
    members = {
        (kind, one.name): noun.members(tx.conn, Owner(AlarmSource.FILE, one.name))
        for kind, noun in nouns.items()
        for one in wanted
        if kind in one.definitions
    }
    for kind, noun in nouns.items():
        for place, one in enumerate(wanted):
            for number, thing in enumerate(one.definitions.get(kind, ())):
                try:
                    applied.definitions.append(
                        _bring(tx, kind, noun, Owner(AlarmSource.FILE, one.name), thing, options=options)
                    )
                except UserError as refusal:
                    path = ("sets", str(place), f"{kind.value}s", str(number))
                    faults += [fault.with_prefix(*path) for fault in refusal.faults]
    # An alarm goes before the channel that it notifies.
    for kind, noun in reversed(nouns.items()):
        for one in wanted if not faults else ():
            if kind in one.definitions:
                applied.definitions += _left_over(tx, kind, noun, one, members[kind, one.name], options)
    refuse(faults)
    return applied


def _named_twice(wanted: Sequence[WantedSet]) -> Iterator[UserError]:
    seen: dict[tuple[DefinitionKind, str], str] = {}
    for place, one in enumerate(wanted):
        for kind, things in one.definitions.items():
            for number, thing in enumerate(things):
                if (kind, thing.name) in seen:
                    path = ("sets", str(place), f"{kind.value}s", str(number), "name")
                    where = f"in set '{seen[kind, thing.name]}'"
                    yield InvalidInput(f"{kind.value} '{thing.name}' is named twice, also {where}", path=path)
                seen[kind, thing.name] = one.name


def _bring(
    tx: Tx,
    kind: DefinitionKind,
    noun: _Noun,
    owner: Owner,
    wanted: Any,  # noqa: ANN401 - an alarm, a channel, a webhook or a hook
    *,
    options: ApplyOptions | None = None,
) -> PlannedDefinition:
    """Make or change something until it is as it is wanted."""
    before = noun.find(tx.conn, wanted.name)
    changes = _differences({} if before is None else noun.definition(before), noun.definition(wanted))
    whose = owner if before is None else noun.owner(before)
    if whose.source is AlarmSource.API and owner.source is AlarmSource.FILE:
        # What people made, a file may take over.
        changes = (*changes, FieldChange("set_name", None, owner.name))
    elif whose != owner:
        by = "people" if whose.name is None else f"{_OWNERS[whose.source]} '{whose.name}'"
        raise InvalidState(
            f"name: there is {_A[kind]} '{wanted.name}' of {by} already; choose another name", path=("name",)
        )
    action = TaskAction.CREATE if before is None else TaskAction.CHANGE if changes else TaskAction.KEEP
    version = None if before is None else before.version
    planned = PlannedDefinition(wanted.name, owner.name or "", action, version, changes, kind=kind)
    check_version(planned, options or ApplyOptions())
    if action is not TaskAction.KEEP:
        _check_role(tx, kind, noun)
    if before is None:
        noun.create(tx, wanted, owner)
    elif changes:
        noun.change(tx, before, wanted, owner)
    return planned


_A: Final = {kind: f"{'an' if kind is DefinitionKind.ALARM else 'a'} {kind.value}" for kind in DefinitionKind}
_OWNERS: Final = {AlarmSource.CODE: "job", AlarmSource.FILE: "set"}


def _check_role(tx: Tx, kind: DefinitionKind, noun: _Noun) -> None:
    if tx.actor is not None and not tx.actor.role.includes(noun.needs):
        raise UserError(
            f"{kind.value}s: need the role {noun.needs.name} to be changed, and '{tx.actor.name}' has "
            f"{tx.actor.role.name}; leave them out of the file, or let an administrator apply it",
            code=ErrorCode.FORBIDDEN,
        )


def _differences(before: Mapping[str, Json], after: Mapping[str, Json]) -> tuple[FieldChange, ...]:
    return tuple(
        FieldChange(name, _shown(name, before.get(name)), _shown(name, after.get(name)))
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    )


def _shown(name: str, value: Json) -> Json:
    """Return a value as a plan shows it: a secret may follow the path of a URL."""
    return str(value).partition("?")[0] if name == "url" and value is not None else value


def _left_over(
    tx: Tx, kind: DefinitionKind, noun: _Noun, wanted: WantedSet, members: Sequence[Any], options: ApplyOptions
) -> list[PlannedDefinition]:
    names = {one.name for one in wanted.definitions[kind]}
    action = TaskAction.ARCHIVE if options.prune else TaskAction.LEFT_OVER
    planned: list[PlannedDefinition] = []
    for one in members:
        if one.name not in names:
            planned.append(PlannedDefinition(one.name, wanted.name, action, one.version, kind=kind))
            check_version(planned[-1], options)
            if options.prune:
                _check_role(tx, kind, noun)
                noun.remove(tx, one)
    return planned
