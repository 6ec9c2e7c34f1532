"""The ready-made queries. Each function makes an operation; ``Client`` and ``AsyncClient`` have it as a method."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from .base.shapes import read, selection
from .builders import Argument, listed, one, page, query
from .enums import Outcome, RunState
from .inputs import ScheduleInput
from .operation import Operation
from .records import (
    Execution,
    Explanation,
    Flow,
    Group,
    Job,
    JobLog,
    Node,
    Run,
    SavedView,
    ScheduleValidation,
    SkippedOccurrence,
    Task,
    Viewer,
    Webhook,
)
from .results import Page

Filter = Mapping[str, Any]
"""A filter as the API takes it, e.g. ``{"name": {"startsWith": "sync"}}``; times may be ``datetime``."""

Order = Sequence[Mapping[str, str]]
"""An order as the API takes it, e.g. ``[{"field": "NAME", "direction": "DESC"}]``."""


def as_of() -> Operation[str]:
    """Return an event cursor of now: ``events`` after it has all that happens from here on."""
    return query("asOf", {}, "", lambda value: read(str, value, "asOf"))


def server_time() -> Operation[datetime]:
    """Return the time of the server's database, by which everything is due."""
    return query("serverTime", {}, "", lambda value: read(datetime, value, "serverTime"))


def viewer() -> Operation[Viewer]:
    """Read the account that asks, and its rights."""
    return query("viewer", {}, selection(Viewer), lambda value: read(Viewer, value, "viewer"))


def saved_views(page: str | None = None) -> Operation[tuple[SavedView, ...]]:
    """Return one's own saved views of the dashboard and those of the team, by page and name.

    Args:
        page: Only of this page, such as ``/runs``.
    """
    return listed("savedViews", {"page": Argument("String", page)}, SavedView)


def webhooks(
    *, first: int = 50, after: str | None = None, filter: Filter | None = None, order_by: Order | None = None
) -> Operation[Page[Webhook]]:
    """Return a page of webhooks, by name unless ordered otherwise. See ``runs`` for the parameters."""
    return page("webhooks", _listing("Webhook", first, after, filter, order_by), Webhook)


def available_jobs() -> Operation[tuple[Job, ...]]:
    """Return the jobs that the nodes know, by name."""
    return listed("availableJobs", {}, Job)


def job(name: str) -> Operation[Job | None]:
    """Return one job; None if no node has published one of that name."""
    return one("job", {"name": Argument("String!", name)}, Job)


def tasks(
    *, first: int = 50, after: str | None = None, filter: Filter | None = None, order_by: Order | None = None
) -> Operation[Page[Task]]:
    """Return a page of tasks, by name unless ordered otherwise. See ``runs`` for the parameters."""
    return page("tasks", _listing("Task", first, after, filter, order_by), Task)


def task(name: str) -> Operation[Task | None]:
    """Return one task; None if there is none of that name."""
    return one("task", {"name": Argument("String", name)}, Task)


def runs(
    *,
    states: Sequence[RunState] = (),
    job_name: str | None = None,
    task_name: str | None = None,
    group: str | None = None,
    first: int = 50,
    after: str | None = None,
    labels: Mapping[str, str] | None = None,
    filter: Filter | None = None,
    order_by: Order | None = None,
) -> Operation[Page[Run]]:
    """Return a page of runs, newest first unless ordered otherwise; all given conditions hold.

    Args:
        states: In one of these states.
        job_name: Of this job.
        task_name: Of this task.
        group: Of this group.
        first: At most so many, up to 200.
        after: Only those behind this cursor of the same list.
        labels: With all of these labels.
        filter: Further conditions.
        order_by: In which order.
    """
    conditions = _conditions(
        _labelled(filter, labels),
        state={"in": list(states)} if states else None,
        jobName=_equal(job_name),
        taskName=_equal(task_name),
        group=_equal(group),
    )
    return page("runs", _listing("Run", first, after, conditions, order_by), Run)


def run(id: int) -> Operation[Run | None]:
    """Return one run by its key; None if there is none."""
    return one("run", {"id": Argument("ID!", id)}, Run)


def executions(
    *,
    outcomes: Sequence[Outcome] = (),
    job_name: str | None = None,
    task_name: str | None = None,
    run_id: int | None = None,
    first: int = 50,
    after: str | None = None,
    labels: Mapping[str, str] | None = None,
    filter: Filter | None = None,
    order_by: Order | None = None,
) -> Operation[Page[Execution]]:
    """Return a page of the execution log, newest first unless ordered otherwise; all given conditions hold.

    Args:
        outcomes: Ended in one of these ways.
        job_name: Of this job.
        task_name: Of this task.
        run_id: Of this run.
        first: At most so many, up to 200.
        after: Only those behind this cursor of the same list.
        labels: With all of these labels.
        filter: Further conditions.
        order_by: In which order.
    """
    conditions = _conditions(
        _labelled(filter, labels),
        outcome={"in": list(outcomes)} if outcomes else None,
        jobName=_equal(job_name),
        taskName=_equal(task_name),
        runId=_equal(run_id),
    )
    return page("executions", _listing("Execution", first, after, conditions, order_by), Execution)


