"""A run that the API is asked for, on PostgreSQL in one statement: row, event and the entry of the audit log."""

import json
from dataclasses import replace
from typing import Any, Final

from ...core.auth.audit import Record
from ...core.defaults import RUN_POLICIES
from ...core.model import NewRun, Priority, Run
from ..db.audit import link_values, linking
from ..db.database import Send
from .enqueueing import EVENT_WRITTEN, NOW, OF_JOB, Decided
from .runs import stored_as

_CASTS: Final = {
    "job_name": "text",
    "signature": "text",
    "args": "text",
    "trigger": "text",
    "group_name": "text",
    "priority": "text",
    "available_at": "timestamptz",
    "retries": "int",
    "retry_delay": "float8",
    "timeout": "float8",
    "submitter": "text",
    "submitter_id": "bigint",
}
_VALUES = ", ".join(f"CAST(%({name})s AS {kind})" for name, kind in _CASTS.items())
_RETURNED = ", ".join(["job_name", *Decided._fields])
_ANSWERED = ", ".join(f"i.{name}" for name in Decided._fields)

_INSERT = f"""
    WITH inserted AS (
        INSERT INTO cronograph.run (job_name, signature, args, trigger, group_name, priority, available_at, retries,
            retry_delay, timeout, submitter, submitter_id, submitted_at, state, attempt, failures, exclusive,
            description)
        SELECT n.job_name, n.signature, CAST(n.args AS jsonb), n.trigger, {OF_JOB["group"]}, {OF_JOB["priority"]},
            coalesce(n.available_at, {NOW}), {OF_JOB["retries"]}, {OF_JOB["retry_delay"]}, {OF_JOB["timeout"]},
            n.submitter, n.submitter_id, {NOW}, 'waiting', 0, 0, false, ''
        FROM (SELECT {_VALUES}) AS n({", ".join(_CASTS)})
            JOIN cronograph.job j ON j.name = n.job_name AND j.signature = n.signature
        WHERE EXISTS (SELECT FROM cronograph.audit_head) RETURNING {_RETURNED}),
    {EVENT_WRITTEN},
    {linking("%({})s", NOW, "EXISTS (SELECT FROM inserted)")}
    SELECT {_ANSWERED} FROM inserted i, audited"""


def insert_requested(send: Send, run: NewRun, record: Record) -> Run | None:
    """Insert a run whose arguments were checked against the version of its job that has its signature.

    Args:
        send: Sends the statement, in a transaction of its own.
        run: Without a unique key; what it inherits it has from its job as that is published now.
        record: The entry of the audit log.

    Returns:
        What is stored; None, and nothing is: the job has another version or is published no more, or the audit log has
        no entry yet that another could follow.
    """
    rows = send(_INSERT, _parameters(run, record))
    if not rows:
        return None
    decided = Decided(*rows[0])
    whole = replace(
        run,
        group=decided.group_name,
        priority=Priority(decided.priority),
        retries=decided.retries,
        retry_delay=decided.retry_delay,
        timeout=decided.timeout,
        available_at=decided.available_at,
        inherits=frozenset(),
    )
    return stored_as(whole, decided.id, decided.submitted_at)


def _parameters(run: NewRun, record: Record) -> dict[str, Any]:
    own = {name: None if name in run.inherits else getattr(run, name) for name in RUN_POLICIES}
    priority, group = own.pop("priority"), own.pop("group")
    return {
        **own,
        **link_values(record),
        "group_name": group,
        "priority": None if priority is None else priority.value,
        "job_name": run.job_name,
        "signature": run.signature,
        "args": json.dumps(run.args),
        "trigger": run.trigger.value,
        "available_at": run.available_at,
        "submitter": run.submitter,
        "submitter_id": run.submitter_id,
    }
