"""Declare a field that is a list: one line says which rows, and paging, filter and order come with it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from enum import StrEnum
from inspect import Parameter, Signature
from operator import itemgetter
from typing import Annotated, Any, Final, Generic, Protocol, TypeAlias, TypeVar

import strawberry
from strawberry.types.nodes import SelectedField, Selection

from ...jobs.store.statements.figures.strips import Strip
from ...jobs.store.statements.listing.criteria import EVERYTHING, Criteria, conjuncts, equal, labels_in, with_spreads
from ...jobs.store.statements.listing.keyset import OrderKey, Page, PageRequest
from ...jobs.store.statements.listing.listing import Indexes, Listing, Search, span_of
from ...jobs.store.statements.listing.pages import count
from ...jobs.store.statements.listing.searching import REACH, Counted, capped, is_bounded, search_for, search_to_count
from ...jobs.store.statements.lists import EXECUTIONS
from ..base.enums import Direction, NullsPosition, Role
from ..base.fields import PAGE, resolved
from ..base.scalars import AFTER, BEFORE, DEFAULT_STRIP, FIRST, LAST, MAX_PAGE, camel, refused
from ..execution.shown import ByField, Cut
from ..guard.searches import Searches
from ..resolving.context import Info
from ..resolving.data_loader import Children
from ..resolving.loaders import KEY_OF_ROW, ListKey, Loaders, SearchKey
from .connections import Connection, PageArguments, connect
from .filters import RowFilter, criteria_of_list


def asked_of(info: Info) -> frozenset[str]:
    """Return the fields below the present one, e.g. ``points.p50``, with those that a directive may leave out."""
    return frozenset(path for path, _ in _asked_of(info))


def _asked_of(info: Info) -> Iterator[tuple[str, SelectedField]]:
    return (asked for field in info.selected_fields for asked in _paths(field.selections, ""))


def _paths(selections: Iterable[Selection], prefix: str) -> Iterator[tuple[str, SelectedField]]:
    for selection in selections:
        if isinstance(selection, SelectedField):
            yield prefix + selection.name, selection
            yield from _paths(selection.selections, f"{prefix}{selection.name}.")
        else:
            # A fragment: its fields are those of the type around it.
            yield from _paths(selection.selections, prefix)


def below(asked: Iterable[str], *prefixes: str) -> frozenset[str]:
    """Return those of these paths that begin with one of ``prefixes``, without it; ``asked_of`` returns such paths."""
    return frozenset(path[len(one) :] for path in asked for one in prefixes if path.startswith(one))


M_contra = TypeVar("M_contra", contravariant=True)


class Shown(Protocol[M_contra]):
    """A type of the schema that shows rows of a list."""

    def from_model(self, row: M_contra, /) -> object:
        """Return the object that shows a row."""
        ...


@dataclass(frozen=True, slots=True)
class Newest:
    """The field of tasks that is their newest finished execution.

    Attributes:
        asked: Its name in the schema.
        name: Its name in Python.
        shown: The type that shows an execution; asked when it is needed.
    """

    asked: str
    name: str
    shown: Callable[[], Shown[Any]]


STRIP: Final = "strip"
"""The field of tasks that is their strip; its argument ``last`` says how many occurrences there are."""


def _strip_size(info: Info) -> int | None:
    """Return how many occurrences of each task are asked for; None = it is not one number that may be."""
    given = {one.arguments.get("last") for path, one in _asked_of(info) if path in _STRIPS}
    # Numbers in a document are texts here; a variable without a value is none.
    sizes = {DEFAULT_STRIP if one is None else int(one) for one in given}
    return sizes.pop() if len(sizes) == 1 and 0 < min(sizes) <= max(sizes) <= MAX_PAGE else None


_ROWS: Final = ("nodes.", "edges.node.")
"""The places of rows in a connection."""
_STRIPS: Final = frozenset(place + STRIP for place in _ROWS)


@dataclass(frozen=True, slots=True)
class Reading:
    """Say how the rows of a list are read and shown.

    Attributes:
        rows: The list, or some of its columns.
        show: Makes the object from the values read of a row; with ``newest``, from these and its execution or None.
        newest: The columns to read of the newest finished execution of each row; None = none.
        key_of: Returns the key of a row as it is read.
        strip: The number of occurrences in the strip of each row, which it comes with then; None = it does not.
    """

    rows: Listing[Any]
    show: Callable[[Any], Any]
    newest: Listing[Any] | None = None
    key_of: Callable[[Any], int] = KEY_OF_ROW
    strip: int | None = None

    def with_strips(self, size: int, show_strip: Callable[[Strip], object]) -> "Reading":
        """Return the same with the strip of each row."""
        show = self.show

        def show_both(read: tuple[Any, Strip]) -> Any:  # noqa: ANN401 - an object of a type of the schema
            row, found = read
            shown = show(row)
            # Here the executor finds it, before it asks the resolver of this name.
            vars(shown)[STRIP] = show_strip(found)
            return shown

        return replace(self, show=show_both, strip=size)


def reading_of(
    listing: Listing[Any], kind: Shown[Any], asked: AbstractSet[str], newest: Newest | None = None
) -> Reading:
    """Return the way a list is read for a selection.

    Args:
        kind: The type that shows a row.
        asked: The fields asked of a row, as ``asked_of`` gives it.
        newest: The field that is read together with the rows, if there is such a one.
    """
    if newest is None or newest.asked not in asked:
        return _own(listing, kind, asked)
    own = _own(listing, kind, {path for path in asked if path.partition(".")[0] != newest.asked})
    other = _own(EXECUTIONS, newest.shown(), below(asked, f"{newest.asked}."))
    place, show, show_other = newest.name, own.show, other.show

    def show_both(read: tuple[Any, Any]) -> Any:  # noqa: ANN401 - an object of ``kind``
        row, execution = read
        shown = show(row)
        # Here the executor finds it, before it asks the resolver of this name.
        vars(shown)[place] = None if execution is None else show_other(execution)
        return shown

    key_of = own.key_of
    return Reading(own.rows, show_both, other.rows, lambda read: key_of(read[0]))


def _own(listing: Listing[Any], kind: Shown[Any], asked: AbstractSet[str]) -> Reading:
    cut: Cut | None = None
    if isinstance(kind, type) and issubclass(kind, ByField):
        cut = kind.FIELDS.cut(kind, asked)
    if cut is None:
        return Reading(listing, kind.from_model)
    return Reading(listing.only(cut.columns), cut.show, key_of=itemgetter(cut.columns.index("id")))


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
    """Return whether a read goes to the lane of searches; counts it towards the cost of its operation then.

    Args:
        search: The tests and sorting that the read does for each row; None = none.
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
    """Enter ``Searches.in_time`` for a block that searches a list; do nothing if it does not search."""
    if search is None or loaders.searches is None:
        return nullcontext()
    return loaders.searches.in_time(lambda: f"{_reason(listing, search)} {_narrowing(listing)}")


