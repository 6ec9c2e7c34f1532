"""Define lists: their rows, and the fields by which they are filtered and ordered."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar, cast

from sqlalchemy import ColumnElement, FromClause, Row, Select, Table, and_

from ...schema.rows import RowReader
from ...schema.types import UtcDateTime
from .criteria import EARLIER, LATER, AllOf, Condition, Criteria, Operator, Spread, conditions, conjuncts, to_sql
from .keyset import OrderKey

NARROWED: Final = 20_000
"""So many rows are taken to have one name, of a longer list; how many they are, only a search finds out."""

Values = Collection[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexes:
    """Describe the searches and orders that the indexes of a list serve.

    Attributes:
        unique: Fields of which a value has a handful of rows at most.
        equal: Fields whose rows of one value an index has, in the order of the key.
        ordered: Fields that an index orders all rows by.
        ordered_if_set: The same for rows that have a value.
        by_values: Sets of values whose rows an index has in the order of the key, by field.
        ranges: Fields of which a range is one of the key.
        together: Fields that one index finds together.
    """

    unique: frozenset[str]
    equal: frozenset[str]
    ordered: frozenset[str]
    ordered_if_set: frozenset[str] = frozenset()
    by_values: Mapping[str, Collection[Values]] = field(default_factory=dict[str, Collection[Values]])
    ranges: frozenset[str] = frozenset({"id"})
    together: frozenset[frozenset[str]] = frozenset()

    def finds(self, condition: Condition) -> bool:
        """Return whether an index has the rows of a condition, in the order of the key."""
        if condition.operator is Operator.LABELLED:
            return condition.value.spread is Spread.FEW
        values = condition.values()
        if condition.field in self.equal:
            return len(values) == 1 and None not in values
        return any(bool(values) and values <= frozenset(one) for one in self.by_values.get(condition.field, ()))

    def bounds(self, condition: Condition) -> bool:
        """Return whether a condition is a range of the key."""
        return condition.field in self.ranges and condition.operator in LATER | EARLIER


TEXT_STEPS: Final = 3
"""Steps that ``contains`` takes for a row: 0.6 µs where others take 0.2 µs."""


@dataclass(frozen=True, slots=True)
class Search:
    """Describe the work of a read for each row that it looks at.

    Attributes:
        tests: The conditions that are tested, each a field and how it is compared.
        sorted_by: The fields that all rows found are sorted by; empty = an index has them in order.
        narrowed: Whether an index finds the rows that are looked at, so that they are not all there are.
    """

    tests: tuple[tuple[str, Operator], ...] = ()
    sorted_by: tuple[str, ...] = ()
    narrowed: bool = False

    def __bool__(self) -> bool:
        return bool(self.tests or self.sorted_by)

    def steps(self, rows: int) -> int:
        """Return the work of a list of ``rows`` rows in steps: one per row and condition or sort field.

        To look for a text within another one takes as long as three others.
        """
        of_row = sum(TEXT_STEPS if one is Operator.CONTAINS else 1 for _, one in self.tests) + len(self.sorted_by)
        return (min(rows, NARROWED) if self.narrowed else rows) * of_row


NOTHING: Final = Search()


def search_of(indexes: Indexes, criteria: Criteria, order: tuple[OrderKey, ...] = (), *, owned: bool = False) -> Search:
    """Return the work of a read for each row.

    Args:
        order: Their order; empty = they are counted.
        owned: Whether the rows of one owner are read, which an index has in the order of the key.
    """
    required = list(conjuncts(criteria))
    if any(one.field in indexes.unique and one.values() and None not in one.values() for one in required):
        return NOTHING
    found = {one.field for one in required if indexes.finds(one)}
    if len(found) > 1 and (owned or frozenset(found) not in indexes.together):
        found = {min(found, key=lambda name: name not in indexes.equal)}
    free = {one for one in required if indexes.bounds(one) or (one.field in found and not owned)}
    narrowed = owned or bool(found)
    tests = tuple((one.field, one.operator) for one in conditions(criteria) if one not in free)
    if _is_ordered(indexes, order, required, narrowed=narrowed):
        return Search(tests, (), narrowed)
    return Search(tests, tuple(key.field for key in order if key.field not in indexes.unique), narrowed)


def span_of(indexes: Indexes, criteria: Criteria) -> AllOf:
    """Return the ranges of the key that a condition asks for; without parts there are none."""
    return AllOf(tuple(one for one in conjuncts(criteria) if indexes.bounds(one)))


def _is_ordered(indexes: Indexes, order: tuple[OrderKey, ...], required: list[Condition], *, narrowed: bool) -> bool:
    if not order:
        return True
    first, further = order[0], order[1:]
    if any(key.field not in indexes.unique or key.descending != first.descending for key in further):
        return False
    if first.field in indexes.unique:
        return True
    is_set = any(
        one.field == first.field and one.operator is Operator.IS_NULL and one.value is False for one in required
    )
    return not narrowed and (first.field in indexes.ordered or (is_set and first.field in indexes.ordered_if_set))


M = TypeVar("M")


@dataclass(frozen=True, slots=True, eq=False)
class Listing(Generic[M]):
    """One aggregate as a list.

    Attributes:
        name: The name that cursors of this list are bound to.
        rows: Selects everything that ``model`` reads.
        key: The unique field; all lists but those of groups and jobs have the primary key, and as the field ``id``.
        fields: The expression behind each name that filters and orders may use.
        order: The order unless another is asked for.
        hints: The consequences of a condition; SQLite takes a partial index only if it reads the index' own condition.
        indexes: The fields that indexes find and order; None = the list is never long, or never read in full.
        stored: The column that holds the key, if ``key`` is one of a subquery.
        further: Columns of other tables that rows have only where ``only`` names them, of the table or an alias of it.
    """

    name: str
    rows: Select[Any]
    key: ColumnElement[Any]
    fields: Mapping[str, ColumnElement[Any]]
    order: tuple[OrderKey, ...]
    model: Callable[[Row[Any]], M]
    hints: Callable[[Condition], Iterable[ColumnElement[bool]]] = lambda _: ()
    indexes: Indexes | None = None
    stored: ColumnElement[Any] | None = None
    further: Mapping[str, Callable[[FromClause], ColumnElement[Any]]] = field(
        default_factory=dict[str, Callable[[FromClause], ColumnElement[Any]]]
    )

    @property
    def table(self) -> Table:
        """Return where its rows are; only of a list with ``indexes``."""
        key: Any = self.key
        found: Table = key.table
        return found

    @property
    def reader(self) -> RowReader[M]:
        """Return the reader of its columns, where each model is made of a row by itself; jobs are not."""
        reader: Any = self.model
        assert isinstance(reader, RowReader), self.name
        return cast("RowReader[M]", reader)

    def only(self, columns: tuple[str, ...]) -> "Listing[tuple[Any, ...]]":
        """Return the same list with only these columns of its rows, at least two: their values in this order."""
        return _only(self, columns)

    def condition(self, criteria: Criteria) -> ColumnElement[bool]:
        """Return the SQL of a condition, and the consequence of it that an index is made for."""
        hints = (hint for required in conjuncts(criteria) for hint in self.hints(required))
        return and_(to_sql(criteria, self.fields), *hints)

    def kinds(self, order: Sequence[OrderKey]) -> tuple[type, ...]:
        """Return the Python type of each value of a position in this order."""
        types = (self.fields[key.field].type for key in order)
        return tuple(datetime if isinstance(one, UtcDateTime) else one.python_type for one in types)

    def complete(self, order: Sequence[OrderKey]) -> tuple[OrderKey, ...]:
        """Return ``order`` made unique: the key comes last, in the first field's direction; empty = the list's own."""
        keys = list(dict.fromkeys(order)) or list(self.order)
        for place, key in enumerate(keys):
            # What follows a unique field decides nothing.
            if self.fields[key.field] is self.key or getattr(self.fields[key.field], "unique", False):
                return tuple(keys[: place + 1])
        unique = next(name for name, one in self.fields.items() if one is self.key)
        return (*keys, OrderKey(unique, descending=keys[0].descending))


@lru_cache(maxsize=256)
def _only(listing: Listing[Any], columns: tuple[str, ...]) -> Listing[tuple[Any, ...]]:
    # The same object for the same columns: statements are remembered by it.
    own, further = listing.rows.selected_columns, listing.further
    chosen = (further[name](listing.table).label(name) if name in further else own[name] for name in columns)
    rows = listing.rows.with_only_columns(*chosen, maintain_column_froms=True)
    return replace(listing, rows=rows, model=listing.reader.only(columns))


def columns(table: FromClause, names: str) -> dict[str, ColumnElement[Any]]:
    """Return the columns of these names, by their names; ``names`` are separated by spaces."""
    return {name: table.c[name] for name in names.split()}
