"""Writes the first revision again from the tables, for as long as nothing is released.

    python -m tests.migrations.draft            show what differs between the tables and the first revision
    python -m tests.migrations.draft --write    write migrations/versions/0001_initial.py

After the first release that file is history: a change of the tables is then a revision of its own, written by hand
from `migrations/script.py.mako`, and `test_schema.py` shows what it still lacks.
"""

import difflib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    ColumnElement,
    Constraint,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    String,
    Table,
    UniqueConstraint,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.types import TypeEngine

from cronograph.jobs.store.schema import parts
from cronograph.jobs.store.schema.tables import metadata
from cronograph.jobs.store.schema.types import SCHEMA, Name, UtcDateTime, WrittenDocument

ROOT = Path(__file__).parents[2]
INITIAL = ROOT / "migrations" / "versions" / "0001_initial.py"
WIDTH = 84
"""Characters of a condition per source line."""
HEADER = '''"""The first schema.

Frozen: a later change of the schema is a revision of its own, which imports nothing of the product.
"""

from alembic import op
from sqlalchemy import (
    BigInteger, Boolean, CheckConstraint, Column, Float, ForeignKeyConstraint, Index, Integer, MetaData,
    PrimaryKeyConstraint, String, Table, Text, TextClause, UniqueConstraint, text
)
from sqlalchemy.dialects.postgresql import JSON, JSONB, TIMESTAMP
from sqlalchemy.schema import CreateIndex, CreateTable

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

KEY = BigInteger().with_variant(Integer(), "sqlite")
TIME = String(27).with_variant(TIMESTAMP(timezone=True), "postgresql")
NAME = String(200).with_variant(String(200, collation="C"), "postgresql")
DOCUMENT = Text().with_variant(JSONB(), "postgresql")
WRITTEN = Text().with_variant(JSON(), "postgresql")
FIRST = {"id": 1, "last_seq": 0}
SCHEMA = MetaData()
'''

MAIN = '''
def upgrade() -> None:
    """Make every table with its indexes; some have two parts on PostgreSQL, each with keys and indexes of its own."""
    connection = op.get_bind()
    parts = PARTS if connection.dialect.name == "postgresql" else {}
    for table in SCHEMA.tables.values():
        op.execute(CreateTable(table))
        schema = str(connection.schema_for_object(table))
        for statement in parts.get(table.name, ()):
            op.execute(statement.replace("{schema}", schema))
        for index in sorted(table.indexes, key=lambda one: str(one.name)):
            if table.name not in parts:
                op.execute(CreateIndex(index))
    # The publisher of events counts from here; there is never a second row.
    op.bulk_insert(SCHEMA.tables["event_publisher"], [FIRST])


def _partial(name: str, *columns: str | TextClause, where: str, unique: bool = False) -> Index:
    """An index of the rows that meet the condition, on either database."""
    condition = text(where)
    return Index(name, *columns, unique=unique, postgresql_where=condition, sqlite_where=condition)


# The tables in the order in which they are made.
'''


def draft() -> str:
    """The source of the first revision for the tables as they are now."""
    tables = metadata.sorted_tables
    hot = next(options_of(table)["postgresql_with"] for table in tables if "postgresql_with" in options_of(table))
    constants = f"# Hot tables: room for updates in place, and a vacuum that comes early.\nHOT = {hot!r}\n"
    return formatted("\n".join([HEADER + constants, MAIN, *(declared(table, hot) for table in tables), made(tables)]))


def made(tables: list[Table]) -> str:
    """The statements that make the parts of the tables that have some."""
    lists = []
    for table in filter(parts.has_parts, tables):
        texts = (one.replace(f"{SCHEMA}.", "{schema}.") for one in parts.statements(table))
        lists.append(f"{quoted(table.name)}: [{', '.join(f'({condition(one)})' for one in texts)}],")
    return f"# What makes the parts of tables on PostgreSQL.\nPARTS: dict[str, list[str]] = {{{' '.join(lists)}}}"


def declared(table: Table, hot: dict[str, Any]) -> str:
    """One table with its indexes."""
    options = [
        f"{name}=HOT" if value == hot else f"{name}={value!r}" for name, value in sorted(options_of(table).items())
    ]
    indexes = map(declared_index, sorted(table.indexes, key=lambda each: str(each.name)))
    constraints = [constraint(each) + on_sqlite(table, each) for each in in_order(table)]
    columns = [*map(column, table.columns), *constraints, *indexes, *options]
    return f"Table({quoted(table.name)}, SCHEMA, {', '.join(columns)},)"


