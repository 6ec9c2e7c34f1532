"""What can be done to tasks, each in one transaction."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, replace
from datetime import datetime
from typing import Any

from ..core.codes import ErrorCode
from ..core.dispatch import Skip
from ..core.errors import AlreadyExists, InvalidInput, InvalidState, Overlap, UserError, VersionConflict, refuse
from ..core.events import EventKind
from ..core.model import Json, OverlapPolicy, Run, ScheduleSpec, SkipReason, Task, TaskSource, TaskSpec, Trigger
from ..core.occurrence import effective, first_occurrence
from ..core.policies import effective_overlap, overlap_limit
from ..core.rules import task_faults, unknown, window_faults
from ..core.schedule import ScheduleError, Syntax, parse
from ..core.wording import time_text
from ..store.db.transaction import Tx, Wake
from ..store.read import jobs
from ..store.read import runs as run_store
from ..store.read import tasks as stored_tasks
from ..store.schema.specs import declared_values, spec_values
from ..store.write import tasks
from .cancel import cancel_all
from .changes import task_change
from .dispatch import catch_up, new_run
from .runs import check_job_args, job_faults, submit
from .skips import record_skips
from .submitting import check_submitter

_REQUIRED = TaskSpec(name="", job_name="", schedule=ScheduleSpec(Syntax.CRON, ""))
_DEFAULTS: Mapping[str, Any] = {one.name: getattr(_REQUIRED, one.name) for one in fields(TaskSpec)}
_TIMING = frozenset({"schedule", "start_at", "end_at", "jitter"})


def create_task(tx: Tx, spec: TaskSpec, *, source: TaskSource = TaskSource.API, submitter: str | None = None) -> Task:
    """Store a new task; its first occurrence is strictly after now.

    Raises:
        UserError: a field is not what it must be, the job or its arguments are unknown, or the name is taken.
            If several things are wrong, all are told.
    """
    check_submitter(tx, [spec.job_name])
    anchor, schemas = spec.start_at or tx.now, jobs.schemas(tx.conn)
    faults = [*task_faults(spec), *job_faults(schemas, spec.job_name, spec.args)]
    faults += _schedule_faults(spec, anchor, tx.now)
    # A name that cannot be is not looked for.
    if faults and all(fault.path != ("name",) for fault in faults) and stored_tasks.by_name(tx.conn, spec.name):
        faults.insert(0, _taken(spec.name))
    refuse(faults)
    occurrence, signature = _first(spec, anchor, tx.now), schemas[spec.job_name].signature
    created = _insert(tx, spec, anchor, occurrence, source=source, submitter=submitter, signature=signature)
    if created is None:
        raise _taken(spec.name)
    return created


def _taken(name: str) -> AlreadyExists:
    return AlreadyExists(f"task '{name}' exists already; change it with updateTask", path=("name",))


def update_task(
    tx: Tx, name: str, changes: Mapping[str, Any], *, expected_version: int | None = None, actor: str | None = None
) -> Task:
    """Change fields of a task; what is due until now is caught up with under the old definition first.

    Queued and running runs keep the arguments, group and limits they were made with.

    Args:
        tx: The transaction.
        name: Which task; the name itself cannot change.
        changes: Field names of ``TaskSpec`` to new values; None = the product's default.
        expected_version: Refuse if the task was edited since this version was read.
        actor: Who edits; noted as the one who paused, if ``enabled`` becomes false, and as the submitter, in whose name
            the task runs, if what it runs changes.
    """
    task = catch_up(tx, locked(tx, name))
    if expected_version is not None and expected_version != task.version:
        raise VersionConflict(
            f"expectedVersion: task '{name}' is at version {task.version}, got {expected_version}; "
            "read it again and repeat the change on what it is now",
            path=("expectedVersion",),
        )
    filled: dict[str, Any] = {key: _DEFAULTS[key] if value is None else value for key, value in changes.items()}
    spec = replace(task.spec, **filled)
    faults: list[UserError] = list(task_faults(spec))
    rebound = spec.job_name != task.spec.job_name or spec.args != task.spec.args
    schemas = jobs.schemas(tx.conn) if rebound else {}
    if rebound:
        faults += job_faults(schemas, spec.job_name, spec.args)
    if spec.schedule != task.spec.schedule:
        faults += _schedule_faults(spec, _anchor(task, spec, tx.now), tx.now)
    refuse(faults)
    values = {**spec_values(spec), **_retimed(tx, task, spec), **_paused(tx, task, spec, actor)}
    if rebound:
        check_submitter(tx, [spec.job_name])
        values["signature"] = schemas[spec.job_name].signature
        # Nobody may have something done with the rights of whoever made the task.
        values["submitter"] = actor or task.submitter
    if spec.schedule != task.spec.schedule and task.source is TaskSource.CODE:
        values["overridden"] = spec.schedule != task.declared
    _record_left_out(tx, task, spec)
    _record_changes(tx, task.spec, spec)
    return _change(tx, task, values)


def _record_changes(tx: Tx, old: TaskSpec, new: TaskSpec) -> None:
    """Put what an edit changed into the audit log; of arguments only that they changed, for they may hold secrets."""
    changed = [one.name for one in fields(old) if getattr(old, one.name) != getattr(new, one.name)]
    shown = [name for name in changed if name != "args"]
    before, after = ({name: _shown(getattr(spec, name)) for name in shown} for spec in (old, new))
    if "args" in changed:
        before["args"], after["args"] = sorted(old.args), sorted(new.args)
    tx.record("updateTask", old.name, before=before, after=after)


def _shown(value: object) -> object:
    return asdict(value) if isinstance(value, ScheduleSpec) else value


def pause_task(tx: Tx, name: str, *, reason: str | None = None, actor: str | None = None) -> Task:
    """Stop a task from making runs; its occurrences are recorded as skipped. Pausing twice keeps the newer reason."""
    task = catch_up(tx, locked(tx, name))
    values = {"enabled": False, "paused_at": task.paused_at or tx.now, "paused_by": actor, "paused_reason": reason}
    return _change(tx, task, values)


def resume_task(tx: Tx, name: str, *, actor: str | None = None) -> Task:
    """Let a paused task make runs again from its next occurrence on; what fell into the pause stays skipped."""
    del actor
    task = catch_up(tx, locked(tx, name))
    values: dict[str, Any] = {"enabled": True, "paused_at": None, "paused_by": None, "paused_reason": None}
    if task.finished:
        # A task that was set aside because its schedule could not be computed, or one that is really over.
        occurrence = _first(task.spec, task.anchor_at, tx.now)
        due = effective(task.id, task.spec.jitter, occurrence)
        values |= {"next_occurrence_at": occurrence, "next_run_at": due}
    return _change(tx, task, values)


def reset_task(tx: Tx, name: str, *, actor: str | None = None) -> Task:
    """Give a task that is declared in code its declared schedule back.

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
    spec = replace(task.spec, schedule=task.declared)
    return _change(tx, task, {**spec_values(spec), **_retimed(tx, task, spec), "overridden": False})


