"""Whether the database has the columns and the indexes that this version works with."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Index
from sqlalchemy.schema import CreateIndex

from ...db import dialect
from ...schema.naming import SCHEMA, SchemaText
from ...schema.tables import metadata

MOST_NAMED = 5
"""So many missing columns are named, the others counted."""


@dataclass(frozen=True, slots=True)
class IndexFault:
    """An index that is not as it must be.

    Attributes:
        table: Whose.
        why: What is wrong with it, in words.
        is_there: Whether there is one of its name.
        statement: What makes it.
    """

    name: str
    table: str
    why: str
    is_there: bool
    statement: str


def missing_columns(conn: Connection) -> list[str]:
    """The columns of this version that the database does not have, as ``table.column``, or as ``table`` if all are.

    More columns than these are no fault: a newer version may have made them.
    """
    statement = _POSTGRES_COLUMNS if dialect.is_postgresql(conn) else _SQLITE_COLUMNS
    found: dict[str, set[str]] = {}
    for table, column in conn.execute(statement):
        found.setdefault(table, set()).add(column)
    return [
        name
        for table in metadata.sorted_tables
        for name in (
            [f"{table.name}.{column.name}" for column in table.columns if column.name not in found[table.name]]
            if table.name in found
            else [table.name]
        )
    ]


def named(missing: list[str]) -> str:
    """Missing columns in words."""
    more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
    return ", ".join(missing[:MOST_NAMED]) + more


def index_faults(conn: Connection) -> list[IndexFault]:
    """Return the indexes of this version that are missing, were left half built, or are defined in another way."""
    statement = _POSTGRES_INDEXES if dialect.is_postgresql(conn) else _SQLITE_INDEXES
    found = {row.name: row for row in conn.execute(statement)}
    return list(_index_faults(conn, found))


def _index_faults(conn: Connection, found: Mapping[str, Any]) -> Iterator[IndexFault]:
    for table, index in _indexes():
        name, wanted = str(index.name), _statement(conn, index)
        row = found.get(name)
        if row is None:
            yield IndexFault(name, table, "is missing", False, wanted)
        elif not row.valid:
            yield IndexFault(name, table, "is invalid: its building was broken off", True, wanted)
        elif _meaning(row.definition) != _meaning(wanted):
            yield IndexFault(name, table, f"is not that of this version, but {row.definition}", True, wanted)


def _meaning(statement: str) -> str:
    """Return what a statement that makes an index says, however it is written: PostgreSQL says it in its own way.

    Uniqueness, columns, their order and the condition count; schemas, casts and parentheses do not.
    """
    text = _CAST.sub("", statement.replace('"', "").lower())
    text = re.sub(r"[()\]]", " ", text).replace("= any", "in").replace("array[", " ")
    # A restored index has its casts, and so blanks, at other places.
    return re.sub(r" ?, ?", ", ", " ".join(_OF_NO_MEANING.sub(" ", text).split()))


def _indexes() -> Iterator[tuple[str, Index]]:
    """All of them, each with the name of its table."""
    for table in metadata.sorted_tables:
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            yield table.name, index


def _statement(conn: Connection, index: Index) -> str:
    made = " ".join(str(CreateIndex(index).compile(dialect=conn.dialect)).split())
    if not dialect.is_postgresql(conn):
        return made
    # Made while nodes work, it must not lock them out.
    return made.replace(" INDEX ", " INDEX CONCURRENTLY ", 1)


_POSTGRES_COLUMNS = SchemaText(f"""
    SELECT c.relname, a.attname FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE n.nspname = '{SCHEMA}' AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
""")
_SQLITE_COLUMNS = SchemaText("""
    SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'
""")
_POSTGRES_INDEXES = SchemaText(f"""
    SELECT c.relname AS name, i.indisvalid AND i.indisready AS valid, pg_get_indexdef(i.indexrelid) AS definition
    FROM pg_index i
    JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = '{SCHEMA}'
""")
_SQLITE_INDEXES = SchemaText(
    "SELECT name, 1 AS valid, sql AS definition FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
)
_CAST: Final = re.compile(r"::[a-z_]+( varying| with time zone| precision)?(\(\d+\))?(\[\])?")
_OF_NO_MEANING: Final = re.compile(r"\b(concurrently|using btree|(?<=index )\w+\.|(?<= on )\w+\.)")
