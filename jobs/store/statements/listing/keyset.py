"""Pages by keyset: a page begins where a row with known values stood, and costs the same however deep it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Generic, TypeAlias, TypeVar

from sqlalchemy import ColumnElement, UnaryExpression, and_, false, literal, or_, true

from ....core.base.errors import UnreadableRow
from .criteria import EVERYTHING, Criteria

M = TypeVar("M")

Value: TypeAlias = int | float | str | bool | datetime | None
Position: TypeAlias = tuple[Value, ...]
"""The values of one row in the fields that a list is ordered by; the last is the unique key."""


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One field to order by.

    Attributes:
        field: Its name in the list.
        descending: Largest first.
        nulls_first: Whether rows without a value come first; None = last, and first when descending.
    """

    field: str
    descending: bool = False
    nulls_first: bool | None = None

    def nulls_lead(self, *, forwards: bool) -> bool:
        """Return whether rows without a value are met first when the list is read in this direction."""
        first = self.descending if self.nulls_first is None else self.nulls_first
        return first == forwards


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Select a part of a list.

    Attributes:
        order: The order, ending with a unique field.
        limit: Most rows, at least 0.
        criteria: Which rows count.
        backwards: Take the rows from the end (``last``) instead of the beginning; they come in the same order.
        after: Only rows behind this position.
        before: Only rows in front of this position.
    """

    order: tuple[OrderKey, ...]
    limit: int
    criteria: Criteria = EVERYTHING
    backwards: bool = False
    after: Position | None = None
    before: Position | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[M]):
    """Rows in order, the position of each, and whether more lie on either side.

    Attributes:
        has_next: Whether there are, or may be, rows behind these.
        has_previous: Whether there are, or may be, rows in front of these.
        backwards: Whether it was read from the end of the list.
        outermost: The first and the last position of the page, those of rows that cannot be read included; None = they
            are those of ``positions``.
        unreadable: The faults of rows of this page that cannot be read; they are not among ``items``.
        reached: Where a search ended that looked at as many rows as it may; None = it found all of the page.
    """

    items: tuple[M, ...]
    positions: tuple[Position, ...]
    has_next: bool
    has_previous: bool
    reached: Position | None = None
    backwards: bool = False
    unreadable: tuple[UnreadableRow, ...] = ()
    outermost: tuple[Position, Position] | None = None

    @property
    def ends(self) -> tuple[Position | None, Position | None]:
        """The positions from which the list is read on, in front and behind: of the outermost rows, or ``reached``."""
        first, last = (self.positions[0], self.positions[-1]) if self.positions else (None, None)
        if self.outermost is not None:
            first, last = self.outermost
        if self.reached is None:
            return first, last
        # A search goes on where it ended: that is in front only if the list is read from its end, which alone has it.
        return (self.reached, last) if self.backwards else (first, self.reached)


def page_of(request: PageRequest, found: Sequence[tuple[M, Position]]) -> Page[M]:
    """Return the page behind up to ``limit + 1`` rows in the order in which they were read."""
    more = len(found) > request.limit
    kept = found[: request.limit]
    if request.backwards:
        kept = kept[::-1]
    return Page(
        tuple(item for item, _ in kept),
        tuple(position for _, position in kept),
        has_next=request.before is not None if request.backwards else more,
        has_previous=more if request.backwards else request.after is not None,
    )


def page_of_readable(request: PageRequest, found: Sequence[tuple[M | UnreadableRow, Position | None]]) -> Page[M]:
    """Return a page of rows, some of which cannot be read; some of those have no position either.

    Raises:
        UnreadableRow: nobody could go on behind this page: no row of it has a position, and there are more.
    """
    kept = found[: request.limit]
    faults = tuple(one for one, _ in kept if isinstance(one, UnreadableRow))
    places = [place for _, place in kept if place is not None]
    if not places and len(found) > len(kept) > 0:
        raise faults[0]
    read = [(one, place) for one, place in kept if not isinstance(one, UnreadableRow) and place is not None]
    page = page_of(request, read)
    if len(found) > request.limit:
        page = replace(page, has_previous=True) if request.backwards else replace(page, has_next=True)
    if request.backwards:
        places.reverse()
    ends = (places[0], places[-1]) if places else None
    return replace(page, unreadable=faults, outermost=ends)


def order_by(request: PageRequest, columns: Mapping[str, ColumnElement[Any]]) -> list[UnaryExpression[Any]]:
    """Return the ORDER BY in which a page is read (turned round when it is read from the end)."""
    keys: list[UnaryExpression[Any]] = []
    for key in request.order:
        column = columns[key.field]
        ordered = column.desc() if key.descending != request.backwards else column.asc()
        keys.append(_nulls(column, ordered, first=key.nulls_lead(forwards=not request.backwards)))
    return keys


def _nulls(column: ColumnElement[Any], ordered: UnaryExpression[Any], *, first: bool) -> UnaryExpression[Any]:
    # Only where it matters: an index cannot serve an ORDER BY with the other NULLS clause than its own.
    if not nullable(column):
        return ordered
    return ordered.nulls_first() if first else ordered.nulls_last()


def nullable(column: ColumnElement[Any]) -> bool:
    """Return whether an expression may be NULL; one that is not a plain column may."""
    return bool(getattr(column, "nullable", True))


def bounds(request: PageRequest, columns: Mapping[str, ColumnElement[Any]]) -> ColumnElement[bool]:
    """Return the condition that keeps rows behind ``after`` and in front of ``before``."""
    conditions: list[ColumnElement[bool]] = [true()]
    if request.after is not None:
        conditions.append(_beyond(request.order, columns, request.after, forwards=True))
    if request.before is not None:
        conditions.append(_beyond(request.order, columns, request.before, forwards=False))
    return and_(*conditions)


def _beyond(
    order: Sequence[OrderKey], columns: Mapping[str, ColumnElement[Any]], position: Position, *, forwards: bool
) -> ColumnElement[bool]:
    """Return rows strictly behind ``position`` (or in front of it): later in one key, equal in those before."""
    alternatives: list[ColumnElement[bool]] = []
    equal: list[ColumnElement[bool]] = []
    for key, value in zip(order, position, strict=True):
        column = columns[key.field]
        ascending, lead = key.descending != forwards, key.nulls_lead(forwards=forwards)
        alternatives.append(and_(*equal, _past(column, value, ascending=ascending, nulls_lead=lead)))
        equal.append(column.is_(None) if value is None else column == literal(value, column.type))
    beyond = or_(*alternatives)
    first = columns[order[0].field]
    if len(order) == 1 or position[0] is None or nullable(first):
        return beyond
    bound = literal(position[0], first.type)
    # Says nothing new, but an index can begin the scan there; from the alternatives no planner concludes it.
    start = first >= bound if order[0].descending != forwards else first <= bound
    return and_(start, beyond)


def _past(column: ColumnElement[Any], value: Value, *, ascending: bool, nulls_lead: bool) -> ColumnElement[bool]:
    """Return the condition of values after ``value`` in reading order; ``nulls_lead``: rows without one come first."""
    if value is None:
        return column.is_not(None) if nulls_lead else false()
    bound = literal(value, column.type)
    behind = column > bound if ascending else column < bound
    return or_(behind, column.is_(None)) if nullable(column) and not nulls_lead else behind
