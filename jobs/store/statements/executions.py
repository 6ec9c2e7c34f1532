"""Read executions: by key, of a run, of a node, the newest; and the attempts that are at engines."""

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, Select, select

from ...core.model import Execution, Outcome, Trigger
from ...core.remote import EngineState, RemoteAttempt
from ..db import dialect
from ..db.unreadable import every, readable
from ..schema.rows import reader_of
from ..schema.tables import job_execution as e
from ..schema.tables import remote_attempt as a
from .listing.pages import newest_finished_of

execution_from = reader_of(Execution, {"outcome": Outcome, "trigger": Trigger})
"""The execution behind a whole row of ``job_execution``."""
_OWNERS: Final = {"task": dialect.KINDS[int]}


def by_ids(conn: Connection, ids: Sequence[int]) -> dict[int, Execution]:
    """Return the executions of these ids that exist, by id."""
    return {one.id: one for one in every(conn, select(e).where(e.c.id.in_(ids)), e.c.id, execution_from)}


def of_run(conn: Connection, run_id: int) -> list[Execution]:
    """Return the attempts at a run, in order."""
    return every(conn, select(e).where(e.c.run_id == run_id).order_by(e.c.attempt), e.c.id, execution_from)


def open_of_node(conn: Connection, node_id: int) -> list[Execution]:
    """Return the executions that a node has begun and not ended."""
    statement = select(e).where(e.c.node_id == node_id, e.c.completed_at.is_(None)).order_by(e.c.id)
    return readable(conn, statement, e.c.id, execution_from)


def newest_finished(conn: Connection, task_ids: Sequence[int]) -> dict[int, Execution]:
    """Return the newest finished execution of each of these tasks that has one, by the id of the task."""
    statement = _newest_finished(postgres=dialect.is_postgresql(conn))
    parameters = dialect.batch_rows(
        _OWNERS, [(one,) for one in task_ids], "owners", postgres=dialect.is_postgresql(conn)
    )
    found = every(conn, statement, e.c.id, lambda row: (row.task_id, execution_from(row)), parameters)
    return dict(found)


@cache
def _newest_finished(*, postgres: bool) -> Select[Any]:
    # Putting it together costs as much as sending it.
    owners = dialect.batch_source(_OWNERS, "owners", postgres=postgres)
    return select(e).where(e.c.id.in_(select(newest_finished_of(owners.c.task)).select_from(owners)))


REMOTE_COLUMNS: Final[list[Any]] = [a.c[name] for name in RemoteAttempt.__dataclass_fields__]
_remote_from = reader_of(RemoteAttempt, {"engine_state": EngineState})


def attempt_from(row: Any) -> RemoteAttempt:
    """Return the attempt behind a row of its columns, among others."""
    return _remote_from(row)


def remote_attempts(conn: Connection, ids: Collection[int]) -> dict[int, RemoteAttempt]:
    """Return those of these executions that were handed to an engine, by id."""
    rows = conn.execute(select(*REMOTE_COLUMNS).where(a.c.execution_id.in_(ids)))
    return {row.execution_id: attempt_from(row) for row in rows}


def open_remote_attempts(conn: Connection, run_ids: Collection[int]) -> dict[int, RemoteAttempt]:
    """Return the attempts of these runs whose end is not stored yet, by run."""
    rows = conn.execute(select(*REMOTE_COLUMNS).where(a.c.run_id.in_(run_ids), a.c.over_at.is_(None)))
    return {row.run_id: attempt_from(row) for row in rows}
