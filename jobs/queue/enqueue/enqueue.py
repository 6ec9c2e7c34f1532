"""Runs are put into the queue: by one statement where that can do it, else by several in one transaction.

Run, event and notification are committed together, in a transaction of ours or of the user's, or not at all.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from ...core.admission.caps import Full, Verdict, refusal
from ...core.base.errors import python_names, refuse
from ...core.base.resources import CARRIED
from ...core.defaults import FROM_ARGUMENTS, NO_DEFAULTS, JobDefaults, run_of_job, settle
from ...core.model import Enqueued, NewRun
from ...core.rules import resource_place_faults
from ...core.run_spec import RunSpec
from ...store.db import dialect, outbox
from ...store.db.callers import borrowed
from ...store.db.dialects.lent import is_driver, lent
from ...store.db.faults import has_moved
from ...store.db.transaction import Tx, Wake
from ...store.statements import jobs
from ...store.statements import runs as stored_runs
from ..base import runs as run_store
from ..base.changes import created_changes
from ..base.new_runs import CHUNK, WAKES, NewRuns, SendNamed, insert, insert_by, sender
from ..limits.caps import Capped, Room, begin_writing, capped, drop, free_lines
from ..limits.uniqueness import hardly_waiting, is_debounced, put_unique, renew_by
from .requests import checked, new_run, traced

if TYPE_CHECKING:
    import sqlite3

    # A caller with a session has imported its library.
    import psycopg
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
    from sqlalchemy.orm import Session
from functools import partial
from typing import NamedTuple

from ...core.arguments.secrets import references, resolved
from ...core.base.resources import handed_on
from ...core.defaults import FOLLOWED
from ...core.model import Json, Run, Trigger
from ...core.outcome import Failure
from ..base.apart import ON_FAILURE, in_halves, note_lost
from ..base.shapes import HeldRun

T = TypeVar("T")
_ASKS = f'"{CARRIED}"'
"""Stands in the text of what a run carries that asks for resources."""
Transaction: TypeAlias = "Session | Connection | psycopg.Connection[Any] | sqlite3.Connection"
"""A synchronous transaction of the user's."""
AsyncTransaction: TypeAlias = "AsyncSession | AsyncConnection | psycopg.AsyncConnection[Any]"
"""An asynchronous one."""


def enqueue_sync(session: Transaction, spec: RunSpec, *, schema: str | None = None) -> Enqueued:
    """Put a run into the queue as part of ``session``'s transaction, which the caller commits.

    Args:
        session: A session or connection of SQLAlchemy, or one of psycopg 3, to the database that Cronograph uses.
        spec: The run; the node that knows its job may not have started yet.
        schema: That of the tables, for a session of the user's; None: ``session`` is a connection of our own.

    Raises:
        UserError: values are wrong.
        StorageError: there are no tables.
    """
    run = new_run(traced(spec))
    with joined(session, schema) as conn:
        if dialect.is_postgresql(conn):
            stored = at_once(sender(conn), [run])
            if stored is not None:
                return stored[0]
        # What has read before could not write any more once another process has written.
        begin_writing(conn)
        return put_in(conn, [run])[0]


def enqueue_many_sync(session: Transaction, runs: Iterable[RunSpec], *, schema: str | None = None) -> list[int]:
    """Put runs into the queue as part of ``session``'s transaction, all or none. The caller commits.

    Returns:
        The ids, in the order of ``runs``; for a unique key that an unfinished run has, the id of that run.

    Raises:
        UserError: the first wrong run, with its place in the path. Nothing was added.
    """
    new = checked(runs)
    if not new.kind:
        return []
    with joined(session, schema) as conn:
        return _put_ids(conn, new)


def _put_ids(conn: Connection, new: NewRuns) -> list[int]:
    """Put runs into the queue, all or none, of which nobody needs more than the ids."""
    judged = any(kind.unique_key is not None or kind.hold is not None for kind in new.kinds)
    if judged or any(_ASKS in text for text in new.carried):
        return _put_apart(conn, new.apart())
    if dialect.is_postgresql(conn):
        with conn.begin_nested() if len(new.kind) > CHUNK else nullcontext():
            ids = insert_by(sender(conn), new).ids
            # A job, or a group, says something that takes more than one statement.
            return [*ids, *_put_apart(conn, new.apart()[len(ids) :])] if len(ids) < len(new.kind) else ids
    published, any_cap = jobs.published_defaults_and_caps(conn, {kind.job_name for kind in new.kinds})
    if any_cap or any(defaults.settles for defaults in published.values()):
        return _put_apart(conn, new.apart())
    inserted = insert(conn, new, dialect.database_now(conn), published)
    outbox.append(conn, inserted.submitted_at, [inserted.created(new)])
    return inserted.ids


