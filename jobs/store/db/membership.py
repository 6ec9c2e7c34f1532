"""Rows whose keys another table has: the ways to look for them, from which a reader chooses by how many they are."""

from typing import Any, cast

from sqlalchemy import ColumnElement, Select, exists
from sqlalchemy.types import NullType, TypeEngine

from .base.spelling import spelled

# It has no type: a truth value would be compared with 1 on SQLite, whose planner does not find the key within that.
_UNTYPED = cast("TypeEngine[Any]", NullType())
_is_one_of = spelled("is_one_of", _UNTYPED, postgresql="({0} = ANY (ARRAY{1}))", sqlite="({0} IN {1})")
"""Whether a key is one of a few that a statement finds: they are found first, and their rows by the key."""


def is_one_of_few(key: ColumnElement[Any], keys: Select[Any]) -> ColumnElement[bool]:
    """Whether a key is one of the few that ``keys`` selects."""
    return _is_one_of(key, keys.scalar_subquery())


def is_one_of_many(key: ColumnElement[Any], keys: Select[Any]) -> ColumnElement[bool]:
    """The same where ``keys`` selects many: each row that is looked at is looked for among them."""
    (column,) = keys.selected_columns
    # OFFSET 0 keeps PostgreSQL, and the plus SQLite, from reading all of the keys first.
    found = keys.with_only_columns(column).where(column == key + 0).offset(0).correlate(key.table)
    return exists(found)
