"""Values inside of JSON documents, which the two databases spell differently."""

import json
from typing import Any

from sqlalchemy import Boolean, ColumnElement, bindparam
from sqlalchemy.types import Text

from .base.spelling import spelled

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
    """Whether a document has something at a path of names, which have no quotes."""
    postgres, sqlite = _paths(path)
    return _has_member(document, _text(postgres), _text(sqlite))


def has_value_at(document: ColumnElement[Any], path: tuple[str, ...], value: Any) -> ColumnElement[bool]:
    """Whether a document has a plain value (a text, a number, a truth value, None) at a path of names.

    The names have no quotes.
    """
    postgres, sqlite = _paths(path)
    return _has_value_at(document, _text(postgres), _text(sqlite), _text(json.dumps(value)))


def _paths(path: tuple[str, ...]) -> tuple[str, str]:
    """A path as PostgreSQL writes it, and as SQLite does."""
    parts = [f'"{name}"' for name in path]
    return f"{{{','.join(parts)}}}", f"$.{'.'.join(parts)}"


def _text(value: str) -> ColumnElement[str]:
    return bindparam(None, value, Text(), unique=True)
