"""Statements that delete old history, each one batch of bounded size.

Never touched: rows still needed (see ``read.prunable``), unfinished runs, open executions, and of every task its
newest execution and its newest finished one (shown by ``lastStatus``), with their runs and log lines. A run goes only
after all of its executions. The walks over executions and runs start where the last batch ended, so that kept history
is not looked at again.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, exists, insert, select, tuple_, update

from ...core.defaults import Keeping
from ...core.nodes import LIVE_NODES
from ...core.states import OCCUPYING
from ..schema.tables import execution_log as line
from ..schema.tables import flow as f
from ..schema.tables import (
    flow_edge,
    history_archive,
    run_awaited,
    run_label,
    run_signal,
    run_step,
    signal_link,
    skipped_occurrence,
)
from ..schema.tables import flow_run as m
from ..schema.tables import job_execution as e
from ..schema.tables import node as n
from ..schema.tables import rate_bucket as b
from ..schema.tables import remote_attempt as a
from ..schema.tables import run as r
from ..statements.prunable import NEEDED_FLOW, RunPlace, ended_before, ended_runs, needed_run


def delete_log_lines(conn: Connection, execution_ids: Sequence[int], limit: int) -> int:
    """Delete up to ``limit`` log lines of these executions; returns how many, fewer than ``limit`` = all are gone."""
    key = tuple_(line.c.execution_id, line.c.line)
    doomed = (
        select(line.c.execution_id, line.c.line)
        .where(line.c.execution_id.in_(execution_ids))
        .order_by(line.c.execution_id, line.c.line)
        .limit(limit)
    )
    return conn.execute(delete(line).where(key.in_(doomed))).rowcount


def delete_executions(conn: Connection, ids: Sequence[int]) -> int:
    """Delete finished executions; their log lines must be gone already."""
    conn.execute(delete(a).where(a.c.execution_id.in_(ids)))
    return conn.execute(delete(e).where(e.c.id.in_(ids), e.c.completed_at.is_not(None))).rowcount


def delete_old_runs(
    conn: Connection, place: RunPlace, before: datetime, limit: int, kept: Keeping, end: int | None = None
) -> tuple[int, RunPlace | None]:
    """Look at ``limit`` runs that finished before ``before``, after ``place``; delete those without any execution.

    Those stay that are to be kept longer, and those with an id from ``end`` on, unless that is None.

    Returns:
        How many were deleted, and the place to proceed from; None = the end.
    """
    rows = ended_runs(conn, place, before, limit, kept.now)
    over = [
        row.id
        for row in rows
        if not row.needed
        and (end is None or row.id < end)
        and kept.is_over(row.job_name, row.group_name, row.finished_at)
    ]
    next_place = RunPlace(rows[-1].finished_at, rows[-1].id) if len(rows) == limit else None
    return delete_bare_runs(conn, over, kept.now), next_place


def delete_surplus_runs(
    conn: Connection, task_id: int, kept: Keeping, keep: int, after: int, limit: int
) -> tuple[int, int | None]:
    """Delete finished runs of a task beyond its ``keep`` newest runs (at least 1), if they have no execution any more.

    If the history is archived, those stay that the archive lacks.

    Returns:
        How many were deleted, and the id to proceed after; None = the end.
    """
    cut = (
        select(r.c.id).where(r.c.task_id == task_id).order_by(r.c.id.desc()).offset(keep - 1).limit(1).scalar_subquery()
    )
    statement = (
        select(r.c.id)
        .where(r.c.task_id == task_id, ended_before(r.c.finished_at, kept.archived), r.c.id < cut, r.c.id > after)
        .order_by(r.c.id)
        .limit(limit)
    )
    rows = conn.execute(statement).all()
    return delete_bare_runs(conn, [row.id for row in rows], kept.now), rows[-1].id if len(rows) == limit else None


def delete_bare_runs(conn: Connection, ids: Sequence[int], now: datetime) -> int:
    """Delete those of these finished runs that have no execution and that nothing needs; return how many."""
    if not ids:
        return 0
    executed = exists().where(e.c.run_id == r.c.id)
    doomed = r.c.id.in_(ids) & r.c.finished_at.is_not(None)
    gone = conn.execute(delete(r).where(doomed, ~executed, ~needed_run(now)).returning(r.c.id, r.c.labels)).all()
    if gone:
        for of_run in (run_step, run_awaited, run_signal, signal_link, a):
            conn.execute(delete(of_run).where(of_run.c.run_id.in_([row.id for row in gone])))
    labels = [
        {"label": key, "word": value, "run": row.id}
        for row in gone
        for key, value in cast("dict[str, str]", row.labels or {}).items()
    ]
    if labels:
        conn.execute(_DELETE_LABEL, labels)
    return len(gone)


_DELETE_LABEL = delete(run_label).where(
    run_label.c.key == bindparam("label"),
    run_label.c.value == bindparam("word"),
    run_label.c.run_id == bindparam("run"),
)


def delete_old_flows(
    conn: Connection, place: RunPlace, before: datetime, limit: int, kept: Keeping | None = None
) -> tuple[int, RunPlace | None]:
    """Look at ``limit`` flows that ended before ``before``, after ``place``; delete them, with the order of their runs.

    Their runs ended before as well, and are no part of a flow any more. With ``kept`` a flow stays as long as one of
    its runs is to be kept.

    Returns:
        How many were deleted, and the place to proceed from; None = the end.
    """
    statement = select(f.c.id, f.c.finished_at).where(
        f.c.finished_at.is_not(None),
        f.c.finished_at >= place.finished_at,
        f.c.finished_at < before,
        ~NEEDED_FLOW,
        (f.c.finished_at > place.finished_at) | (f.c.id > place.id),
    )
    rows = conn.execute(statement.order_by(f.c.finished_at, f.c.id).limit(limit)).all()
    next_place = RunPlace(rows[-1].finished_at, rows[-1].id) if len(rows) == limit else None
    ended = {row.id: row.finished_at for row in rows}
    if kept is not None and kept.has_longer:
        return _delete_flows(conn, sorted(ended.keys() - _kept_flows(conn, ended, kept))), next_place
    return _delete_flows(conn, list(ended)), next_place


def _kept_flows(conn: Connection, ended: Mapping[int, datetime], kept: Keeping) -> set[int]:
    """Return the flows with a run that is to be kept longer."""
    statement = select(r.c.flow_id, r.c.job_name, r.c.group_name).where(r.c.flow_id.in_(ended)).distinct()
    rows = conn.execute(statement)
    return {row.flow_id for row in rows if not kept.is_over(row.job_name, row.group_name, ended[row.flow_id])}


def _delete_flows(conn: Connection, ids: Sequence[int]) -> int:
    if not ids:
        return 0
    members = select(m.c.run_id).where(m.c.flow_id.in_(ids))
    conn.execute(delete(flow_edge).where(flow_edge.c.run_id.in_(members)))
    conn.execute(delete(m).where(m.c.flow_id.in_(ids)))
    return conn.execute(delete(f).where(f.c.id.in_(ids), f.c.finished_at.is_not(None))).rowcount


def delete_old_skips(conn: Connection, before: datetime, limit: int) -> int:
    """Delete up to ``limit`` rows of skipped occurrences last extended before ``before``."""
    s = skipped_occurrence
    return _delete_skips(conn, s.c.at < before, limit)


def delete_surplus_skips(conn: Connection, task_id: int, keep: int, before: datetime | None, limit: int) -> int:
    """Delete up to ``limit`` rows of skipped occurrences of a task that came before ``before`` (None = ever).

    Its ``keep`` newest ones (at least 1) stay.
    """
    s = skipped_occurrence
    cut = (
        select(s.c.id).where(s.c.task_id == task_id).order_by(s.c.id.desc()).offset(keep - 1).limit(1).scalar_subquery()
    )
    return _delete_skips(conn, (s.c.task_id == task_id) & ended_before(s.c.at, before) & (s.c.id < cut), limit)


def _delete_skips(conn: Connection, condition: ColumnElement[bool], limit: int) -> int:
    s = skipped_occurrence
    ids = list(conn.execute(select(s.c.id).where(condition).limit(limit)).scalars())
    # The condition is repeated: a row may have been extended between the two statements.
    return conn.execute(delete(s).where(s.c.id.in_(ids), condition)).rowcount if ids else 0


def delete_full_buckets(conn: Connection, now: datetime, limit: int) -> int:
    """Delete up to ``limit`` buckets of rates that are full and awaited by nobody, which say no more than none."""
    condition = and_(b.c.full_at <= now, b.c.next_token_at.is_(None))
    names = conn.execute(select(b.c.job_name, b.c.rate_key).where(condition).limit(limit)).all()
    these = tuple_(b.c.job_name, b.c.rate_key).in_([tuple(name) for name in names])
    return conn.execute(delete(b).where(these, condition)).rowcount if names else 0


def delete_old_nodes(conn: Connection, before: datetime, limit: int) -> int:
    """Delete up to ``limit`` nodes that are over, last heard of before ``before``, and hold no run."""
    holds = exists().where(r.c.node_id == n.c.id, r.c.state.in_(sorted(state.value for state in OCCUPYING)))
    live = sorted(state.value for state in LIVE_NODES)
    doomed = (
        select(n.c.id).where(n.c.state.not_in(live), n.c.heartbeat_at < before, ~holds).order_by(n.c.id).limit(limit)
    )
    ids = list(conn.execute(doomed).scalars())
    return conn.execute(delete(n).where(n.c.id.in_(ids))).rowcount if ids else 0


def set_archive(conn: Connection, location: str, through: datetime) -> None:
    """Note where the history is archived, and that history from before ``through`` is there."""
    values = {"location": location, "through": through}
    if conn.execute(update(history_archive).values(values)).rowcount == 0:
        conn.execute(insert(history_archive).values(id=1, **values))


def end_archive(conn: Connection) -> bool:
    """Note that the history is archived no longer; returns whether it was."""
    return conn.execute(delete(history_archive)).rowcount > 0