async def _in_span(searches: Searches, listing: Listing[Any], criteria: Criteria, rows: int) -> int:
    """Return the number of rows to sort, at most ``rows``; a range of the key is counted to just above the limit."""
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


M = TypeVar("M")


MAX_KEYS: Final = 4


class Order:
    """One key of an order; the input of each list has its own enum as the type of ``field``."""

    field: StrEnum
    direction: Direction
    nulls: NullsPosition | None


def _order_of(name: str, fields: type[StrEnum], description: str) -> type[Order]:
    members: list[tuple[str, Any, Any]] = [
        ("field", fields, strawberry.field(description="The field to order by.")),
        ("direction", Direction, strawberry.field(description="The direction of the order.", default=Direction.ASC)),
        (
            "nulls",
            NullsPosition | None,
            strawberry.field(
                description="The place of rows without a value; last, and first with DESC, unless given.", default=None
            ),
        ),
    ]
    made = type(name, (Order,), {"__annotations__": {one: kind for one, kind, _ in members}, "__doc__": description})
    for one, _, field in members:
        setattr(made, one, field)
    return strawberry.input(made, name=name, description=description)


def to_keys(order: Sequence[Order] | None, shown_if: Mapping[str, str], criteria: Criteria) -> tuple[OrderKey, ...]:
    """Return the order keys behind the input; none = the list's own order.

    Args:
        order: The input.
        shown_if: Fields of which only rows show a value where another field is true: they are ordered by
            ``shown_FIELD``, unless all rows show it, whose own order an index has.
        criteria: Which rows.

    Raises:
        UserFacingError: too many keys.
    """
    if order is None:
        return ()
    if len(order) > MAX_KEYS:
        raise refused(f"orderBy: must have at most {MAX_KEYS} fields, got {len(order)}")
    required = list(conjuncts(criteria))
    hidden = {field for field, flag in shown_if.items() if equal(flag, True) not in required}
    keys = (_key(one) for one in order)
    return tuple(replace(one, field=f"shown_{one.field}") if one.field in hidden else one for one in keys)


