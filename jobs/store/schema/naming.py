"""Under which name the tables are found: in a schema of their own on PostgreSQL, in ``main`` of a SQLite file.

Every statement names the schema, so that none depends on the search path of the connection it is sent on. The
code says ``cronograph``; which schema that is, is known when a statement is compiled.
"""

import re
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import TextClause
from sqlalchemy.dialects.postgresql.base import RESERVED_WORDS
from sqlalchemy.ext.compiler import compiles

from .parts import SCHEMA, metadata

__all__ = ["SCHEMA", "SQLITE_SCHEMA", "SchemaText", "in_schema", "schema_fault"]

SQLITE_SCHEMA: Final = "main"
"""How SQLite calls what is in the file of a connection."""

_NAME: Final = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")
_WORD: Final = re.compile(rf"\b{SCHEMA}\b")


def schema_fault(name: str) -> str | None:
    """Why a schema cannot have this name, in words; None if it can."""
    # What has to be quoted in one place is forgotten in another.
    if _NAME.fullmatch(name) and name not in RESERVED_WORDS:
        return None
    return (
        "must be a name of 1 to 63 small letters, digits and underscores that begins with no digit and not with pg_, "
        f"and no word of SQL, got {name!r:.80}"
    )


@lru_cache(maxsize=256)
def in_schema(statement: str, schema: str) -> str:
    """``statement``, in which the word ``cronograph`` stands for the schema, as it is for ``schema``."""
    return statement if schema == SCHEMA else _WORD.sub(schema, statement)


class SchemaText(TextClause):
    """A textual statement, in which the word ``cronograph`` stands for the schema of the connection."""

    inherit_cache = True


@compiles(SchemaText)
def _compile(element: SchemaText, compiler: Any, **options: Any) -> str:
    # The name itself, or what stands for it until the statement is executed.
    schema: str = compiler.preparer.schema_for_object(metadata)
    return in_schema(compiler.visit_textclause(element, **options), schema)
