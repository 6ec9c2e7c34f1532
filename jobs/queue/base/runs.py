"""Statements on ``run``: the durable queue."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeVar

from sqlalchemy import ColumnElement, Connection, bindparam, case, delete, func, insert, literal_column, select, update
from sqlalchemy.exc import DBAPIError

from ...core.model import Json, Outcome, Priority, Run, SkipReason
from ...core.outcome import UNREADABLE_RUN
from ...core.states import CLAIMABLE, OCCUPYING, RunState, sources_of
from ...store.db import dialect
from ...store.db.faults import has_moved
from ...store.db.functions import sql_literals, unindexed
from ...store.db.unreadable import every, readable
from ...store.schema.tables import AMONG_ALL_RUNS, IS_OPEN, run_label
from ...store.schema.tables import job_execution as x
from ...store.schema.tables import run as r
from ...store.statements.runs import DUE_TIME, HOLDING, run_from, select_runs
from . import statements

T = TypeVar("T")

_judged_state = unindexed(r.c.state)
_AWAITS_NOTHING: Final[Mapping[str, None]] = {"awaits": None, "wake_at": None}
"""Values of every run that is not suspended."""
UNBEGUN: Final = (RunState.WAITING, RunState.SCHEDULED)
"""States in which a run without an attempt has never begun."""
LOOKS: Final = 10
"""So often rows are looked for that move meanwhile."""
BROUGHT_FORWARD: Final = 1000
"""Runs that one transaction makes due after the clock was set back."""
# To put a statement of all columns together takes three times as long as to execute it.
_LOCKED: Final = (
    select_runs()
    .where(r.c.id.in_(bindparam("ids", type_=r.c.id.type, expanding=True)))
    .order_by(r.c.id)
    .with_for_update(of=r)
)
_UNBEGUN_WITH_KEY: Final = (
    select_runs()
    .where(
        r.c.unique_key == bindparam("key"),
        *HOLDING,
        r.c.attempt == literal_column("0"),
        _judged_state.in_(sql_literals(UNBEGUN)),
    )
    .with_for_update(of=r)
)


def lock(conn: Connection, ids: Sequence[int]) -> dict[int, Run]:
    """Return the runs of these ids, locked in ascending order (so that two bulk actions never wait for each other).

    Those that cannot be read are left out, and the log names them.
    """
    some = partial(_read_locked, conn)
    # One is locked by a statement alone: who changes one tries again as a whole.
    return {run.id: run for run in (where_they_are(conn, some, sorted(ids)) if len(ids) > 1 else some(ids))}


def _read_locked(conn: Connection, ids: Sequence[int]) -> list[Run]:
    return readable(conn, _LOCKED, r.c.id, run_from, {"ids": ids})


def where_they_are(conn: Connection, look: Callable[[Sequence[int]], list[T]], ids: Sequence[int] = ()) -> list[T]:
    """Lock rows, those too that move into the history meanwhile.

    PostgreSQL follows no row from one part of its table to another (``schema.parts``): it refuses the statement, and
    the next look finds the row there. Each half of many is looked for by itself, so that runs that end all the time
    keep nobody from locking the others.

    Args:
        conn: The connection; its transaction goes on, also that of somebody else.
        look: Finds and locks the rows of some ids.
        ids: Ascending; none if ``look`` knows by itself.

    Raises:
        DBAPIError: the database refuses for another reason, or the transaction sees one state of the database only.
    """
    if not dialect.is_postgresql(conn):
        return look(ids)
    for _ in range(LOOKS - 1):
        try:
            with conn.begin_nested():
                return look(ids)
        except DBAPIError as error:
            if not has_moved(error):
                raise
        if len(ids) > 1:
            middle = len(ids) // 2
            return [*where_they_are(conn, look, ids[:middle]), *where_they_are(conn, look, ids[middle:])]
    return look(ids)


def lock_free(conn: Connection, ids: Sequence[int]) -> set[int]:
    """Return those of these runs that nobody else is changing, locked."""
    these = select(r.c.id).where(r.c.id.in_(ids)).order_by(r.c.id).with_for_update(of=r, skip_locked=True)
    return set(conn.execute(these).scalars())


def _set(conn: Connection, *where: ColumnElement[bool], **values: Any) -> list[int]:
    return list(conn.execute(update(r).where(*where).values(**values).returning(r.c.id)).scalars())


def cancel_unstarted(conn: Connection, ids: Sequence[int], reason: str, now: datetime) -> list[int]:
    """Cancel those of these runs that no node executes; returns their ids."""
    startable = _judged_state.in_(sql_literals(sources_of(RunState.CANCELLED) - {RunState.RUNNING}))
    asked = {"cancel_requested_at": now, "cancel_reason": reason}
    return _set(
        conn,
        r.c.id.in_(ids),
        startable,
        state=RunState.CANCELLED.value,
        finished_at=now,
        error=reason,
        **asked,
        **_AWAITS_NOTHING,
    )


def request_cancel(conn: Connection, ids: Sequence[int], reason: str, now: datetime) -> list[int]:
    """Ask those of these runs that are running to stop; returns the ids of those newly asked."""
    unasked = (_judged_state == RunState.RUNNING.value, r.c.cancel_requested_at.is_(None))
    return _set(conn, r.c.id.in_(ids), *unasked, cancel_requested_at=now, cancel_reason=reason)


def wake(conn: Connection, run_id: int, now: datetime) -> None:
    """Wake a locked suspended run: it waits again, and is due now."""
    _set(conn, r.c.id == run_id, state=RunState.WAITING.value, available_at=now, **_AWAITS_NOTHING)


def make_available(conn: Connection, ids: Sequence[int], at: datetime) -> list[int]:
    """Make waiting and stuck runs due at ``at``; returns the ids of those changed."""
    return _set(conn, r.c.id.in_(ids), _judged_state.in_(sql_literals(CLAIMABLE)), available_at=at, due_at=None)


def bring_forward(conn: Connection, seen: datetime, now: datetime) -> int:
    """Make runs due that were due already at ``seen``, before the clock was set back to ``now``; return how many.

    At most ``BROUGHT_FORWARD`` at once. Runs that a limit holds back are not meant: the limit lets them go.
    """
    overtaken = (r.c.state.in_(sql_literals(CLAIMABLE)), r.c.due_at.is_(None), now < DUE_TIME, seen >= DUE_TIME)
    found = select(r.c.id).where(*overtaken, AMONG_ALL_RUNS).order_by(r.c.id).limit(BROUGHT_FORWARD).with_for_update()
    ids = list(conn.execute(found).scalars())
    return len(make_available(conn, ids, now)) if ids else 0


def edit(conn: Connection, run_id: int, values: Mapping[str, Any]) -> None:
    """Set columns of a run that was locked and waits or is stuck."""
    _set(conn, r.c.id == run_id, _judged_state.in_(sql_literals(CLAIMABLE)), **values)


def pin(conn: Connection, run_id: int, signature: str) -> None:
    """Pin a locked, waiting run to a version of its job for as long as a live node has it."""
    conn.execute(update(r).where(r.c.id == run_id).values(signature=signature))


def relabel(conn: Connection, run_id: int, old: Mapping[str, str], new: Mapping[str, str]) -> None:
    """Replace the labels of a locked run."""
    conn.execute(update(r).where(r.c.id == run_id).values(labels=dict(new) or None))
    n = run_label
    for key in [key for key, value in old.items() if new.get(key) != value]:
        conn.execute(delete(n).where(n.c.key == key, n.c.value == old[key], n.c.run_id == run_id))
    added = [{"key": key, "value": value, "run_id": run_id} for key, value in new.items() if old.get(key) != value]
    if added:
        conn.execute(insert(n), added)


def set_priority(conn: Connection, ids: Sequence[int], priority: Priority) -> list[int]:
    """Set the priority of waiting and stuck runs; returns the ids of those that had another one."""
    differing = (_judged_state.in_(sql_literals(CLAIMABLE)), r.c.priority != priority.value)
    return _set(conn, r.c.id.in_(ids), *differing, priority=priority.value)


def lock_unbegun(conn: Connection, key: str) -> Run | None:
    """Return the run that has this unique key and has never begun, locked."""
    found = where_they_are(conn, lambda _: every(conn, _UNBEGUN_WITH_KEY, r.c.id, run_from, {"key": key}))
    return next(iter(found), None)


def renew(conn: Connection, run_id: int, values: Mapping[str, Any]) -> None:
    """Set columns of a locked run that has never begun; a node that it was reserved for has it no longer."""
    _set(conn, r.c.id == run_id, state=RunState.WAITING.value, node_id=None, **values)


def hold_key(conn: Connection, run_id: int, until: datetime | None, *, until_start: bool) -> None:
    """Set how long a new run holds its unique key."""
    _set(conn, r.c.id == run_id, key_until=until, key_until_start=True if until_start else None)


def withdraw(conn: Connection, run: Run) -> None:
    """Delete a run of this transaction, of which nobody knows yet."""
    relabel(conn, run.id, run.labels or {}, {})
    conn.execute(delete(r).where(r.c.id == run.id))


def skip(conn: Connection, ids: Sequence[int], error: str, now: datetime, reason: SkipReason) -> None:
    """Drop runs before their start; `flow_ends.settle` handles runs that wait for one of a flow."""
    droppable = _judged_state.in_(sql_literals(sources_of(RunState.SKIPPED)))
    dropped = {"state": RunState.SKIPPED.value, "finished_at": now, "node_id": None, "error": error}
    _set(conn, r.c.id.in_(ids), droppable, skip_reason=reason.value, **dropped, **_AWAITS_NOTHING)


def has_expired(now: datetime) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of a run that is too old to start."""
    return (r.c.expires_at <= now, *_MAY_EXPIRE)


