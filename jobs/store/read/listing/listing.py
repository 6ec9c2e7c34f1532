"""What a list is: its rows, and the fields by which they are filtered and ordered."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast

from sqlalchemy import ColumnElement, FromClause, Row, Select, Table, and_

from ...schema.rows import RowReader
from ...schema.types import UtcDateTime
from .criteria import Condition, Criteria, conjuncts, to_sql
from .indexes import Indexes
from .keyset import OrderKey

M = TypeVar("M")


@dataclass(frozen=True, slots=True, eq=False)
class Listing(Generic[M]):
    """One aggregate as a list.

    Attributes:
        name: What cursors of this list are bound to.
        rows: Selects everything that ``model`` reads.
        key: The unique field; all lists but those of groups and jobs have the primary key, and as the field ``id``.
        fields: The expression behind each name that filters and orders may use.
        order: The order unless another is asked for.
        model: Makes the model of a row.
        hints: What follows from a condition; SQLite takes a partial index only if it reads the index' own condition.
        indexes: What indexes find and order; None = the list is never long, or never read in full.
        stored: The column that holds the key, if ``key`` is one of a subquery.
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

    @property
    def table(self) -> Table:
        """Where its rows are; only of a list with ``indexes``."""
        key: Any = self.key
        found: Table = key.table
        return found

    @property
    def reader(self) -> RowReader[M]:
        """What reads its columns, where each model is made of a row by itself; jobs are not."""
        reader: Any = self.model
        assert isinstance(reader, RowReader), self.name
        return cast("RowReader[M]", reader)

    def only(self, columns: tuple[str, ...]) -> "Listing[tuple[Any, ...]]":
        """The same list with no more than these columns of its rows, at least two: their values in this order."""
        return _only(self, columns)

    def condition(self, criteria: Criteria) -> ColumnElement[bool]:
        """The SQL of a condition, and what follows from it that an index is made for."""
        hints = (hint for required in conjuncts(criteria) for hint in self.hints(required))
        return and_(to_sql(criteria, self.fields), *hints)

    def kinds(self, order: Sequence[OrderKey]) -> tuple[type, ...]:
        """The Python type of each value of a position in this order."""
        types = (self.fields[key.field].type for key in order)
        return tuple(datetime if isinstance(one, UtcDateTime) else one.python_type for one in types)

    def complete(self, order: Sequence[OrderKey]) -> tuple[OrderKey, ...]:
        """``order`` made unique: the key comes last, in the direction of the first field; empty = the list's own."""
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
    rows = listing.rows.with_only_columns(
        *(listing.rows.selected_columns[name] for name in columns), maintain_column_froms=True
    )
    return replace(listing, rows=rows, model=listing.reader.only(columns))


def columns(table: FromClause, names: str) -> dict[str, ColumnElement[Any]]:
    """The columns of these names, by their names; ``names`` are separated by spaces."""
    return {name: table.c[name] for name in names.split()}
