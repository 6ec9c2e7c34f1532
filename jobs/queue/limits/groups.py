"""What a group lets start, and which of its runs have waited longer than it lets them."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, or_, select

from ...core.admission.caps import Rate
from ...store.schema.tables import queue_group as g
from ...store.schema.tables import run as r


class GroupLimits(NamedTuple):
    """The limits of a group: how many of it run at once, how many start in how long; None = any number.

    ``full_at``: when the bucket of its rate is full again. ``max_wait_low``: see ``Group``.
    """

    max_running: int | None
    rate: Rate | None
    full_at: datetime | None
    max_wait_low: float | None = None


def lock_limits(conn: Connection, groups: Sequence[str]) -> dict[str, GroupLimits]:
    """The limits of those of ``groups`` that have any, locked so that two nodes never fill the same place."""
    statement = (
        select(g.c.name, g.c.max_running, g.c.rate, g.c.rate_full_at, g.c.max_wait_low)
        .where(g.c.name.in_(groups), or_(*(one.is_not(None) for one in (g.c.max_running, g.c.rate, g.c.max_wait_low))))
        .order_by(g.c.name)
        .with_for_update()
    )
    return {
        row.name: GroupLimits(
            row.max_running, None if row.rate is None else Rate.from_json(row.rate), row.rate_full_at, row.max_wait_low
        )
        for row in conn.execute(statement)
    }


def overdue(conn: Connection, ids: Sequence[int], since: datetime) -> set[int]:
    """Those of these runs that have been available since then or longer."""
    return set(conn.execute(select(r.c.id).where(r.c.id.in_(ids), r.c.available_at <= since)).scalars())
