"""Enqueueing in a transaction that belongs to somebody else."""

from sqlalchemy import Connection

from ..core.model import NewRun, Run
from ..core.rules import check_name, check_run_settings
from ..store import dialect, events
from ..store.transaction import Tx, Wake
from .runs import put


def enqueue_on(conn: Connection, run: NewRun) -> Run:
    """Insert a run, its event and a notification in ``conn``'s transaction, which the caller commits.

    Raises:
        InvalidInput: a value is not what it must be. The job's name is not judged.
    """
    check_name(run.job_name, "jobName")
    check_name(run.group, "group")
    check_run_settings(run.retries, run.retry_delay, run.timeout)
    tx = Tx(conn)
    enqueued = put(tx, [run])[0]
    if tx.changes:
        events.append(conn, tx.now, tx.changes)
    dialect.notify(conn, str((Wake.RUNS | Wake.EVENTS).value))
    return enqueued.run
