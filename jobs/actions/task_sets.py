"""Tasks that are defined together, and limits of groups, follow files, all in one transaction or none."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.base.errors import InvalidInput, UserError, refuse
from ..core.defaults import TASK_POLICIES
from ..core.model import Task, TaskSource, TaskSpec
from ..core.rules import check_name, name_faults
from ..core.task_sets import (
    AT_CREATION,
    MOST_WANTED,
    ApplyOptions,
    FieldChange,
    PlannedDefinition,
    PlannedGroup,
    PlannedTask,
    TaskAction,
    WantedGroup,
    WantedSet,
    WantedTask,
    changes_between,
    changes_of,
    check_archive,
    check_group_version,
    check_version,
    conflict_of,
    limits_that_differ,
    version_of,
)
from ..queue.cancel import hold_runs_of_tasks
from ..store.db.transaction import Tx
from ..store.read import tasks as stored_tasks
from ..store.write import groups as stored_groups
from ..store.write import tasks
from .groups import change_limits
from .tasks import create_tasks, delete_task, edited, set_columns, update_task

Path = tuple[str, ...]


@dataclass(slots=True)
class Applied:
    """Hold the changes that were made, or would be.

    Attributes:
        tasks: With each task, by set and name.
        groups: With each group that files name.
        definitions: With each channel, webhook, hook and alarm.
    """

    tasks: list[PlannedTask] = field(default_factory=list[PlannedTask])
    groups: list[PlannedGroup] = field(default_factory=list[PlannedGroup])
    definitions: list[PlannedDefinition] = field(default_factory=list[PlannedDefinition])


@dataclass(slots=True)
class _Plan:
    """Plan the changes of the tasks of all sets and of groups, and gather the faults."""

    options: ApplyOptions
    actor: str | None
    applied: Applied = field(default_factory=Applied)
    made: list[tuple[Path, str, TaskSpec]] = field(default_factory=list[tuple[Path, str, TaskSpec]])
    faults: list[UserError] = field(default_factory=list[UserError])


def apply_sets(
    tx: Tx,
    wanted: Sequence[WantedSet],
    options: ApplyOptions | None = None,
    *,
    groups: Sequence[WantedGroup] = (),
    actor: str | None = None,
) -> Applied:
    """Make, change and archive tasks until the sets are as they are wanted, and set limits of groups.

    A task that exists through the API, and is of no set, becomes one of the set that names it.

    Args:
        wanted: The sets; others are left alone.
        options: How; by default nothing is archived.
        groups: Groups with the limits that they shall have; other groups, and other limits, are left alone.
        actor: In whose name.

    Raises:
        UserError: a task or a group cannot be as it is wanted; all faults are reported, and nothing was changed.
    """
    options = options or ApplyOptions()
    refuse(_too_many(wanted))
    refuse([*_faults_of_names(wanted), *_groups_named_twice(groups)])
    plan = _Plan(options, actor)
    tasks.lock_sets(tx.conn)
    # Groups before tasks, and runs before both (decision 34).
    hold_runs_of_tasks(tx, [task for one in wanted for task in stored_tasks.of_set(tx.conn, one.name, lock=False)])
    stored_groups.hold(tx.conn, [one.name for one in groups])
    for place, one in enumerate(wanted):
        _apply(tx, one, ("sets", str(place)), plan)
    _create(tx, plan)
    for place, group in enumerate(groups):
        _limit(tx, group, ("groups", str(place)), plan)
    refuse(plan.faults)
    return plan.applied


def _too_many(wanted: Sequence[WantedSet]) -> Iterator[UserError]:
    count = sum(len(one.tasks) + sum(map(len, one.definitions.values())) for one in wanted)
    if count > MOST_WANTED:
        what = "tasks, alarms, channels, webhooks and hooks together"
        yield InvalidInput(f"sets: must have at most {MOST_WANTED:,} {what}, got {count:,}", path=("sets",))


def _faults_of_names(wanted: Sequence[WantedSet]) -> Iterator[UserError]:
    seen: dict[str, str] = {}
    sets: set[str] = set()
    for place, one in enumerate(wanted):
        for fault in name_faults(one.name, "name"):
            yield fault.with_prefix("sets", str(place))
        if one.name in sets:
            yield InvalidInput(f"set '{one.name}' is named twice", path=("sets", str(place), "name"))
        sets.add(one.name)
        for number, task in enumerate(one.tasks):
            if task.name in seen:
                where = f"in set '{seen[task.name]}'" if seen[task.name] != one.name else "in the same set"
                path = ("sets", str(place), "tasks", str(number), "name")
                yield InvalidInput(f"task '{task.name}' is named twice, also {where}", path=path)
            seen[task.name] = one.name


def _groups_named_twice(groups: Sequence[WantedGroup]) -> Iterator[UserError]:
    seen: set[str] = set()
    for place, one in enumerate(groups):
        if one.name in seen:
            yield InvalidInput(f"group '{one.name}' is named twice", path=("groups", str(place), "name"))
        seen.add(one.name)


def _limit(tx: Tx, wanted: WantedGroup, path: Path, plan: _Plan) -> None:
    """Set those limits of a group that differ."""
    try:
        check_name(wanted.name)
        group = stored_groups.locked(tx.conn, wanted.name)
        differing = limits_that_differ(group, wanted.limits)
        planned = PlannedGroup(group.name, version_of(group), changes_of(group, differing))
        check_group_version(planned, plan.options.expected_groups)
        change_limits(tx, group.name, differing)
    except UserError as refusal:
        plan.faults += [fault.with_prefix(*path) for fault in refusal.faults]
    else:
        plan.applied.groups.append(planned)


def _apply(tx: Tx, wanted: WantedSet, path: Path, plan: _Plan) -> None:
    members = {task.name: task for task in stored_tasks.of_set(tx.conn, wanted.name)}
    for place, task in enumerate(wanted.tasks):
        try:
            found = members.get(task.name) or stored_tasks.by_name(tx.conn, task.name, lock=True)
            planned = _bring(tx, wanted.name, found, task, (*path, "tasks", str(place)), plan)
        except UserError as refusal:
            plan.faults += [fault.with_prefix(*path, "tasks", str(place)) for fault in refusal.faults]
        else:
            plan.applied.tasks.append(planned)
    names = {task.name for task in wanted.tasks}
    others = [task for name, task in members.items() if name not in names]
    try:
        plan.applied.tasks += _archive(tx, wanted.name, others, len(members), plan)
    except UserError as refusal:
        plan.faults += refusal.faults


def _bring(tx: Tx, set_name: str, task: Task | None, wanted: WantedTask, path: Path, plan: _Plan) -> PlannedTask:
    """Change a task that is there; one that is not is noted, to be made with the others."""
    if task is None:
        spec = _spec_of(wanted)
        planned = PlannedTask(wanted.name, set_name, TaskAction.CREATE, None, changes_between(None, spec))
        check_version(planned, plan.options)
        plan.made.append((path, set_name, spec))
        return planned
    conflict = conflict_of(task, set_name)
    if conflict is not None:
        raise conflict
    settings = {name: value for name, value in wanted.settings.items() if name != AT_CREATION}
    changes = changes_between(task.spec, edited(tx, task.spec, settings))
    if task.set_name != set_name:
        changes = (*changes, FieldChange("set_name", task.set_name, set_name))
    action = TaskAction.CHANGE if changes else TaskAction.KEEP
    planned = PlannedTask(task.name, set_name, action, task.version, changes)
    check_version(planned, plan.options)
    if changes:
        _change(tx, task, settings, set_name, plan.actor)
    return planned


def _change(tx: Tx, task: Task, settings: dict[str, Any], set_name: str, actor: str | None) -> None:
    changed = update_task(tx, task.name, settings, actor=actor)
    if task.set_name != set_name:
        set_columns(tx, changed, {"set_name": set_name, "source": TaskSource.FILE.value})


def _spec_of(wanted: WantedTask) -> TaskSpec:
    given = {name: value for name, value in wanted.settings.items() if value is not None}
    missing = [name for name in ("job_name", "schedule") if name not in given]
    refuse(
        InvalidInput(f"task '{wanted.name}' is new and needs {word}", path=(word,))
        for word in ({"job_name": "jobName", "schedule": "schedule"}[name] for name in missing)
    )
    inherits = frozenset(TASK_POLICIES).difference(given)
    return replace(TaskSpec(wanted.name, given["job_name"], given["schedule"], inherits=inherits), **given)


def _create(tx: Tx, plan: _Plan) -> None:
    """Make all new tasks in a few statements."""
    if not plan.made:
        return
    try:
        made = create_tasks(tx, [spec for *_, spec in plan.made], source=TaskSource.FILE, submitter=plan.actor)
    except UserError as refusal:
        plan.faults += [_placed(fault, plan.made) for fault in refusal.faults]
        return
    tasks.put_into_sets(tx.conn, {task.id: set_name for task, (_, set_name, _) in zip(made, plan.made, strict=True)})


def _placed(fault: UserError, made: Sequence[tuple[Path, str, TaskSpec]]) -> UserError:
    _, place, *rest = fault.path
    fault.path = (*made[int(place)][0], *rest)
    return fault


def _archive(tx: Tx, set_name: str, others: Sequence[Task], members: int, plan: _Plan) -> list[PlannedTask]:
    options = plan.options
    action = TaskAction.ARCHIVE if options.prune else TaskAction.LEFT_OVER
    planned = [PlannedTask(task.name, set_name, action, task.version) for task in others]
    if not options.prune:
        return planned
    check_archive(set_name, [task.name for task in others], members, options.allow_delete)
    for one in planned:
        check_version(one, options)
        delete_task(tx, one.name, actor=plan.actor)
    return planned
