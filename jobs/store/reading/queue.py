"""The queue as people look at it: groups with their depth, nodes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from ...core.model import DEFAULT_GROUP, Group
from ...core.states import RunState
from ..groups import depths, oldest_waits, settings


@dataclass(frozen=True, slots=True)
class GroupDepth:
    """A group, how many unfinished runs it has by state, and the seconds its longest waiting due run has waited."""

    settings: Group
    depth: Mapping[RunState, int]
    oldest_wait: float | None


def groups(conn: Connection, now: datetime, names: Collection[str] | None = None) -> list[GroupDepth]:
    """All groups that have unfinished runs, a pause or a limit, and the default one, by name; or those of ``names``."""
    stored, depth, waits = settings(conn), depths(conn), oldest_waits(conn, now)
    wanted = {*stored, *depth, DEFAULT_GROUP} if names is None else set(names)
    return [
        GroupDepth(
            stored.get(name, Group(name)),
            depth.get(name, {}),
            (now - waits[name]).total_seconds() if name in waits else None,
        )
        for name in sorted(wanted)
    ]
