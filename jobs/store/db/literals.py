"""The words of enumerations in statements, as literal text and not as parameters.

SQLite takes a partial index only if it reads the condition of that index in the statement, and PostgreSQL plans better
when it knows which state is meant: there are few of any one and very many of another.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, String, literal_column


def sql_literal(value: StrEnum) -> ColumnElement[str]:
    """One word, e.g. ``'waiting'``. The words are ours, so nothing needs to be escaped."""
    return literal_column(f"'{value.value}'", String())


def sql_literals(values: Iterable[StrEnum]) -> list[ColumnElement[str]]:
    """Some words for an IN list, in the order in which the conditions of the indexes name them."""
    return [sql_literal(value) for value in sorted(values, key=lambda value: value.value)]


def unindexed(column: ColumnElement[Any]) -> ColumnElement[str]:
    """A text column of rows that are found by their keys: written so that no index can serve a condition on it.

    If the statistics are of a time at which nothing waited, PostgreSQL expects less of the index of what waits than of
    a list of keys. It would look through all that waits for a few of its rows.
    """
    return column.concat(literal_column("''", String()))
