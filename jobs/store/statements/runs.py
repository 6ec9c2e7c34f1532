"""Read runs: by key, by task, by node, with their labels and their steps."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    Connection,
    Executable,
    Row,
    Select,
    bindparam,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
)

from ...core.actor import RANK, Role
from ...core.model import Priority, Run, SkipReason, Trigger
from ...core.states import OCCUPYING, RELEASING, UNFINISHED, RunState
from ...core.steps import Step, StepKind, StepState, StoredStep
from ..db.functions import sql_literal, sql_literals
from ..db.unreadable import every
from ..schema.rows import RowReader, reader_of
from ..schema.tables import IS_OPEN, run_label
from ..schema.tables import node as n
from ..schema.tables import run as r
from ..schema.tables import run_step as s
from ..schema.tables import signal_link as k
from ..schema.types import UtcDateTime
from .listing.criteria import LabelMatch, Spread
from .listing.searching import Counted


def select_runs() -> Select[Any]:
    """Return all columns of a run and the name of the node that holds or held it."""
    return select(r, n.c.name.label("node")).select_from(r.outerjoin(n, n.c.id == r.c.node_id))


def _run(*values: Any) -> Run:
    run = Run(*values)
    # Beyond all times while it is held back.
    return run if run.due_at is None else replace(run, available_at=run.due_at)


_COLUMNS = ["group_name" if one.name == "group" else one.name for one in fields(Run)]
_WORDS = {"state": RunState, "trigger": Trigger, "priority": Priority, "skip_reason": SkipReason}
run_from = RowReader(_run, _COLUMNS, _WORDS)
"""The run behind a row of ``select_runs``."""


DUE_TIME = func.coalesce(r.c.due_at, r.c.available_at, type_=UtcDateTime())
"""When a run is due, also while it waits for a slot or a token; as ``ix_run_available`` has it."""

HOLDING = (
    r.c.state.in_(sql_literals(UNFINISHED)),
    or_(r.c.key_until_start.is_(None), r.c.attempt == literal_column("0")),
)
"""That an unfinished run holds its unique key."""

# To put a statement of all columns together takes three times as long as to execute it.
_BY_IDS: Final = select_runs().where(r.c.id.in_(bindparam("ids", type_=r.c.id.type, expanding=True)))
_WITH_KEY: Final = select_runs().where(r.c.unique_key == bindparam("key"), *HOLDING)


def holding_for_a_time(conn: Connection, unique_key: str, now: datetime, but: int | None = None) -> Run | None:
    """Return the newest run, other than ``but``, that holds this unique key for a time that is not over."""
    released = sorted(state.value for state in RELEASING)
    statement = (
        select_runs()
        .where(r.c.unique_key == unique_key, r.c.key_until > now, r.c.state.not_in(released))
        .order_by(r.c.id.desc())
        .limit(1)
    )
    if but is not None:
        statement = statement.where(r.c.id != but)
    return next(iter(every(conn, statement, r.c.id, run_from)), None)


MOST_RETRIES: Final = 50
"""Retries of retries that are followed."""


def recovered(conn: Connection, ids: Collection[int]) -> dict[int, bool]:
    """Return the runs among these that succeeded, or of which a retry did, or a retry of that."""
    given = select(r.c.id.label("origin"), r.c.id, r.c.state, literal(0).label("depth")).where(r.c.id.in_(ids))
    again = given.cte("again", recursive=True)
    retries = select(again.c.origin, r.c.id, r.c.state, again.c.depth + 1)
    followed = again.union_all(retries.where(r.c.retried_from == again.c.id, again.c.depth < MOST_RETRIES))
    succeeded = select(followed.c.origin).where(followed.c.state == sql_literal(RunState.SUCCESS)).distinct()
    return {row.origin: True for row in conn.execute(succeeded)}


def key_until(conn: Connection, run_id: int) -> datetime | None:
    """Return the time until which a run holds its unique key, with any outcome; None = it does not."""
    found: datetime | None = conn.execute(select(r.c.key_until).where(r.c.id == run_id)).scalar()
    return found


def unfinished_with_key(conn: Connection, unique_key: str) -> Run | None:
    """Return the unfinished run that has this unique key."""
    return next(iter(every(conn, _WITH_KEY, r.c.id, run_from, {"key": unique_key})), None)


def holders_of_keys(conn: Connection, keys: Collection[str]) -> dict[str, int]:
    """Return the unfinished runs that have these unique keys, by key."""
    statement = select(r.c.unique_key, r.c.id).where(r.c.unique_key.in_(sorted(keys)), *HOLDING)
    return {row.unique_key: row.id for row in conn.execute(statement)}


def holders_for_a_time(conn: Connection, keys: Collection[str], now: datetime) -> dict[str, int]:
    """Return the newest runs that hold these unique keys for a time that is not over, by key."""
    released = sorted(state.value for state in RELEASING)
    condition = (r.c.unique_key.in_(sorted(keys)), r.c.key_until > now, r.c.state.not_in(released))
    return {row.unique_key: row.id for row in conn.execute(select(r.c.unique_key, r.c.id).where(*condition))}


def by_ids(conn: Connection, ids: Sequence[int]) -> dict[int, Run]:
    """Return the runs of these ids that exist, by id."""
    return {run.id: run for run in every(conn, _BY_IDS, r.c.id, run_from, {"ids": ids})}


def latest(conn: Connection, number: int) -> list[Run]:
    """Return the newest runs, the newest first."""
    return every(conn, select_runs().order_by(r.c.id.desc()).limit(number), r.c.id, run_from)


def unfinished_of_tasks(conn: Connection, task_ids: Sequence[int]) -> list[int]:
    """Return the unfinished runs of these tasks, oldest first."""
    statement = select(r.c.id).where(r.c.task_id.in_(task_ids), IS_OPEN).order_by(r.c.id)
    return list(conn.execute(statement).scalars())


def cancel_requests(conn: Connection, node_id: int) -> dict[int, str]:
    """Return the running runs of a node that were asked to stop, with the reason."""
    statement = select(r.c.id, r.c.cancel_reason).where(
        r.c.node_id == node_id, r.c.state == RunState.RUNNING.value, r.c.cancel_requested_at.is_not(None)
    )
    return {run_id: reason or "cancelled" for run_id, reason in conn.execute(statement)}


def held_by(conn: Connection, node_id: int) -> set[int]:
    """Return the ids of the runs that a node holds, scheduled and running."""
    statement = select(r.c.id).where(r.c.node_id == node_id, r.c.state.in_(sql_literals(OCCUPYING)))
    return set(conn.execute(statement).scalars())


def running_on(conn: Connection, node_ids: Sequence[int]) -> dict[int, int]:
    """Return how many runs each of these nodes executes; nodes without any are left out."""
    statement = (
        select(r.c.node_id, func.count())
        .where(
            r.c.node_id.in_(node_ids),
            r.c.state.in_(sql_literals(OCCUPYING)),
            r.c.state == sql_literal(RunState.RUNNING),
        )
        .group_by(r.c.node_id)
    )
    return {node_id: count for node_id, count in conn.execute(statement)}


FEW_LABELLED: Final = 5_000
"""So many runs with a label are looked up one by one; where more have it, rows are looked through instead."""
LABEL_CAP: Final = 10_000
"""Runs with a label are counted up to here; one more means "more than this many"."""


class LabelValue(NamedTuple):
    """A value that runs have for a key, and how many of them, counted up to the cap and one more."""

    value: str
    runs: int


def label_spreads(conn: Connection, labels: Sequence[LabelMatch]) -> dict[LabelMatch, Spread]:
    """Return whether few or many runs have each of these labels: a look at an index, however many they are."""
    return {
        one: Spread.FEW if _count_labelled(conn, one, FEW_LABELLED) <= FEW_LABELLED else Spread.MANY for one in labels
    }


def _count_labelled(conn: Connection, label: LabelMatch, cap: int) -> int:
    rows = select(run_label.c.run_id).where(run_label.c.key == label.key)
    if label.values is not None:
        rows = rows.where(run_label.c.value.in_(label.values))
    counted = select(func.count()).select_from(rows.limit(cap + 1).subquery("labelled"))
    return conn.execute(counted).scalar_one()


def label_keys(conn: Connection, limit: int) -> list[str]:
    """Return the keys that runs have, in their order: a look at an index for each."""
    found: list[str] = []
    while len(found) < limit:
        rest = select(run_label.c.key).order_by(run_label.c.key, run_label.c.value, run_label.c.run_id).limit(1)
        following = conn.execute(rest.where(run_label.c.key > found[-1]) if found else rest).scalar()
        if following is None:
            break
        found.append(following)
    return found


def count_label_values(conn: Connection, key: str) -> Counted:
    """Return how many values runs have for a key; of more than ``CAP`` labels the values of the first ones."""
    looked_at = (
        select(run_label.c.value)
        .where(run_label.c.key == key)
        .order_by(run_label.c.value, run_label.c.run_id)
        .limit(LABEL_CAP + 1)
        .subquery("some")
    )
    labels, number = conn.execute(select(func.count(), func.count(looked_at.c.value.distinct()))).one()
    return Counted(number, is_complete=labels <= LABEL_CAP)


def label_values(conn: Connection, key: str, after: str, limit: int, cap: int = LABEL_CAP) -> list[LabelValue]:
    """Return the values that runs have for a key behind ``after``, in their order, each with how many runs have it."""
    found: list[LabelValue] = []
    last = after
    while len(found) < limit:
        rest = select(run_label.c.value).where(run_label.c.key == key, run_label.c.value > last)
        following = conn.execute(rest.order_by(run_label.c.value, run_label.c.run_id).limit(1)).scalar()
        if following is None:
            break
        found.append(LabelValue(following, _count_labelled(conn, LabelMatch(key, (following,)), cap)))
        last = following
    return found


_later_step = s.alias("later")
_LATEST_STEP = ~exists().where(
    _later_step.c.run_id == s.c.run_id, _later_step.c.step == s.c.step, _later_step.c.attempt > s.c.attempt
).correlate(s)  # fmt: skip
_STEP_STEP_PAGE = (
    select(k.c.page)
    .where(s.c.kind == sql_literal(StepKind.SIGNAL), k.c.run_id == s.c.run_id, k.c.step == s.c.step)
    .order_by(k.c.id.desc())
    .limit(1)
    .scalar_subquery()
)
_ROWS = select(
    s.c.run_id, s.c.step, s.c.kind, s.c.state, s.c.attempt, s.c.started_at, s.c.finished_at, s.c.wake_at, s.c.value,
    s.c.error, s.c.used, s.c.signal, s.c.rank, s.c.form, s.c.flow_id, s.c.cleanup, _LATEST_STEP.label("latest"),
    _STEP_STEP_PAGE.label("page"),
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


def steps_of_runs(
    conn: Connection, run_ids: Sequence[int], limit: int | None = None, skip: int = 0
) -> dict[int, list[Step]]:
    """Return the stored steps of these runs: attempts one after the other, each by the start of its steps.

    Args:
        limit: Of each run so many; None = all.
        skip: Of each run not the first ones, so many.
    """
    found: dict[int, list[Step]] = {run_id: [] for run_id in run_ids}
    rows: Iterable[Row[Any]] = conn.execute(_step_page(run_ids, limit, skip))
    for row in rows:
        found[row.run_id].append(_step_from(row))
    return found


def _step_page(run_ids: Sequence[int], limit: int | None, skip: int) -> Executable:
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


def step_counts(conn: Connection, run_ids: Sequence[int]) -> dict[int, int]:
    """Return how many steps are stored of each of these runs; runs without any are left out."""
    counted = select(s.c.run_id, func.count()).where(s.c.run_id.in_(run_ids)).group_by(s.c.run_id)
    return {run_id: number for run_id, number in conn.execute(counted)}


def step_results_of(conn: Connection, run_ids: Sequence[int]) -> dict[int, dict[str, StoredStep]]:
    """Return the results of runs and the waits that they began, by run and label; runs without any are left out."""
    return stored_steps_by_run(conn.execute(_RESULTS.add_columns(s.c.run_id).where(s.c.run_id.in_(run_ids))))


def stored_steps_by_run(rows: Iterable[Any]) -> dict[int, dict[str, StoredStep]]:
    """Return the stored steps of rows with the columns of a ``StoredStep``, by run and label."""
    found: dict[int, dict[str, StoredStep]] = {}
    for row in rows:
        found.setdefault(row.run_id, {})[row.step] = _stored_step(row)
    return found


def step_result(conn: Connection, run_id: int, label: str) -> StoredStep | None:
    """Return a result of a run, or a wait that it began."""
    row: Any = conn.execute(_RESULTS.where(s.c.run_id == run_id, s.c.step == label)).first()
    return None if row is None else _stored_step(row)


def _stored_step(row: Any) -> StoredStep:
    kind, state = StepKind(row.kind), StepState(row.state)
    return StoredStep(row.step, row.attempt, row.value, kind, state, row.wake_at, row.error, row.flow_id)
