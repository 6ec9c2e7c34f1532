"""Enqueue inside the user's own SQLAlchemy transaction.

Run, event and notification are committed with the user's data, or not at all.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from sqlalchemy import Connection

from ...core.admission.caps import Line, Verdict, refusal
from ...core.admission.holding import Hold
from ...core.admission.labels import label_faults
from ...core.base.errors import InvalidInput, python_names, refuse
from ...core.base.signature import LENGTH
from ...core.base.tracing import TRACED
from ...core.base.unwritable import unwritable
from ...core.defaults import (
    FROM_ARGUMENTS,
    NO_DEFAULTS,
    PER_RUN,
    RUN_POLICIES,
    UNIQUE_KEY,
    JobDefaults,
    run_of_job,
    settle,
)
from ...core.limits import LIMITS
from ...core.model import Json, NewRun, Priority, Run, Trigger
from ...core.rules import name_faults, new_run_faults
from ...core.run_spec import DURATIONS, NO_KEY, RunSpec, seconds_of
from ...store.db import dialect, outbox
from ...store.db.callers.connection import borrowed
from ...store.db.database import SyncAutocommitConnection
from ...store.db.transaction import Tx, Wake
from ...store.read import jobs
from ...store.read import runs as stored_runs
from ..base import statements
from ..base.apart import in_halves, note_lost
from ..base.changes import created_changes
from ..base.new_runs import CHUNK, NewRuns, insert, insert_by
from ..limits.caps import Capped, Room, capped, drop, free_lines
from ..limits.debounced import is_debounced, renew_by
from ..limits.uniqueness import Enqueued, hardly_waiting, put_unique

if TYPE_CHECKING:
    # A caller with a session has imported its library.
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
    from sqlalchemy.orm import Session

Transaction: TypeAlias = "Session | Connection"
"""A synchronous transaction of the user's."""
AsyncTransaction: TypeAlias = "AsyncSession | AsyncConnection"
"""An asynchronous one."""
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""In JSON text, the escaped U+0000, which PostgreSQL cannot store."""
_ESCAPED = "\\u0000"
_PRIORITIES = frozenset(priority.value for priority in Priority)
_encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode


def enqueue_sync(session: Transaction, spec: RunSpec, *, schema: str | None = None) -> Run:
    """Put a run into the queue as part of ``session``'s transaction, which the caller commits.

    Args:
        session: A SQLAlchemy session or connection to the database that Cronograph uses.
        spec: What to put there; the node that knows its job may not have started yet.
        schema: That of the tables, for a session of the user's; None: ``session`` is a connection of our own.

    Raises:
        UserError: values are not what they must be.
        StorageError: there are no tables.
    """
    run = new_run(traced(spec))
    conn = session if isinstance(session, Connection) else session.connection()
    with borrowed(conn, schema):
        if dialect.is_postgresql(conn) and run.hold is None:
            new = NewRuns.of([run])
            for stored in insert(conn, new, with_event=True).stored(new):
                return stored
        return enqueue_all(conn, [run])[0]


def enqueue_autocommit(connection: SyncAutocommitConnection, runs: Sequence[NewRun]) -> list[Run] | None:
    """Put what several callers enqueue at the same moment into the queue by one statement, a transaction of its own.

    None, and nothing was added, where that takes more: a unique key that a run has, or that follows from arguments.
    """

    def send(name: str, parameters: dict[str, Any]) -> Sequence[Any]:
        return connection.execute(statements.for_driver(name), parameters)

    last = runs[-1]
    if is_debounced(last) and last.unique_key is not None:
        if any((run.job_name, run.unique_key, run.hold) != (last.job_name, last.unique_key, last.hold) for run in runs):
            return None
        renewed = renew_by(send, last)
        return None if renewed is None else [renewed] * len(runs)
    if len(runs) > CHUNK or any(run.hold is not None or (run.unique_key is not None and len(runs) > 1) for run in runs):
        return None
    new = NewRuns.of(runs)
    return insert_by(send, new).stored(new) or None


def enqueue_in_order_of_keys(conn: Connection, runs: Sequence[NewRun]) -> list[Run]:
    """``enqueue_all`` of what several callers enqueue: in one order, so that two of these never wait for each other."""
    order = sorted(range(len(runs)), key=lambda place: runs[place].unique_key or "")
    stored = enqueue_all(conn, [runs[place] for place in order])
    by_place = dict(zip(order, stored, strict=True))
    return [by_place[place] for place in range(len(runs))]


def traced(spec: RunSpec) -> RunSpec:
    """A run to be that carries the trace of where it is put into the queue, if there is one."""
    carried = TRACED.carried(spec.job_name, spec.carried)
    return spec if carried is spec.carried else replace(spec, carried=carried)


def new_run(spec: RunSpec) -> NewRun:
    """A run to be, if all of it is what it must be; policies that are None are inherited from the job.

    Raises:
        UserError: it is not.
    """
    args, carried, labels = spec.args, spec.carried, spec.labels
    given = {name: getattr(spec, name) for name in RUN_POLICIES}
    of_job: dict[str, object] = {**given, UNIQUE_KEY: spec.unique_key, LIMITS: None, PER_RUN: spec.settled or None}
    chosen: dict[str, Any] = {
        name: seconds_of(name, value) if name in DURATIONS else value
        for name, value in given.items()
        if value is not None
    }
    ttl: Any = seconds_of("ttl", spec.ttl)
    priority = chosen.pop("priority", Priority.LOW)
    named = _is_priority(priority)
    run = NewRun(
        spec.job_name,
        Trigger.API,
        args=dict(args) if isinstance(args, Mapping) else {},
        priority=Priority(priority.lower()) if named else Priority.LOW,
        available_at=spec.run_at,
        unique_key=spec.unique_key if spec.unique_key != NO_KEY else None,
        inherits=frozenset(name for name, value in of_job.items() if value is None),
        carried=dict(carried) if isinstance(carried, Mapping) and carried else None,
        # What is no mapping is refused below.
        labels=dict(labels) if isinstance(labels, Mapping) else labels,
        parent_labels=dict(spec.parent_labels) if isinstance(spec.parent_labels, Mapping) else None,
        expires_at=spec.expires_at,
        ttl=ttl,
        hold=spec.hold if isinstance(spec.hold, Hold) else None,
        signature=spec.signature if isinstance(spec.signature, str) else None,
        **chosen,
    )
    with python_names():
        refuse(_faults(run, spec, priority))
    return run


def enqueue_all(conn: Connection, runs: Sequence[NewRun]) -> list[Run]:
    """Insert runs, their events and a notification in ``conn``'s transaction, which the caller commits.

    Raises:
        UserError: a unique key is held otherwise, or a queue is full; in a Python caller's names.
    """
    tx = Tx(conn)
    with python_names():
        enqueued = put(tx, runs)
    if tx.changes:
        outbox.append(conn, tx.now, tx.changes)
    dialect.notify(conn, str((Wake.RUNS | Wake.EVENTS).value))
    return [one.run for one in enqueued]


def args_text(args: Mapping[str, Json], name: str = "args") -> str:
    """Arguments as JSON.

    Raises:
        UserError: no database could store them.
    """
    if not isinstance(args, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - of the user's, unchecked
        raise InvalidInput(f"{name}: must be a mapping of names to values, got {args!r:.60}", path=(name,))
    for key, value in args.items():
        # JSON would make texts of them, and what was given would not be what arrives.
        if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"{name}: each name must be a text, got {key!r:.60}", path=(name,))
        if isinstance(value, dict | list | tuple) and (found := unwritable(cast("object", value))) is not None:
            place = ".".join((key, *found.place))[:60]
            raise InvalidInput(f"{name}: {found.why}, in argument {place!a}", path=(name, key))
    try:
        text = _encode(dict(args))
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise _no_json(name, args, error) from None
    # An even number of backslashes before it would make it an ordinary text.
    if _ESCAPED in text and _NUL.search(text):
        raise InvalidInput(f"{name}: a text must not hold the character U+0000", path=(name,))
    return text


def _no_json(name: str, args: Mapping[str, Json], error: Exception) -> InvalidInput:
    """What no database could store, with the argument that it is in."""
    for argument, value in args.items():
        try:
            _encode({argument: value}).encode()
        except (TypeError, ValueError, RecursionError) as fault:
            message = f"{name}: {_reason(fault)}, in argument {str(argument)!a:.60}"
            return InvalidInput(message, path=(name, str(argument)))
    return InvalidInput(f"{name}: {_reason(error)}", path=(name,))


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeEncodeError):
        return "a text must not hold half of a surrogate pair"
    return "must be JSON: it contains itself" if isinstance(error, RecursionError) else f"must be JSON: {error}"


def _faults(settings: NewRun, spec: RunSpec, priority: object) -> Iterator[InvalidInput]:
    """What is wrong with a run to be; whether anybody knows the job is not judged.

    What the database would refuse in its own words, after which a transaction is spoilt, is refused here by name.
    """
    yield from name_faults(settings.job_name, "jobName")
    yield from new_run_faults(settings)
    yield from _priority_faults(priority)
    yield from _json_faults(spec.args, "args")
    yield from _json_faults(spec.carried, "carried")
    yield from _own_faults(spec)


def _is_priority(value: object) -> bool:
    return isinstance(value, str) and value.lower() in _PRIORITIES


def _priority_faults(value: object) -> Iterator[InvalidInput]:
    if not _is_priority(value):
        yield InvalidInput(f"priority: must be 'high' or 'low', got {value!r:.60}", path=("priority",))


def _json_faults(value: Mapping[str, Json] | None, name: str) -> Iterator[InvalidInput]:
    if value is None:
        return
    try:
        args_text(value, name)
    except InvalidInput as fault:
        yield fault


def _own_faults(spec: RunSpec) -> Iterator[InvalidInput]:
    """What is wrong with the fields that only Python has."""
    hold, settled, signature = cast("tuple[object, object, object]", (spec.hold, spec.settled, spec.signature))
    if spec.parent_labels is not None:
        yield from label_faults(spec.parent_labels, "parent_labels")
    if hold is not None and not isinstance(hold, Hold):
        message = f"hold: must be a rule that @job or options(…) has made, or None, got {hold!r:.60}"
        yield InvalidInput(message, path=("hold",))
    if not isinstance(settled, bool):
        yield InvalidInput(f"settled: must be True or False, got {settled!r:.60}", path=("settled",))
    if signature is not None and not (isinstance(signature, str) and len(signature) == LENGTH):
        message = f"signature: must be what job.run(…) has set, or None, got {signature!r:.60}"
        yield InvalidInput(message, path=("signature",))


def put(tx: Tx, runs: Sequence[NewRun]) -> list[Enqueued]:
    """Insert runs without judging their arguments; ``enqueue`` in the user's own transaction accepts any job.

    What a run inherits, it has from its job as that is published now.

    Raises:
        QueueFull: as many runs wait as may; nothing was inserted.
    """
    settled = _settled(tx, runs)
    done = _insert_capped(tx, settled, settled.capped) if settled.capped else _insert(tx, settled)
    if isinstance(done, Line):
        raise refusal(done, settled.capped.caps[done])
    return done


def are_held_apart(tx: Tx, runs: Sequence[NewRun]) -> list[bool]:
    """Return of each run whether another may stand for it or keep it out: it has a unique key, or a cap counts it."""
    settled = _settled(tx, runs)
    pairs = zip(settled.runs, settled.capped.asked, strict=True)
    return [run.unique_key is not None or bool(lines) for run, lines in pairs]


def put_or_drop(tx: Tx, runs: Sequence[NewRun]) -> None:
    """``put`` where nobody is there who could be refused: what has no place in a full queue is dropped.

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
    """Enqueue what follows the ends of runs. What is refused or faulty is recorded on its run and stops nothing else.

    Args:
        tx: The transaction in which they end; it goes on in any case.
        follow_ups: One of each is enqueued or left out.
    """
    lost = in_halves(tx, follow_ups, lambda some: put_or_drop(tx, [one.make() for one in some]))
    for one, error in lost:
        note_lost(tx, one.run_id, one.kind, one.job_name, error)


