"""Make the model behind a row by the places of its columns, found once for each kind of statement."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from enum import EnumType
from functools import lru_cache
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final, Generic, TypeAlias, TypeVar

from sqlalchemy import Row

M = TypeVar("M")

Meaning: TypeAlias = Callable[[Any], Any]
NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class UnreadableValueError(ValueError):
    """A stored value that is none of its column.

    Attributes:
        column: The name of that.
    """

    def __init__(self, column: str, fault: Exception) -> None:
        super().__init__(f"column {column}: {type(fault).__name__}: {fault}")
        self.column = column


class RowReader(Generic[M]):
    """Makes a model of the columns of a row, wherever they stand among others.

    Looking up each by its name would take half a microsecond a column.

    Args:
        make: Makes the model of the values, in the order of the columns.
        columns: Their names, at least two.
        meanings: The maker of a column's value that is not stored as it is: an enumeration of its word, a function.
    """

    def __init__(self, make: Callable[..., M], columns: Iterable[str], meanings: Mapping[str, Meaning]) -> None:
        self._make = make
        self._columns = tuple(columns)
        self._named = meanings
        self._meanings = [
            (place, _reading(meanings[name])) for place, name in enumerate(self._columns) if name in meanings
        ]

    def only(self, columns: Sequence[str]) -> "RowReader[tuple[Any, ...]]":
        """Return a reader of rows that have no more than these columns, at least two: their values, in this order."""
        return RowReader(_together, columns, {name: self._named[name] for name in columns if name in self._named})

    def prefixed(self, prefix: str) -> "RowReader[M]":
        """Return a reader of rows in which the names of the columns begin with ``prefix``."""
        meanings = {prefix + name: meaning for name, meaning in self._named.items()}
        return RowReader(self._make, [prefix + name for name in self._columns], meanings)

    def __call__(self, row: Row[Any]) -> M:
        """Return the model.

        Raises:
            UnreadableValueError: a column holds an invalid value.
        """
        # Rows of one statement share this object; ``_fields`` would list the names for each row.
        statement: Any = row._parent  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        values = list(_picker(statement, self._columns)(row))
        place = 0
        try:
            for place, read in self._meanings:
                values[place] = read(values[place])
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
            raise UnreadableValueError(self._columns[place], error) from error
        return self._make(*values)


def _together(*values: Any) -> tuple[Any, ...]:
    return values


def reader_of(
    model: type[M], meanings: Mapping[str, Meaning] = NOTHING, columns: Mapping[str, str] = NOTHING
) -> RowReader[M]:
    """Return a reader for a dataclass; ``columns`` has those fields whose columns have another name."""
    described: Any = model
    return RowReader(model, [columns.get(field.name, field.name) for field in fields(described)], meanings)


def _reading(meaning: Meaning) -> Callable[[Any], Any]:
    if not isinstance(meaning, EnumType):
        return meaning
    return members(meaning).__getitem__


def members(words: EnumType) -> Mapping[object, Any]:
    """Return the members of an enumeration by their words; None is None.

    Looking a member up takes a third of the time of asking the enumeration.
    """
    listed: Any = words
    return {None: None, **{member.value: member for member in listed}}


@lru_cache(maxsize=256)
def _picker(statement: Any, columns: tuple[str, ...]) -> Callable[[Row[Any]], tuple[Any, ...]]:
    names = list(statement.keys)
    return itemgetter(*map(names.index, columns))