def on_sqlite(table: Table, each: Constraint) -> str:
    """Return what leaves a key or a check to the parts of the table, if it has some on PostgreSQL."""
    return '.ddl_if(dialect="sqlite")' if parts.has_parts(table) and each in parts.of_parts(table) else ""


def options_of(table: Table) -> dict[str, Any]:
    """The options of the table that only one kind of database knows."""
    return dict(table.kwargs)


def in_order(table: Table) -> list[Constraint]:
    """The constraints of a table in a fixed order: key, foreign keys, uniques, checks, each by name."""
    ranks = (PrimaryKeyConstraint, ForeignKeyConstraint, UniqueConstraint, CheckConstraint)
    return sorted(
        table.constraints,
        key=lambda each: (next(n for n, kind in enumerate(ranks) if isinstance(each, kind)), name_of(each)),
    )


def column(each: Column[Any]) -> str:
    """One column, without its constraints."""
    words = [quoted(each.name), kind(each.type)]
    if each.primary_key and each.autoincrement is not True and isinstance(each.type, Integer):
        words.append("autoincrement=False")
    if each.server_default is not None:
        raise ValueError(f"column {each}: server defaults are not drafted; extend this function")
    return f"Column({', '.join([*words, *([] if each.nullable else ['nullable=False'])])})"


def kind(of: TypeEngine[Any]) -> str:
    """A column type by the short name that the revision gives it."""
    if isinstance(of, UtcDateTime):
        return "TIME"
    if isinstance(of, JSON):
        return "WRITTEN" if of is WrittenDocument else "DOCUMENT"
    if isinstance(of, BigInteger):
        return "KEY"
    if of is Name:
        return "NAME"
    return f"String({of.length})" if isinstance(of, String) and of.length else f"{type(of).__name__}()"


def constraint(each: Constraint) -> str:
    """One constraint with the name that the naming convention gives it."""
    name = f"name={quoted(name_of(each))}"
    if isinstance(each, CheckConstraint):
        return f"CheckConstraint({condition(str(each.sqltext))}, {name})"
    if isinstance(each, ForeignKeyConstraint):
        targets = [element.target_fullname for element in each.elements]
        return f"ForeignKeyConstraint({list(each.column_keys)!r}, {targets!r}, {name}, ondelete={each.ondelete!r})"
    assert isinstance(each, PrimaryKeyConstraint | UniqueConstraint)
    return f"{type(each).__name__}({', '.join(quoted(part.name) for part in each.columns)}, {name})"


def name_of(each: Constraint | Index) -> str:
    """The full name, as it is in the database."""
    named = sqlite.dialect().identifier_preparer.format_constraint(each)
    assert named is not None
    return named.strip('"')


def declared_index(index: Index) -> str:
    """An index within the declaration of its table."""
    options = {name: str(value) for name, value in index.kwargs.items()}
    where = options.pop("postgresql_where", None)
    if where != options.pop("sqlite_where", None):
        raise ValueError(f"index {index.name}: must have the same condition on both databases")
    words = [quoted(name_of(index)), *map(indexed, index.expressions)]
    words += [] if where is None else [f"where={condition(where)}"]
    words += ["unique=True"] if index.unique else []
    words += [f"{name}={quoted(value)}" for name, value in sorted(options.items())]
    return f"{'Index' if where is None else '_partial'}({', '.join(words)})"


def indexed(each: str | ColumnElement[Any]) -> str:
    """Return what an index is ordered by: a column, or an expression."""
    return quoted(each.name) if isinstance(each, Column) else f"text({quoted(str(each))})"


def condition(sql: str) -> str:
    """An SQL condition as string literals of a bounded width."""
    lines = [""]
    for word in sql.split(" "):
        if len(lines[-1]) + len(word) > WIDTH:
            lines.append("")
        lines[-1] += word + " "
    lines[-1] = lines[-1].removesuffix(" ")
    return " ".join(map(quoted, lines))


def quoted(value: str) -> str:
    """A Python string literal in double quotes."""
    return json.dumps(value, ensure_ascii=False)


def formatted(source: str) -> str:
    """The source as the formatter of this project leaves it."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(INITIAL), "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def difference() -> str:
    """Return what `--write` would change, as a unified diff; empty when nothing."""
    present = INITIAL.read_text() if INITIAL.exists() else ""
    return "".join(
        difflib.unified_diff(present.splitlines(True), draft().splitlines(True), str(INITIAL.name), "the tables now")
    )


def main() -> None:
    """Show the difference, or write the revision."""
    if "--write" in sys.argv:
        INITIAL.write_text(draft())
    else:
        sys.stdout.write(difference())


if __name__ == "__main__":
    main()