@dataclass(frozen=True, slots=True)
class _Settled:
    """Runs with what follows from their arguments.

    Attributes:
        runs: Those that were asked for, in their order.
        capped: Where they count.
        published: What their jobs say, as far as anything is inherited.
    """

    runs: Sequence[NewRun]
    capped: Capped
    published: Mapping[str, JobDefaults]


def _insert_capped(tx: Tx, settled: _Settled, new: Capped, *, is_ours: bool = False) -> list[Enqueued] | Line:
    """Insert runs of which only so many may wait, and drop what has to give way; or the line that refuses one."""
    room = Room(tx.conn, new, is_ours=is_ours)
    if room.suffices:
        return _insert(tx, settled)
    if any(run.unique_key is not None for run in settled.runs):
        return _insert_keyed(tx, settled, new, room)
    verdict = room.verdict(new.asked)
    if verdict.refused is not None:
        return verdict.refused
    return _after_drops(tx, _insert(tx, settled), verdict, new)


def _insert_keyed(tx: Tx, settled: _Settled, new: Capped, room: Room) -> list[Enqueued] | Line:
    """The same for runs with unique keys: others may stand for them, which is known once they are inserted."""
    with tx.savepoint() as take_back:
        enqueued = _insert(tx, settled)
        made = {one.run.id: new.asked[place] for place, one in enumerate(enqueued) if not one.deduplicated}
        verdict = room.verdict(list(made.values()), list(made))
        if verdict.refused is not None:
            take_back()
            return verdict.refused
    return _after_drops(tx, enqueued, verdict, new)