def _put_apart(conn: Connection, runs: Sequence[NewRun]) -> list[int]:
    begin_writing(conn)
    with conn.begin_nested():
        return [one.run.id for one in put_in(conn, runs)]


@contextmanager
def joined(session: "Transaction | AsyncTransaction", schema: str | None) -> Generator[Connection]:
    """Open a connection within a transaction of the user's, on which our tables are found.

    Args:
        session: A session or connection of SQLAlchemy, or a connection of a driver.
        schema: See ``enqueue_sync``.

    Raises:
        StorageError: there are no tables.
    """
    with ExitStack() as stack:
        if isinstance(session, Connection):
            conn = session
        elif is_driver(session):
            conn = stack.enter_context(lent(session))
        else:
            conn = cast("Session", session).connection()
        stack.enter_context(borrowed(conn, schema))
        yield conn


def at_once(send: SendNamed, runs: Sequence[NewRun]) -> list[Enqueued] | None:
    """Put runs of one or several callers into the queue by one statement on PostgreSQL; return them.

    None, and nothing was added, where that takes more than one: they have several unique keys, or keys that hold in
    their own way, or ask for resources, or their published jobs say so.
    """
    last = runs[-1]
    if any(run.carried and CARRIED in run.carried for run in runs):
        return None
    if is_debounced(last) and last.unique_key is not None:
        if any((run.job_name, run.unique_key, run.hold) != (last.job_name, last.unique_key, last.hold) for run in runs):
            return None
        renewed = renew_by(send, last)
        return None if renewed is None else [Enqueued(renewed, deduplicated=True)] * len(runs)
    if len(runs) > CHUNK or any(run.hold is not None or (run.unique_key is not None and len(runs) > 1) for run in runs):
        return None
    new = NewRuns.of(runs)
    return [Enqueued(run, deduplicated=False) for run in insert_by(send, new).stored(new)] or None


def put_in(conn: Connection, runs: Sequence[NewRun], *, of_several: bool = False) -> list[Enqueued]:
    """Put runs into the queue in ``conn``'s transaction, which the caller commits, with their events.

    Args:
        of_several: Whether several callers ask for them, see ``put_of_several``.

    Raises:
        UserError: a unique key is held otherwise, a queue is full, or resources are for a job that runs on nodes; in a
            Python caller's names.
    """
    tx = Tx(conn)
    with python_names():
        refuse_misplaced(conn, runs)
        enqueued = put_of_several(tx, runs) if of_several else put(tx, runs)
    if tx.changes:
        outbox.append(conn, tx.now, tx.changes)
    dialect.notify(conn, str(WAKES.value))
    return enqueued


def refuse_misplaced(conn: Connection, runs: Iterable[NewRun]) -> None:
    """Refuse resources of runs whose jobs run on nodes, as these have published them; of other jobs nobody knows.

    Raises:
        InvalidInput: one has them.
    """
    asked = {run.job_name: run.carried[CARRIED] for run in runs if run.carried and CARRIED in run.carried}
    for name, isolation in jobs.isolations(conn, asked).items() if asked else ():
        refuse(resource_place_faults(asked[name], name, isolation))


def change_in(session: Transaction, change: Callable[[Tx], T], *, schema: str | None) -> T:
    """Change runs as part of ``session``'s transaction, which the caller commits, with their events.

    A refusal leaves the transaction as it was before, and usable.

    Args:
        session: See ``enqueue_sync``.
        change: The change to make.
        schema: That of the tables.

    Raises:
        UserError: raised by ``change``.
        StorageError: there are no tables.
    """
    with joined(session, schema) as conn:
        begin_writing(conn)
        for _ in range(run_store.LOOKS - 1):
            try:
                return _changed(conn, change)
            except DBAPIError as error:
                # A run has ended while this waited for it: the next look finds it in the history.
                if not has_moved(error):
                    raise
        return _changed(conn, change)


def _changed(conn: Connection, change: Callable[[Tx], T]) -> T:
    with conn.begin_nested(), python_names():
        tx = Tx(conn)
        done = change(tx)
        if tx.changes:
            outbox.append(conn, tx.now, tx.changes)
        dialect.notify(conn, str((tx.wakes | Wake.EVENTS).value))
    return done


