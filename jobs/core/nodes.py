"""A node: one running process, or one that was."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from .model import Isolation


def nodes_wanted(taken: Mapping[Isolation, int], room: Mapping[Isolation, int]) -> int:
    """Return the number of nodes that the runs of one moment need, those that run and those that could begin.

    Args:
        taken: The slots that they take, by kind; runs at engines take none.
        room: The slots of a node by kind; ``ASYNC`` = of all kinds together. A kind that is left out has no bound.
    """
    local = {kind: count for kind, count in taken.items() if kind is not Isolation.REMOTE}
    needs = {**local, Isolation.ASYNC: sum(local.values())}
    return max((-(-count // room[kind]) for kind, count in needs.items() if kind in room), default=0)


class LeftBy(StrEnum):
    """By which part of its choice a node leaves a run to others."""

    GROUP = "group"
    JOB = "job"
    TAG = "tag"


@dataclass(frozen=True, slots=True)
class NodeChoice:
    """Select the runs of a node. An empty part leaves nothing out; a run is taken when every part lets it pass.

    Attributes:
        groups: Only runs of these groups.
        only_jobs: Only runs of these jobs.
        tags: Only runs of jobs that carry one of these tags.
        without_tags: No run of a job that carries one of these tags.
    """

    groups: tuple[str, ...] = ()
    only_jobs: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    without_tags: tuple[str, ...] = ()

    def takes_job(self, name: str, tags: Collection[str]) -> bool:
        """Return whether runs of a job with these tags are taken, in any group."""
        return self._leaves_job(name, tags) is None

    def takes_group(self, group: str) -> bool:
        """Return whether runs of a group are taken, of any job."""
        return not self.groups or group in self.groups

    def leaves(self, job_name: str, tags: Collection[str], group: str) -> LeftBy | None:
        """Return the part for which a run is left to others; None = it is taken."""
        return self._leaves_job(job_name, tags) or (None if self.takes_group(group) else LeftBy.GROUP)

    def covers_groups_of(self, other: "NodeChoice") -> bool:
        """Return whether every group of which the other node takes runs is one of which this node does."""
        return not self.groups or (bool(other.groups) and set(other.groups) <= set(self.groups))

    @property
    def words(self) -> str:
        """Return the end of a sentence: ``takes only the group 'a', and no job with the tag 'gpu'``."""
        only = [
            _named("group", self.groups),
            _named("job", self.only_jobs),
            f"jobs with {_named('tag', self.tags, 'a tag of')}" if self.tags else "",
        ]
        parts = [f"only {' and '.join(filter(None, only))}"] if any(only) else []
        if self.without_tags:
            parts.append(f"no job with {_named('tag', self.without_tags, 'a tag of')}")
        return f"takes {', and '.join(parts) or 'everything'}"

    def _leaves_job(self, name: str, tags: Collection[str]) -> LeftBy | None:
        if self.only_jobs and name not in self.only_jobs:
            return LeftBy.JOB
        if (self.tags and not set(tags).intersection(self.tags)) or set(tags).intersection(self.without_tags):
            return LeftBy.TAG
        return None


EVERYTHING: Final = NodeChoice()


def in_turn(groups: Collection[str], after: str) -> tuple[str, ...]:
    """Return groups in the order of fairness: from the smallest name after the one served last, then wrapping."""
    ordered = sorted(set(groups))
    return (*(one for one in ordered if one > after), *(one for one in ordered if one <= after))


def _named(kind: str, names: Sequence[str], several: str = "") -> str:
    """Return ``the group 'a'``, ``the groups 'a' and 'b'``; nothing for no name."""
    if not names:
        return ""
    quoted = [f"'{name}'" for name in names]
    if len(quoted) == 1:
        return f"the {kind} {quoted[0]}"
    return f"{several or f'the {kind}s'} {', '.join(quoted[:-1])} and {quoted[-1]}"


@dataclass(frozen=True, slots=True)
class Blockage:
    """Describe the blocked event loop of a node's jobs; its other async jobs stand still meanwhile.

    Attributes:
        since: When the loop turned last.
        run_id: The run whose code is at work; None if it is no job's.
        job_name: The job of that run.
        stack: Where that code was when it was noticed: ``file:line in function``, the innermost last.
    """

    since: datetime
    run_id: int | None
    job_name: str | None
    stack: tuple[str, ...]


class NodeState(StrEnum):
    """Life of a node: it starts, serves (or should: stalled), drains, stops for good, has stopped or was found dead."""

    STARTING = "starting"
    ACTIVE = "active"
    STALLED = "stalled"
    DRAINING = "draining"
    STOPPING = "stopping"
    STOPPED = "stopped"
    EXPIRED = "expired"


SILENT: Final = "heartbeat"
"""The part that makes no progress of a node of which others have missed two heartbeats."""

TAKING_NODES = frozenset({NodeState.STARTING, NodeState.ACTIVE, NodeState.STALLED})
LIVE_NODES = TAKING_NODES | {NodeState.DRAINING, NodeState.STOPPING}
"""States in which a node takes new runs (or will, once it gets on), and in which it may hold runs."""


@dataclass(frozen=True, slots=True)
class Node:
    """One running process, or one that was. ``clock_skew``: its clock minus the database's, in seconds.

    ``jobs``: those it knows; ``signatures``: its version of each that it takes, by name; ``thread_slots``: how many
    of them in threads, None = all; ``launcher_fault``: why no child process starts; ``stall``: the part that is stuck;
    ``remote_slots``: how many runs it has at engines besides, None = none.
    """

    id: int
    name: str
    state: NodeState
    slots: int
    thread_slots: int | None
    process_slots: int | None
    running: int
    version: str
    seq: int
    started_at: datetime
    heartbeat_at: datetime
    expires_at: datetime
    clock_skew: float
    jobs: tuple[str, ...]
    signatures: dict[str, str]
    blockage: Blockage | None = None
    launcher_fault: str | None = None
    stall: str | None = None
    choice: NodeChoice = EVERYTHING
    remote_slots: int | None = None

    def takes(self, job_name: str, group: str) -> bool:
        """Return whether the node runs this job in this group."""
        return job_name in self.signatures and self.choice.takes_group(group)
