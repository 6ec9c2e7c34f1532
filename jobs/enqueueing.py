"""Put runs into the queue by the names of their jobs, as part of a transaction of the user's."""

from collections.abc import Iterable, Mapping
from typing import Unpack

from .connection import in_transaction, put_in_session, put_many_in_session
from .core.model import Json, Run
from .core.run_spec import RunSpec
from .queue.enqueue.enqueue import AsyncTransaction, Transaction
from .registry import default_registry
from .registry.queue import RunOptions, check_options, check_session, in_seconds


def enqueue_sync(
    session: Transaction,
    job_name: str,
    args: Mapping[str, Json] | None = None,
    *,
    carried: Mapping[str, Json] | None = None,
    **options: Unpack[RunOptions],
) -> Run:
    """Put a run into the queue as part of ``session``'s transaction; run, event and notification are committed with it.

    The caller commits. Any job name is accepted: the node that knows it may not have started yet. An option not given
    (None) is as the job says that the nodes have published, or else the product's default.

    Args:
        session: A session or connection of SQLAlchemy, or a connection of psycopg 3, to the database that Cronograph
            uses. Its search path does not matter: the tables are looked for in the schema of ``connect``, else of
            ``CRONOGRAPH_DATABASE_SCHEMA``, else in ``cronograph``.
        job_name: Which job.
        args: Its arguments, plain JSON; validated when the run starts.
        carried: The value of ``ctx.carried`` in its attempts, plain JSON; ``job.enqueue`` fills it by ``@carries``.
        options: See ``RunOptions``: ``group`` (``default``), ``priority`` (low), ``run_at`` (at once), ``unique_key``,
            ``retries`` (2), ``retry_delay`` (60 s, doubled each time), ``timeout`` (none), ``labels`` (none).

    Raises:
        TypeError: the session is none.
        UserError: a value is invalid.
        StorageError: the database has no tables of Cronograph in that schema.
    """
    _check_session(session, "enqueue_sync", asynchronous=False)
    return put_in_session(default_registry(), session, _spec(job_name, args, carried, options)).run


async def enqueue(
    session: AsyncTransaction,
    job_name: str,
    args: Mapping[str, Json] | None = None,
    *,
    carried: Mapping[str, Json] | None = None,
    **options: Unpack[RunOptions],
) -> Run:
    """Do the same as ``enqueue_sync`` for an asynchronous session or connection; the arguments are the same."""
    _check_session(session, "enqueue", asynchronous=True)
    spec = _spec(job_name, args, carried, options)
    return (await in_transaction(session, lambda inner: put_in_session(default_registry(), inner, spec))).run


def enqueue_many_sync(session: Transaction, runs: Iterable[RunSpec]) -> list[int]:
    """Put runs into the queue as part of ``session``'s transaction, all or none. The caller commits.

    Args:
        session: See ``enqueue_sync``.
        runs: The runs to put there, served first in, first out.

    Returns:
        The ids, in the order of ``runs``; for a unique key that an unfinished run has, the id of that run.

    Raises:
        UserError: the first invalid run, with its place in the path. Nothing was added.
        StorageError: the database has no tables of Cronograph.
    """
    _check_session(session, "enqueue_many_sync", asynchronous=False)
    return put_many_in_session(default_registry(), session, runs)


async def enqueue_many(session: AsyncTransaction, runs: Iterable[RunSpec]) -> list[int]:
    """Do the same as ``enqueue_many_sync`` for an asynchronous session or connection."""
    _check_session(session, "enqueue_many", asynchronous=True)
    return await in_transaction(session, lambda inner: put_many_in_session(default_registry(), inner, runs))


def _spec(
    job_name: str, args: Mapping[str, Json] | None, carried: Mapping[str, Json] | None, options: RunOptions
) -> RunSpec:
    check_options(options)
    return RunSpec(job_name, args, carried=carried, **in_seconds(options))


def _check_session(session: object, called: str, *, asynchronous: bool) -> None:
    """Check that a session is given: runs by job name can only be enqueued in a session's transaction.

    Raises:
        TypeError: it is none.
    """
    check_session(session, called, asynchronous=asynchronous, needed=True)