def _key(order: Order) -> OrderKey:
    nulls_first = None if order.nulls is None else order.nulls is NullsPosition.FIRST
    return OrderKey(order.field.value, descending=order.direction is Direction.DESC, nulls_first=nulls_first)


Owner: TypeAlias = tuple[str, Callable[[Any], int | str]]
"""Owner of the rows: the list's field for it, and its key, from the object whose field the list is."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[M]):
    """One kind of list.

    Attributes:
        filter: The input that chooses among them.
        order: The input that orders them.
        rows: The word for the rows, e.g. ``tasks``.
    """

    listing: Listing[M]
    filter: type[RowFilter]
    order: type
    rows: str

    def parameters(self) -> list[Parameter]:
        """Return the arguments that a field of this kind takes."""
        types: dict[str, object] = {"first": FIRST, "after": AFTER, "last": LAST, "before": BEFORE}
        types["filter"] = Annotated[self.filter | None, strawberry.argument(description=f"A filter of {self.rows}.")]
        ordered = list[self.order]  # type: ignore[name-defined]
        first = "Newest first" if self.listing.order[0].descending else "By name"
        types["order_by"] = Annotated[ordered | None, strawberry.argument(description=f"{first} unless given.")]
        return [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=one) for name, one in types.items()]


def kind_of(listing: Listing[M], filter: type[RowFilter], fields: type[StrEnum], rows: str) -> Kind[M]:
    """Return one kind of list.

    Args:
        filter: The input that chooses among them.
        fields: The fields by which they can be ordered; ``TaskOrderField`` is that of the input ``TaskOrder``.
        rows: The word for the rows, e.g. ``tasks``.
    """
    ties = "name" if listing.key.name == "name" else "key"
    order = _order_of(
        fields.__name__.removesuffix("Field"), fields, f"An order of {rows}; ties are broken by the {ties}."
    )
    return Kind(listing, filter, order, rows)


def listed(
    kind: Kind[M],
    shown: Callable[[], Shown[M]],
    *,
    description: str,
    of: Owner | None = None,
    rows: Listing[M] | None = None,
    requires: Role | None = None,
    newest: Newest | None = None,
    strip: Callable[[Strip], object] | None = None,
) -> Any:  # noqa: ANN401 - a field specifier; the annotation of the field says which connection it is
    """Return a field that is a list of a kind.

    Args:
        shown: The type of the schema that shows a row; asked when it is needed, for types refer to each other.
        description: The text that clients read about the field.
        of: Whose rows; of a root field all.
        rows: Those of the kind that there are, unless it is all.
        requires: The role that a root field needs.
        newest: Of a root field of tasks: which of their fields is read together with them.
        strip: Makes the object that shows the strip of a task, which is read together with them, too.
    """

    def resolver(self: object, info: Info, **given: Any) -> Connection[Any]:  # noqa: ANN401 - arguments as they came
        criteria = criteria_of_list(info, given.get("filter"))
        paging = PageArguments(*map(given.get, ("first", "after", "last", "before")))
        request = paging.request(kind.listing, to_keys(given.get("order_by"), kind.filter.SHOWN_IF, criteria), criteria)
        loaders = info.context.loaders
        if of is not None:
            owned = OwnRows(loaders, rows or kind.listing, request, of[0], of[1](self))
            return connect(kind.listing.name, request, read=owned.page, count=owned.count, convert=shown().from_model)
        reading = reading_of(kind.listing, shown(), below(asked_of(info), *_ROWS), newest)
        if strip is not None and (size := _strip_size(info)) is not None:
            reading = reading.with_strips(size, strip)
        found = Rows(loaders, kind.listing, request, reading)
        return connect(kind.listing.name, request, read=found.page, count=found.count, convert=reading.show)

    own = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=one) for name, one in _OWN.items()]
    resolver.__signature__ = Signature([*own, *kind.parameters()])  # type: ignore[attr-defined]
    return resolved(description=description, size=PAGE, requires=requires)(resolver)


_OWN: Final[dict[str, object]] = {"self": Parameter.empty, "info": Info}


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a whole list."""

    loaders: Loaders
    listing: Listing[Any]
    request: PageRequest
    reading: Reading

    async def page(self) -> Page[Any]:
        """Return the page asked for.

        Raises:
            UserFacingError: it takes a search that costs too much, see ``is_searched``.
        """
        request = replace(self.request, criteria=await criteria_of(self.loaders, self.request))
        reading = self.reading
        key = ListKey(reading.rows, request, reading.newest, reading.strip, reading.key_of)
        search = search_for(self.listing, request)
        bounded = search is not None and key.newest is None and is_bounded(search, request.order)
        if await is_searched(self.loaders, self.listing, search, request.criteria, bounded=bounded):
            with in_time(self.loaders, self.listing, search):
                return await self.loaders.searched(SearchKey(self.listing, key, bounded))
        return await self.loaders.listed(key)

    async def count(self) -> Counted:
        """Return how many rows meet the filter.

        Raises:
            UserFacingError: it takes a search that costs too much, see ``is_searched``.
        """
        criteria = await criteria_of(self.loaders, self.request)
        search = search_to_count(self.listing, criteria)
        bounded = search is not None and is_bounded(search)
        if await is_searched(self.loaders, self.listing, search, bounded=bounded):
            with in_time(self.loaders, self.listing, search):
                return await self.loaders.searched_number(self.listing, criteria, bounded=bounded)
        return capped(await self.loaders.count(self.listing, criteria))


