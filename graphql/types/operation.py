"""Show the queue's groups and nodes, and the viewer."""

from datetime import datetime
from typing import Any, ClassVar, Final

import strawberry

from ...jobs.core import model, nodes
from ...jobs.core.admission.caps import Bucket
from ...jobs.core.nodes import NodeState
from ...jobs.core.states import RunState
from ...jobs.store.read.lists import GROUPS, HELD, NODES, QUEUED
from ..base.enums import Described, described
from ..base.fields import resolved
from ..base.scalars import BigInt
from ..execution.shown import FromModel, Makers
from ..lists.connections import Connection
from ..lists.declared import Kind, listed, order_of
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


@filter_of("Which groups.")
class GroupFilter(RowFilter):
    """Conditions on groups."""

    name: StringFilter | None = condition("The name.")
    paused: BooleanFilter | None = condition("Whether none of its runs may start.")
    max_running: IntFilter | None = condition("How many of its runs may run together; no value = no limit.")
    limited: BooleanFilter | None = condition(
        "Whether it has any limit: on what runs together (`maxRunning`), what starts (`rate`), or what waits (`cap`)."
    )


@described("What groups can be ordered by; by name unless asked otherwise.")
class GroupOrderField(Described):
    """Fields of groups to order by."""

    NAME = "name", "The name, which is the order in which nodes serve them."
    DEPTH = "depth", "How many of its runs wait or are stuck."
    WAIT = (
        "wait",
        (
            "How long the run that is to start first has waited, or has still to wait for its time: "
            "DESC begins with the longest wait, and ends with the groups in which none waits."
        ),
    )


GroupOrder = order_of("GroupOrder", GroupOrderField, "An order of groups; ties are broken by the name.")


GROUP_LIST: Final = Kind(GROUPS, GroupFilter, GroupOrder, "Which groups.", "By name unless given.")


@filter_of("Which nodes.")
class NodeFilter(RowFilter):
    """Conditions on nodes."""

    id: IdFilter | None = condition("The key.")
    name: StringFilter | None = condition("The name.")
    state: Filter[NodeState] | None = condition("Where it is in its life.")
    version: StringFilter | None = condition("The version of Cronograph it runs.")
    started_at: DateTimeFilter | None = condition("When it started.")


@described("What nodes can be ordered by; newest first unless asked otherwise.")
class NodeOrderField(Described):
    """Fields of nodes to order by."""

    ID = "id", "The key, in the order in which they joined."
    NAME = "name", "The name."
    STARTED_AT = "started_at", "When it started."


NodeOrder = order_of("NodeOrder", NodeOrderField, "An order of nodes; ties are broken by the key.")


