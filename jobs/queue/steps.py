"""Durable steps of runs: their ends are stored, many at once, and a run that is made again keeps some of them."""

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, insert, literal, select, update

from ..core.base.errors import InvalidState
from ..core.base.lazy import LazyModule
from ..core.events import STEPS, Listed
from ..core.model import Json, Run
from ..core.states import RunState
from ..core.steps import PLACE, StepEnd, StepState, StoredStep, results_before
from ..store.db import dialect
from ..store.db.autocommit import AutocommitConnection, NotConnectedError
from ..store.db.database import Database
from ..store.db.transaction import Tx, Wake
from ..store.schema.flows import callback_document
from ..store.schema.tables import run_step as s
from ..store.schema.types import to_text
from ..store.statements import runs as stored_runs
from .base import runs as base_runs
from .base import statements
from .base.shapes import HeldRun
from .enqueue.requests import new_run

if TYPE_CHECKING:
    import psycopg
else:
    psycopg = LazyModule("psycopg")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EndedStep:
    """The end of a step with the run as its attempt was started, which is the fence."""

    run: Run | HeldRun
    end: StepEnd


class StepRow(NamedTuple):
    """Hold the row of a step. ``place`` counts the steps that are written together."""

    place: int
    run_id: int
    step: str
    failure: int
    attempt: int
    started_at: datetime
    finished_at: datetime
    value: Json
    error: str | None
    cleanup: dict[str, Any] | None

    @property
    def state(self) -> StepState:
        """Return how the step ended."""
        return StepState.DONE if self.error is None else StepState.FAILED


async def store(
    database: Database, connection: AutocommitConnection | None, node: tuple[int, str], ended: Sequence[EndedStep]
) -> list[bool]:
    """Store steps that ended on a node; of each whether it is stored. Repeating it changes nothing.

    A step that is not stored is of an attempt that its node has no more: the run was taken from it.

    Args:
        connection: For a statement of its own; None: a transaction.
        node: The id and the name of the life of the node that has the runs.
        ended: In any order.
    """
    rows = rows_of(ended)
    places: Collection[int] | None = None
    if connection is not None:
        places = await database.on_connection(_by_statement, connection, node, rows)
    if places is None:
        places = await database.write(rows_to_store, node, rows)
    kept = {(rows[place].run_id, rows[place].attempt, rows[place].step) for place in places}
    return [(one.run.id, one.run.attempt, one.end.label) in kept for one in ended]


async def results_of(
    database: Database, connection: AutocommitConnection | None, run_ids: Sequence[int], *, retry_for: float
) -> Mapping[int, Mapping[str, StoredStep]]:
    """Return the stored steps of runs, by run and label.

    Args:
        connection: For a statement of its own; None: a snapshot.
        retry_for: Seconds for which it is asked for while the database is unavailable.
    """
    if connection is not None:
        try:
            rows = await connection.execute(statements.for_driver("step_results"), {"run_ids": list(run_ids)})
        except (NotConnectedError, psycopg.Error) as error:
            # In each case: a snapshot, on another connection, says it again or does it.
            log.debug("reading the results of %d runs again: %s", len(run_ids), error)
        else:
            return stored_runs.stored_steps_by_run(rows)
    return await database.with_retry(retry_for).read(stored_runs.step_results_of, list(run_ids))


async def _by_statement(
    connection: AutocommitConnection, node: tuple[int, str], rows: Sequence[StepRow]
) -> tuple[frozenset[int] | None, Wake]:
    try:
        found = await connection.execute(statements.for_driver("store_steps"), _parameters(node, rows, None))
    except NotConnectedError:
        return None, Wake.NONE
    return frozenset(row.place for row in found), Wake.EVENTS if found else Wake.NONE


