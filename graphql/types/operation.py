"""Show the queue's groups and nodes, and the viewer."""

from datetime import datetime
from typing import Any, ClassVar, Final

import strawberry

from ...jobs.core import model, nodes
from ...jobs.core.admission.caps import Bucket
from ...jobs.core.nodes import NodeState
from ...jobs.core.states import RunState
from ...jobs.core.task_sets import version_of
from ...jobs.store.statements.lists import GROUPS, HELD, NODES, QUEUED
from ..base.enums import Described, described
from ..base.fields import resolved
from ..base.scalars import BigInt, Duration
from ..execution.shown import FromModel, Makers
from ..lists.connections import Connection
from ..lists.declared import kind_of, listed
from ..lists.filters import (
    BooleanFilter,
    DateTimeFilter,
    Filter,
    IdFilter,
    IntFilter,
    RowFilter,
    StringFilter,
    condition,
    filter_of,
)
from ..resolving.context import Info
from ..types.run import RUN_LIST
from ..types.task import TASK_LIST
from .common import Cap, Rate
from .entities import Run, Task


@filter_of("A filter of groups.")
class GroupFilter(RowFilter):
    """Conditions on groups."""

    name: StringFilter | None = condition("The name.")
    paused: BooleanFilter | None = condition("Whether none of its runs may start.", "isPaused")
    max_running: IntFilter | None = condition(
        "The largest number of runs of the group at the same time; no value = no limit."
    )
    limited: BooleanFilter | None = condition(
        "Whether it has any limit: on running ones (`maxRunning`), on starts (`rate`), or on waiting ones (`cap`).",
        "isLimited",
    )


@described("A field by which groups can be ordered; by name unless given.")
class GroupOrderField(Described):
    """Fields of groups to order by."""

    NAME = "name", "The name, which is the order in which nodes serve them."
    DEPTH = "depth", "The number of runs of the group that wait or are stuck."
    RUNNING = "running", "The number of scheduled and running runs of the group."
    WAIT = (
        "wait",
        (
            "The time that the run which is to start first has waited, or has still to wait: DESC begins "
            "with the longest wait, and ends with the groups in which no run waits."
        ),
    )


GROUP_LIST: Final = kind_of(GROUPS, GroupFilter, GroupOrderField, "groups")


@filter_of("A filter of nodes.")
class NodeFilter(RowFilter):
    """Conditions on nodes."""

    id: IdFilter | None = condition("The key of the node.")
    name: StringFilter | None = condition("The name.")
    state: Filter[NodeState] | None = condition("The state of the node.")
    version: StringFilter | None = condition("The version of Cronograph it runs.")
    started_at: DateTimeFilter | None = condition("The time when the node started.")


@described("A field by which nodes can be ordered; newest first unless given.")
class NodeOrderField(Described):
    """Fields of nodes to order by."""

    ID = "id", "The key, in the order in which they joined."
    NAME = "name", "The name."
    STARTED_AT = "started_at", "The time when the node started."


NODE_LIST: Final = kind_of(NODES, NodeFilter, NodeOrderField, "nodes")


def _depth(state: RunState, description: str) -> Any:  # noqa: ANN401 - a field
    """Return how many runs of a group are in a state."""

    async def runs(self: "Group", info: Info) -> BigInt:
        return BigInt((await info.context.loaders.depths.load(self.name)).states.get(state, 0))

    return resolved(description=description)(runs)


def _rate_of(stored: model.Group) -> Rate | None:
    return None if stored.rate is None else Rate.from_model(stored.rate)


@strawberry.type(description="A queue group: the unit of fairness and of limits. It exists once it is named.")
class Group(FromModel):
    """A group with its limits and its depth."""

    name: str = strawberry.field(description="The name of the group.")
    paused: bool = strawberry.field(name="isPaused", description="Whether no run of the group may start.")
    paused_at: datetime | None = strawberry.field(
        description="The time since which the group is paused; null if it is not."
    )
    paused_by: str | None = strawberry.field(description="The person or program that paused the group.")
    pause_reason: str | None = strawberry.field(description="The reason that was given for the pause.")
    resume_at: datetime | None = strawberry.field(
        description="The time at which the pause ends by itself; null if it ends when somebody resumes it."
    )
    max_running: int | None = strawberry.field(
        description="The largest number of scheduled and running runs of the group, on all nodes together; null = "
        "no limit."
    )

    max_wait_low: Duration | None = strawberry.field(
        description="The time after which a due run of low priority goes before runs of high priority; null = only "
        "the counting scheme decides."
    )
    rate: Rate | None = strawberry.field(
        description="The limit on starts of runs of the group, on all nodes together; null = no limit."
    )

    cap: Cap | None = strawberry.field(description="The limit on waiting runs of the group; null = no limit.")
    keep: Duration | None = strawberry.field(
        description="Seconds that the history of its finished runs is kept; null = as their job says, or else "
        "`prune_history`."
    )

    version: int = strawberry.field(
        description="A number that differs once a limit of the group was changed; pass it as `expectedVersion` to "
        "`revertToRevision`."
    )

    MADE: ClassVar[Makers] = {
        "version": version_of,
        "paused": lambda group: group.paused_at is not None,
        "rate": _rate_of,
        "cap": lambda group: None if group.cap is None else Cap.from_model(group.cap),
    }

    @resolved()
    async def tokens(self, info: Info) -> int | None:
        """The number of its runs that may start now by its rate; null if it has none."""
        stored: model.Group = vars(self)["stored"]
        if stored.rate is None:
            return None
        now = await info.context.now()
        return Bucket(stored.rate, stored.rate_full_at).settled(now).tokens(now)

    @resolved()
    async def next_token_at(self, info: Info) -> datetime | None:
        """The time at which the next run may start by the rate; null if one may start now, or if there is no rate."""
        stored: model.Group = vars(self)["stored"]
        now = await info.context.now()
        due = now if stored.rate is None else Bucket(stored.rate, stored.rate_full_at).settled(now).due(now)
        return due if due > now else None

    runs: Connection[Run] = listed(
        RUN_LIST,
        lambda: Run,
        description="The runs of the group that are not over. `runs(filter: {group: …})` has the others, too.",
        of=("group", lambda self: self.name),
        rows=QUEUED,
    )
    tasks: Connection[Task] = listed(
        TASK_LIST,
        lambda: Task,
        description="The tasks whose runs go to it.",
        of=("group", lambda self: self.name),
    )

    waiting = _depth(RunState.WAITING, "The number of runs that wait.")
    scheduled = _depth(RunState.SCHEDULED, "The number of runs that were handed to a node and have not begun.")
    running = _depth(RunState.RUNNING, "The number of runs that are being executed.")
    stuck = _depth(RunState.STUCK, "The number of runs that failed and will be tried again.")
    suspended = _depth(RunState.SUSPENDED, "The number of runs that sleep, or wait for a signal or for other runs.")

    @resolved()
    async def oldest_wait(self, info: Info) -> Duration | None:
        """The time that the longest waiting due run has waited; null if none is due."""
        oldest = (await info.context.loaders.depths.load(self.name)).oldest_wait
        return None if oldest is None else Duration(oldest)


