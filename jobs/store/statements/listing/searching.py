"""Pages and counts of rows that no index finds: looked for among so many, so that an answer is there in time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, func, select

from .criteria import AllOf, Condition, Criteria, Operator
from .keyset import OrderKey, Page, PageRequest
from .listing import Listing, Search, search_of
from .pages import COUNT_CAP, count, page

M = TypeVar("M")

REACH: Final = 200_000
"""So many rows a search looks at; at a fifth to half a microsecond each, more where the disk has to be read."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Count the found rows.

    Attributes:
        is_complete: Whether there are no more: they were neither too many to be counted, nor too many to be looked at.
    """

    number: int
    is_complete: bool


def capped(number: int, cap: int = COUNT_CAP) -> Counted:
    """Return the count of a search up to ``cap`` + 1."""
    return Counted(number, number <= cap)


@dataclass(frozen=True, slots=True)
class Keys:
    """The smallest and the largest key of a table; both 0 without rows."""

    first: int
    last: int

    @property
    def rows(self) -> int:
        """Return how many rows there are at most."""
        return self.last - self.first + 1 if self.last else 0


def keys_of(conn: Connection, listings: Sequence[Listing[Any]]) -> dict[str, Keys]:
    """Return the keys of lists, by the list's name: two looks at an index each, however long it is."""
    ends = [func.coalesce(select(end(one.table.c.id)).scalar_subquery(), 0) for one in listings for end in (_MIN, _MAX)]
    found = list(conn.execute(select(*ends)).one())
    pairs = zip(found[::2], found[1::2], strict=True)
    return {one.name: Keys(first, last) for one, (first, last) in zip(listings, pairs, strict=True)}


_MIN, _MAX = func.min, func.max


def search_for(listing: Listing[Any], request: PageRequest, *, owned: bool = False) -> Search | None:
    """Return the work of a page of a list in addition to reading its rows; None = nothing."""
    return _search(listing, request.criteria, request.order, owned=owned)


def search_to_count(listing: Listing[Any], criteria: Criteria, *, owned: bool = False) -> Search | None:
    """Return the work of counting in addition to reading the rows; None = nothing."""
    return _search(listing, criteria, (), owned=owned)


def _search(listing: Listing[Any], criteria: Criteria, order: tuple[OrderKey, ...], *, owned: bool) -> Search | None:
    return None if listing.indexes is None else search_of(listing.indexes, criteria, order, owned=owned) or None


def is_bounded(search: Search, order: Sequence[OrderKey] = ()) -> bool:
    """Return whether a search ends after ``REACH`` rows: one through all rows, in the order of the key."""
    return not (search.narrowed or search.sorted_by) and (not order or order[0].field == "id")


def searched(
    conn: Connection, listing: Listing[M], request: PageRequest, rows: Listing[Any] | None = None, reach: int = REACH
) -> Page[M]:
    """Return a page of the rows found among the next ``reach``; it says where the search ended if that was too early.

    Args:
        request: The page; its order is that of the key.
        rows: The list, or some of its columns.
        reach: How many rows are looked at.
    """
    edge = _edge(keys_of(conn, [listing])[listing.name], request, reach)
    if edge is None:
        return page(conn, rows or listing, request)
    found = page(conn, rows or listing, replace(request, criteria=AllOf((request.criteria, edge))))
    if found.has_previous if request.backwards else found.has_next:
        return found
    if request.backwards:
        return replace(found, has_previous=True, backwards=True, reached=(edge.value,))
    return replace(found, has_next=True, reached=(edge.value,))


def _edge(keys: Keys, request: PageRequest, reach: int) -> Condition | None:
    """Return the condition that ends a search; None = it reaches the end of the list."""
    begin = request.before if request.backwards else request.after
    start = None if begin is None else begin[0]
    if request.order[0].descending != request.backwards:
        edge = (start if isinstance(start, int) else keys.last + 1) - reach
        return None if edge <= keys.first else Condition("id", Operator.GTE, edge)
    edge = (start if isinstance(start, int) else keys.first - 1) + reach
    return None if edge >= keys.last else Condition("id", Operator.LTE, edge)


def searched_number(
    conn: Connection, listing: Listing[Any], criteria: Criteria, reach: int = REACH, cap: int = COUNT_CAP
) -> Counted:
    """Return how many of the newest ``reach`` rows meet the condition, counted up to ``cap`` + 1."""
    keys = keys_of(conn, [listing])[listing.name]
    newest = keys.last + 1 - reach
    whole = newest <= keys.first
    number = count(conn, listing, criteria if whole else AllOf((criteria, Condition("id", Operator.GTE, newest))), cap)
    return Counted(number, whole and number <= cap)
