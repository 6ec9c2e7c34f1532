"""Define the list of each aggregate: its rows, and the fields by which they are filtered and ordered."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import (
    Boolean,
    ColumnElement,
    FromClause,
    case,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
    text,
)

from ...core.defaults import JobInfo
from ...core.flows import Flow
from ...core.model import Execution, Group, Outcome, OverlapPolicy, Run, SkippedOccurrence, Task
from ...core.nodes import Node
from ...core.schedule import ANCHORED
from ...core.states import CLAIMABLE, FINAL, OCCUPYING, UNFINISHED, RunState
from ...core.steps import StepKind, StepState
from ..db.functions import duration, sql_literals
from ..schema.flows import run_step
from ..schema.tables import (
    AMONG_ALL_RUNS,
    IS_OPEN,
    SELDOM,
    UNUSUAL,
    flow,
    job,
    job_execution,
    node,
    periodic_task,
    queue_group,
    run,
    skipped_occurrence,
)
from ..schema.types import UtcDateTime
from .executions import execution_from
from .flows import flow_from
from .groups import all_names, group_from
from .jobs import job_from
from .listing.criteria import EARLIER, LATER, Condition, began_after, began_before
from .listing.keyset import OrderKey
from .listing.listing import Indexes, Listing, columns
from .listing.pages import newest_finished_of
from .nodes import node_from
from .runs import DUE_TIME, run_from, select_runs
from .tasks import skipped_from, task_from

# What holds when nothing is set depends on the syntax; readers filter by what holds.
_EFFECTIVE_OVERLAP = func.coalesce(
    periodic_task.c.overlap,
    case(
        (periodic_task.c.schedule_syntax.in_([syntax.value for syntax in ANCHORED]), OverlapPolicy.QUEUE.value),
        else_=OverlapPolicy.SKIP.value,
    ),
)

_FINISHED = job_execution.alias("newest")
_LAST_OUTCOME = (
    select(_FINISHED.c.outcome).where(_FINISHED.c.id == newest_finished_of(periodic_task.c.id)).scalar_subquery()
)

TASKS: Listing[Task] = Listing(
    name="tasks",
    rows=select(periodic_task),
    key=periodic_task.c.id,
    fields={
        **columns(
            periodic_task,
            "id name description enabled source job_name priority owner submitter timezone overridden "
            "next_execution paused_at last_due_at last_started_at counter created_at updated_at",
        ),
        "group": periodic_task.c.group_name,
        "labels": periodic_task.c.labels,
        "syntax": periodic_task.c.schedule_syntax,
        "shown_next_execution": case((periodic_task.c.enabled, periodic_task.c.next_execution)),
        "overlap": _EFFECTIVE_OVERLAP,
        "finished": periodic_task.c.next_nominal.is_(None),
        "last_outcome": _LAST_OUTCOME,
    },
    order=(OrderKey("id", descending=True),),
    model=task_from,
    indexes=Indexes(
        unique=frozenset({"id", "name"}),
        equal=frozenset({"job_name", "owner"}),
        ordered=frozenset({"id", "name"}),
        ordered_if_set=frozenset({"next_execution"}),
    ),
)

_AGAIN = run.alias("again")
_INDEXED_STATES = (OCCUPYING, CLAIMABLE, FINAL - {RunState.SUCCESS})


def _hints_of_runs(condition: Condition) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions of partial indexes: every state but success has one without the runs that succeeded."""
    values = condition.values()
    if condition.field == "state" and values:
        yield from (run.c.state.in_(sql_literals(states)) for states in _INDEXED_STATES if values <= states)
        if values <= UNFINISHED:
            yield from (IS_OPEN, AMONG_ALL_RUNS)


