"""The whole history of a database, read in one snapshot, for the rules that judge it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import chain, groupby
from typing import NamedTuple

from sqlalchemy import Connection, select, text

from cronograph.jobs.core.admission.caps import Cap, Rate
from cronograph.jobs.core.events import Change, Cursor, Event, EventKind, spread
from cronograph.jobs.core.flows import Flow
from cronograph.jobs.core.model import Execution, Run, SkippedOccurrence, Task
from cronograph.jobs.core.nodes import Node
from cronograph.jobs.core.remote import RemoteAttempt
from cronograph.jobs.core.steps import Step
from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.jobs.store.db.dialect import database_now
from cronograph.jobs.store.schema.tables import (
    event,
    event_publisher,
    flow,
    flow_edge,
    job_execution,
    node,
    periodic_task,
    queue_group,
    run,
    run_step,
)
from cronograph.jobs.store.schema.tables import run_signal as g
from cronograph.jobs.store.schema.tables import skipped_occurrence as skipped
from cronograph.jobs.store.statements import flows
from cronograph.jobs.store.statements import runs as stored_runs
from cronograph.jobs.store.statements.executions import REMOTE_COLUMNS, attempt_from, execution_from
from cronograph.jobs.store.statements.flows import Member
from cronograph.jobs.store.statements.groups import caps
from cronograph.jobs.store.statements.jobs import all_names, published_defaults
from cronograph.jobs.store.statements.nodes import node_from
from cronograph.jobs.store.statements.runs import run_from, select_runs
from cronograph.jobs.store.statements.tasks import skipped_from, task_from

RUN_EVENTS = frozenset({EventKind.RUN_CREATED, EventKind.RUN_UPDATED})
EXECUTION_EVENTS = frozenset({EventKind.EXECUTION_STARTED, EventKind.EXECUTION_FINISHED})


class Boxed(NamedTuple):
    """A signal in the box of a run."""

    id: int
    run_id: int
    name: str
    rank: int


class SignalWait(NamedTuple):
    """A wait of a run for a signal."""

    run_id: int
    signal: str
    rank: int
    state: str
    signal_id: int | None


@dataclass(frozen=True)
class History:
    """Everything that a database remembers.

    Attributes:
        read_at: The database's time of the snapshot.
        tasks: By id.
        runs: By id.
        executions: By id.
        skipped: By id.
        nodes: By id; every process that ever joined.
        numbers: The numbers of the published event batches, ascending.
        last_number: What the publisher remembers as the last number given out.
        unpublished: How many batches have no number yet.
        events: All published changes, in their one order.
        steps: What is stored of the steps of all runs.
        boxes: The signals that nobody has taken: of each its id, its run, its name, and the rank of its sender.
        waits: The waits for signals: of each its run, its box, the rank that it asks for, its state, and the id of the
            signal that it took.
        group_rates: By the name of the group, as they are now.
        job_rates: By the name of the job, likewise.
        group_caps: By the name of the group, likewise.
        job_caps: By the name of the job, likewise.
        after: The runs that each run of a flow comes after.
        flows: By id.
        members: The places of runs in them.
        remote: The attempts that were handed to an engine, by execution.
        held_until_start: The runs whose unique key is free once they have begun.
    """

    read_at: datetime
    tasks: tuple[Task, ...]
    runs: tuple[Run, ...]
    executions: tuple[Execution, ...]
    skipped: tuple[SkippedOccurrence, ...]
    nodes: tuple[Node, ...]
    numbers: tuple[int, ...]
    last_number: int
    unpublished: int
    events: tuple[Event, ...]
    group_rates: Mapping[str, Rate]
    job_rates: Mapping[str, Rate]
    group_caps: Mapping[str, Cap]
    job_caps: Mapping[str, Cap]
    steps: tuple[Step, ...] = ()
    boxes: tuple[Boxed, ...] = ()
    waits: tuple[SignalWait, ...] = ()
    after: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])
    flows: tuple[Flow, ...] = ()
    members: tuple[Member, ...] = ()
    held_until_start: frozenset[int] = frozenset()
    remote: Mapping[int, RemoteAttempt] = field(default_factory=dict[int, RemoteAttempt])

    @cached_property
    def executions_of(self) -> dict[int, list[Execution]]:
        """The attempts of each run that has any, in their order."""
        ordered = sorted(self.executions, key=lambda one: (one.run_id, one.attempt))
        return {run_id: list(group) for run_id, group in groupby(ordered, key=lambda one: one.run_id)}

    @cached_property
    def node_of(self) -> dict[int, Node]:
        """Every process that ever joined, by id."""
        return {one.id: one for one in self.nodes}

    @cached_property
    def run_of(self) -> dict[int, Run]:
        """The runs by id."""
        return {one.id: one for one in self.runs}

    @cached_property
    def steps_of(self) -> dict[int, list[Step]]:
        """The steps of each run that has any."""
        return {run_id: list(group) for run_id, group in groupby(self.steps, key=lambda one: one.run_id)}

    def changes(self, kinds: frozenset[EventKind]) -> Iterator[Change]:
        """The published changes of these kinds, in order."""
        return (one.change for one in self.events if one.change.kind in kinds)


def read_history(url: str) -> History:
    """Read the database at ``url`` as it is at this moment; it may be in use."""
    engine = sync_engine(parse_url(url), read_only=True)
    try:
        snapshot = {} if url.startswith("sqlite") else {"isolation_level": "REPEATABLE READ"}
        with engine.execution_options(**snapshot).connect() as conn:
            if snapshot:
                # The nodes' URL may cut off who idles in a transaction; the judge turns rows into records there.
                conn.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
            return _read(conn)
    finally:
        engine.dispose()


def _read(conn: Connection) -> History:
    batches = [
        (row.seq, row.at, row.changes)
        for row in conn.execute(select(event).where(event.c.seq.is_not(None)).order_by(event.c.seq, event.c.id))
    ]
    waiting = conn.execute(select(event.c.id).where(event.c.seq.is_(None))).all()
    return History(
        read_at=database_now(conn),
        tasks=tuple(task_from(row) for row in conn.execute(select(periodic_task).order_by(periodic_task.c.id))),
        runs=tuple(run_from(row) for row in conn.execute(select_runs().order_by(run.c.id))),
        executions=tuple(
            execution_from(row) for row in conn.execute(select(job_execution).order_by(job_execution.c.id))
        ),
        skipped=tuple(skipped_from(row) for row in conn.execute(select(skipped).order_by(skipped.c.id))),
        nodes=tuple(node_from(row) for row in conn.execute(select(node).order_by(node.c.id))),
        numbers=tuple(seq for seq, _, _ in batches),
        last_number=conn.execute(select(event_publisher.c.last_seq)).scalar_one(),
        unpublished=len(waiting),
        events=tuple(
            Event(Cursor(seq, index), at, change)
            for seq, at, changes in batches
            for index, change in enumerate(spread(changes))
        ),
        boxes=tuple(Boxed(*row) for row in conn.execute(select(g.c.id, g.c.run_id, g.c.name, g.c.rank))),
        waits=tuple(SignalWait(*row) for row in conn.execute(_WAITS)),
        after=flows.before(conn, list(conn.execute(select(flow_edge.c.run_id).distinct()).scalars())),
        flows=tuple(stored_flows := flows.by_ids(conn, list(conn.execute(select(flow.c.id)).scalars())).values()),
        members=tuple(flows.members_of(conn, [one.id for one in stored_flows])),
        held_until_start=frozenset(conn.execute(select(run.c.id).where(run.c.key_until_start.is_not(None))).scalars()),
        remote={row.execution_id: attempt_from(row) for row in conn.execute(select(*REMOTE_COLUMNS))},
        steps=tuple(chain.from_iterable(stored_runs.steps_of_runs(conn, _with_steps(conn)).values())),
        group_rates={
            row.name: Rate.from_json(row.rate)
            for row in conn.execute(select(queue_group).where(queue_group.c.rate.is_not(None)))
        },
        job_rates={
            name: said.limits.rate
            for name, said in published_defaults(conn, all_names(conn)).items()
            if said.limits is not None and said.limits.rate is not None
        },
        group_caps=caps(conn, list(conn.execute(select(queue_group.c.name)).scalars())),
        job_caps={
            name: said.limits.cap
            for name, said in published_defaults(conn, all_names(conn)).items()
            if said.limits is not None and said.limits.cap is not None
        },
    )


_WAITS = select(run_step.c.run_id, run_step.c.signal, run_step.c.rank, run_step.c.state, run_step.c.signal_id).where(
    run_step.c.signal.is_not(None)
)


def _with_steps(conn: Connection) -> list[int]:
    return list(conn.execute(select(run_step.c.run_id).distinct()).scalars())