def expired(conn: Connection, now: datetime, limit: int) -> list[int]:
    """Lock up to ``limit`` runs that are too old to start, the longest expired first; return their ids."""
    statement = (
        select(r.c.id)
        .where(*has_expired(now))
        .order_by(r.c.expires_at, r.c.id)
        .limit(limit)
        .with_for_update(of=r, skip_locked=True)
    )
    return list(conn.execute(statement).scalars())


def next_limits(conn: Connection) -> tuple[datetime | None, datetime | None]:
    """Return when the next run expires, and when the next run without a node must have ended; None = no such run."""
    expiry = select(func.min(r.c.expires_at)).where(*_MAY_EXPIRE).scalar_subquery()
    deadline = select(func.min(r.c.deadline_at)).where(*_MAY_BE_OVERDUE).scalar_subquery()
    row = conn.execute(select(expiry, deadline)).one()
    return row[0], row[1]


def overdue(conn: Connection, now: datetime, limit: int, *, lock: bool) -> list[int]:
    """Find up to ``limit`` runs that no node executes and that had to end; return their ids, the longest overdue first.

    With ``lock`` they are locked, and those that somebody is changing are left out.
    """
    these = (
        select(r.c.id).where(r.c.deadline_at <= now, *_MAY_BE_OVERDUE).order_by(r.c.deadline_at, r.c.id).limit(limit)
    )
    return list(conn.execute(these.with_for_update(of=r, skip_locked=True) if lock else these).scalars())