RUNS: Listing[Run] = Listing(
    name="runs",
    rows=select_runs(),
    key=run.c.id,
    fields={
        **columns(
            run,
            "id state job_name task_id task_name priority trigger scheduled_for submitted_at started_at finished_at "
            "cancel_requested_at attempt failures unique_key concurrency_key retried_from node_id submitter "
            "description error flow_id",
        ),
        # The column is beyond all times while a run waits for a slot or a token of its key.
        "available_at": DUE_TIME,
        "group": run.c.group_name,
        "node": node.c.name,
        "labels": run.c.id,
        "args": run.c.args,
        "retried": exists().where(_AGAIN.c.retried_from == run.c.id),
        "waits_for_signal": (run.c.state == RunState.SUSPENDED)
        & exists().where(
            run_step.c.run_id == run.c.id, run_step.c.kind == StepKind.SIGNAL, run_step.c.state == StepState.WAITING
        ),
    },
    order=(OrderKey("id", descending=True),),
    model=run_from,
    hints=_hints_of_runs,
    indexes=Indexes(
        unique=frozenset({"id", "retried_from"}),
        equal=frozenset({"job_name", "task_id", "flow_id"}),
        ordered=frozenset({"id"}),
        by_values={"state": (*((state,) for state in FINAL - {RunState.SUCCESS}), UNFINISHED)},
    ),
)

FLOWS: Listing[Flow] = Listing(
    name="flows",
    rows=select(flow),
    key=flow.c.id,
    fields=columns(
        flow,
        "id name state unique_key submitted_at finished_at deadline_at submitter labels started_by_run_id "
        "started_by_task_id",
    ),
    order=(OrderKey("id", descending=True),),
    model=flow_from,
    indexes=Indexes(
        unique=frozenset({"id"}),
        equal=frozenset({"name", "started_by_run_id", "started_by_task_id"}),
        ordered=frozenset({"id"}),
    ),
)
"""All flows that were not pruned."""

QUEUED: Listing[Run] = replace(RUNS, name="queued", rows=RUNS.rows.where(IS_OPEN, AMONG_ALL_RUNS))
"""Runs that are not over."""

HELD: Listing[Run] = replace(
    RUNS, name="held", rows=RUNS.rows.where(run.c.state.in_(sql_literals(OCCUPYING)), AMONG_ALL_RUNS)
)
"""Runs that a node holds."""

OCCURRENCES: Listing[Run] = Listing(
    name="occurrences",
    # As literal text: SQLite takes the unique index over occurrences only if it sees the condition of that index.
    rows=RUNS.rows.where(text("run.trigger = 'schedule' AND run.state <> 'skipped'")),
    key=run.c.id,
    fields=RUNS.fields,
    order=(OrderKey("scheduled_for", descending=True), OrderKey("id", descending=True)),
    model=run_from,
)
"""Runs that a schedule made of its occurrences. Those dropped before their start are shown by their skipped rows."""


def _hints_of_executions(condition: Condition) -> Iterator[ColumnElement[bool]]:
    """Unusual outcomes and triggers have indexes that the usual ones are not in."""
    values = condition.values()
    if condition.field == "outcome":
        if values == frozenset((None,)):
            yield job_execution.c.completed_at.is_(None)
        elif values and values <= UNUSUAL:
            yield job_execution.c.outcome.in_(sql_literals(UNUSUAL))
        elif values and all(isinstance(value, Outcome) and not value.is_success for value in values):
            yield job_execution.c.success == literal_column("false", Boolean())
    elif condition.field == "trigger" and values and values <= set(SELDOM):
        yield job_execution.c.trigger.in_(sql_literals(SELDOM))
    elif condition.field == "started_at" and condition.operator in LATER | EARLIER:
        yield began_after(condition.value) if condition.operator in LATER else began_before(condition.value)


PRESENT_RUN, RUN_LABELS = "present_run", "run_labels"
"""Columns of the run of an execution, which have no value once that is pruned."""


def _of_its_run(column: ColumnElement[Any], executions: FromClause) -> ColumnElement[Any]:
    # No join: a subquery is asked for the rows of the page alone, in any order.
    return select(column).where(run.c.id == executions.c.run_id).scalar_subquery()