def trigger_task(tx: Tx, name: str, *, args: dict[str, Json] | None = None, actor: str | None = None) -> Run:
    """Make a run of a task now. The schedule does not move; the overlap policy holds.

    Raises:
        Overlap: policy SKIP or a full QUEUE, naming the unfinished run.
        InvalidInput: the arguments do not fit the job.
    """
    task = locked(tx, name)
    signature = check_job_args(tx, task.spec.job_name, task.spec.args if args is None else args)
    policy = effective_overlap(task.spec)
    count, oldest = run_store.unfinished_counts(tx.conn, [task.id]).get(task.id, (0, None))
    limit = overlap_limit(policy)
    if limit is not None and count >= limit:
        unfinished = "is unfinished" if count == 1 else f"and {count - 1} more are unfinished"
        raise Overlap(
            f"task '{name}' has overlap policy {policy.name} and its run {oldest} {unfinished}; "
            "wait for it, cancel it, or set overlap to ALLOW",
            path=("name",),
        )
    if policy is OverlapPolicy.REPLACE and count:
        older = run_store.unfinished_of_tasks(tx.conn, [task.id])
        cancel_all(tx, older, reason=f"replaced by a run triggered by hand{by(actor)}")
    run = replace(new_run(task, Trigger.MANUAL, args=args, submitter=actor), signature=signature)
    return submit(tx, [run])[0]


def declare_task(tx: Tx, spec: TaskSpec) -> Task | None:
    """Write a schedule that is declared in code as a task; None if its name is taken."""
    occurrence = _first(spec, tx.now, tx.now)
    return _insert(tx, spec, tx.now, occurrence, source=TaskSource.CODE, submitter=None, declared=spec.schedule)


def follow_declaration(tx: Tx, task: Task, spec: TaskSpec) -> Task:
    """Give a task what its code declares now; a schedule that an operator overrode stays in force."""
    values: dict[str, Any] = {**declared_values(spec.schedule), "description": spec.description}
    if not task.overridden:
        followed = replace(task.spec, schedule=spec.schedule, description=spec.description)
        values |= {**spec_values(followed), **_retimed(tx, task, followed)}
    return _change(tx, task, values)


def locked(tx: Tx, name: str) -> Task:
    """The task of this name, which nobody else changes or dispatches until the transaction ends.

    Raises:
        NotFound: there is none.
    """
    task = stored_tasks.by_name(tx.conn, name, lock=True)
    if task is None:
        raise unknown("task", name, stored_tasks.names_like(tx.conn, name))
    return task


