"""Read flows: by key, their runs in order, how far they are, their templates."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, func, select

from ...core.flows import Flow, FlowState, When
from ...core.states import RunState
from ..db.unreadable import every
from ..schema.rows import reader_of
from ..schema.tables import flow as f
from ..schema.tables import flow_edge as e
from ..schema.tables import flow_run as m
from ..schema.tables import run as r

flow_from = reader_of(Flow, {"state": FlowState})
"""The flow behind a whole row."""


class Member(NamedTuple):
    """A run's place in its flow: its key, the condition of its start, and the runs that kept it from starting."""

    run_id: int
    flow_id: int
    key: str
    when: When
    chain: tuple[str, ...]


def by_ids(conn: Connection, ids: Sequence[int]) -> dict[int, Flow]:
    """Return the flows of these ids that exist, by id."""
    return {flow.id: flow for flow in every(conn, select(f).where(f.c.id.in_(ids)), f.c.id, flow_from)}


def members_of(conn: Connection, flow_ids: Sequence[int]) -> list[Member]:
    """Return the runs of these flows, in the order of their ids."""
    statement = select(m).where(m.c.flow_id.in_(flow_ids)).order_by(m.c.run_id)
    return [_member(row) for row in conn.execute(statement)]


def members_by_run(conn: Connection, run_ids: Sequence[int]) -> dict[int, Member]:
    """Return the place in a flow of each of these runs that has one."""
    return {row.run_id: _member(row) for row in conn.execute(select(m).where(m.c.run_id.in_(run_ids)))}


def _member(row: Row[Any]) -> Member:
    return Member(row.run_id, row.flow_id, row.key, When(row.condition), tuple(row.chain or ()))


def before(conn: Connection, run_ids: Sequence[int]) -> dict[int, list[int]]:
    """Return the runs that each of these runs comes after, ordered by id; those that come after none are left out."""
    statement = select(e.c.run_id, e.c.after_id).where(e.c.run_id.in_(run_ids)).order_by(e.c.run_id, e.c.after_id)
    found: dict[int, list[int]] = {}
    for run_id, after_id in conn.execute(statement):
        found.setdefault(run_id, []).append(after_id)
    return found


def templates(conn: Connection, run_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return the arguments of runs that take results from others, as they were before these were filled in."""
    statement = select(m.c.run_id, m.c.uses).where(m.c.run_id.in_(run_ids), m.c.uses.is_not(None))
    return {run_id: uses["args"] for run_id, uses in conn.execute(statement)}


def progress(conn: Connection, flow_ids: Sequence[int]) -> dict[int, dict[RunState, int]]:
    """Return how many runs of each of these flows are in which state."""
    statement = (
        select(m.c.flow_id, r.c.state, func.count())
        .join_from(m, r, r.c.id == m.c.run_id)
        .where(m.c.flow_id.in_(flow_ids))
        .group_by(m.c.flow_id, r.c.state)
    )
    found: dict[int, dict[RunState, int]] = {flow_id: {} for flow_id in flow_ids}
    for flow_id, state, count in conn.execute(statement):
        found[flow_id][RunState(state)] = count
    return found


class OfJob(NamedTuple):
    """The runs of a flow of one job: how many are in which state, and the jobs of the runs that they come after."""

    job_name: str
    states: dict[RunState, int]
    after: list[str]


def by_job(conn: Connection, flow_ids: Sequence[int]) -> dict[int, list[OfJob]]:
    """Return the runs of each of these flows, counted by job; the jobs in the order of their first runs."""
    counted = (
        select(m.c.flow_id, r.c.job_name, r.c.state, func.count(), func.min(r.c.id).label("first"))
        .join_from(m, r, r.c.id == m.c.run_id)
        .where(m.c.flow_id.in_(flow_ids))
        .group_by(m.c.flow_id, r.c.job_name, r.c.state)
        .order_by("first")
    )
    earlier = r.alias()
    edges = (
        select(m.c.flow_id, r.c.job_name, earlier.c.job_name)
        .distinct()
        .join_from(m, e, e.c.run_id == m.c.run_id)
        .join(r, r.c.id == m.c.run_id)
        .join(earlier, earlier.c.id == e.c.after_id)
        .where(m.c.flow_id.in_(flow_ids))
    )
    found: dict[int, dict[str, OfJob]] = {flow_id: {} for flow_id in flow_ids}
    for flow_id, job_name, state, count, _ in conn.execute(counted):
        of_job = found[flow_id].setdefault(job_name, OfJob(job_name, {}, []))
        of_job.states[RunState(state)] = count
    for flow_id, job_name, before_it in sorted(conn.execute(edges)):
        found[flow_id][job_name].after.append(before_it)
    return {flow_id: list(jobs.values()) for flow_id, jobs in found.items()}