def execution(id: int) -> Operation[Execution | None]:
    """Return one execution by its key; None if there is none."""
    return one("execution", {"id": Argument("ID!", id)}, Execution)


def job_logs(
    *, limit: int = 100, job_name: str | None = None, only_failures: bool = False
) -> Operation[tuple[JobLog, ...]]:
    """Return the newest executions.

    Args:
        limit: At most so many, up to 1000.
        job_name: Of this job only.
        only_failures: Only those that failed, timed out or were lost.
    """
    arguments = {
        "limit": Argument("Int!", limit),
        "jobName": Argument("String", job_name),
        "onlyFailures": Argument("Boolean!", only_failures),
    }
    return listed("jobLogs", arguments, JobLog)


def skipped_occurrences(
    *, first: int = 50, after: str | None = None, filter: Filter | None = None, order_by: Order | None = None
) -> Operation[Page[SkippedOccurrence]]:
    """Return a page of skipped occurrences, newest first unless ordered otherwise."""
    return page("skippedOccurrences", _listing("SkippedOccurrence", first, after, filter, order_by), SkippedOccurrence)


def flows(
    *, first: int = 50, after: str | None = None, filter: Filter | None = None, order_by: Order | None = None
) -> Operation[Page[Flow]]:
    """Return a page of the flows, newest first unless ordered otherwise. See ``runs`` for the parameters."""
    return page("flows", _listing("Flow", first, after, filter, order_by), Flow)


def flow(id: int) -> Operation[Flow | None]:
    """Return one flow; None if there is none of this id."""
    return one("flow", {"id": Argument("ID!", id)}, Flow)


def groups(
    *, first: int = 50, after: str | None = None, filter: Filter | None = None, order_by: Order | None = None
) -> Operation[Page[Group]]:
    """Return a page of the groups of the queue, by name unless ordered otherwise. See ``runs`` for the parameters."""
    return page("groups", _listing("Group", first, after, filter, order_by), Group)


def nodes(
    *, first: int = 50, after: str | None = None, filter: Filter | None = None, order_by: Order | None = None
) -> Operation[Page[Node]]:
    """Return a page of the nodes, newest first unless ordered otherwise; those that ended are kept for a while.

    See ``runs`` for the parameters.
    """
    return page("nodes", _listing("Node", first, after, filter, order_by), Node)


def explain_task(name: str) -> Operation[Explanation | None]:
    """Explain why a task is or is not running now; None if there is none of that name."""
    return _explained("task", {"name": Argument("String", name)})


def explain_run(id: int) -> Operation[Explanation | None]:
    """Explain the state of a run, and its next step; None if there is none."""
    return _explained("run", {"id": Argument("ID!", id)})


def validate_schedule(
    schedule: ScheduleInput, *, count: int = 5, from_: datetime | None = None
) -> Operation[ScheduleValidation]:
    """Check a schedule; return its faults or its next times.

    Args:
        schedule: The schedule to judge.
        count: How many of the next times to answer.
        from_: From when; now unless given.
    """
    arguments = {
        "schedule": Argument("ScheduleInput!", schedule),
        "count": Argument("Int!", count),
        "from": Argument("DateTime", from_),
    }
    return query(
        "validateSchedule",
        arguments,
        selection(ScheduleValidation),
        lambda value: read(ScheduleValidation, value, "validateSchedule"),
    )


def _explained(field: str, arguments: Mapping[str, Argument]) -> Operation[Explanation | None]:
    def convert(value: object) -> Explanation | None:
        if value is None:
            return None
        return read(Explanation, read(dict[str, Any], value, field).get("explain"), f"{field}.explain")

    return query(field, arguments, f"explain {{ {selection(Explanation)} }}", convert)


def _listing(
    thing: str, first: int, after: str | None, filter: Filter | None, order_by: Order | None
) -> dict[str, Argument]:
    return {
        "first": Argument("Int", first),
        "after": Argument("String", after),
        "filter": Argument(f"{thing}Filter", filter),
        "orderBy": Argument(f"[{thing}Order!]", order_by),
    }


def _equal(value: str | int | None) -> dict[str, str | int] | None:
    return None if value is None else {"eq": value}


def _labelled(filter: Filter | None, labels: Mapping[str, str] | None) -> Filter | None:
    """Return the filter, and that a run has these labels."""
    if not labels:
        return filter
    wanted: list[Filter] = [{"labels": {"key": key, "eq": value}} for key, value in labels.items()]
    return {"and": [*wanted, *([filter] if filter else [])]}


def _conditions(further: Filter | None, **conditions: Filter | None) -> Filter | None:
    given: dict[str, Any] = {name: condition for name, condition in conditions.items() if condition is not None}
    if further is not None:
        given["and"] = [further]
    return given or None
