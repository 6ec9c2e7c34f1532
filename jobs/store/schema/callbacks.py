"""Runs that are enqueued when a flow ends, as they are stored with it."""

from datetime import datetime
from typing import Any, Final

from ...core.admission.holding import Hold
from ...core.defaults import FOLLOWED
from ...core.model import NewRun, Priority, Trigger
from .types import from_text, to_text

_FIELDS: Final = (
    "job_name", "args", "group", "retries", "retry_delay", "timeout", "max_duration", "signature", "carried",
    "submitter", "submitter_id", "description", "labels", "ttl", "unique_key",
)  # fmt: skip
_TIMES: Final = ("available_at", "expires_at")


def callback_document(run: NewRun) -> dict[str, Any]:
    """Return the stored form of all that a request can say of a run; inherited values are added when it is enqueued."""
    times: dict[str, datetime | None] = {name: getattr(run, name) for name in _TIMES}
    return {
        **{name: getattr(run, name) for name in _FIELDS},
        **{name: None if at is None else to_text(at) for name, at in times.items()},
        "priority": run.priority.value,
        "hold": None if run.hold is None else run.hold.to_json(),
        "inherits": sorted(run.inherits & FOLLOWED),
    }


def callback_from(stored: dict[str, Any], labels: dict[str, str] | None = None) -> NewRun:
    """Return the run behind the stored form, which inherits the labels of its flow."""
    hold = stored.get("hold")
    named: dict[str, Any] = {name: stored.get(name) for name in _FIELDS}
    named |= {name: from_text(stored[name]) for name in _TIMES if stored.get(name) is not None}
    return NewRun(
        **named,
        trigger=Trigger.API,
        priority=Priority(stored["priority"]),
        inherits=frozenset(stored["inherits"]),
        parent_labels=labels,
        hold=None if hold is None else Hold.from_json(hold),
    )
