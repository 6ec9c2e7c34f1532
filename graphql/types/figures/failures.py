"""Failures that have the same cause, as far as their messages tell."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, TypeAlias

from ....jobs.store.read.figures.statistics import FailureRow

FailureGroup: TypeAlias = FailureRow

VARYING: Final = re.compile(
    # A node's name, an address, a key, a number.
    r"\b[a-z]+-[a-z]+-\d{2,}\b|0x[0-9a-fA-F]+|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|\b[0-9a-fA-F]{12,}\b|\d+(?:[.:]\d+)*"
)
"""What differs between messages of one cause: names of nodes, numbers, times, addresses, long hexadecimal ids."""


def fingerprint(message: str) -> str:
    """The message without what varies: equal for failures of one cause."""
    return VARYING.sub("#", message)


def merge(rows: Iterable[FailureRow], limit: int) -> list[FailureGroup]:
    """Rows of equal job, error type and fingerprint as one, the most frequent first."""
    groups: dict[tuple[str, str | None, str], FailureGroup] = {}
    for row in rows:
        key = (row.job_name, row.error_type, fingerprint(row.message))
        group = groups.get(key)
        groups[key] = row if group is None else _together(group, row)
    ordered = sorted(groups.values(), key=lambda group: (-group.count, -group.execution_id))
    return ordered[:limit]


def _together(one: FailureGroup, other: FailureRow) -> FailureGroup:
    newest = max(one, other, key=lambda row: row.execution_id)
    return replace(
        newest,
        count=one.count + other.count,
        first=min(one.first, other.first),
        last=max(one.last, other.last),
    )
