"""The nouns of flows as values, independent of any table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from ..model import NewRun
from ..states import RunState

AWAITS_OTHERS = {"kind": "flow"}
"""What a run of a flow awaits that has not been released yet; which runs those are, the flow knows."""


class FlowState(StrEnum):
    """The state of a flow.

    ``RUNNING``: a run of it is unfinished, or it is open for more. ``SUCCESS``: all runs are over; none failed or was
    cancelled. ``FAILED``: at least one failed for good. ``CANCELLED``: none failed, and at least one was cancelled.
    """

    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    CANCELLED = "cancelled"


class When(StrEnum):
    """After what a run of a flow starts, once all that it comes after have ended.

    ``SUCCESS``: all of them succeeded. ``FAILURE``: at least one of them failed for good. ``ALWAYS``: in any case.
    """

    SUCCESS = "success"
    FAILURE = "failure"
    ALWAYS = "always"


class Ending(StrEnum):
    """At which end of a flow a further run is enqueued: any, a success, or a failure or cancellation."""

    END = "on_end"
    SUCCESS = "on_success"
    FAILURE = "on_failure"


@dataclass(frozen=True, slots=True)
class NewMember:
    """A run about to be put into a flow: its key, the keys that it comes after, and under which condition it starts."""

    key: str
    run: NewRun
    after: tuple[str, ...] = ()
    when: When = When.SUCCESS


@dataclass(frozen=True, slots=True)
class NewFlow:
    """A flow about to be enqueued.

    Attributes:
        name: What it is for; several flows may have one name.
        members: Its runs, in any order.
        is_open: Whether runs can be added while it is unfinished; it ends no earlier than it is closed.
        unique_key: No second unfinished flow can have it.
        callbacks: Runs that are enqueued when it ends, by the end.
        parent_id: The run that has begun it as a step and waits for its end.
        labels: Words that its runs inherit, as far as they have none of their own.
    """

    name: str
    members: tuple[NewMember, ...]
    is_open: bool = False
    unique_key: str | None = None
    callbacks: Mapping[Ending, NewRun] = field(default_factory=dict[Ending, NewRun])
    parent_id: int | None = None
    labels: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Flow:
    """A stored flow. ``closed_at`` None = it takes further runs. ``callbacks``: as documents, by the end."""

    id: int
    name: str
    state: FlowState
    unique_key: str | None
    submitted_at: datetime
    closed_at: datetime | None
    finished_at: datetime | None
    cancel_requested_at: datetime | None
    submitter: str | None
    submitter_id: int | None
    callbacks: dict[str, object]
    parent_id: int | None = None
    labels: dict[str, str] | None = None


def end_of(states: Mapping[RunState, int]) -> FlowState:
    """How a flow has ended whose runs have ended so: how many of them in each state."""
    if states.get(RunState.FAILED):
        return FlowState.FAILED
    return FlowState.CANCELLED if states.get(RunState.CANCELLED) else FlowState.SUCCESS
