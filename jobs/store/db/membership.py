"""Rows whose keys another table has: the ways to look for them, from which a reader chooses by how many they are."""

from typing import Any

from sqlalchemy import ColumnElement, Select, exists
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.types import NullType

from .base.spelling import spelled


class IsOneOf(GenericFunction[Any]):
    """Whether a key is one of a few that a statement finds: they are found first, and their rows by the key.

    It has no type: a truth value would be compared with 1 on SQLite, whose planner does not find the key within that.
    """

    type = NullType()
    inherit_cache = True
    name = "cronograph_is_one_of"


spelled(IsOneOf, postgresql="({0} = ANY (ARRAY{1}))", sqlite="({0} IN {1})")


def is_one_of_few(key: ColumnElement[Any], keys: Select[Any]) -> ColumnElement[bool]:
    """Whether a key is one of the few that ``keys`` selects."""
    return IsOneOf(key, keys.scalar_subquery())


def is_one_of_many(key: ColumnElement[Any], keys: Select[Any]) -> ColumnElement[bool]:
    """The same where ``keys`` selects many: each row that is looked at is looked for among them."""
    (column,) = keys.selected_columns
    # OFFSET 0 keeps PostgreSQL, and the plus SQLite, from reading all of the keys first.
    found = keys.with_only_columns(column).where(column == key + 0).offset(0).correlate(key.table)
    return exists(found)
