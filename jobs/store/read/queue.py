"""The queue as people look at it: the depth of its groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select

from ...core.states import CLAIMABLE, UNFINISHED, RunState
from ..db.words import words
from ..schema.tables import run


@dataclass(frozen=True, slots=True)
class Depth:
    """How many unfinished runs a group has by state, and the seconds its longest waiting due run has waited."""

    states: Mapping[RunState, int]
    oldest_wait: float | None


def depths(conn: Connection, names: Sequence[str], now: datetime) -> dict[str, Depth]:
    """The depth of each of these groups."""
    counted = (
        select(run.c.group_name, run.c.state, func.count())
        .where(run.c.group_name.in_(names), run.c.state.in_(words(UNFINISHED)))
        .group_by(run.c.group_name, run.c.state)
    )
    waiting = (
        select(run.c.group_name, func.min(run.c.available_at))
        .where(run.c.group_name.in_(names), run.c.state.in_(words(CLAIMABLE)), run.c.available_at <= now)
        .group_by(run.c.group_name)
    )
    states: dict[str, dict[RunState, int]] = {name: {} for name in names}
    for name, state, count in conn.execute(counted):
        states[name][RunState(state)] = count
    waits = {name: (now - since).total_seconds() for name, since in conn.execute(waiting)}
    return {name: Depth(states[name], waits.get(name)) for name in names}
