"""Enqueue many runs inside the user's own SQLAlchemy transaction, a few thousand in each statement."""

import json
from collections.abc import Iterable
from dataclasses import replace

from sqlalchemy import Connection

from ...core.defaults import RUN_POLICIES
from ...core.errors import UserError
from ...core.model import NewRun
from ...core.run_spec import RunSpec
from ...store.db import dialect
from ...store.db.borrowed import borrowed
from ...store.db.transaction import Tx, Wake
from ...store.write.enqueueing import PlainRun, insert_plain
from .enqueue import Transaction, args_text, enqueue_all, new_run, plain_run


def enqueue_many_sync(session: Transaction, runs: Iterable[RunSpec], *, schema: str | None = None) -> list[int]:
    """Put runs into the queue as part of ``session``'s transaction, all or none. The caller commits.

    Args:
        session: A SQLAlchemy session or connection to the database that Cronograph uses.
        runs: What to put there, served first in, first out.
        schema: See ``enqueue_sync``.

    Returns:
        The ids, in the order of ``runs``; for a unique key that an unfinished run has, the id of that run.

    Raises:
        UserError: the first run that is not what it must be, with its place in the path. Nothing was added.
    """
    conn = session if isinstance(session, Connection) else session.connection()
    new = _checked(runs)
    with borrowed(conn, schema):
        if dialect.is_postgresql(conn) and all(run.unique_key is None for run, _ in new):
            return insert_plain(conn, [plain for _, plain in new])
        return [run.id for run in enqueue_all(conn, [replace(run, args=json.loads(plain.args)) for run, plain in new])]


def _checked(runs: Iterable[RunSpec]) -> list[tuple[NewRun, PlainRun]]:
    """What is to be stored, without the arguments and with them. Equal settings are judged once."""
    known: dict[tuple[object, ...], tuple[NewRun, PlainRun]] = {}
    checked: list[tuple[NewRun, PlainRun]] = []
    for place, spec in enumerate(runs):
        settings = (
            spec.job_name, spec.group, spec.priority, spec.run_at, spec.unique_key, spec.retries, spec.retry_delay,
            spec.timeout,
        )  # fmt: skip
        try:
            found = known.get(settings)
            if found is None:
                given = {name: getattr(spec, name) for name in RUN_POLICIES}
                run = new_run(spec.job_name, given, run_at=spec.run_at, unique_key=spec.unique_key)
                known[settings] = found = run, plain_run(run, "{}")
            run, plain = found
            if spec.carried:
                run = replace(run, carried=dict(spec.carried))
                plain = plain._replace(carried=args_text(spec.carried, "carried"))
            checked.append((run, plain._replace(args=args_text(spec.args)) if spec.args else plain))
        except UserError as error:
            raise error.within("runs", str(place)) from error
    return checked


def put_many(tx: Tx, runs: Iterable[RunSpec]) -> list[int]:
    """``enqueue_many_sync`` as a part of a transaction of ours."""
    ids = enqueue_many_sync(tx.conn, runs)
    tx.wake(Wake.RUNS | Wake.EVENTS)
    return ids


def new_runs(runs: Iterable[RunSpec]) -> tuple[NewRun, ...]:
    """Runs to be put into the queue by another transaction than the caller's.

    Raises:
        UserError: see ``enqueue_many_sync``.
    """
    return tuple(replace(run, args=json.loads(plain.args)) for run, plain in _checked(runs))
