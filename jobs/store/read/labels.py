"""The labels of runs: how many have one, which keys and values there are."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy import Connection, func, select

from ..schema.tables import run_label as n
from .listing.criteria import LabelMatch, Spread
from .listing.searching import Counted

FEW: Final = 5_000
"""So many runs with a label are looked up one by one; where more have it, rows are looked through instead."""
CAP: Final = 10_000
"""Runs with a label are counted up to here; one more means "more than this many"."""


class LabelValue(NamedTuple):
    """A value that runs have for a key, and how many of them, counted up to the cap and one more."""

    value: str
    runs: int


def spreads(conn: Connection, labels: Sequence[LabelMatch]) -> dict[LabelMatch, Spread]:
    """Return whether few or many runs have each of these labels: a look at an index, however many they are."""
    return {one: Spread.FEW if _count(conn, one, FEW) <= FEW else Spread.MANY for one in labels}


def _count(conn: Connection, label: LabelMatch, cap: int) -> int:
    rows = select(n.c.run_id).where(n.c.key == label.key)
    if label.values is not None:
        rows = rows.where(n.c.value.in_(label.values))
    counted = select(func.count()).select_from(rows.limit(cap + 1).subquery("labelled"))
    return conn.execute(counted).scalar_one()


def keys(conn: Connection, limit: int) -> list[str]:
    """Return the keys that runs have, in their order: a look at an index for each."""
    found: list[str] = []
    while len(found) < limit:
        rest = select(n.c.key).order_by(n.c.key, n.c.value, n.c.run_id).limit(1)
        following = conn.execute(rest.where(n.c.key > found[-1]) if found else rest).scalar()
        if following is None:
            break
        found.append(following)
    return found


def count_values(conn: Connection, key: str) -> Counted:
    """Return how many values runs have for a key; of more than ``CAP`` labels the values of the first ones."""
    looked_at = select(n.c.value).where(n.c.key == key).order_by(n.c.value, n.c.run_id).limit(CAP + 1).subquery("some")
    labels, number = conn.execute(select(func.count(), func.count(looked_at.c.value.distinct()))).one()
    return Counted(number, is_complete=labels <= CAP)


def values(conn: Connection, key: str, after: str, limit: int, cap: int = CAP) -> list[LabelValue]:
    """Return the values that runs have for a key behind ``after``, in their order, each with how many runs have it."""
    found: list[LabelValue] = []
    last = after
    while len(found) < limit:
        rest = select(n.c.value).where(n.c.key == key, n.c.value > last)
        following = conn.execute(rest.order_by(n.c.value, n.c.run_id).limit(1)).scalar()
        if following is None:
            break
        found.append(LabelValue(following, _count(conn, LabelMatch(key, (following,)), cap)))
        last = following
    return found
