"""Shape runs on their way: as a claim judges them, as a node holds them, and as an event names them.

The fields are columns of ``run`` (``group`` is ``group_name``; the node is the caller's), and rows are read by their
names. A request is a ``NewRun`` of ``core.model``; ``new_runs`` says how it is written.
"""

from datetime import datetime
from typing import Any, NamedTuple

from ...core.model import Json, Priority


class HeldRun(NamedTuple):
    """Hold a run while a node executes it: ``Run`` without the fields that are only stored."""

    id: int
    attempt: int
    job_name: str
    args: dict[str, Json]
    group: str
    task_id: int | None
    task_name: str | None
    scheduled_for: datetime | None
    failures: int
    retries: int
    retry_delay: float
    timeout: float | None
    submitter: str | None
    submitter_id: int | None
    description: str
    signature: str | None
    carried: dict[str, Json] | None
    flow_id: int | None
    labels: dict[str, str] | None
    available_at: datetime
    trigger: str
    deadline_at: datetime | None
    concurrency_key: str | None
    rate_key: str | None
    started_at: datetime
    node_id: int
    node: str


class LanePosition(NamedTuple):
    """Mark the place up to which a lane was taken: its group, its class of priority, its last begun run."""

    group: str
    high: bool
    available_at: datetime
    run_id: int


class Reserved(NamedTuple):
    """Describe a run to an event when not all of it was read."""

    id: int
    task_id: int | None
    task_name: str | None
    job_name: str
    group: str
    flow_id: int | None = None


def reserved_from(row: Any) -> Reserved:
    """Return the run behind a row that has these columns among others."""
    return Reserved(row.id, row.task_id, row.task_name, row.job_name, row.group_name, row.flow_id)


class Candidate(NamedTuple):
    """A run that could be taken now. ``blocks`` is the task no second run of which may be taken (exclusive), or None.

    ``judged``: its task's tolerance has to be asked whether it may start; ``limited``: its group has a limit.
    ``keyed``: it needs a slot or a token of its key; ``rated``: it needs a token. ``overdue``: of low priority,
    and it has waited longer than its group lets such runs wait. ``slots``: how many of the node's slots it takes;
    ``heavy``: its job, if that are several.
    Candidates of one group and class must come first in, first out.
    """

    run_id: int
    group: str
    priority: Priority
    stuck: bool = False
    blocks: int | None = None
    judged: bool = False
    limited: bool = False
    keyed: bool = False
    overdue: bool = False
    slots: int = 1
    heavy: str | None = None
    rated: bool = False