def _after_drops(tx: Tx, enqueued: list[Enqueued], verdict: Verdict, new: Capped) -> list[Enqueued]:
    """Drop what a verdict says; the runs as they are then."""
    made = [one.run.id for one in enqueued if not one.deduplicated]
    own = {made[place]: line for place, line in verdict.dropped.items()}
    drop(tx, {**verdict.replaced, **own}, new.caps)
    after = stored_runs.by_ids(tx.conn, sorted(own)) if own else {}
    return [replace(one, run=after.get(one.run.id, one.run)) for one in enqueued]


def _insert(tx: Tx, settled: _Settled) -> list[Enqueued]:
    """Insert runs."""
    runs = settled.runs
    plain = NewRuns.of(run for run in runs if run.unique_key is None)
    stored = insert(tx.conn, plain, tx.now, published=settled.published).stored(plain) if plain.kind else ()
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
    """``runs`` with what follows from their arguments, as their jobs say: keys and labels."""
    names = {run.job_name for run in runs if run.inherits}
    found, any_group = jobs.published_defaults_and_caps(tx.conn, names) if names else ({}, True)
    published = {name: found.get(name, NO_DEFAULTS) for name in names}
    if any(FROM_ARGUMENTS & run.inherits for run in runs):
        runs = [settle(run, published[run.job_name]) if FROM_ARGUMENTS & run.inherits else run for run in runs]
    return _Settled(runs, capped(tx.conn, runs, published, any_group=any_group), published)