def rows_to_store(tx: Tx, node: tuple[int, str], rows: Sequence[StepRow]) -> frozenset[int]:
    """Store steps in a transaction; return the places of those that are stored now."""
    if dialect.is_postgresql(tx.conn):
        found = statements.execute(tx.conn, "store_steps", _parameters(node, rows, tx.own_now))
        places = frozenset(row.place for row in found)
        if places:
            tx.wake(Wake.EVENTS)
        return places
    listed = json.dumps([{"place": one.place, "run_id": one.run_id, "attempt": one.attempt} for one in rows])
    found = statements.execute(tx.conn, "runs_of_steps", {"node_id": node[0], "steps": listed})
    runs = {row.place: row for row in found}
    held = [one for one in rows if one.place in runs]
    if held:
        columns = [_for_sqlite(one) for one in held]
        statements.execute_on_sqlite(tx.conn, "store_steps", {"steps": json.dumps(columns)})
        announced = [(runs[one.place], one) for one in held]
        listing = [
            (run.id, run.job_name, run.group_name, run.task_id, run.task_name, one.step, one.state.value)
            for run, one in announced
        ]
        tx.emit([Listed(STEPS, listing, node[1])])
    return frozenset(runs)


def store_within(tx: Tx, run_id: int, attempt: int, end: StepEnd, progress: Json) -> None:
    """Store the end of a step, and how far its run is then, in the transaction of the step's own work.

    Raises:
        InvalidState: the run was taken from its node; nothing is to be done for it.
    """
    run = stored_runs.by_ids(tx.conn, [run_id]).get(run_id)
    if (
        run is None
        or run.attempt != attempt
        or run.node_id is None
        or not rows_to_store(tx, (run.node_id, run.node or ""), rows_of([EndedStep(run, end)]))
    ):
        raise InvalidState(f"step '{end.label}': not done, since the run was taken from its node")
    base_runs.save_progress(tx.conn, [(run_id, attempt, run.node_id, progress)])


def rows_of(ended: Sequence[EndedStep]) -> list[StepRow]:
    """Return the rows of ended steps, in the order in which their runs are locked."""
    return [_row(place, one) for place, one in enumerate(sorted(ended, key=lambda one: one.run.id))]


def _row(place: int, one: EndedStep) -> StepRow:
    end, attempt = one.end, one.run.attempt
    failure = 0 if end.state is StepState.DONE else attempt
    cleanup = None if end.cleanup is None else {**callback_document(new_run(end.cleanup)), PLACE: end.place}
    return StepRow(
        place, one.run.id, end.label, failure, attempt, end.started_at, end.finished_at, end.value, end.error, cleanup
    )


def _parameters(node: tuple[int, str], rows: Sequence[StepRow], now: datetime | None) -> dict[str, Any]:
    listed = json.dumps([one._asdict() for one in rows], default=dialect.time_text)
    return {"node_id": node[0], "node": node[1], "now": now, "steps": listed}


def _for_sqlite(one: StepRow) -> dict[str, Any]:
    return {
        **one._asdict(),
        "started_at": to_text(one.started_at),
        "finished_at": to_text(one.finished_at),
        "value": None if one.value is None else json.dumps(one.value),
        "cleanup": None if one.cleanup is None else json.dumps(one.cleanup),
    }


def mark_unused(tx: Tx, run: Run | HeldRun, labels: Collection[str]) -> None:
    """Mark results of a run that a successful attempt did not ask for."""
    unused = (s.c.run_id == run.id, s.c.failure == 0, s.c.step.in_(sorted(labels)))
    tx.conn.execute(update(s).where(*unused).values(used=False))


def labels_before(tx: Tx, run: Run, label: str) -> list[str]:
    """Return the results of a finished run that one made of it keeps which goes on from a step.

    Raises:
        NotFound: code ``UNKNOWN_STEP``.
        InvalidState: one of them was undone.
    """
    undone = run.state in (RunState.FAILED, RunState.CANCELLED)
    return results_before(stored_runs.steps_of_runs(tx.conn, [run.id])[run.id], label, undone=undone)


def copy_results(conn: Connection, source: int, target: int, labels: Sequence[str]) -> None:
    """Give a new run these results of another one, as of an attempt before its first; that one undoes them, if any."""
    same = [column for column in s.columns if column.name not in ("run_id", "attempt", "cleanup")]
    wanted = s.c.run_id == source, s.c.failure == 0, s.c.step.in_(labels)
    copied = select(literal(target), literal(0), *same).where(*wanted)
    columns = ["run_id", "attempt", *(column.name for column in same)]
    conn.execute(insert(s).from_select(columns, copied))
