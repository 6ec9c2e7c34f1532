"""The facts about an attempt, and why it should stop."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from ..core.actor import Submitter
from ..core.model import Json


class StopReason(StrEnum):
    """Why a job should stop: its time box is used up, somebody cancelled it, or its node shuts down."""

    DEADLINE = "deadline"
    CANCEL = "cancel"
    SHUTDOWN = "shutdown"


@dataclass(frozen=True, slots=True)
class RunInfo:
    """The facts about an attempt that do not change while it runs. ``deadline`` in UTC, None = no time box."""

    run_id: int
    execution_id: int
    job_name: str
    task_id: int | None
    task_name: str | None
    attempt: int
    is_last_attempt: bool
    scheduled_for: datetime | None
    deadline: datetime | None
    submitter: Submitter | None
    args: Mapping[str, Json]
    carried: Mapping[str, Json] | None = None
    labels: Mapping[str, str] | None = None