def fail(conn: Connection, run_id: int, error: str, now: datetime) -> None:
    """Fail a locked run that no node executes."""
    failed = {"state": RunState.FAILED.value, "finished_at": now, "error": error}
    _set(conn, r.c.id == run_id, **failed, **_AWAITS_NOTHING)


_MAY_EXPIRE = (r.c.expires_at.is_not(None), r.c.attempt == literal_column("0"), IS_OPEN)
"""As the index of those that may expire says it."""
_MAY_BE_OVERDUE = (
    r.c.deadline_at.is_not(None),
    IS_OPEN,
    _judged_state.in_(sql_literals(sources_of(RunState.FAILED) - {RunState.RUNNING})),
)
"""As the index of those that have to end by a time says it."""


def put_off(conn: Connection, run_id: int, until: datetime, error: str) -> None:
    """Postpone a locked run that no node executes; nothing of it is read."""
    state = case((r.c.state == RunState.SCHEDULED.value, RunState.WAITING.value), else_=r.c.state)
    _set(conn, r.c.id == run_id, state=state, available_at=until, due_at=None, node_id=None, error=error)


def end_unread(conn: Connection, run_id: int, state: RunState, error: str, now: datetime) -> int | None:
    """End a locked run of which nothing is read, and close its open attempt as lost; returns its flow, if any."""
    skipped = SkipReason.EXPIRED.value if state is RunState.SKIPPED else None
    ended = {"state": state.value, "finished_at": now, "error": error, "skip_reason": skipped, **_AWAITS_NOTHING}
    statement = update(r).where(r.c.id == run_id).values(ended).returning(r.c.flow_id)
    flow_id: int | None = conn.execute(statement).scalar_one()
    end = {"completed_at": now, "success": False, "outcome": Outcome.LOST.value, "error_type": UNREADABLE_RUN}
    opened = (x.c.run_id == run_id, x.c.completed_at.is_(None))
    closed = conn.execute(update(x).where(*opened).values(**end, error_message=error).returning(x.c.id))
    count_ends(conn, closed.scalars().all())
    return flow_id


