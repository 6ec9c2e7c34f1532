"""A node: one running process, or one that was."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from .base.blockage import Blockage
from .node_choice import EVERYTHING, NodeChoice


class NodeState(StrEnum):
    """Life of a node: it starts, serves (or should: stalled), drains, stops for good, has stopped or was found dead."""

    STARTING = "starting"
    ACTIVE = "active"
    STALLED = "stalled"
    DRAINING = "draining"
    STOPPING = "stopping"
    STOPPED = "stopped"
    EXPIRED = "expired"


TAKING_NODES = frozenset({NodeState.STARTING, NodeState.ACTIVE, NodeState.STALLED})
LIVE_NODES = TAKING_NODES | {NodeState.DRAINING, NodeState.STOPPING}
"""States in which a node takes new runs (or will, once it gets on), and in which it may hold runs."""


@dataclass(frozen=True, slots=True)
class Node:
    """One running process, or one that was. ``clock_skew``: its clock minus the database's, in seconds.

    ``jobs``: those it knows; ``signatures``: its version of each that it takes, by name; ``thread_slots``: how many
    of them in threads, None = all; ``launcher_fault``: why no child process starts; ``stall``: the part that is stuck.
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

    def takes(self, job_name: str, group: str) -> bool:
        """Whether it takes runs of a job in a group."""
        return job_name in self.signatures and self.choice.takes_group(group)
