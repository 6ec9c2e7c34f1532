"""What a node keeps of the runs that it executes, and of the queue that it takes them from."""

from datetime import datetime
from typing import NamedTuple

from ..core.model import Json


class HeldRun(NamedTuple):
    """What a node keeps of a run while it executes it: ``Run`` without what is only stored."""

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
    available_at: datetime
    trigger: str
    started_at: datetime
    node_id: int
    node: str


class LanePosition(NamedTuple):
    """How far a lane has been taken: its group, whether it is that of high priority, and its last run that began."""

    group: str
    high: bool
    available_at: datetime
    run_id: int
