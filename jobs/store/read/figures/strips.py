"""Read the newest occurrences of tasks as columns: all that a small chart of each needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, Text, cast, func, select, text

from ....core.model import SkipReason
from ....core.states import RunState
from ...db import dialect
from ...db.functions import duration, written_time
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

    ids: Sequence[str] = ()
    states: Sequence[RunState] = ()
    at: Sequence[str] = ()
    seconds: Sequence[float | None] = ()
    reasons: Sequence[SkipReason | None] = ()
    counts: Sequence[int] = ()


_OWNER: Final = {"task_id": dialect.KINDS[int]}
_NO_STRIP: Final = Strip()
_STATES: Final = {one.value: one for one in RunState}
_REASONS: Final = {one.value: one for one in SkipReason}


def strips_of_tasks(conn: Connection, task_ids: Sequence[int], size: int) -> dict[int, Strip]:
    """The newest occurrences of each of these tasks. One statement; the database puts the columns together.

    Args:
        conn: A connection.
        task_ids: Keys without repetition.
        size: How many occurrences of each task at most.
    """
    postgres = dialect.is_postgresql(conn)
    parameters = dialect.batch_rows(_OWNER, [(one,) for one in task_ids], "owners", postgres=postgres)
    rows = map(tuple, conn.execute(_statement(size, postgres=postgres), parameters))
    return {task_id: _strip(loads(runs), loads(skips), size) for task_id, runs, skips in rows}


@lru_cache(maxsize=16)
def _statement(size: int, *, postgres: bool) -> Select[Any]:
    owners = dialect.batch_source(_OWNER, "owners", postgres=postgres)
    to_columns = _postgres_columns if postgres else _sqlite_columns
    of_runs = to_columns(
        _runs().where(run.c.task_id == owners.c.task_id).limit(size).correlate(owners).subquery("newest_runs").c
    )
    of_skips = to_columns(
        _skips().where(skipped.c.task_id == owners.c.task_id).limit(size).correlate(owners).subquery("newest_skips").c
    )
    columns: list[ColumnElement[Any]] = [owners.c.task_id]
    columns += [select(one).scalar_subquery() for one in (of_runs, of_skips)]
    return select(*columns)


def _runs() -> Select[Any]:
    # As literal text: SQLite takes the unique index over occurrences only if it sees the condition of that index.
    # Runs that were dropped before their start are shown by their skipped rows.
    columns: list[ColumnElement[Any]] = [
        cast(run.c.id, Text).label("id"),
        run.c.state.label("state"),
        written_time(run.c.scheduled_for).label("at"),
        duration(run.c.started_at, run.c.finished_at).label("seconds"),
    ]
    occurrences = select(*columns).where(text("run.trigger = 'schedule' AND run.state <> 'skipped'"))
    return occurrences.order_by(run.c.scheduled_for.desc())


def _skips() -> Select[Any]:
    # By the key, which has an index: stretches of one task begin and end in the order of their keys.
    columns: list[ColumnElement[Any]] = [
        cast(skipped.c.id, Text).label("id"),
        written_time(skipped.c.last_scheduled_for).label("at"),
        skipped.c.reason.label("reason"),
        skipped.c.occurrences.label("count"),
    ]
    return select(*columns).order_by(skipped.c.id.desc())


def _postgres_columns(values: Any) -> ColumnElement[str]:
    lists = [func.coalesce(func.json_agg(value), text("'[]'::json")) for value in values]
    return cast(func.json_build_array(*lists), Text)


def _sqlite_columns(values: Any) -> ColumnElement[str]:
    return func.json_array(*map(func.json_group_array, values))


def _strip(runs: list[list[Any]], skips: list[list[Any]], size: int) -> Strip:
    ids, states, at, seconds = runs
    states = [_STATES[state] for state in states]
    if not skips[0]:
        return Strip(ids, states, at, seconds, [None] * len(ids), [1] * len(ids)) if ids else _NO_STRIP
    rows = [(time, 1, *rest, None, 1) for time, *rest in zip(at, ids, states, seconds, strict=True)]
    rows += [
        (time, 0, key, RunState.SKIPPED, None, _REASONS[reason], count)
        for key, time, reason, count in zip(*skips, strict=True)
    ]
    # Times of one form compare like their texts, but for decimals that are left out. Of one time the run comes first.
    rows.sort(key=_place, reverse=True)
    at, _, ids, states, seconds, reasons, counts = map(list, zip(*rows[:size], strict=True))
    return Strip(ids, states, at, seconds, reasons, counts)


def _place(row: tuple[Any, ...]) -> tuple[str, int]:
    return row[0][:-1], row[1]
