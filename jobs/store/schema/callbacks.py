"""Runs that are enqueued when a flow ends, as they are stored with it."""

from typing import Any

from ...core.defaults import FOLLOWED
from ...core.model import NewRun, Priority, Trigger

_FIELDS = ("job_name", "args", "group", "retries", "retry_delay", "timeout", "max_duration", "signature", "carried",
           "submitter", "submitter_id", "description", "labels", "ttl")  # fmt: skip


def callback_document(run: NewRun) -> dict[str, Any]:
    """The stored form."""
    named = {name: getattr(run, name) for name in _FIELDS}
    return {**named, "priority": run.priority.value, "inherits": sorted(run.inherits & FOLLOWED)}


def callback_from(stored: dict[str, Any], labels: dict[str, str] | None = None) -> NewRun:
    """The run behind the stored form, which inherits the labels of its flow."""
    named = {name: stored[name] for name in _FIELDS}
    inherits = frozenset(stored["inherits"])
    return NewRun(
        **named, trigger=Trigger.API, priority=Priority(stored["priority"]), inherits=inherits, parent_labels=labels
    )
