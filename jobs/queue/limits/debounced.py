"""The run that waits with a debounced key gets what a further enqueue brings, on PostgreSQL in one statement."""

import json
from dataclasses import replace
from typing import Final

from ...core.admission.holding import Holding
from ...core.model import NewRun, Priority, Run, Trigger
from ..base.new_runs import NOTHING, WAKES, SendNamed, columns_text, labels_text, stored_here

NAME: Final = "renew_debounced"
"""The statement."""


def is_debounced(run: NewRun) -> bool:
    """Whether a further enqueue of its key takes its place as long as it waits."""
    return run.hold is not None and run.hold.kind is Holding.DEBOUNCE


def renew_by(send: SendNamed, run: NewRun) -> Run | None:
    """Give the run that waits with this unique key the arguments of ``run``, by any way to send the statement.

    Args:
        send: As a transaction of its own.
        run: Debounced, with its unique key.

    Returns:
        The run as it waits now. None, and nothing was changed: it takes a transaction, see ``uniqueness.put_unique``.
    """
    assert run.hold is not None, "it is debounced"
    parameters = {
        "run": columns_text(run),
        "args": json.dumps(run.args),
        "carried": NOTHING if run.carried is None else json.dumps(run.carried),
        "labels": labels_text(run.labels, run.parent_labels),
        "delay": run.hold.seconds,
        "max_wait": run.hold.max_wait,
        "wakes": str(WAKES.value),
    }
    for row in send(NAME, parameters):
        as_first = replace(
            run,
            trigger=Trigger(row.trigger),
            task_id=row.task_id,
            task_name=row.task_name,
            group=row.group,
            priority=Priority(row.priority),
            retries=row.retries,
            retry_delay=row.retry_delay,
            timeout=row.timeout,
            description=row.description,
            available_at=row.available_at,
            expires_at=row.expires_at,
            ttl=None,
        )
        return stored_here(as_first, row.id, row.submitted_at)
    return None
