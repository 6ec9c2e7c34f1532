"""How the model behind a row is made: by the places of its columns, found once for each kind of statement."""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import lru_cache
from operator import itemgetter
from typing import Any, Generic, TypeVar

from sqlalchemy import Row

M = TypeVar("M")


class RowReader(Generic[M]):
    """Makes a model of the columns of a row, wherever they stand among others.

    Looking up each by its name would take half a microsecond a column.

    Args:
        make: Makes the model of the values, in the order of the columns.
        columns: Their names, at least two.
        words: Those that hold a word of an enumeration.
    """

    def __init__(self, make: Callable[..., M], columns: Iterable[str], words: Mapping[str, type[Enum]]) -> None:
        self._make = make
        self._columns = tuple(columns)
        self._words: list[tuple[int, dict[object, Enum]]] = [
            (place, {member.value: member for member in words[name]})
            for place, name in enumerate(self._columns)
            if name in words
        ]

    def __call__(self, row: Row[Any]) -> M:
        """The model."""
        # Rows of one statement share this object; ``_fields`` would list the names anew for each row.
        statement: Any = row._parent  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        values = list(_picker(statement, self._columns)(row))
        for place, members in self._words:
            word = values[place]
            if word is not None:
                values[place] = members[word]
        return self._make(*values)


@lru_cache(maxsize=256)
def _picker(statement: Any, columns: tuple[str, ...]) -> Callable[[Row[Any]], tuple[Any, ...]]:
    fields = list(statement.keys)
    return itemgetter(*map(fields.index, columns))
