"""The executions of the last two days by the minute, as the transactions that ended them counted them.

So the overview costs the same however many executions ended lately: at most ``KEPT_FOR`` minutes are read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import ColumnElement, Connection, case, func, select

from ...schema.tables import execution_minute as m
from .hours import HOUR

MINUTE: Final = timedelta(minutes=1)
DAY: Final = timedelta(days=1)
KEPT_FOR: Final = 2 * DAY + HOUR
"""So long before the newest hour that is over."""


@dataclass(frozen=True, slots=True)
class Ends:
    """How many executions failed (or timed out, or were lost), and how many succeeded."""

    failures: int = 0
    successes: int = 0


NONE: Final = Ends()


def ended(conn: Connection, start: datetime, end: datetime) -> Mapping[datetime, int]:
    """How many executions ended in each minute of ``start <= minute < end``; minutes without any are left out."""
    statement = select(m.c.minute, func.sum(m.c.ended)).where(_between(start, end)).group_by(m.c.minute)
    return {minute: int(number) for minute, number in conn.execute(statement)}


def of_two_days(conn: Connection, before: datetime, day: datetime, end: datetime) -> tuple[Ends, Ends]:
    """How those have ended that began in ``before <= time < day``, and in ``day <= time < end``.

    Args:
        conn: A connection.
        before: The beginning of the first span; all three are whole minutes.
        day: The end of it.
        end: The end of the second one.
    """
    is_later = case((m.c.minute >= day, 1), else_=0).label("is_later")
    sums = (func.sum(m.c.failures), func.sum(m.c.successes))
    found = {
        later: Ends(int(failures), int(successes))
        for later, failures, successes in conn.execute(
            select(is_later, *sums).where(_between(before, end)).group_by(is_later)
        )
    }
    return found.get(0, NONE), found.get(1, NONE)


def _between(start: datetime, end: datetime) -> ColumnElement[bool]:
    return (m.c.minute >= start) & (m.c.minute < end)
