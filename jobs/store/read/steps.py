"""The durable steps of runs."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Executable, Row, exists, func, select

from ...core.actor import RANK, Role
from ...core.steps import Step, StepKind, StepState, StoredStep
from ..db.functions import sql_literal
from ..schema.rows import RowReader, reader_of
from ..schema.tables import run_step as s
from ..schema.tables import signal_link as k

_later = s.alias("later")
_LATEST = ~exists().where(
    _later.c.run_id == s.c.run_id, _later.c.step == s.c.step, _later.c.attempt > s.c.attempt
).correlate(s)  # fmt: skip
_PAGE = (
    select(k.c.page)
    .where(s.c.kind == sql_literal(StepKind.SIGNAL), k.c.run_id == s.c.run_id, k.c.step == s.c.step)
    .order_by(k.c.id.desc())
    .limit(1)
    .scalar_subquery()
)
_ROWS = select(
    s.c.run_id, s.c.step, s.c.kind, s.c.state, s.c.attempt, s.c.started_at, s.c.finished_at, s.c.wake_at, s.c.value,
    s.c.error, s.c.used, s.c.signal, s.c.rank, s.c.form, s.c.flow_id, s.c.cleanup, _LATEST.label("latest"),
    _PAGE.label("page"),
)  # fmt: skip
_ROLES: Final[dict[int | None, Role | None]] = {None: None, **{rank: role for role, rank in RANK.items()}}


def _job_of(cleanup: dict[str, Any] | None) -> str | None:
    return None if cleanup is None else cleanup["job_name"]


_step_from: RowReader[Step] = reader_of(
    Step,
    {
        "kind": StepKind,
        "state": StepState,
        "used": bool,
        "latest": bool,
        "rank": _ROLES.__getitem__,
        "cleanup": _job_of,
    },
    columns={"label": "step", "role": "rank", "cleanup_job": "cleanup"},
)
_RESULTS = select(s.c.step, s.c.attempt, s.c.value, s.c.kind, s.c.state, s.c.wake_at, s.c.error, s.c.flow_id).where(
    s.c.failure == 0
)


def of_runs(conn: Connection, run_ids: Sequence[int], limit: int | None = None, skip: int = 0) -> dict[int, list[Step]]:
    """Return the stored steps of these runs: attempts one after the other, each by the start of its steps.

    Args:
        limit: Of each run so many; None = all.
        skip: Of each run not the first ones, so many.
    """
    found: dict[int, list[Step]] = {run_id: [] for run_id in run_ids}
    rows: Iterable[Row[Any]] = conn.execute(_page(run_ids, limit, skip))
    for row in rows:
        found[row.run_id].append(_step_from(row))
    return found


def _page(run_ids: Sequence[int], limit: int | None, skip: int) -> Executable:
    """Return the statement of a page of steps. Only keys are numbered: values of rows that are left out stay unread."""
    order = (s.c.attempt, s.c.started_at, s.c.step)
    mine = s.c.run_id.in_(run_ids)
    if limit is None and not skip:
        return _ROWS.where(mine).order_by(s.c.run_id, *order)
    place = func.row_number().over(partition_by=s.c.run_id, order_by=order).label("place")
    keys = select(s.c.run_id, s.c.step, s.c.failure, place).where(mine).subquery()
    same = (s.c.run_id == keys.c.run_id) & (s.c.step == keys.c.step) & (s.c.failure == keys.c.failure)
    page = _ROWS.join_from(keys, s, same).where(keys.c.place > skip).order_by(s.c.run_id, keys.c.place)
    return page if limit is None else page.where(keys.c.place <= skip + limit)


def counts(conn: Connection, run_ids: Sequence[int]) -> dict[int, int]:
    """Return how many steps are stored of each of these runs; runs without any are left out."""
    counted = select(s.c.run_id, func.count()).where(s.c.run_id.in_(run_ids)).group_by(s.c.run_id)
    return {run_id: number for run_id, number in conn.execute(counted)}


def results_of_runs(conn: Connection, run_ids: Sequence[int]) -> dict[int, dict[str, StoredStep]]:
    """Return the results of runs and the waits that they began, by run and label; runs without any are left out."""
    return stored_by_run(conn.execute(_RESULTS.add_columns(s.c.run_id).where(s.c.run_id.in_(run_ids))))


def stored_by_run(rows: Iterable[Any]) -> dict[int, dict[str, StoredStep]]:
    """Return the stored steps of rows with the columns of a ``StoredStep``, by run and label."""
    found: dict[int, dict[str, StoredStep]] = {}
    for row in rows:
        found.setdefault(row.run_id, {})[row.step] = _stored(row)
    return found


def result(conn: Connection, run_id: int, label: str) -> StoredStep | None:
    """Return a result of a run, or a wait that it began."""
    row: Any = conn.execute(_RESULTS.where(s.c.run_id == run_id, s.c.step == label)).first()
    return None if row is None else _stored(row)


def _stored(row: Any) -> StoredStep:
    kind, state = StepKind(row.kind), StepState(row.state)
    return StoredStep(row.step, row.attempt, row.value, kind, state, row.wake_at, row.error, row.flow_id)
