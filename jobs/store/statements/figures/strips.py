"""Read the newest occurrences of tasks as columns: all that a small chart of each needs."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, Text, and_, cast, func, select, text

from ....core.model import SkipReason
from ....core.states import RunState
from ...db import dialect
from ...schema.tables import run
from ...schema.tables import skipped_occurrence as skipped
from ...schema.types import loads


@dataclass(frozen=True, slots=True)
class Strip:
    """The newest occurrences of a task; one value of each column per occurrence, the newest nominal time first.

    Attributes:
        ids: The key of the run or of the skipped stretch, as text.
        states: The state of the run; ``skipped`` for a stretch.
        at: The nominal time, of a stretch the last one, as the API writes times.
        seconds: From the start of the run to its end; None until it has ended, and for a stretch.
        reasons: Why a stretch was skipped; None for a run.
        counts: For how many occurrences it stands.
    """

    ids: list[str] = field(default_factory=list[str])
    states: list[RunState] = field(default_factory=list[RunState])
    at: list[str] = field(default_factory=list[str])
    seconds: list[float | None] = field(default_factory=list[float | None])
    reasons: list[SkipReason | None] = field(default_factory=list[SkipReason | None])
    counts: list[int] = field(default_factory=list[int])


_instant: Final = datetime.fromisoformat
_OWNER: Final = {"task_id": dialect.KINDS[int]}
_STATES: Final = {one.value: one for one in RunState}
_REASONS: Final = {one.value: one for one in SkipReason}


def strips_of_tasks(conn: Connection, task_ids: Sequence[int], size: int) -> dict[int, Strip]:
    """Return the newest occurrences of each of these tasks. One statement; the database puts the columns together.

    Args:
        task_ids: Keys without repetition.
        size: How many occurrences of each task at most.
    """
    postgres = dialect.is_postgresql(conn)
    parameters = dialect.batch_rows(_OWNER, [(one,) for one in task_ids], "owners", postgres=postgres)
    rows = map(tuple, conn.execute(_statement(size, postgres=postgres), parameters))
    return {task_id: _strip(_read(runs), _read(skips), size) for task_id, runs, skips in rows}


@lru_cache(maxsize=16)
def _statement(size: int, *, postgres: bool) -> Select[Any]:
    owners = dialect.batch_source(_OWNER, "owners", postgres=postgres)
    to_columns = _postgres_columns if postgres else _sqlite_columns
    of_runs = to_columns(_runs(owners.c.task_id).limit(size).correlate(owners).subquery("newest_runs").c)
    of_skips = to_columns(_skips(owners.c.task_id).limit(size).correlate(owners).subquery("newest_skips").c)
    columns: list[ColumnElement[Any]] = [owners.c.task_id]
    columns += [select(one).scalar_subquery() for one in (of_runs, of_skips)]
    return select(*columns)


def _runs(task_id: ColumnElement[int]) -> Select[Any]:
    columns: list[ColumnElement[Any]] = [
        run.c.id,
        run.c.state,
        run.c.scheduled_for,
        run.c.started_at,
        run.c.finished_at,
    ]
    # As literal text: SQLite takes the unique index over occurrences only if it sees the condition of that index.
    # Runs that were dropped before their start are shown by their skipped rows.
    occurrences = select(*columns).where(text("run.trigger = 'schedule' AND run.state <> 'skipped'"))
    # Not "=": PostgreSQL would read and sort all runs of the task, as in ``pages_of``.
    mine = and_(run.c.task_id >= task_id, run.c.task_id <= task_id)
    return occurrences.where(mine).order_by(run.c.task_id.desc(), run.c.scheduled_for.desc())


def _skips(task_id: ColumnElement[int]) -> Select[Any]:
    columns: list[ColumnElement[Any]] = [
        skipped.c.id,
        skipped.c.last_scheduled_for,
        skipped.c.reason,
        skipped.c.occurrences,
    ]
    # By the key, which has an index: stretches of one task begin and end in the order of their keys.
    return select(*columns).where(skipped.c.task_id == task_id).order_by(skipped.c.id.desc())


def _postgres_columns(values: Any) -> ColumnElement[str]:
    lists = [func.coalesce(func.json_agg(value), text("'[]'::json")) for value in values]
    return cast(func.json_build_array(*lists), Text)


def _sqlite_columns(values: Any) -> ColumnElement[str]:
    return func.json_array(*map(func.json_group_array, values))


def _read(columns: str) -> list[list[Any]]:
    # As PostgreSQL writes times of UTC in JSON, and times of whole seconds as SQLite stores them.
    found: list[list[Any]] = loads(columns.replace("+00:00", "Z").replace(".000000Z", "Z"))
    return found


def _strip(runs: list[list[Any]], skips: list[list[Any]], size: int) -> Strip:
    ids, states, at, starts, ends = runs
    strip = Strip(
        list(map(str, ids)),
        [_STATES[state] for state in states],
        [_trimmed(time) if time[-2] == "0" else time for time in at],
        [
            None if start is None or end is None else (_instant(end) - _instant(start)).total_seconds()
            for start, end in zip(starts, ends, strict=True)
        ],
        [None] * len(ids),
        [1] * len(ids),
    )
    if not skips[0]:
        return strip
    columns: list[list[Any]] = [getattr(strip, one) for one in Strip.__slots__]
    for column in columns:
        column.reverse()
    for key, time, reason, count in zip(*skips, strict=True):
        # Of one time the run comes first, where the newest do.
        place = bisect_left(strip.at, _place(time), key=_place)
        row = (str(key), RunState.SKIPPED, _trimmed(time), None, _REASONS[reason], count)
        for column, value in zip(columns, row, strict=True):
            column.insert(place, value)
    for column in columns:
        column.reverse()
        del column[size:]
    return strip


def _trimmed(time: str) -> str:
    """Return a time as the API writes it: without needless decimals."""
    return f"{time[:-1].rstrip('0')}Z" if "." in time else time


def _place(time: str) -> str:
    # Times of one form compare like their texts, but for decimals that are left out.
    return time[:-1]
