"""Enqueue many runs inside the user's own SQLAlchemy transaction, a few thousand in each statement."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from ...core.defaults import RUN_POLICIES, run_of_job
from ...core.errors import UserError
from ...core.events import created
from ...core.model import Json, NewRun
from ...core.run_spec import RunSpec
from ...store.db import dialect, outbox
from ...store.db.borrowed import borrowed
from ...store.db.transaction import Tx, Wake
from ...store.read.jobs import defaults
from ...store.write.many_runs import NOTHING, ManyRuns, insert_many
from ...store.write.runs import insert_alike
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
    kinds, many = _checked(runs)
    with borrowed(conn, schema):
        if any(kind.unique_key is not None for kind in kinds):
            return [run.id for run in enqueue_all(conn, _apart(kinds, many))]
        if dialect.is_postgresql(conn):
            return insert_many(conn, many)
        return _insert_apart(conn, kinds, many)


def _insert_apart(conn: Connection, kinds: Sequence[NewRun], many: ManyRuns) -> list[int]:
    """Insert runs without unique keys and their event on SQLite, where no statement can do both; their ids."""
    if not many.kinds:
        return []
    of_jobs = defaults(conn, {kind.job_name for kind in kinds})
    whole = [run_of_job(kind, of_jobs[kind.job_name]) for kind in kinds]
    now = dialect.database_now(conn)
    ids = insert_alike(conn, whole, _own(many), now)
    about = [(kind.job_name, kind.group) for kind in whole]
    outbox.append(conn, now, [created((key, *about[kind]) for key, kind in zip(ids, many.kinds, strict=True))])
    return ids


def _own(many: ManyRuns) -> Iterator[tuple[int, dict[str, Json], dict[str, Json] | None]]:
    """Of each run its kind, its arguments and what it carries."""
    for kind, args, carried in zip(many.kinds, many.args, many.carried, strict=True):
        yield kind, json.loads(args), None if carried == NOTHING else json.loads(carried)


def _apart(kinds: Sequence[NewRun], many: ManyRuns) -> list[NewRun]:
    """Each run by itself."""
    return [replace(kinds[kind], args=args, carried=carried) for kind, args, carried in _own(many)]


def _checked(runs: Iterable[RunSpec]) -> tuple[list[NewRun], ManyRuns]:
    """What is to be stored: the settings that differ, and the runs. Equal settings are judged once."""
    known: dict[tuple[object, ...], int] = {}
    kinds: list[NewRun] = []
    many = ManyRuns()
    for place, spec in enumerate(runs):
        settings = (
            spec.job_name, spec.group, spec.priority, spec.run_at, spec.unique_key, spec.retries, spec.retry_delay,
            spec.timeout,
        )  # fmt: skip
        try:
            kind = known.get(settings)
            if kind is None:
                given = {name: getattr(spec, name) for name in RUN_POLICIES}
                run = new_run(spec.job_name, given, run_at=spec.run_at, unique_key=spec.unique_key)
                known[settings] = kind = len(kinds)
                kinds.append(run)
                many.settings.append(plain_run(run, "{}"))
            many.kinds.append(kind)
            many.args.append(args_text(spec.args) if spec.args else "{}")
            many.carried.append(args_text(spec.carried, "carried") if spec.carried else NOTHING)
        except UserError as error:
            raise error.with_prefix("runs", str(place)) from error
    return kinds, many


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
    return tuple(_apart(*_checked(runs)))
