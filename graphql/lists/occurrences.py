"""List the occurrences of a task: runs and skipped stretches in one list, the newest nominal time first."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeAlias

from ...jobs.core.model import Run, SkippedOccurrence
from ...jobs.store.read import lists as aggregates
from ...jobs.store.read.listing.criteria import EVERYTHING
from ...jobs.store.read.listing.keyset import OrderKey, Page, PageRequest, Position
from ...jobs.store.read.listing.pages import COUNT_CAP
from ...jobs.store.read.listing.searching import Counted, capped
from ..resolving.loaders import Loaders

OccurrenceRow: TypeAlias = Run | SkippedOccurrence
_Place: TypeAlias = tuple[datetime, int, int]

LIST: Final = "occurrences"
ORDER: Final = (OrderKey("at", descending=True), OrderKey("kind", descending=True), OrderKey("id", descending=True))
KINDS: Final = (datetime, int, int)
RUN, SKIPPED = 1, 0
"""The kinds, so that of one nominal time the run comes first."""

RUN_ORDER: Final = (OrderKey("scheduled_for", descending=True), OrderKey("id", descending=True))
SKIPPED_ORDER: Final = (OrderKey("last_scheduled_for", descending=True), OrderKey("id", descending=True))
BEYOND: Final = 2**62
"""A key after all keys."""


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The occurrences of one task, read from two lists that are each in order.

    Attributes:
        request: The page in terms of ``ORDER``.
    """

    loaders: Loaders
    task_id: int
    request: PageRequest

    async def page(self) -> Page[OccurrenceRow]:
        """Return the page: of each list as many rows as a page has, merged and cut."""
        runs, skipped = await asyncio.gather(
            self.loaders.children(aggregates.OCCURRENCES, "task_id").page(self.task_id, self._part(RUN, RUN_ORDER)),
            self.loaders.children(aggregates.SKIPPED, "task_id").page(self.task_id, self._part(SKIPPED, SKIPPED_ORDER)),
        )
        return merge(self.request, runs, skipped)

    async def count(self) -> Counted:
        """Return how many there are, each list counted up to its cap."""
        runs, skipped = await asyncio.gather(
            self.loaders.children(aggregates.OCCURRENCES, "task_id").count(self.task_id, EVERYTHING),
            self.loaders.children(aggregates.SKIPPED, "task_id").count(self.task_id, EVERYTHING),
        )
        return capped(min(runs + skipped, COUNT_CAP + 1))

    def _part(self, kind: int, order: tuple[OrderKey, ...]) -> PageRequest:
        return replace(
            self.request, order=order, after=_bound(self.request.after, kind), before=_bound(self.request.before, kind)
        )


def _bound(position: Position | None, kind: int) -> Position | None:
    """Translate a position in the merged list into one in the list of one kind."""
    if position is None:
        return None
    at, its_kind, key = position
    if its_kind == kind:
        return at, key
    # Of one time, runs stand in front of skips.
    return at, BEYOND if kind == SKIPPED else 0


def _place(position: Position, kind: int) -> _Place:
    at, key = position
    assert isinstance(at, datetime), "both lists are ordered by a time"
    assert isinstance(key, int), "and then by a key"
    return at, kind, key


def merge(request: PageRequest, runs: Page[Run], skipped: Page[SkippedOccurrence]) -> Page[OccurrenceRow]:
    """Return the page of the merged list behind a page of each."""
    rows: list[tuple[_Place, OccurrenceRow]] = [
        *((_place(position, RUN), run) for position, run in zip(runs.positions, runs.items, strict=True)),
        *((_place(position, SKIPPED), row) for position, row in zip(skipped.positions, skipped.items, strict=True)),
    ]
    rows.sort(key=lambda row: row[0], reverse=True)
    more = len(rows) > request.limit
    kept = rows[len(rows) - request.limit :] if request.backwards and more else rows[: request.limit]
    return Page(
        items=tuple(row for _, row in kept),
        positions=tuple(position for position, _ in kept),
        has_next=runs.has_next or skipped.has_next or (more and not request.backwards),
        has_previous=runs.has_previous or skipped.has_previous or (more and request.backwards),
    )
