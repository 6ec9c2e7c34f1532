"""When a task is due: the columns that follow from its schedule, window and jitter, and the faults of these."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ..core.base.errors import ErrorCode, InvalidSchedule, UserError
from ..core.base.times import time_text
from ..core.model import Task, TaskSpec
from ..core.occurrences import effective, first_occurrence
from ..core.rules import window_faults
from ..core.schedule import ScheduleError, parse
from ..store.db.transaction import Tx

_TIMING = frozenset({"schedule", "start_at", "end_at", "jitter"})


def first_of(spec: TaskSpec, anchor: datetime, now: datetime) -> datetime | None:
    """The first occurrence after now; refuses a string that is no schedule."""
    try:
        schedule = parse(spec.schedule.syntax, spec.schedule.value, spec.schedule.timezone, anchor=anchor)
    except ScheduleError as error:
        raise schedule_fault(error) from error
    return first_occurrence(spec, schedule, now)


def schedule_faults(spec: TaskSpec, anchor: datetime, now: datetime) -> Sequence[UserError]:
    """A string that is no schedule, or one without any occurrence after now in its window."""
    return judged_first(spec, anchor, now)[1]


def judged_first(spec: TaskSpec, anchor: datetime, now: datetime) -> tuple[datetime | None, Sequence[UserError]]:
    """The first occurrence after now, and ``schedule_faults``."""
    try:
        occurrence = first_of(spec, anchor, now)
    except UserError as error:
        return None, (error,)
    # A window that ends before it begins is empty, but that is a fault of the window.
    if occurrence is None and not any(window_faults(spec.start_at, spec.end_at)):
        return None, (_never_fires(spec, now),)
    return occurrence, ()


def schedule_fault(error: ScheduleError) -> InvalidSchedule:
    """A refused schedule as an error of the API: the sentence with the suggestion, and where the fault is."""
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


def retimed(tx: Tx, task: Task, spec: TaskSpec) -> dict[str, Any]:
    """The columns that follow from a changed schedule, window or jitter; an edited INTERVAL gets a new anchor."""
    if all(getattr(spec, name) == getattr(task.spec, name) for name in _TIMING):
        return {}
    anchor = anchor_of(task, spec, tx.now)
    occurrence = first_of(spec, anchor, tx.now)
    return {
        "anchor_at": anchor,
        "next_nominal": occurrence,
        "next_execution": effective(task.id, spec.jitter, occurrence),
    }


def anchor_of(task: Task, spec: TaskSpec, now: datetime) -> datetime:
    """Return where the grid of an INTERVAL begins once the task is as ``spec`` says."""
    moved = spec.schedule != task.spec.schedule or spec.start_at != task.spec.start_at
    return (spec.start_at or now) if spec.schedule.syntax.is_anchored and moved else task.anchor_at
