"""A run that no database has."""

from dataclasses import fields
from datetime import datetime
from typing import Any

from ..core.model import DEFAULT_GROUP, DEFAULT_RETRIES, DEFAULT_RETRY_DELAY, Json, Priority, Run, Trigger
from ..core.states import RunState


def run_in_hand(job_name: str, args: dict[str, Json], now: datetime, scheduled_for: datetime | None) -> Run:
    """A run as a node would have it in hand."""
    known: dict[str, Any] = {
        "id": 1,
        "job_name": job_name,
        "state": RunState.RUNNING,
        "trigger": Trigger.MANUAL if scheduled_for is None else Trigger.SCHEDULE,
        "args": args,
        "group": DEFAULT_GROUP,
        "priority": Priority.LOW,
        "task_id": 1,
        "task_name": job_name,
        "scheduled_for": scheduled_for,
        **dict.fromkeys(("submitted_at", "available_at", "started_at"), now),
        "attempt": 1,
        "failures": 0,
        "retries": DEFAULT_RETRIES,
        "retry_delay": DEFAULT_RETRY_DELAY,
        "exclusive": False,
        "node_id": 1,
        "node": "test",
        "description": "",
    }
    open_yet: dict[str, Any] = dict.fromkeys(field.name for field in fields(Run))
    return Run(**(open_yet | known))