def put_of_several(tx: Tx, runs: Sequence[NewRun]) -> list[Enqueued]:
    """Put runs of several callers in the order of their unique keys, so that transactions never wait in a circle."""
    order = sorted(range(len(runs)), key=lambda place: runs[place].unique_key or "")
    by_place = dict(zip(order, put(tx, [runs[place] for place in order]), strict=True))
    return [by_place[place] for place in range(len(runs))]


def put(tx: Tx, runs: Sequence[NewRun]) -> list[Enqueued]:
    """Put runs into the queue without judging their arguments; all other ways in come here, but for ``at_once``.

    A run inherits from its job as that is published now.

    Raises:
        QueueFull: as many runs wait as may; nothing was inserted.
    """
    settled = _settled(tx, runs)
    done = _insert_capped(tx, settled, settled.capped) if settled.capped else _insert(tx, settled)
    if isinstance(done, Full):
        raise refusal(done, settled.capped.caps[done.line])
    return done


def are_held_apart(tx: Tx, runs: Sequence[NewRun]) -> list[bool]:
    """Return for each run whether another run may replace or refuse it: it has a unique key, or a cap counts it."""
    settled = _settled(tx, runs)
    pairs = zip(settled.runs, settled.capped.asked, strict=True)
    return [run.unique_key is not None or bool(lines) for run, lines in pairs]


def put_or_drop(tx: Tx, runs: Sequence[NewRun]) -> None:
    """Enqueue runs for callers who cannot be refused: without a place in a full queue, runs are dropped.

    It waits for nobody who enqueues into a line with a cap: into such a line all is put, whether there is room or not.

    Raises:
        KeyIsBusyError: a transaction that is still open has enqueued a run with the same unique key.
    """
    settled = _settled(tx, runs)
    counted = settled.capped.within(free_lines(tx.conn, settled.capped.caps)) if settled.capped else settled.capped
    keyed = any(run.unique_key is not None for run in settled.runs)
    with hardly_waiting(tx) if keyed else nullcontext():
        if counted:
            _insert_capped(tx, settled, counted.never_refusing(), is_ours=True)
        else:
            _insert(tx, settled)


@dataclass(frozen=True, slots=True)
class _Settled:
    """Runs with the settings that follow from their arguments.

    Attributes:
        runs: Those that were asked for, in their order.
        published: Their jobs' defaults, as far as anything is inherited.
    """

    runs: Sequence[NewRun]
    capped: Capped
    published: Mapping[str, JobDefaults]


def _insert_capped(tx: Tx, settled: _Settled, new: Capped, *, is_ours: bool = False) -> list[Enqueued] | Full:
    """Insert runs of which only so many may wait, and drop those that give way; or return the line that refuses one."""
    room = Room(tx.conn, new, is_ours=is_ours)
    if room.suffices:
        return _insert(tx, settled)
    if any(run.unique_key is not None for run in settled.runs):
        return _insert_keyed(tx, settled, new, room)
    verdict = room.verdict(new.asked)
    if verdict.refused is not None:
        return room.full(verdict.refused)
    return _after_drops(tx, _insert(tx, settled), verdict, new)


def _insert_keyed(tx: Tx, settled: _Settled, new: Capped, room: Room) -> list[Enqueued] | Full:
    """Do the same for runs with unique keys: others may stand for them, which is known once they are inserted."""
    with tx.savepoint() as take_back:
        enqueued = _insert(tx, settled)
        made = {one.run.id: new.asked[place] for place, one in enumerate(enqueued) if not one.deduplicated}
        verdict = room.verdict(list(made.values()), list(made))
        if verdict.refused is not None:
            take_back()
            return room.full(verdict.refused)
    return _after_drops(tx, enqueued, verdict, new)


def _after_drops(tx: Tx, enqueued: list[Enqueued], verdict: Verdict, new: Capped) -> list[Enqueued]:
    """Drop the runs that a verdict names, and return all as they are then."""
    made = [one.run.id for one in enqueued if not one.deduplicated]
    own = {made[place]: line for place, line in verdict.dropped.items()}
    drop(tx, {**verdict.replaced, **own}, new.caps)
    after = stored_runs.by_ids(tx.conn, sorted(own)) if own else {}
    return [replace(one, run=after.get(one.run.id, one.run)) for one in enqueued]