def _insert(
    tx: Tx,
    spec: TaskSpec,
    anchor: datetime,
    occurrence: datetime | None,
    *,
    source: TaskSource,
    submitter: str | None,
    declared: ScheduleSpec | None = None,
    signature: str | None = None,
) -> Task | None:
    values: dict[str, Any] = {
        **spec_values(spec),
        **declared_values(declared),
        "source": source.value,
        "submitter": submitter,
        "overridden": False,
        "anchor_at": anchor,
        "next_occurrence_at": occurrence,
        # Without jitter at first: the offset comes from the id, which is known only after the insert.
        "next_run_at": occurrence,
        "paused_at": None if spec.enabled else tx.now,
        "paused_by": None if spec.enabled else submitter,
        "counter": 0,
        "signature": signature,
        "version": 1,
        "created_at": tx.now,
        "updated_at": tx.now,
    }
    created = tasks.create(tx.conn, values)
    if created is None:
        return None
    if spec.jitter > 0:
        due = effective(created.id, spec.jitter, occurrence)
        created = tasks.change(tx.conn, created.id, {"next_run_at": due})
    tx.emit([task_change(EventKind.TASK_CREATED, created)])
    tx.wake(Wake.TASKS)
    return created


def _change(tx: Tx, task: Task, values: Mapping[str, Any]) -> Task:
    """Set columns of a task. What leaves everything as it is, is no edit: no new version, nothing to tell."""
    if values.items() <= tasks.edited_values(task).items():
        return task
    changed = tasks.change(tx.conn, task.id, {**values, "version": task.version + 1, "updated_at": tx.now})
    tx.emit([task_change(EventKind.TASK_UPDATED, changed)])
    tx.wake(Wake.TASKS)
    return changed


def by(actor: str | None) -> str:
    """`` by ada`` at the end of a reason, if it is known who did it."""
    return f" by {actor}" if actor else ""


def _first(spec: TaskSpec, anchor: datetime, now: datetime) -> datetime | None:
    """The first occurrence after now; refuses a string that is no schedule."""
    try:
        schedule = parse(spec.schedule.syntax, spec.schedule.value, spec.schedule.timezone, anchor=anchor)
    except ScheduleError as error:
        raise schedule_fault(error) from error
    return first_occurrence(spec, schedule, now)


def _schedule_faults(spec: TaskSpec, anchor: datetime, now: datetime) -> Iterator[UserError]:
    """A string that is no schedule, or one without any occurrence after now in its window."""
    try:
        occurrence = _first(spec, anchor, now)
    except UserError as error:
        yield error
        return
    # In a window that ends before it begins nothing lies, but that is a fault of the window.
    if occurrence is None and not any(window_faults(spec.start_at, spec.end_at)):
        yield _never_fires(spec, now)


def schedule_fault(error: ScheduleError) -> InvalidInput:
    """A refused schedule as an error of the API: the sentence with the suggestion, and where the fault is."""
    hint = f" (suggestion: {error.suggestion})" if error.suggestion and error.suggestion not in error.message else ""
    field = "timezone" if error.field == "timezone" else "value"
    return InvalidInput(f"{error.message}{hint}", path=("schedule", field), code=error.code)


def _never_fires(spec: TaskSpec, now: datetime) -> InvalidInput:
    window = " inside startAt and endAt" if spec.start_at or spec.end_at else ""
    return InvalidInput(
        f"schedule: '{spec.schedule.value}' has no occurrence after {time_text(now)}{window}; "
        "choose a time in the future",
        path=("schedule", "value"),
        code=ErrorCode.NEVER_FIRES,
    )


def _retimed(tx: Tx, task: Task, spec: TaskSpec) -> dict[str, Any]:
    """The columns that follow from a changed schedule, window or jitter; an edited INTERVAL is anchored anew."""
    if all(getattr(spec, name) == getattr(task.spec, name) for name in _TIMING):
        return {}
    anchor = _anchor(task, spec, tx.now)
    occurrence = _first(spec, anchor, tx.now)
    return {
        "anchor_at": anchor,
        "next_occurrence_at": occurrence,
        "next_run_at": effective(task.id, spec.jitter, occurrence),
    }


def _anchor(task: Task, spec: TaskSpec, now: datetime) -> datetime:
    """Where the grid of an INTERVAL begins once the task is as ``spec`` says."""
    moved = spec.schedule != task.spec.schedule or spec.start_at != task.spec.start_at
    return (spec.start_at or now) if spec.schedule.syntax is Syntax.INTERVAL and moved else task.anchor_at


def _record_left_out(tx: Tx, task: Task, spec: TaskSpec) -> None:
    """The occurrence that was announced as the next one and that a moved window leaves out is a recorded skip."""
    announced = task.next_occurrence_at
    if announced is None or spec.schedule != task.spec.schedule:
        return
    too_early = spec.start_at is not None and announced < spec.start_at
    too_late = spec.end_at is not None and announced > spec.end_at
    if too_early or too_late:
        window = {
            "startAt": None if spec.start_at is None else time_text(spec.start_at),
            "endAt": None if spec.end_at is None else time_text(spec.end_at),
        }
        skip = Skip(SkipReason.WINDOW, announced, announced, 1, window)
        record_skips(tx, task, (skip,), None, node=None, blocker=None)


def _paused(tx: Tx, task: Task, spec: TaskSpec, actor: str | None) -> dict[str, Any]:
    """The columns that say who paused the task, if ``enabled`` changes."""
    if spec.enabled == task.spec.enabled:
        return {}
    if spec.enabled:
        return {"paused_at": None, "paused_by": None, "paused_reason": None}
    return {"paused_at": tx.now, "paused_by": actor, "paused_reason": None}
