"""Values inside of JSON documents, which the two databases spell differently."""

import json
from typing import Any

from sqlalchemy import Boolean, ColumnElement, bindparam
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.types import Text


class HasValueAt(GenericFunction[bool]):
    """Whether a document has a value at a path.

    The operands are the document, the path as PostgreSQL writes it and as SQLite does, and the value as JSON.
    """

    type = Boolean()
    inherit_cache = True
    name = "cronograph_has_value_at"


@compiles(HasValueAt, "postgresql")
def _postgresql(element: HasValueAt, compiler: SQLCompiler, **options: Any) -> str:
    document, path, _, value = (compiler.process(one, **options) for one in element.clauses)
    return f"({document} #> CAST({path} AS text[]) = CAST({value} AS jsonb))"


@compiles(HasValueAt, "sqlite")
def _sqlite(element: HasValueAt, compiler: SQLCompiler, **options: Any) -> str:
    document, _, path, value = (compiler.process(one, **options) for one in element.clauses)
    # Of one kind: json_extract makes 1 of true. Numbers are one kind.
    kind = f"replace(json_type({document}, {path}), 'real', 'integer')"
    wanted = f"replace(json_type({value}), 'real', 'integer')"
    return f"({kind} = {wanted} AND json_extract({document}, {path}) IS json_extract({value}, '$'))"


class HasMember(GenericFunction[bool]):
    """Whether a document has something at a path; the operands are those of ``HasValueAt`` without the value."""

    type = Boolean()
    inherit_cache = True
    name = "cronograph_has_member"


@compiles(HasMember, "postgresql")
def _member_postgresql(element: HasMember, compiler: SQLCompiler, **options: Any) -> str:
    document, path, _ = (compiler.process(one, **options) for one in element.clauses)
    return f"({document} #> CAST({path} AS text[]) IS NOT NULL)"


@compiles(HasMember, "sqlite")
def _member_sqlite(element: HasMember, compiler: SQLCompiler, **options: Any) -> str:
    document, _, path = (compiler.process(one, **options) for one in element.clauses)
    return f"(json_type({document}, {path}) IS NOT NULL)"


def has_member(document: ColumnElement[Any], path: tuple[str, ...]) -> ColumnElement[bool]:
    """Whether a document has something at a path of names, which have no quotes."""
    postgres, sqlite = _paths(path)
    return HasMember(document, _text(postgres), _text(sqlite))


def has_value_at(document: ColumnElement[Any], path: tuple[str, ...], value: Any) -> ColumnElement[bool]:
    """Whether a document has a plain value (a text, a number, a truth value, None) at a path of names.

    The names have no quotes.
    """
    postgres, sqlite = _paths(path)
    return HasValueAt(document, _text(postgres), _text(sqlite), _text(json.dumps(value)))


def _paths(path: tuple[str, ...]) -> tuple[str, str]:
    """A path as PostgreSQL writes it, and as SQLite does."""
    parts = [f'"{name}"' for name in path]
    return f"{{{','.join(parts)}}}", f"$.{'.'.join(parts)}"


def _text(value: str) -> ColumnElement[str]:
    return bindparam(None, value, Text(), unique=True)
