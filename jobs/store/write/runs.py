"""Statements on ``run``: the durable queue."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, update

from ...core.model import Json, NewRun, Priority, Run
from ...core.states import CLAIMABLE, FINAL, OCCUPYING, RunState, sources_of
from ..db import dialect
from ..db.literals import sql_literals, unindexed
from ..read.runs import run_from, select_runs
from ..schema.tables import run as r
from ..schema.types import loads

_NOTHING_YET: Final[Mapping[str, Any]] = dict.fromkeys(
    ["started_at", "node_id", "node", "cancel_requested_at", "cancel_reason", "progress", "checkpoint", "result"]
)
"""What a new run has no value of."""
_judged_state = unindexed(r.c.state)


def new_values(run: NewRun, now: datetime) -> dict[str, Any]:
    """The columns of a run about to be inserted."""
    final = run.state in FINAL
    return {
        "task_id": run.task_id,
        "task_name": run.task_name,
        "job_name": run.job_name,
        "args": run.args,
        "group_name": run.group,
        "priority": run.priority.value,
        "state": run.state.value,
        "trigger": run.trigger.value,
        "scheduled_for": run.scheduled_for,
        "submitted_at": now,
        "available_at": run.available_at or now,
        "finished_at": now if final else None,
        "attempt": 0,
        "failures": 0,
        "retries": run.retries,
        "retry_delay": run.retry_delay,
        "timeout": run.timeout,
        "exclusive": run.exclusive,
        "unique_key": run.unique_key,
        "retried_from": run.retried_from,
        "error": run.error,
        "submitter": run.submitter,
        "submitter_id": run.submitter_id,
        "description": run.description,
        "signature": run.signature,
        "carried": run.carried,
    }


def _insert(conn: Connection, rows: Sequence[Mapping[str, Any]]) -> list[int]:
    return sorted(row.id for row in dialect.insert_rows(conn, r, rows, (r.c.id,)))


def insert_alike(
    conn: Connection,
    kinds: Sequence[NewRun],
    own: Iterable[tuple[int, dict[str, Json], dict[str, Json] | None]],
    now: datetime,
) -> list[int]:
    """Insert runs without unique keys of a few kinds; their ids, in the same order.

    Args:
        conn: The transaction.
        kinds: Runs whose arguments and what they carry are not read.
        own: Of each run the place of its kind, its arguments, and what it carries.
        now: When they are submitted.
    """
    values = [new_values(kind, now) for kind in kinds]
    return _insert(conn, [{**values[kind], "args": args, "carried": carried} for kind, args, carried in own])


def insert_all(conn: Connection, runs: Sequence[NewRun], now: datetime) -> list[Run]:
    """Insert runs without unique keys and occurrences, which nothing forbids; what is stored, in the same order."""
    ids = _insert(conn, [new_values(run, now) for run in runs])
    assert len(ids) == len(runs), "a run that no unique constraint covers was left out"
    return [stored_as(run, key, now) for run, key in zip(runs, ids, strict=True)]


def insert_unique(conn: Connection, run: NewRun, now: datetime) -> Run | None:
    """Insert a run with a unique key; None if an unfinished run has that key."""
    ids = _insert(conn, [new_values(run, now)])
    return stored_as(run, ids[0], now) if ids else None


def stored_as(run: NewRun, key: int, now: datetime) -> Run:
    """A new run that was submitted ``now`` as it is read from the database, of which only the key is news."""
    values = new_values(run, now)
    for name in ("scheduled_for", "submitted_at", "available_at", "finished_at"):
        if values[name] is not None:
            values[name] = values[name].astimezone(UTC)
    for name in ("args", "carried"):
        if values[name]:
            values[name] = loads(json.dumps(values[name]))
    stored: dict[str, Any] = {
        **values,
        **_NOTHING_YET,
        "id": key,
        "group": values["group_name"],
        "state": run.state,
        "priority": run.priority,
        "trigger": run.trigger,
        "retry_delay": float(run.retry_delay),
        "timeout": None if run.timeout is None else float(run.timeout),
    }
    del stored["group_name"]
    return Run(**stored)


def lock(conn: Connection, ids: Sequence[int]) -> dict[int, Run]:
    """The runs of these ids, locked in ascending order (so that two bulk actions never wait for each other)."""
    statement = select_runs().where(r.c.id.in_(ids)).order_by(r.c.id).with_for_update(of=r)
    return {row.id: run_from(row) for row in conn.execute(statement)}


def _set(conn: Connection, *where: ColumnElement[bool], **values: Any) -> list[int]:
    """Set columns of the runs that meet these conditions; their ids."""
    return list(conn.execute(update(r).where(*where).values(**values).returning(r.c.id)).scalars())


def cancel_unstarted(conn: Connection, ids: Sequence[int], reason: str, now: datetime) -> list[int]:
    """Cancel those of these runs that no node executes; returns their ids."""
    startable = _judged_state.in_(sql_literals(sources_of(RunState.CANCELLED) - {RunState.RUNNING}))
    asked = {"cancel_requested_at": now, "cancel_reason": reason}
    return _set(
        conn, r.c.id.in_(ids), startable, state=RunState.CANCELLED.value, finished_at=now, error=reason, **asked
    )


def request_cancel(conn: Connection, ids: Sequence[int], reason: str, now: datetime) -> list[int]:
    """Ask those of these runs that are running to stop; returns the ids of those newly asked."""
    unasked = (_judged_state == RunState.RUNNING.value, r.c.cancel_requested_at.is_(None))
    return _set(conn, r.c.id.in_(ids), *unasked, cancel_requested_at=now, cancel_reason=reason)


def make_available(conn: Connection, ids: Sequence[int], at: datetime) -> list[int]:
    """Make waiting and stuck runs due at ``at``; returns the ids of those changed."""
    return _set(conn, r.c.id.in_(ids), _judged_state.in_(sql_literals(CLAIMABLE)), available_at=at)


def edit(conn: Connection, run_id: int, values: Mapping[str, Any]) -> None:
    """Set columns of a run that was locked and waits or is stuck."""
    _set(conn, r.c.id == run_id, _judged_state.in_(sql_literals(CLAIMABLE)), **values)


def set_priority(conn: Connection, ids: Sequence[int], priority: Priority) -> list[int]:
    """Set the priority of waiting and stuck runs; returns the ids of those that had another one."""
    differing = (_judged_state.in_(sql_literals(CLAIMABLE)), r.c.priority != priority.value)
    return _set(conn, r.c.id.in_(ids), *differing, priority=priority.value)


def skip(conn: Connection, ids: Sequence[int], reason: str, now: datetime) -> None:
    """Drop runs before their start."""
    droppable = _judged_state.in_(sql_literals(sources_of(RunState.SKIPPED)))
    _set(conn, r.c.id.in_(ids), droppable, state=RunState.SKIPPED.value, finished_at=now, node_id=None, error=reason)


def hand_back_scheduled(conn: Connection, condition: Mapping[str, Any]) -> list[int]:
    """Give ``scheduled`` runs back to the queue, those for which all columns of ``condition`` are equal."""
    equal = (r.c[name] == value for name, value in condition.items())
    return _hand_back(conn, *equal, r.c.state == RunState.SCHEDULED.value)


def hand_back(conn: Connection, ids: Sequence[int]) -> None:
    """Give those of these runs that are ``scheduled`` back to the queue."""
    _hand_back(conn, r.c.id.in_(ids), _judged_state == RunState.SCHEDULED.value)


def _hand_back(conn: Connection, *which: ColumnElement[bool]) -> list[int]:
    return _set(conn, *which, state=RunState.WAITING.value, node_id=None)


def occupied_by(conn: Connection, node_id: int) -> list[Run]:
    """The runs that a node holds, scheduled and running, locked, by id."""
    statement = (
        select_runs()
        .where(r.c.node_id == node_id, r.c.state.in_(sql_literals(OCCUPYING)))
        .order_by(r.c.id)
        .with_for_update(of=r)
    )
    return [run_from(row) for row in conn.execute(statement)]


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
