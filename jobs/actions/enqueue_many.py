"""Enqueue many runs inside the user's own SQLAlchemy transaction, a few thousand in each statement."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
from sqlalchemy.orm import Session

from ..core.defaults import RUN_POLICIES
from ..core.errors import UserError
from ..core.model import Json, NewRun, Priority
from ..store.db import dialect
from ..store.write.enqueueing import insert_plain
from .enqueue import args_text, enqueue_all, new_run, plain_run


@dataclass(frozen=True, slots=True)
class RunSpec:
    """A run to be; the fields are the arguments of ``enqueue``."""

    job_name: str
    args: Mapping[str, Json] | None = None
    group: str | None = None
    priority: Priority | str | None = None
    run_at: datetime | None = None
    unique_key: str | None = None
    retries: int | None = None
    retry_delay: float | None = None
    timeout: float | None = None


def enqueue_many_sync(session: Session | Connection, runs: Iterable[RunSpec]) -> list[int]:
    """Put runs into the queue as part of ``session``'s transaction, all or none. The caller commits.

    Args:
        session: A SQLAlchemy session or connection to the database that Cronograph uses.
        runs: What to put there, served first in, first out.

    Returns:
        The ids, in the order of ``runs``; for a unique key that an unfinished run has, the id of that run.

    Raises:
        UserError: the first run that is not what it must be, with its place in the path. Nothing was added.
    """
    conn = session if isinstance(session, Connection) else session.connection()
    new = _checked(runs)
    if not dialect.is_postgresql(conn) or any(run.unique_key is not None for run, _ in new):
        return [run.id for run in enqueue_all(conn, [replace(run, args=json.loads(args)) for run, args in new])]
    return insert_plain(conn, [plain_run(run, args) for run, args in new])


def _checked(runs: Iterable[RunSpec]) -> list[tuple[NewRun, str]]:
    """What is to be stored: the runs without their arguments, and these as JSON. Equal settings are judged once."""
    known: dict[tuple[object, ...], NewRun] = {}
    checked: list[tuple[NewRun, str]] = []
    for place, spec in enumerate(runs):
        settings = (
            spec.job_name, spec.group, spec.priority, spec.run_at, spec.unique_key, spec.retries, spec.retry_delay,
            spec.timeout,
        )  # fmt: skip
        try:
            run = known.get(settings)
            if run is None:
                given = {name: getattr(spec, name) for name in RUN_POLICIES}
                run = new_run(spec.job_name, given, run_at=spec.run_at, unique_key=spec.unique_key)
                known[settings] = run
            checked.append((run, "{}" if not spec.args else args_text(spec.args)))
        except UserError as error:
            raise error.within("runs", str(place)) from error
    return checked


async def enqueue_many(session: AsyncSession | AsyncConnection, runs: Iterable[RunSpec]) -> list[int]:
    """``enqueue_many_sync`` for an asynchronous session or connection."""
    return await session.run_sync(lambda inner: enqueue_many_sync(inner, runs))
