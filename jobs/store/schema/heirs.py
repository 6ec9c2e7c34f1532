"""Runs that are enqueued when a flow ends, as they are stored with it."""

from typing import Any

from ...core.defaults import FOLLOWED
from ...core.model import NewRun, Priority, Trigger

_FIELDS = ("job_name", "args", "group", "retries", "retry_delay", "timeout", "max_duration", "signature", "carried",
           "submitter", "submitter_id", "description")  # fmt: skip


def heir_document(run: NewRun) -> dict[str, Any]:
    """The stored form."""
    named = {name: getattr(run, name) for name in _FIELDS}
    return {**named, "priority": run.priority.value, "inherits": sorted(run.inherits & FOLLOWED)}


def heir_from(stored: dict[str, Any]) -> NewRun:
    """The run behind the stored form."""
    named = {name: stored[name] for name in _FIELDS}
    inherits = frozenset(stored["inherits"])
    return NewRun(**named, trigger=Trigger.API, priority=Priority(stored["priority"]), inherits=inherits)