@strawberry.type(
    description="A blocked event loop of a node: its async jobs stand still, and nothing new starts there."
)
class Blockage(FromModel):
    """A blocked event loop."""

    since: datetime = strawberry.field(name="beganAt", description="The time since which the event loop is blocked.")
    run_id: strawberry.ID | None = strawberry.field(
        description="The `id` of the run whose code blocks; null if it is no code of a job."
    )
    job_name: str | None = strawberry.field(
        description="The name of the job whose code blocks; null if it is no code of a job."
    )
    stack: list[str] = strawberry.field(
        description="The place of the blocking code when it was noticed: `file:line in function`, the innermost last."
    )


@strawberry.type(description="One running process, or one that was.")
class Node(FromModel):
    """A node as it last reported itself."""

    id: strawberry.ID = strawberry.field(description="The decimal key of the node.")
    name: str = strawberry.field(description="The readable name of the node, unique among live nodes.")
    state: nodes.NodeState = strawberry.field(description="The state of the node.")
    slots: int = strawberry.field(description="The number of runs that the node executes at the same time.")
    thread_slots: int | None = strawberry.field(description="The number of slots for runs in threads; null = all.")
    process_slots: int | None = strawberry.field(
        description="The number of slots for runs in child processes; null = all."
    )
    remote_slots: int | None = strawberry.field(
        description="The number of runs that the node has at engines at the same time, besides its slots; null = none."
    )
    version: str = strawberry.field(description="The version of Cronograph that the node runs.")
    started_at: datetime = strawberry.field(description="The time when the node started.")
    heartbeat_at: datetime = strawberry.field(description="The time of the last heartbeat of the node.")
    expires_at: datetime = strawberry.field(
        description="The time at which the node counts as dead unless it sends another heartbeat."
    )
    clock_skew: Duration = strawberry.field(description="The clock of the node minus the clock of the database.")
    jobs: list[str] = strawberry.field(description="The names of the jobs that the node knows.")
    job_count: int = strawberry.field(description="The number of jobs that the node knows.")
    groups: list[str] = strawberry.field(
        description="The names of the only groups of which the node takes runs; empty = all groups."
    )
    only_jobs: list[str] = strawberry.field(
        description="The names of the only jobs of which the node takes runs; empty = all jobs that it knows."
    )
    tags: list[str] = strawberry.field(
        description="The tags of which a job needs at least one, so that the node takes its runs; empty = any job."
    )
    without_tags: list[str] = strawberry.field(
        description="The tags of which a job must have none, so that the node takes its runs."
    )
    blockage: Blockage | None = strawberry.field(
        description="The cause that blocks the event loop of the jobs; null while the loop turns."
    )
    stall: str | None = strawberry.field(
        description="The part of the node that has made no progress for a whole lease, e.g. `dispatcher`; `heartbeat` "
        "once other nodes have missed two heartbeats of the node; null if all parts make progress."
    )

    @resolved()
    async def running(self, info: Info) -> int:
        """The number of runs that the node executes now."""
        return await info.context.loaders.running_on.load(int(self.id))

    runs: Connection[Run] = listed(
        RUN_LIST,
        lambda: Run,
        description="The runs that the node holds: handed to it, or being executed.",
        of=("node_id", lambda self: int(self.id)),
        rows=HELD,
    )

    MADE: ClassVar[Makers] = {
        "blockage": lambda node: blockage_of(node),  # noqa: PLW0108 - it is defined below
        "job_count": lambda node: len(node.jobs),
    }
    PREFIX = "choice"


def blockage_of(node: nodes.Node) -> Blockage | None:
    """Return the cause that blocks a live node's event loop; None for a node that has ended."""
    if node.blockage is None or node.state not in nodes.LIVE_NODES:
        return None
    return Blockage.from_model(node.blockage)