EXECUTIONS: Listing[Execution] = Listing(
    name="executions",
    rows=select(job_execution),
    key=job_execution.c.id,
    fields={
        **columns(
            job_execution,
            "id job_name task_id task_name run_id outcome success node trigger attempt started_at completed_at "
            "scheduled_for records_processed error_message error_type",
        ),
        "group": _of_its_run(run.c.group_name, job_execution),
        "owner": select(periodic_task.c.owner).where(periodic_task.c.id == job_execution.c.task_id).scalar_subquery(),
        "labels": job_execution.c.run_id,
        "args": _of_its_run(run.c.args, job_execution),
        "duration": duration(job_execution.c.started_at, job_execution.c.completed_at),
    },
    order=(OrderKey("id", descending=True),),
    model=execution_from,
    hints=_hints_of_executions,
    indexes=Indexes(
        unique=frozenset({"id", "run_id"}),
        equal=frozenset({"job_name", "task_id", "task_name"}),
        ordered=frozenset({"id", "started_at"}),
        by_values={
            "outcome": (*((one,) for one in UNUSUAL), frozenset(one for one in Outcome if not one.is_success), (None,)),
            "success": ((False,), (None,)),
            "completed_at": ((None,),),
            "trigger": tuple((one,) for one in SELDOM),
        },
        ranges=frozenset({"id", "started_at"}),
        together=frozenset({frozenset({"job_name", "success"}), frozenset({"job_name", "outcome"})}),
    ),
    further={
        PRESENT_RUN: partial(_of_its_run, run.c.id),
        RUN_LABELS: partial(_of_its_run, run.c.labels),
    },
)

SKIPPED: Listing[SkippedOccurrence] = Listing(
    name="skipped",
    rows=select(skipped_occurrence),
    key=skipped_occurrence.c.id,
    fields={
        **columns(skipped_occurrence, "id task_id task_name reason node first_scheduled_for last_scheduled_for at"),
        "count": skipped_occurrence.c.occurrences,
    },
    order=(OrderKey("id", descending=True),),
    model=skipped_from,
    indexes=Indexes(
        unique=frozenset({"id"}),
        equal=frozenset({"task_id"}),
        ordered=frozenset({"id", "at"}),
    ),
)

_NAMED = all_names()
_QUEUED_IN = (run.c.group_name == _NAMED.c.name, run.c.state.in_(sql_literals(CLAIMABLE)))
_FIRST_IN_LINE = select(func.min(run.c.available_at)).where(*_QUEUED_IN, run.c.due_at.is_(None)).scalar_subquery()
FAR = datetime(2200, 1, 1, tzinfo=UTC)
"""Waits are compared by how long before this time they began, so that pages read at different times agree."""

_SETTINGS = [column for column in queue_group.columns if column.name not in ("name", "next_token_at")]

GROUPS: Listing[Group] = Listing(
    name="groups",
    rows=select(_NAMED.c.name, *_SETTINGS).join_from(
        _NAMED, queue_group, queue_group.c.name == _NAMED.c.name, isouter=True
    ),
    key=_NAMED.c.name,
    fields={
        **columns(_NAMED, "name"),
        "paused": queue_group.c.paused_at.is_not(None),
        "max_running": queue_group.c.max_running,
        "limited": or_(*(queue_group.c[name].is_not(None) for name in ("max_running", "rate", "cap"))),
        "depth": select(func.count()).where(*_QUEUED_IN).scalar_subquery(),
        "running": (
            select(func.count())
            .where(run.c.group_name == _NAMED.c.name, run.c.state.in_(sql_literals(OCCUPYING)))
            .scalar_subquery()
        ),
        "wait": func.coalesce(duration(_FIRST_IN_LINE, literal(FAR, UtcDateTime())), 0.0),
    },
    order=(OrderKey("name"),),
    model=group_from,
    stored=queue_group.c.name,
)
"""All groups that a task or an unfinished run names, those that were once paused or limited, and the default one."""

JOBS: Listing[JobInfo] = Listing(
    name="jobs",
    rows=select(job),
    key=job.c.name,
    fields=columns(job, "name description schedule isolation"),
    order=(OrderKey("name"),),
    model=job_from,
)
"""The jobs that nodes have published, without the nodes that know them."""

NODES: Listing[Node] = Listing(
    name="nodes",
    rows=select(node),
    key=node.c.id,
    fields=columns(node, "id name state version started_at"),
    order=(OrderKey("id", descending=True),),
    model=node_from,
)
"""All nodes, live or not, that were not pruned."""
