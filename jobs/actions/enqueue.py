"""Enqueue inside the user's own SQLAlchemy transaction.

Run, event and notification are committed with the user's data, or not at all.
"""

import json
import re
from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
from sqlalchemy.orm import Session

from ..core.errors import InvalidInput
from ..core.model import DEFAULT_GROUP, DEFAULT_RETRIES, DEFAULT_RETRY_DELAY, Json, NewRun, Priority, Run, Trigger
from ..core.rules import check_name
from ..store.db import dialect
from ..store.db.transaction import Tx, Wake
from ..store.write import events
from .runs import check_new_run, put

_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""In JSON text, the escaped U+0000, which PostgreSQL cannot store."""


def enqueue_sync(
    session: Session | Connection,
    job_name: str,
    args: Mapping[str, Json] | None = None,
    *,
    group: str = DEFAULT_GROUP,
    priority: Priority | str = Priority.LOW,
    run_at: datetime | None = None,
    unique_key: str | None = None,
    retries: int = DEFAULT_RETRIES,
    retry_delay: float = DEFAULT_RETRY_DELAY,
    timeout: float | None = None,
) -> Run:
    """Put a run into the queue as part of ``session``'s transaction.

    The caller commits. Any job name is accepted: the node that knows it may not have started yet.

    Args:
        session: A SQLAlchemy session or connection to the database that Cronograph uses.
        job_name: Which job.
        args: Its arguments, plain JSON; validated when the run starts.
        group: The unit of fairness and limits.
        priority: ``"high"`` or ``"low"`` (or a ``Priority``) within the group.
        run_at: Not before this time, with a time zone; None = at once.
        unique_key: If an unfinished run has this key, that run is returned and nothing is added.
        retries: How many failures the run survives.
        retry_delay: Seconds before the first retry; doubles each time.
        timeout: Seconds each attempt may take; None = no limit.

    Raises:
        InvalidInput: a value is not what it must be.
    """
    run = NewRun(
        job_name=job_name,
        trigger=Trigger.API,
        args=dict(args or {}),
        group=group,
        priority=_priority(priority),
        available_at=run_at,
        unique_key=unique_key,
        retries=retries,
        retry_delay=retry_delay,
        timeout=timeout,
    )
    conn = session if isinstance(session, Connection) else session.connection()
    return _enqueue_on(conn, run)


async def enqueue(
    session: AsyncSession | AsyncConnection,
    job_name: str,
    args: Mapping[str, Json] | None = None,
    *,
    group: str = DEFAULT_GROUP,
    priority: Priority | str = Priority.LOW,
    run_at: datetime | None = None,
    unique_key: str | None = None,
    retries: int = DEFAULT_RETRIES,
    retry_delay: float = DEFAULT_RETRY_DELAY,
    timeout: float | None = None,
) -> Run:
    """``enqueue_sync`` for an asynchronous session or connection; the arguments are the same."""
    return await session.run_sync(
        lambda inner: enqueue_sync(
            inner,
            job_name,
            args,
            group=group,
            priority=priority,
            run_at=run_at,
            unique_key=unique_key,
            retries=retries,
            retry_delay=retry_delay,
            timeout=timeout,
        )
    )


def _enqueue_on(conn: Connection, run: NewRun) -> Run:
    """Insert a run, its event and a notification in ``conn``'s transaction, which the caller commits.

    Raises:
        InvalidInput: a value is not what it must be. The job's name is not judged.
    """
    check_name(run.job_name, "jobName")
    check_new_run(run)
    _check_storable(run)
    tx = Tx(conn)
    enqueued = put(tx, [run])[0]
    if tx.changes:
        events.append(conn, tx.now, tx.changes)
    dialect.notify(conn, str((Wake.RUNS | Wake.EVENTS).value))
    return enqueued.run


def _priority(value: Priority | str) -> Priority:
    try:
        return Priority(value.lower())
    except ValueError as error:
        raise InvalidInput(f"priority: must be 'high' or 'low', got {value!r}", path=("priority",)) from error


def _check_storable(run: NewRun) -> None:
    """Refuse here, by name, what the database would refuse in its own words, after which a transaction is spoilt."""
    if run.available_at is not None and run.available_at.tzinfo is None:
        got = f"the naive {run.available_at.isoformat()}"
        raise InvalidInput(f"run_at: must have a time zone, e.g. datetime.now(UTC), got {got}", path=("run_at",))
    try:
        text = json.dumps(run.args, allow_nan=False, ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput("args: a text must not hold half of a surrogate pair", path=("args",)) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"args: must be JSON: {error}", path=("args",)) from error
    # An even number of backslashes before it would make it an ordinary text.
    if _NUL.search(text):
        raise InvalidInput("args: a text must not hold the character U+0000", path=("args",))