def hand_back_scheduled(conn: Connection, condition: Mapping[str, Any]) -> list[int]:
    """Give ``scheduled`` runs back to the queue, those for which all columns of ``condition`` are equal.

    One that somebody is changing at this moment is left alone: it starts, or its node gives it back itself.
    """
    equal = (r.c[name] == value for name, value in condition.items())
    these = select(r.c.id).where(*equal, _IS_OCCUPYING, _judged_state == RunState.SCHEDULED.value)
    return _hand_back(conn, r.c.id.in_(these.order_by(r.c.id).with_for_update(skip_locked=True)))


def hand_back(conn: Connection, ids: Sequence[int]) -> None:
    """Give those of these runs that are ``scheduled`` back to the queue."""
    _hand_back(conn, r.c.id.in_(ids), _judged_state == RunState.SCHEDULED.value)


def _hand_back(conn: Connection, *which: ColumnElement[bool]) -> list[int]:
    return _set(conn, *which, state=RunState.WAITING.value, node_id=None)


_IS_OCCUPYING = r.c.state.in_(sql_literals(OCCUPYING))
"""As the index of those that a node holds says it: a finished run names the node that executed it, too."""


def occupied(node_id: int) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of a run that a node holds, scheduled or running."""
    return (r.c.node_id == node_id, _IS_OCCUPYING)


def occupied_by(conn: Connection, node_id: int) -> list[int]:
    """Lock the runs that a node holds, scheduled and running; return their ids, ascending."""
    statement = select(r.c.id).where(*occupied(node_id)).order_by(r.c.id).with_for_update(of=r)
    return list(conn.execute(statement).scalars())


def move(conn: Connection, ids: Sequence[int], node_id: int) -> None:
    """Move those of these locked runs that are running to another node."""
    _set(conn, r.c.id.in_(ids), _judged_state == RunState.RUNNING.value, node_id=node_id)


def save_checkpoint(conn: Connection, run_id: int, value: Json) -> None:
    """Keep a job's checkpoint with its run, which has no task."""
    conn.execute(update(r).where(r.c.id == run_id).values(checkpoint=value))


def save_progress(conn: Connection, rows: Sequence[tuple[int, int, int | None, Any]]) -> list[int]:
    """Keep the latest progress of running attempts: (run id, attempt, node id, document); returns the runs changed.

    A late value of an attempt that has ended, or was taken from its node, is left out.
    """
    columns = dict.fromkeys(("id", "attempt", "node_id"), dialect.KINDS[int]) | {"progress": dialect.KINDS[dict]}
    batch, parameters = dialect.batch(conn, columns, rows)
    statement = (
        update(r)
        .where(
            r.c.id == batch.c.id,
            # The planner knows how long this list is, and takes that of the values for a thousand.
            r.c.id.in_([row[0] for row in rows]),
            r.c.attempt == batch.c.attempt,
            r.c.node_id + 0 == batch.c.node_id,
            _judged_state == RunState.RUNNING.value,
        )
        .values(progress=batch.c.progress)
        .returning(r.c.id)
    )
    return list(conn.execute(statement, parameters).scalars())


def count_ends(conn: Connection, execution_ids: Sequence[int]) -> None:
    """Count executions that this transaction has closed, by the minute, so that the overview never counts the log.

    Each must be counted once.
    """
    if execution_ids:
        statements.execute(conn, "count_ends", {"executions": list(execution_ids)})
