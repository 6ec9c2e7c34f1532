"""Tasks that are defined together, and limits of groups, follow files, all in one transaction or none."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..accounts.statements.audit import MOST_UNDONE, later_revisions, revision
from ..core.actor import Entry, described
from ..core.admission.caps import Rate
from ..core.arguments.revisions import Revised, RevisedKind, limits_back, settings_back
from ..core.base.errors import InvalidInput, InvalidState, NotFound, UserError, VersionConflict, refuse
from ..core.defaults import TASK_POLICIES
from ..core.model import Json, Task, TaskSource, TaskSpec
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
from ..queue.occurrences import catch_up_some
from ..store.db.transaction import Tx
from ..store.statements import groups
from ..store.statements import groups as stored_groups
from ..store.statements import tasks as stored_tasks
from .groups import change_limits, set_job_rate
from .tasks import (
    BY_CODE,
    check_task_version,
    create_tasks,
    declare_new,
    delete_task,
    edited,
    follow_declaration,
    locked,
    pause_task,
    resume_task,
    set_columns,
    update_task,
)

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
    stored_tasks.lock_sets(tx.conn)
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
    stored_tasks.put_into_sets(
        tx.conn, {task.id: set_name for task, (_, set_name, _) in zip(made, plan.made, strict=True)}
    )


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


_BY: Final = ("id",)


def revert_to(tx: Tx, number: int, *, expected: int | None = None, actor: str | None = None) -> Revised:
    """Give a thing the settings that it had after a revision; pauses stay as they are.

    It is an edit like any other, and a revision itself. Hidden values of arguments stay as they are now.

    Args:
        number: Of the revision's entry in the audit log.
        expected: The version that the task must still have, or the limits of the group.
        actor: Who edits.

    Raises:
        UserError: there is no such revision, the thing was deleted since or changed meanwhile, or it cannot be as it
            was then.
    """
    entry = revision(tx.conn, number)
    if entry is None or entry.subject is None or entry.revised is None:
        raise NotFound(f"there is no revision {number}", path=_BY)
    thing = Revised(RevisedKind(entry.revised), entry.subject, entry.job_name)
    values = _values_then(tx, entry)
    if thing.kind is RevisedKind.TASK:
        if expected is not None:
            check_task_version(tx, thing.name, expected)
        settings = settings_back(locked(tx, thing.name).spec, values)
        update_task(tx, thing.name, settings, actor=actor)
    elif thing.kind is RevisedKind.GROUP:
        _check_limits(tx, thing.name, expected)
        change_limits(tx, thing.name, limits_back(values))
    else:
        _set_rate_back(tx, thing.name, expected, values)
    return thing


def _values_then(tx: Tx, entry: Entry) -> dict[str, Json]:
    """Return the fields that were changed after a revision, with their values after it."""
    later = later_revisions(tx.conn, entry)
    if len(later) > MOST_UNDONE:
        raise InvalidState(f"it was changed more than {MOST_UNDONE:,} times since", path=_BY)
    values: dict[str, Json] = {}
    for one in later:
        before = described(one.before)
        if not isinstance(before, dict) or one.after is None:
            raise InvalidState(f"{entry.revised} '{entry.subject}' was deleted since that revision", path=_BY)
        values.update(before)  # pyright: ignore[reportUnknownArgumentType]
    if entry.after is None:
        raise InvalidState(f"{entry.revised} '{entry.subject}' was deleted by that revision", path=_BY)
    return values


def _check_limits(tx: Tx, name: str, expected: int | None) -> None:
    group = groups.locked(tx.conn, name)
    if expected is not None and expected != version_of(group):
        raise VersionConflict(
            f"expectedVersion: the limits of group '{name}' are at version {version_of(group)}, got {expected}; read "
            "the group again",
            path=("expectedVersion",),
        )


def _set_rate_back(tx: Tx, name: str, expected: int | None, values: dict[str, Json]) -> None:
    if expected is not None:
        raise InvalidInput("expectedVersion: a job has no version; leave it out", path=("expectedVersion",))
    if "rate" in values:
        rate = values["rate"]
        set_job_rate(tx, name, rate=None if rate is None else Rate.from_json(rate))


_CAUGHT_UP = 60.0
"""Seconds: occurrences due longer ago are left to the dispatcher, so that no start waits for a long downtime."""


@dataclass(frozen=True, slots=True)
class Declared:
    """Hold the results of the declarations.

    Attributes:
        warnings: For people.
        postponed: Tasks that have to catch up with missed occurrences before they follow their new declaration; declare
            again once the dispatcher has seen to that.
    """

    warnings: tuple[str, ...]
    postponed: tuple[str, ...]


def declare_tasks(tx: Tx, declarations: Sequence[TaskSpec], job_names: Collection[str]) -> Declared:
    """Write the schedules declared in code as tasks; called at start, and idempotent across nodes.

    A new declaration becomes a task; a changed one is followed, unless an operator overrode the schedule. A task whose
    job is still there but declares no schedule any more is paused, until its job declares one again. Occurrences due
    until now are decided under the old definition; a task that is far behind is left as it is until the dispatcher has
    caught up.

    Args:
        declarations: One per job that declares a schedule; the task has the job's name.
        job_names: All jobs that this node knows.
    """
    postponed: list[str] = []
    declared = {spec.name: spec for spec in declarations}
    existing = {task.name: task for task in stored_tasks.declared(tx.conn)}
    warnings = _declare_new(tx, [spec for spec in declarations if spec.name not in existing])
    for name, task in existing.items():
        wanted = declared.get(name)
        ours = wanted is not None or task.spec.job_name in job_names
        if ours and _differs(task, wanted) and not _bring_declared(tx, task, wanted):
            postponed.append(name)
    return Declared(tuple(warnings), tuple(postponed))


def _declare_new(tx: Tx, specs: Sequence[TaskSpec]) -> list[str]:
    """Make missing tasks; warn of each whose name is taken by a task that was made otherwise."""
    written = {task.name for task in declare_new(tx, specs)}
    return [
        f"job '{spec.job_name}' declares a schedule, but a task of its name exists already and was made through the "
        "API; delete or rename that task to let the declared one in"
        for spec in specs
        if spec.name not in written and not _is_declared(stored_tasks.by_name(tx.conn, spec.name))
    ]


def _is_declared(task: Task | None) -> bool:
    return task is not None and task.source is TaskSource.CODE


def _differs(task: Task, spec: TaskSpec | None) -> bool:
    if spec is None:
        return task.spec.enabled and not task.overridden
    return _is_other(task, spec) or _is_to_resume(task, spec)


def _is_other(task: Task, spec: TaskSpec) -> bool:
    declared = (task.declared, task.declared_args, task.spec.description)
    return declared != (spec.schedule, spec.args, spec.description)


def _is_to_resume(task: Task, spec: TaskSpec) -> bool:
    return task.paused and task.paused_by == BY_CODE and spec.enabled


def _bring_declared(tx: Tx, task: Task, spec: TaskSpec | None) -> bool:
    """Update a task to its declaration; False if it is too far behind for that now."""
    due = task.next_execution
    if due is not None and (tx.now - due).total_seconds() > _CAUGHT_UP:
        return False
    task = catch_up_some(tx, task)
    if task.next_execution is not None and task.next_execution <= tx.now:
        return False
    if spec is None:
        pause_task(tx, task.name, reason="its job declares no schedule any more", actor=BY_CODE)
        return True
    if _is_other(task, spec):
        task = follow_declaration(tx, task, spec)
    if _is_to_resume(task, spec):
        resume_task(tx, task.name, actor=BY_CODE)
    return True