def _insert(tx: Tx, settled: _Settled) -> list[Enqueued]:
    runs = settled.runs
    plain = NewRuns.of(run for run in runs if run.unique_key is None)
    stored = insert(tx.conn, plain, tx.now, settled.published).stored(plain) if plain.kind else ()
    inserted = iter(stored)
    newest = {(run.job_name, run.unique_key): place for place, run in enumerate(runs) if is_debounced(run)}
    made = {
        place: Enqueued(next(inserted), deduplicated=False)
        if run.unique_key is None
        else put_unique(tx, run_of_job(run, settled.published[run.job_name]) if run.inherits else run, run.unique_key)
        for place, run in enumerate(runs)
        if newest.get((run.job_name, run.unique_key), place) == place
    }
    # Of what is debounced, a later one has the arguments that count.
    enqueued = [
        made[place] if place in made else replace(made[newest[run.job_name, run.unique_key]], deduplicated=True)
        for place, run in enumerate(runs)
    ]
    new = [one.run for one in made.values() if not one.deduplicated]
    tx.emit([created_changes(new)] if new else ())
    tx.wake(Wake.RUNS)
    return enqueued


def _settled(tx: Tx, runs: Sequence[NewRun]) -> _Settled:
    """Give runs their keys and labels, which follow from their arguments as their jobs say."""
    names = {run.job_name for run in runs if run.inherits}
    found, any_group = jobs.published_defaults_and_caps(tx.conn, names) if names else ({}, True)
    published = {name: found.get(name, NO_DEFAULTS) for name in names}
    if any(FROM_ARGUMENTS & run.inherits for run in runs):
        runs = [settle(run, published[run.job_name]) if FROM_ARGUMENTS & run.inherits else run for run in runs]
    return _Settled(runs, capped(tx.conn, runs, published, any_group=any_group), published)


def put_many(tx: Tx, runs: Iterable[RunSpec]) -> list[int]:
    """Do the same as ``enqueue_many_sync`` as a part of a transaction of ours."""
    ids = enqueue_many_sync(tx.conn, runs)
    tx.wake(WAKES)
    return ids


FAILURE_OF = "failureOf"
"""Carried by the run of a job that is notified: the run that failed. The failure of such a run notifies no job."""


class FollowUp(NamedTuple):
    """A run that the end of another one brings about.

    ``run_id`` is the one that ended; ``kind`` says in words how it brings this about; ``job_name`` is that of the new
    run; ``make`` returns it.
    """

    run_id: int
    kind: str
    job_name: str
    make: Callable[[], NewRun]


def put_following(tx: Tx, follow_ups: Sequence[FollowUp]) -> None:
    """Enqueue the runs that follow the ends of runs. A refused one is recorded on its run and stops nothing else.

    Args:
        tx: The transaction in which they end; it goes on in any case.
        follow_ups: One of each is enqueued or left out.
    """
    lost = in_halves(tx, follow_ups, lambda some: put_or_drop(tx, [one.make() for one in some]))
    for one, error in lost:
        note_lost(tx, one.run_id, one.kind, one.job_name, error)


class FinalFailure(NamedTuple):
    """A run that has failed for good, and why."""

    run: Run | HeldRun
    error: str | None
    error_type: str | None


def failure_of(run: Run | HeldRun, error: str | None, error_type: str | None) -> Failure:
    """Return the report of a run that failed for good."""
    return Failure(
        run_id=run.id,
        job_name=run.job_name,
        attempt=run.attempt,
        error=error or "no reason given",
        error_type=error_type,
        task_name=run.task_name,
        args=shown_args(run),
    )


def shown_args(run: Run | HeldRun) -> Mapping[str, Json]:
    """Return the arguments of a run with ``[secret NAME]`` in the place of secrets."""
    hidden = {name: f"[secret {name}]" for name in references(run.args)}
    return resolved(run.args, hidden) if hidden else run.args


def enqueue_failure_jobs(tx: Tx, failed: Sequence[FinalFailure]) -> None:
    """Enqueue runs of the jobs that the jobs of these runs name by ``on_failure``; see ``put_following``."""
    of_note = [one for one in failed if FAILURE_OF not in (one.run.carried or {})]
    if not of_note:
        return
    defaults = jobs.defaults(tx.conn, {one.run.job_name for one in of_note})
    put_following(
        tx,
        [
            FollowUp(one.run.id, ON_FAILURE, job, partial(_failure_job, job, one))
            for one in of_note
            if (job := defaults[one.run.job_name].on_failure) is not None
        ],
    )


def _failure_job(job_name: str, failed: FinalFailure) -> NewRun:
    run = failed.run
    return NewRun(
        job_name=job_name,
        trigger=Trigger.API,
        args={"failure": failure_of(*failed).document()},
        inherits=FOLLOWED,
        carried={**handed_on(run.carried), FAILURE_OF: run.id},
        parent_labels=run.labels,
    )
