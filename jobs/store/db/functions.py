"""SQL functions that the two databases spell differently."""

import json
from collections.abc import Callable, Iterable
from enum import StrEnum
from string import Formatter
from typing import Any, TypeVar, cast

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    Float,
    Select,
    String,
    Text,
    bindparam,
    exists,
    literal_column,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement, GenericFunction
from sqlalchemy.types import NullType, TypeEngine


def sql_literal(value: StrEnum) -> ColumnElement[str]:
    """Return one word as SQL, e.g. ``'waiting'``. The words are ours, so nothing needs to be escaped."""
    return literal_column(f"'{value.value}'", String())


def sql_literals(values: Iterable[StrEnum]) -> list[ColumnElement[str]]:
    """Return some words as SQL for an IN list, in the order in which the conditions of the indexes name them."""
    return [sql_literal(value) for value in sorted(values, key=lambda value: value.value)]


def unindexed(column: ColumnElement[Any]) -> ColumnElement[str]:
    """Return a text column of rows that are found by their keys: written so that no index can serve a condition on it.

    If the statistics are of a time at which nothing waited, PostgreSQL expects less of an index of waiting runs than of
    a list of keys. It would look through all that waits for a few of its rows.
    """
    return column.concat(literal_column("''", String()))


T = TypeVar("T")


def spelled(name: str, kind: TypeEngine[T], *, postgresql: str, sqlite: str) -> Callable[..., ColumnElement[T]]:
    """Return a function of this type that compiles to these texts, in which ``{0}`` is its first operand, and so on."""
    settings = {"type": kind, "inherit_cache": True, "name": f"cronograph_{name}"}
    function: type[GenericFunction[T]] = type(name, (GenericFunction,), settings)
    for database, text in (("postgresql", postgresql), ("sqlite", sqlite)):
        spell(function, database, text)
    return function


def spell(function: type[FunctionElement[Any]], database: str, text: str) -> None:
    """Register the text to which a function is compiled for one database."""
    # An operand that is not in the text is not compiled: its value would be sent for nothing.
    used = {int(place) for _, place, _, _ in Formatter().parse(text) if place}

    def compiled(element: FunctionElement[Any], compiler: SQLCompiler, **options: Any) -> str:
        operands = enumerate(element.clauses)
        return text.format(*(compiler.process(one, **options) if place in used else "" for place, one in operands))

    compiles(function, database)(compiled)


# SQLite: whole seconds as integers and the six stored decimals apart: its own times are rounded to milliseconds. By
# days, which it reads in half the time that seconds since 1970 take; they are exact to 0.05 ms.
_WHOLE = "CAST(round((julianday(substr({1}, 1, 19)) - julianday(substr({0}, 1, 19))) * 86400) AS INTEGER)"
_MICROS = "(CAST(substr({1}, 21, 6) AS INTEGER) - CAST(substr({0}, 21, 6) AS INTEGER))"
_seconds_between = spelled(
    "seconds_between",
    Float(),
    postgresql="EXTRACT(EPOCH FROM {1} - {0})::double precision",
    sqlite=f"({_WHOLE} * 1000000 + {_MICROS}) / 1000000.0",
)
"""Seconds from the first time to the second; NULL if either is."""
bucket_start = spelled(
    "bucket_start",
    BigInteger(),
    postgresql="(floor(EXTRACT(EPOCH FROM {0}) / {1})::bigint * {1})",
    # The seconds since 1970 rounded down: with its decimals, .9996 would be rounded up to the next second.
    sqlite="(CAST(strftime('%s', substr({0}, 1, 19)) AS INTEGER) / {1} * {1})",
)
"""The beginning, in seconds since 1970, of the bucket of so many seconds that a time is in."""
fits_pattern = spelled("fits_pattern", Boolean(), postgresql="({0} ~ {1})", sqlite="({0} GLOB {2})")
"""Match a text against the second operand, a regular expression, on PostgreSQL; the third, for GLOB, on SQLite."""


def duration(start: ColumnElement[Any], end: ColumnElement[Any]) -> ColumnElement[float]:
    """Return the seconds from ``start`` to ``end`` as an expression to select, filter and order by."""
    return _seconds_between(start, end)


# SQLite: of one kind, since json_extract makes 1 of true; numbers are one kind.
_KIND = "replace(json_type({0}, {2}), 'real', 'integer') = replace(json_type({3}), 'real', 'integer')"
_has_value_at = spelled(
    "has_value_at",
    Boolean(),
    postgresql="({0} #> CAST({1} AS text[]) = CAST({3} AS jsonb))",
    sqlite=f"({_KIND} AND json_extract({{0}}, {{2}}) IS json_extract({{3}}, '$'))",
)
"""The operands are the document, the path as PostgreSQL writes it and as SQLite does, and the value as JSON."""
_has_member = spelled(
    "has_member",
    Boolean(),
    postgresql="({0} #> CAST({1} AS text[]) IS NOT NULL)",
    sqlite="(json_type({0}, {2}) IS NOT NULL)",
)


def has_member(document: ColumnElement[Any], path: tuple[str, ...]) -> ColumnElement[bool]:
    """Return whether a document has something at a path of names, which have no quotes."""
    postgres, sqlite = _paths(path)
    return _has_member(document, _text(postgres), _text(sqlite))


def has_value_at(document: ColumnElement[Any], path: tuple[str, ...], value: Any) -> ColumnElement[bool]:
    """Return whether a document has a plain value (a text, a number, a truth value, None) at a path of names.

    The names have no quotes.
    """
    postgres, sqlite = _paths(path)
    return _has_value_at(document, _text(postgres), _text(sqlite), _text(json.dumps(value)))


def _paths(path: tuple[str, ...]) -> tuple[str, str]:
    parts = [f'"{name}"' for name in path]
    return f"{{{','.join(parts)}}}", f"$.{'.'.join(parts)}"


def _text(value: str) -> ColumnElement[str]:
    return bindparam(None, value, Text(), unique=True)


# It has no type: a truth value would be compared with 1 on SQLite, whose planner does not find the key within that.
_UNTYPED = cast("TypeEngine[Any]", NullType())
_is_one_of = spelled("is_one_of", _UNTYPED, postgresql="({0} = ANY (ARRAY{1}))", sqlite="({0} IN {1})")
"""Compare a key with a few that a statement finds: they are found first, and their rows by the key."""


def is_one_of_few(key: ColumnElement[Any], keys: Select[Any]) -> ColumnElement[bool]:
    """Return whether a key is one of the few that ``keys`` selects."""
    return _is_one_of(key, keys.scalar_subquery())


def is_one_of_many(key: ColumnElement[Any], keys: Select[Any]) -> ColumnElement[bool]:
    """Return the same where ``keys`` selects many: each row that is looked at is looked for among them."""
    (column,) = keys.selected_columns
    # OFFSET 0 keeps PostgreSQL, and the plus SQLite, from reading all of the keys first.
    found = keys.with_only_columns(column).where(column == key + 0).offset(0).correlate(key.table)
    return exists(found)
