"""Change tasks, each action in one transaction."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from itertools import zip_longest
from typing import Any

from ..core.actor import CODE, Actor
from ..core.arguments.revisions import Revised, RevisedKind, task_values
from ..core.base.errors import (
    AlreadyExists,
    ErrorCode,
    InvalidSchedule,
    InvalidState,
    Overlap,
    UserError,
    VersionConflict,
    refuse,
)
from ..core.base.resources import carrying, resource_faults
from ..core.base.times import time_text
from ..core.defaults import FROM_ARGUMENTS, TASK_POLICIES, task_of_job
from ..core.events import EventKind
from ..core.model import Json, OverlapPolicy, Run, ScheduleSpec, SkipReason, Task, TaskSource, TaskSpec, Trigger
from ..core.occurrences import Skip, due_of, effective, effective_overlap, first_occurrence, overlap_limit
from ..core.rules import (
    MAX_NAME,
    check_reason,
    check_resume,
    check_text,
    resource_place_faults,
    task_faults,
    unknown,
    window_faults,
)
from ..core.schedule import ScheduleError, Syntax, parse
from ..queue.base.changes import task_change
from ..queue.base.skips import record_skips
from ..queue.cancel import cancel_all, hold_runs_of_tasks
from ..queue.due_tasks import Moved, move, unfinished_counts
from ..queue.limits.admission import change_task_rate
from ..queue.occurrences import catch_up, new_run
from ..store.db.transaction import Tx, Wake
from ..store.schema.rows import NOT_PAUSED, declared_values, spec_values
from ..store.statements import jobs
from ..store.statements import jobs as stored_jobs
from ..store.statements import runs as run_store
from ..store.statements import tasks as stored_tasks
from ..store.statements.jobs import Schema
from .idempotent import account_of, check_submitter
from .runs import check_job_args, job_faults, published, put_new, version_for

BY_CODE = "code"
"""Stands for the code that paused a task: it is declared paused, or its job declares no schedule any more."""
DECLARED = frozenset({*TASK_POLICIES, "args"})
"""Settings that a declared task takes from its code until somebody sets them."""
_TIMING = frozenset({"schedule", "start_at", "end_at", "jitter"})
_REQUIRED = TaskSpec(name="", job_name="", schedule=ScheduleSpec(Syntax.CRON, ""))
_DEFAULTS: Mapping[str, Any] = {one.name: getattr(_REQUIRED, one.name) for one in fields(TaskSpec)}


def create_task(tx: Tx, spec: TaskSpec, *, source: TaskSource = TaskSource.API, submitter: str | None = None) -> Task:
    """Store a new task; its first occurrence is strictly after now.

    Raises:
        UserError: a field is wrong, the job or its arguments are unknown, or the name is taken.
            If several things are wrong, all are reported.
    """
    return _create(tx, [spec], [()], source, submitter)[0]


def create_tasks(
    tx: Tx, specs: Sequence[TaskSpec], *, source: TaskSource = TaskSource.API, submitter: str | None = None
) -> list[Task]:
    """Create many tasks as ``create_task`` does, all or none, in a few statements.

    Raises:
        UserError: see ``create_task``, with the place in ``tasks`` in the path.
    """
    return _create(tx, specs, [("tasks", str(place)) for place in range(len(specs))], source, submitter)


def _create(
    tx: Tx, specs: Sequence[TaskSpec], paths: Sequence[tuple[str, ...]], source: TaskSource, submitter: str | None
) -> list[Task]:
    check_submitter(tx, (spec.job_name for spec in specs))
    schemas = published(tx, {spec.job_name for spec in specs})
    specs = [task_of_job(one, schemas[one.job_name].defaults) if one.job_name in schemas else one for one in specs]
    firsts = _firsts(specs, tx.now)
    refuse(
        fault.with_prefix(*path)
        for path, spec, (_, of_schedule) in zip(paths, specs, firsts, strict=True)
        for fault in _faults_of_new(tx, spec, schemas, of_schedule)
    )
    rows = [
        _row(tx, one, first, source=source, submitter=submitter, signature=_signature(schemas, one))
        for one, (first, _) in zip(specs, firsts, strict=True)
    ]
    created = _insert(tx, rows)
    for path, spec, task in zip_longest(paths, specs, created):
        if task is None or task.name != spec.name:
            raise _taken(spec.name).with_prefix(*path)
    return created


def _signature(schemas: Mapping[str, Schema], spec: TaskSpec) -> str:
    return version_for(schemas[spec.job_name], spec.job_name, spec.args).signature


def _firsts(specs: Sequence[TaskSpec], now: datetime) -> list[tuple[datetime | None, Sequence[UserError]]]:
    """Return the first occurrence of each new task, and the faults of its schedule. Equal schedules are judged once."""
    known: dict[tuple[object, ...], tuple[datetime | None, Sequence[UserError]]] = {}
    found: list[tuple[datetime | None, Sequence[UserError]]] = []
    for spec in specs:
        timing = (spec.schedule, spec.start_at, spec.end_at)
        judged = known.get(timing)
        if judged is None:
            judged = known[timing] = _judged_first(spec, spec.start_at or now, now)
        found.append(judged)
    return found


def _faults_of_new(
    tx: Tx, spec: TaskSpec, schemas: Mapping[str, Schema], of_schedule: Sequence[UserError]
) -> list[UserError]:
    faults = [*task_faults(spec), *job_faults(schemas, spec.job_name, spec.args), *of_schedule]
    faults += _faults_of_resources(spec, schemas)
    # A name that cannot be is not looked for.
    if faults and all(fault.path != ("name",) for fault in faults) and stored_tasks.by_name(tx.conn, spec.name):
        faults.insert(0, _taken(spec.name))
    return faults


def _faults_of_resources(spec: TaskSpec, schemas: Mapping[str, Schema]) -> Iterator[UserError]:
    if spec.job_name in schemas:
        yield from resource_place_faults(spec.resources, spec.job_name, schemas[spec.job_name].isolation)


def _taken(name: str) -> AlreadyExists:
    return AlreadyExists(f"task '{name}' exists already; change that one, or choose another name", path=("name",))


def check_task_version(tx: Tx, name: str, expected: int) -> None:
    """Lock a task, and refuse a change of it if it was edited since the caller read it.

    Raises:
        NotFound: there is no such task.
        VersionConflict: it is at another version.
    """
    task = locked(tx, name)
    if expected != task.version:
        raise VersionConflict(
            f"expectedVersion: task '{name}' is at version {task.version}, got {expected}; "
            "read it again and repeat the change on the new version",
            path=("expectedVersion",),
            current=task,
        )


def update_task(tx: Tx, name: str, changes: Mapping[str, Any], *, actor: str | None = None) -> Task:
    """Change fields of a task; occurrences due until now are caught up with under the old definition first.

    Queued and running runs keep the arguments, group and limits they were made with.

    Args:
        name: Which task; the name itself cannot change.
        changes: Field names of ``TaskSpec`` to new values; None = the job's default, or else the product's.
        actor: Who edits; noted as the one who paused, if ``enabled`` becomes false, and as the submitter, in whose name
            the task runs, if its job or arguments change.
    """
    task = catch_up(tx, locked(tx, name))
    spec = edited(tx, task.spec, changes)
    faults: list[UserError] = list(task_faults(spec))
    rebound = spec.job_name != task.spec.job_name or spec.args != task.spec.args
    asked = spec.resources if rebound or spec.resources != task.spec.resources else None
    schemas = published(tx, {spec.job_name}) if rebound or asked else {}
    faults += _faults_of_resources(spec, schemas)
    if rebound:
        faults += job_faults(schemas, spec.job_name, spec.args)
    if spec.schedule != task.spec.schedule:
        faults += _schedule_faults(spec, _anchor_of(task, spec, tx.now), tx.now)
    refuse(faults)
    values = {**spec_values(spec), **_retimed(tx, task, spec), **_paused(tx, task, spec, actor)}
    if rebound:
        check_submitter(tx, [spec.job_name])
        values["signature"] = _signature(schemas, spec)
        # Nobody may have something done with the rights of the account that made the task. Without an actor it is a
        # file that this server reads itself, which is trusted as job code is.
        values |= {"submitter": actor, "submitter_id": account_of(tx)}
    if spec.schedule != task.spec.schedule and task.source is TaskSource.CODE:
        values["overridden"] = spec.schedule != task.declared
    if spec.rate != task.spec.rate:
        change_task_rate(tx, task.id, spec.rate)
    _record_left_out(tx, task, spec)
    return set_columns(tx, task, values)


def edited(tx: Tx, spec: TaskSpec, changes: Mapping[str, Any]) -> TaskSpec:
    """Return ``spec`` after an edit: a set field no longer follows the job, a policy set to None does so again."""
    filled: dict[str, Any] = {key: _DEFAULTS[key] if value is None else value for key, value in changes.items()}
    given_up = {key for key, value in changes.items() if value is None and key in TASK_POLICIES}
    edited = replace(spec, **filled, inherits=spec.inherits.difference(filled).union(given_up))
    if not edited.inherits or not (given_up or edited.job_name != spec.job_name):
        return edited
    return task_of_job(edited, jobs.defaults(tx.conn, [edited.job_name])[edited.job_name])


def pause_task(
    tx: Tx, name: str, *, reason: str | None = None, actor: str | None = None, until: datetime | None = None
) -> Task:
    """Stop a task from making runs; its occurrences are recorded as skipped. Pausing twice keeps the newer reason.

    With ``until`` the pause ends by itself: an occurrence at that time becomes a run.

    Raises:
        InvalidInput: that time is not in the future, or the reason is too long.
    """
    check_reason(reason)
    check_resume(until, tx.now)
    task = catch_up(tx, locked(tx, name))
    since = {"enabled": False, "paused_at": task.paused_at or tx.now}
    values = {**since, "paused_by": actor, "pause_reason": reason, "resume_at": until}
    return set_columns(tx, task, values)


def resume_task(tx: Tx, name: str, *, actor: str | None = None) -> Task:
    """Let a paused task make runs again from its next occurrence on; occurrences within the pause stay skipped."""
    del actor
    task = catch_up(tx, locked(tx, name))
    values: dict[str, Any] = {"enabled": True, **NOT_PAUSED}
    if task.finished:
        # A task that was set aside because its schedule could not be computed, or one that is really over.
        occurrence = _first_of(task.spec, task.anchor_at, tx.now)
        due = effective(task.id, task.spec.jitter, occurrence)
        values |= {"next_nominal": occurrence, "next_execution": due}
    return set_columns(tx, task, values)


def reset_task(tx: Tx, name: str, *, actor: str | None = None) -> Task:
    """Give a task that is declared in code its declared settings: schedule, arguments, policies, rate and resources.

    Raises:
        InvalidState: the task is not declared in code.
    """
    del actor
    task = catch_up(tx, locked(tx, name))
    if task.source is not TaskSource.CODE or task.declared is None:
        raise InvalidState(
            f"task '{name}' is not declared in code (source {task.source.name}), so there is nothing to reset it to",
            path=("name",),
        )
    of_job: dict[str, Any] = {"inherits": DECLARED, "rate": None, "resources": None}
    declared = replace(task.spec, schedule=task.declared, args=task.declared_args or {}, **of_job)
    spec = task_of_job(declared, jobs.defaults(tx.conn, [declared.job_name])[declared.job_name])
    if task.spec.rate is not None:
        change_task_rate(tx, task.id, None)
    return set_columns(tx, task, {**spec_values(spec), **_retimed(tx, task, spec), "overridden": False})


def trigger_task(
    tx: Tx,
    name: str,
    *,
    args: dict[str, Json] | None = None,
    actor: str | None = None,
    resources: Mapping[str, Json] | None = None,
) -> Run:
    """Make a run of a task now. The schedule does not move; the overlap policy holds.

    Args:
        args: The arguments of this run; None = those of the task.
        actor: Who asks.
        resources: Those of this run at its engine, over those of the task.

    Raises:
        Overlap: policy SKIP or a full QUEUE, or an unfinished run has the same unique key; names that run.
        InvalidInput: the arguments do not fit the job, or the resources make no sense.
    """
    found = stored_tasks.by_names(tx.conn, [name]).values()
    hold_runs_of_tasks(tx, (one for one in found if effective_overlap(one.spec) is OverlapPolicy.REPLACE))
    task = locked(tx, name)
    schema = check_job_args(tx, task.spec.job_name, task.spec.args if args is None else args)
    if resources is not None:
        refuse([*resource_faults(resources), *resource_place_faults(resources, task.spec.job_name, schema.isolation)])
    policy = effective_overlap(task.spec)
    count, oldest = unfinished_counts(tx.conn, [task.id]).get(task.id, (0, None))
    limit = overlap_limit(policy)
    if limit is not None and count >= limit:
        unfinished = "is unfinished" if count == 1 else f"and {count - 1} more are unfinished"
        raise Overlap(
            f"task '{name}' has overlap policy {policy.name} and its run {oldest} {unfinished}; "
            "wait for it, cancel it, or set overlap to ALLOW",
            path=("name",),
            run_id=oldest,
        )
    if policy is OverlapPolicy.REPLACE and count:
        older = run_store.unfinished_of_tasks(tx.conn, [task.id])
        cancel_all(tx, older, reason=f"replaced by a run triggered by hand{by(actor)}")
    run = replace(new_run(task, Trigger.MANUAL, args=args), signature=schema.signature, inherits=FROM_ARGUMENTS)
    run = replace(run, carried=carrying(run.carried, resources))
    if actor:
        run = replace(run, submitter=actor, submitter_id=account_of(tx))
    return put_new(tx, run, f"task '{name}'")


def declare_new(tx: Tx, specs: Sequence[TaskSpec]) -> list[Task]:
    """Write schedules that are declared in code as tasks; those whose names are taken are left out."""
    rows = [
        _row(tx, one, _first_of(one, tx.now, tx.now), source=TaskSource.CODE, submitter=None, declared=one)
        for one in specs
    ]
    return _insert(tx, rows)


def follow_declaration(tx: Tx, task: Task, spec: TaskSpec) -> Task:
    """Give a task its presently declared settings; settings by an operator stay in force."""
    declared: dict[str, Any] = {**declared_values(spec.schedule), "declared_args": spec.args}
    followed = replace(task.spec, description=spec.description)
    if "args" in task.spec.inherits:
        followed = replace(followed, args=spec.args)
    if not task.overridden:
        followed = replace(followed, schedule=spec.schedule)
    return set_columns(tx, task, {**declared, **spec_values(followed), **_retimed(tx, task, followed)}, actor=CODE)


def follow_defaults(tx: Tx, job_names: Sequence[str]) -> None:
    """Give the tasks of jobs whose defaults have changed those that they inherit."""
    defaults = jobs.defaults(tx.conn, job_names)
    for task in stored_tasks.of_jobs(tx.conn, job_names):
        spec = task_of_job(task.spec, defaults[task.spec.job_name])
        if spec != task.spec:
            set_columns(tx, task, spec_values(spec), actor=CODE)


def locked(tx: Tx, name: str) -> Task:
    """Return the task of this name, which nobody else changes or dispatches until the transaction ends.

    Raises:
        NotFound: there is none.
    """
    task = stored_tasks.by_name(tx.conn, name, lock=True)
    if task is None:
        raise unknown("task", name, stored_tasks.names_like(tx.conn, name))
    return task


def _row(
    tx: Tx,
    spec: TaskSpec,
    first: datetime | None,
    *,
    source: TaskSource,
    submitter: str | None,
    declared: TaskSpec | None = None,
    signature: str | None = None,
) -> dict[str, Any]:
    """Return the columns of a new task, whose first occurrence is known."""
    return {
        **spec_values(spec),
        **declared_values(None if declared is None else declared.schedule),
        "declared_args": None if declared is None else declared.args,
        "source": source.value,
        "submitter": submitter,
        "submitter_id": account_of(tx) if submitter else None,
        "overridden": False,
        "anchor_at": spec.start_at or tx.now if declared is None else tx.now,
        "next_nominal": first,
        # Without jitter at first: the offset comes from the id, which is known only after the insert.
        "next_execution": first,
        "paused_at": None if spec.enabled else tx.now,
        "paused_by": None if spec.enabled else BY_CODE if source is TaskSource.CODE else submitter,
        "counter": 0,
        "signature": signature,
        "version": 1,
        "created_at": tx.now,
        "updated_at": tx.now,
    }


def _insert(tx: Tx, rows: Sequence[Mapping[str, Any]]) -> list[Task]:
    """Store new tasks; those whose names are free, in their order."""
    created = stored_tasks.create(tx.conn, rows) if rows else []
    delayed = {
        one.id: Moved(one.id, one.next_nominal, effective(one.id, one.spec.jitter, one.next_nominal), None, 0)
        for one in created
        if one.spec.jitter > 0
    }
    if delayed:
        move(tx.conn, list(delayed.values()))
        created = [
            replace(one, next_execution=delayed[one.id].next_execution) if one.id in delayed else one for one in created
        ]
    tx.emit(task_change(EventKind.TASK_CREATED, one) for one in created)
    for one in created:
        revise(tx, None, one, CODE if one.source is TaskSource.CODE else None)
    if created:
        tx.wake(Wake.TASKS)
    return created


def revise(tx: Tx, before: Task | None, after: Task | None, actor: Actor | None = None) -> None:
    """Record a revision of a task that was made (``before`` None), changed, or deleted (``after`` None)."""
    task = after or before
    if task is not None:
        values = [None if one is None else task_values(one) for one in (before, after)]
        tx.revise(Revised(RevisedKind.TASK, task.name, task.spec.job_name), *values, actor=actor)


def set_columns(tx: Tx, task: Task, values: Mapping[str, Any], *, actor: Actor | None = None) -> Task:
    """Set columns of a task. An input that changes nothing is no edit: no new version, nothing to tell.

    ``actor`` is who does it, unless it is who asked for the transaction.
    """
    if values.items() <= stored_tasks.edited_values(task).items():
        return task
    changed = stored_tasks.change(tx.conn, task.id, {**values, "version": task.version + 1, "updated_at": tx.now})
    tx.emit([task_change(EventKind.TASK_UPDATED, changed)])
    revise(tx, task, changed, actor)
    tx.wake(Wake.TASKS)
    return changed


def by(actor: str | None) -> str:
    """Return `` by ada`` for the end of a reason, or nothing if nobody knows who did it."""
    return f" by {actor}" if actor else ""


def _is_inside(spec: TaskSpec, occurrence: datetime) -> bool:
    """Return whether an occurrence is within ``startAt`` and ``endAt``, both included."""
    return (spec.start_at is None or occurrence >= spec.start_at) and (spec.end_at is None or occurrence <= spec.end_at)


def _record_left_out(tx: Tx, task: Task, spec: TaskSpec) -> None:
    """Record the announced next occurrence as skipped if a moved window leaves it out."""
    announced = task.next_nominal
    if announced is None or spec.schedule != task.spec.schedule:
        return
    if not _is_inside(spec, announced):
        window = {
            "startAt": None if spec.start_at is None else time_text(spec.start_at),
            "endAt": None if spec.end_at is None else time_text(spec.end_at),
        }
        skip = Skip(SkipReason.WINDOW, announced, announced, 1, window)
        record_skips(tx, due_of(task), (skip,), None, node=None, blockers={})


def _paused(tx: Tx, task: Task, spec: TaskSpec, actor: str | None) -> dict[str, Any]:
    """Return the columns that say who paused the task, if ``enabled`` changes."""
    if spec.enabled == task.spec.enabled:
        return {}
    if spec.enabled:
        return dict(NOT_PAUSED)
    return {**NOT_PAUSED, "paused_at": tx.now, "paused_by": actor}


def _first_of(spec: TaskSpec, anchor: datetime, now: datetime) -> datetime | None:
    """Return the first occurrence after now; refuses a string that is no schedule."""
    try:
        schedule = parse(spec.schedule.syntax, spec.schedule.value, spec.schedule.timezone, anchor=anchor)
    except ScheduleError as error:
        raise _schedule_fault(error) from error
    return first_occurrence(spec, schedule, now)


def _schedule_faults(spec: TaskSpec, anchor: datetime, now: datetime) -> Sequence[UserError]:
    """Return the faults of a schedule: it cannot be read, or has no occurrence after now in its window."""
    return _judged_first(spec, anchor, now)[1]


def _judged_first(spec: TaskSpec, anchor: datetime, now: datetime) -> tuple[datetime | None, Sequence[UserError]]:
    """Return the first occurrence after now, and ``_schedule_faults``."""
    try:
        occurrence = _first_of(spec, anchor, now)
    except UserError as error:
        return None, (error,)
    # A window that ends before it begins is empty, but that is a fault of the window.
    if occurrence is None and not any(window_faults(spec.start_at, spec.end_at)):
        return None, (_never_fires(spec, now),)
    return occurrence, ()


def _schedule_fault(error: ScheduleError) -> InvalidSchedule:
    """Return a refused schedule as an error of the API: the sentence with the suggestion, and where the fault is."""
    hint = f" (suggestion: {error.suggestion})" if error.suggestion and error.suggestion not in error.message else ""
    field = "timezone" if error.field == "timezone" else "value"
    return InvalidSchedule(f"{error.message}{hint}", path=("schedule", field), code=error.code, fault=error)


def _never_fires(spec: TaskSpec, now: datetime) -> InvalidSchedule:
    window = " inside startAt and endAt" if spec.start_at or spec.end_at else ""
    return InvalidSchedule(
        f"schedule: '{spec.schedule.value}' has no occurrence after {time_text(now)}{window}; "
        "choose a time in the future",
        path=("schedule", "value"),
        code=ErrorCode.NEVER_FIRES,
    )


def _retimed(tx: Tx, task: Task, spec: TaskSpec) -> dict[str, Any]:
    """Return the columns that follow from a changed schedule, window or jitter; an edited INTERVAL gets a new anchor.

    An occurrence whose time has passed, and which only its jitter delays, stays the next one of the same schedule.
    """
    if all(getattr(spec, name) == getattr(task.spec, name) for name in _TIMING):
        return {}
    anchor = _anchor_of(task, spec, tx.now)
    occurrence = _first_of(spec, anchor, tx.now)
    delayed = task.next_nominal
    is_same = spec.schedule == task.spec.schedule and anchor == task.anchor_at
    if is_same and delayed is not None and delayed <= tx.now and _is_inside(spec, delayed):
        occurrence = delayed
    return {
        "anchor_at": anchor,
        "next_nominal": occurrence,
        "next_execution": effective(task.id, spec.jitter, occurrence),
    }


def _anchor_of(task: Task, spec: TaskSpec, now: datetime) -> datetime:
    """Return where the grid of an INTERVAL begins once the task is as ``spec`` says."""
    moved = spec.schedule != task.spec.schedule or spec.start_at != task.spec.start_at
    return (spec.start_at or now) if spec.schedule.syntax.is_anchored and moved else task.anchor_at


@dataclass(frozen=True, slots=True)
class DeletedTask:
    """Hold the results of a deletion.

    Attributes:
        runs: Its runs that were cancelled or asked to stop, as they are now.
    """

    task: Task
    runs: list[Run]


def delete_task(tx: Tx, name: str, *, actor: str | None = None) -> DeletedTask:
    """Delete a task: its waiting runs are cancelled, running ones are asked to stop, its history stays.

    Raises:
        InvalidState: a live node declares the task in its code; it can only be paused.
    """
    hold_runs_of_tasks(tx, stored_tasks.by_names(tx.conn, [name]).values())
    task = locked(tx, name)
    nodes = stored_jobs.declaring(tx.conn, [name]).get(name) if task.source is TaskSource.CODE else None
    if nodes:
        raise InvalidState(
            f"task '{name}' is declared in the code of {_nodes(nodes)} and would come back at the next start; pause it "
            "instead, or take its schedule out of the code first",
            path=("name",),
            code=ErrorCode.CODE_TASK,
        )
    task = catch_up(tx, task)
    return DeletedTask(task, _delete(tx, task, f"task '{name}' was deleted{by(actor)}"))


def delete_tasks_of_owner(tx: Tx, owner: str, *, actor: str | None = None) -> list[Task]:
    """Delete all tasks of an owner that no live node declares in code, as ``delete_task`` does; return them.

    Raises:
        InvalidInput: the owner is empty or no name of one.
    """
    check_text(owner, "owner", least=1, most=MAX_NAME)
    hold_runs_of_tasks(tx, stored_tasks.of_owner(tx.conn, owner))
    owned = stored_tasks.of_owner(tx.conn, owner, lock=True)
    declared = stored_jobs.declaring(tx.conn, {task.name for task in owned if task.source is TaskSource.CODE})
    doomed = [task for task in owned if task.source is not TaskSource.CODE or task.name not in declared]
    for task in doomed:
        _delete(tx, catch_up(tx, task), f"the tasks of owner '{owner}' were deleted{by(actor)}")
    return doomed


def _nodes(names: Sequence[str]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"node '{names[0]}'{more}"


def _delete(tx: Tx, task: Task, reason: str) -> list[Run]:
    runs = cancel_all(tx, run_store.unfinished_of_tasks(tx.conn, [task.id]), reason=reason)
    stored_tasks.remove(tx.conn, task.id)
    revise(tx, task, None)
    tx.emit([task_change(EventKind.TASK_DELETED, task)])
    tx.wake(Wake.TASKS)
    return runs
