"""The durable steps of runs."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, case, func, literal, select

from ...core.durable.steps import Step, StepState, StoredStep
from ..schema.rows import RowReader
from ..schema.tables import run_step as s

_STATE = case((s.c.error.is_(None), literal(StepState.DONE.value)), else_=literal(StepState.FAILED.value))
_ROWS = select(
    s.c.run_id, s.c.step, _STATE.label("state"), s.c.attempt, s.c.started_at, s.c.finished_at, s.c.value, s.c.error,
    s.c.used,
)  # fmt: skip
_step_from: RowReader[Step] = RowReader(
    Step,
    ("run_id", "step", "state", "attempt", "started_at", "finished_at", "value", "error", "used"),
    {"state": StepState, "used": bool},
)


def of_runs(conn: Connection, run_ids: Sequence[int], limit: int | None = None) -> dict[int, list[Step]]:
    """What is stored of the steps of these runs: attempts one after the other, each by the start of its steps.

    Args:
        conn: The connection.
        run_ids: Which runs.
        limit: Of each run so many, the first ones; None = all.
    """
    place = func.row_number().over(partition_by=s.c.run_id, order_by=(s.c.attempt, s.c.started_at, s.c.step))
    numbered = _ROWS.add_columns(place.label("place")).where(s.c.run_id.in_(run_ids)).subquery()
    statement = select(numbered).order_by(numbered.c.run_id, numbered.c.place)
    found: dict[int, list[Step]] = {run_id: [] for run_id in run_ids}
    for row in conn.execute(statement if limit is None else statement.where(numbered.c.place <= limit)):
        found[row.run_id].append(_step_from(row))
    return found


def results(conn: Connection, run_id: int) -> Mapping[str, StoredStep]:
    """The results that a run has, by label."""
    statement = select(s.c.step, s.c.attempt, s.c.value).where(s.c.run_id == run_id, s.c.failure == 0)
    return {row.step: StoredStep(row.step, row.attempt, row.value) for row in conn.execute(statement)}
