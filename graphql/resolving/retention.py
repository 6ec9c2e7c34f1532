"""How long history is kept, by what groups, jobs and the task that prunes say now."""

from datetime import datetime, timedelta

from ...jobs.builtin.prune import DEFAULT_AGE_DAYS, JOB
from ...jobs.core.retention import Retained
from ...jobs.store.db.database import Connection
from ...jobs.store.read import tasks
from ...jobs.store.read.prunable import keeping


def retained(conn: Connection, now: datetime) -> Retained:
    """What holds now; without the task that prunes, what would hold by its defaults."""
    task = tasks.by_name(conn, JOB)
    args = {} if task is None else task.spec.args
    usual = timedelta(days=args.get("max_age_days", DEFAULT_AGE_DAYS))
    return Retained(
        keeping(conn, now, usual),
        args.get("max_per_task"),
        None if task is None else task.name,
        is_paused=task is not None and task.paused,
    )
