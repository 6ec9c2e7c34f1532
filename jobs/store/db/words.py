"""The words of enumerations in statements, as literal text and not as parameters.

SQLite takes a partial index only if it reads the condition of that index in the statement, and PostgreSQL plans better
when it knows which state is meant: there are few of any one and very many of another.
"""

from collections.abc import Iterable
from enum import StrEnum

from sqlalchemy import ColumnElement, String, literal_column


def word(value: StrEnum) -> ColumnElement[str]:
    """One word, e.g. ``'waiting'``. The words are ours, so nothing needs to be escaped."""
    return literal_column(f"'{value.value}'", String())


def words(values: Iterable[StrEnum]) -> list[ColumnElement[str]]:
    """Some words for an IN list, in the order in which the conditions of the indexes name them."""
    return [word(value) for value in sorted(values, key=lambda value: value.value)]
