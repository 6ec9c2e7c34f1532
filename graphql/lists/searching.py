"""Whether a list is read by indexes or searched: a search has a lane of its own, and the result says why."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from ...jobs.store.read.listing.criteria import EVERYTHING, Criteria
from ...jobs.store.read.listing.indexes import Indexes, Search, span_of
from ...jobs.store.read.listing.listing import Listing
from ...jobs.store.read.listing.pages import count
from ...jobs.store.read.listing.searching import REACH
from ..base.arguments import camel
from ..guard.searches import Searches
from ..resolving.loaders import Loaders

SMALL: Final = 5_000
"""So many rows tested or sorted are read like anything else: some milliseconds."""
OPERATORS: Final = {"not_in": "notIn", "starts_with": "startsWith", "is_null": "isNull"}


async def is_searched(
    loaders: Loaders,
    listing: Listing[Any],
    search: Search | None,
    criteria: Criteria = EVERYTHING,
    *,
    bounded: bool = False,
) -> bool:
    """Whether a read goes to the lane of searches; counts it towards the cost of its operation then.

    Args:
        loaders: Of the operation.
        listing: What is read.
        search: What that takes for each row; None = nothing.
        criteria: Which rows are sorted.
        bounded: Whether it looks at ``REACH`` rows at most.

    Raises:
        LimitExceeded: ``LIMIT_COST``, or ``LIMIT_SORTED_ROWS``: too many would have to be sorted.
    """
    if search is None or loaders.searches is None:
        return False
    rows, sorts = (await loaders.keys.load(listing)).rows, bool(search.sorted_by) and not search.narrowed
    if sorts:
        with in_time(loaders, listing, search):
            rows = await _in_span(loaders.searches, listing, criteria, rows)
    steps = search.steps(min(rows, REACH) if bounded else rows)
    if steps < SMALL:
        return False
    if sorts:
        what = f"No index orders `{listing.name}` by {_fields(search.sorted_by)}, and there are too many to be sorted"
        loaders.searches.check_sorted(rows, what, _narrowing(listing))
    loaders.searches.add(steps, f"{_reason(listing, search)} {_narrowing(listing)}")
    return True


def in_time(loaders: Loaders, listing: Listing[Any], search: Search | None) -> AbstractContextManager[None]:
    """``Searches.in_time`` for a block that searches a list; nothing where it does not search."""
    if search is None or loaders.searches is None:
        return nullcontext()
    return loaders.searches.in_time(lambda: f"{_reason(listing, search)} {_narrowing(listing)}")


async def _in_span(searches: Searches, listing: Listing[Any], criteria: Criteria, rows: int) -> int:
    """How many of so many rows are to be sorted: a range of the key is counted up to one more than may be."""
    most = searches.lane.limits.sorted_rows
    assert listing.indexes is not None, "it was searched"
    span = span_of(listing.indexes, criteria)
    return await searches.read(count, listing, span, most) if rows > most and span.parts else rows


def _reason(listing: Listing[Any], search: Search) -> str:
    tests = dict.fromkeys(f"{camel(name)} {OPERATORS.get(one.value, one.value)}" for name, one in search.tests)
    parts = [f"finds rows of `{listing.name}` by {', '.join(tests)}"] if tests else []
    parts += [f"orders those of `{listing.name}` by {_fields(search.sorted_by)}"] if search.sorted_by else []
    return f"No index {' or '.join(parts)}."


def _narrowing(listing: Listing[Any]) -> str:
    known: Indexes | None = listing.indexes
    assert known is not None, "it was searched"
    ranges = known.ranges - {"id"}
    found = [f"{name}: eq" for name in sorted(map(camel, known.equal))]
    found += [f"{name}: gte, lt" for name in sorted(map(camel, ranges))]
    return f"Indexes find them by {', '.join(found)}, and order them by {_fields(sorted(known.ordered))}."


def _fields(names: Iterable[str]) -> str:
    return ", ".join(map(camel, names))