@dataclass(frozen=True, slots=True)
class OwnRows(Generic[M]):
    """The rows of a list that one owner has; they are read together with those of others."""

    loaders: Loaders
    listing: Listing[M]
    request: PageRequest
    field: str
    owner: int | str

    async def page(self) -> Page[M]:
        """Return the page asked for.

        Raises:
            UserFacingError: it takes a search that costs too much, see ``is_searched``.
        """
        request = replace(self.request, criteria=await criteria_of(self.loaders, self.request))
        search = search_for(self.listing, request, owned=True) if self._is_long else None
        searched = await is_searched(self.loaders, self.listing, search)
        with in_time(self.loaders, self.listing, search if searched else None):
            return await self._children(searched=searched).page(self.owner, request)

    async def count(self) -> Counted:
        """Return how many rows meet the filter.

        Raises:
            UserFacingError: it takes a search that costs too much, see ``is_searched``.
        """
        criteria = await criteria_of(self.loaders, self.request)
        search = search_to_count(self.listing, criteria, owned=True) if self._is_long else None
        searched = await is_searched(self.loaders, self.listing, search)
        with in_time(self.loaders, self.listing, search if searched else None):
            return capped(await self._children(searched=searched).count(self.owner, criteria))

    @property
    def _is_long(self) -> bool:
        return self.listing.indexes is not None and self.field not in self.listing.indexes.unique

    def _children(self, *, searched: bool) -> Children[M]:
        return self.loaders.children(self.listing, self.field, searched=searched)


async def criteria_of(loaders: Loaders, request: PageRequest) -> Criteria:
    """Return the condition that is sent."""
    criteria = request.criteria
    labels = labels_in(criteria)
    if labels:
        # How rows with a label are looked for best depends on how many there are, which no planner of SQLite knows.
        criteria = with_spreads(criteria, {one: await loaders.spreads.load(one) for one in labels})
    return await loaders.judged(criteria)