NODE_LIST: Final = Kind(NODES, NodeFilter, NodeOrder, "Which nodes.")


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

    name: str = strawberry.field(description="Its name.")
    paused: bool = strawberry.field(description="Whether none of its runs may start.")
    paused_at: datetime | None = strawberry.field(description="Since when it is paused.")
    paused_by: str | None = strawberry.field(description="Who paused it.")
    pause_reason: str | None = strawberry.field(description="Why it is paused.")
    max_running: int | None = strawberry.field(
        description="How many of its runs may be scheduled or running on all nodes together; null = no limit."
    )

    max_wait_low: float | None = strawberry.field(
        description="Seconds after which a due run of low priority goes before those of high priority; null = only as "
        "the counting scheme has it."
    )
    rate: Rate | None = strawberry.field(
        description="How many of its runs start in how long, on all nodes together; null = any number."
    )

    cap: Cap | None = strawberry.field(description="How many of its runs wait at most; null = any number.")
    keep: float | None = strawberry.field(
        description="Seconds that the history of its finished runs is kept; null = as their job says, or else "
        "`prune_history`."
    )

    MADE: ClassVar[Makers] = {
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
        """When the next of its runs may start by its rate; null if one may now, or it has none."""
        stored: model.Group = vars(self)["stored"]
        now = await info.context.now()
        due = now if stored.rate is None else Bucket(stored.rate, stored.rate_full_at).settled(now).due(now)
        return due if due > now else None

    runs: Connection[Run] = listed(
        RUN_LIST,
        lambda: Run,
        description="Its runs that are not over; those that are: `runs(filter: {group: …})`.",
        of=("group", lambda self: self.name),
        rows=QUEUED,
    )
    tasks: Connection[Task] = listed(
        TASK_LIST,
        lambda: Task,
        description="The tasks whose runs go to it.",
        of=("group", lambda self: self.name),
    )

    waiting = _depth(RunState.WAITING, "How many of its runs wait.")
    scheduled = _depth(RunState.SCHEDULED, "How many of its runs were handed to a node and have not begun.")
    running = _depth(RunState.RUNNING, "How many of its runs are being executed.")
    stuck = _depth(RunState.STUCK, "How many of its runs failed and will be tried again.")
    suspended = _depth(RunState.SUSPENDED, "How many of its runs sleep, or wait for a signal or for other runs.")

    @resolved()
    async def oldest_wait(self, info: Info) -> float | None:
        """For how many seconds the longest waiting due run has waited; null if none is due."""
        return (await info.context.loaders.depths.load(self.name)).oldest_wait


@strawberry.type(
    description="What keeps the event loop of a node's jobs from turning: its async jobs stand still, and nothing new "
    "starts there."
)
class Blockage(FromModel):
    """A blocked event loop."""

    since: datetime = strawberry.field(description="Since when.")
    run_id: strawberry.ID | None = strawberry.field(
        description="The run whose code is at work; null if it is no job's."
    )
    job_name: str | None = strawberry.field(description="The job of that run.")
    stack: list[str] = strawberry.field(
        description="Where that code was when it was noticed: `file:line in function`, the innermost last."
    )


@strawberry.type(description="One running process, or one that was.")
class Node(FromModel):
    """A node as it last reported itself."""

    id: strawberry.ID = strawberry.field(description="The decimal key.")
    name: str = strawberry.field(description="Its readable name, unique among live nodes.")
    state: nodes.NodeState = strawberry.field(description="Where it is in its life.")
    slots: int = strawberry.field(description="How many runs it executes at once.")
    thread_slots: int | None = strawberry.field(description="How many of these in threads; null = all.")
    process_slots: int | None = strawberry.field(description="How many of these in child processes; null = all.")
    version: str = strawberry.field(description="The version of Cronograph it runs.")
    started_at: datetime = strawberry.field(description="When it started.")
    heartbeat_at: datetime = strawberry.field(description="When it last reported itself.")
    expires_at: datetime = strawberry.field(description="When it counts as dead unless it reports itself again.")
    clock_skew: float = strawberry.field(description="Its clock minus the database's, in seconds.")
    jobs: list[str] = strawberry.field(description="The names of the jobs it knows.")
    job_count: int = strawberry.field(description="How many jobs it knows.")
    groups: list[str] = strawberry.field(description="The only groups of which it takes runs; empty = all.")
    only_jobs: list[str] = strawberry.field(description="The only jobs of which it takes runs; empty = all it knows.")
    tags: list[str] = strawberry.field(
        description="It takes only runs of jobs that carry one of these tags; empty = of any."
    )
    without_tags: list[str] = strawberry.field(
        description="It takes no run of a job that carries one of these tags; empty = none is left out."
    )
    blockage: Blockage | None = strawberry.field(
        description="What keeps the event loop of its jobs from turning; null while it turns, as it should."
    )
    stall: str | None = strawberry.field(
        description="The part of it that has made no progress for a whole lease, e.g. `dispatcher`; null if all do."
    )

    @resolved()
    async def running(self, info: Info) -> int:
        """The number of runs that it executes now."""
        return await info.context.loaders.running_on.load(int(self.id))

    runs: Connection[Run] = listed(
        RUN_LIST,
        lambda: Run,
        description="The runs that it holds, handed to it or at work.",
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
