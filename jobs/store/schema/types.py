"""Column types that behave the same on both databases."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    ColumnElement,
    Dialect,
    Index,
    Integer,
    MetaData,
    String,
    TextClause,
    literal_column,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP
from sqlalchemy.dialects.postgresql.base import RESERVED_WORDS
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.types import TypeDecorator, TypeEngine

Key = BigInteger().with_variant(Integer(), "sqlite")
"""Identity keys. A plain BigInteger would not become SQLite's rowid and fail with NOT NULL."""


class _Document(JSON):
    """JSON in a column of text: SQLite keeps a document that is one number as a float in a column of another type."""


@compiles(_Document, "sqlite")
def _as_text(*_: object, **__: object) -> str:
    return "TEXT"


JsonDocument = _Document(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")
"""A JSON document; Python None is SQL NULL."""

WrittenDocument = _Document(none_as_null=True)
"""A JSON document that is read as it was written: ``jsonb`` would sort its keys and make 1e16 a whole number."""

Name = String(200).with_variant(String(200, collation="C"), "postgresql")
"""A name or key. Names are sorted byte by byte, under any collation: so groups take turns in the same
order on SQLite, on every PostgreSQL, and by the rules in ``core``."""

_decode = json.JSONDecoder().decode


@dataclass(frozen=True, slots=True)
class WrittenJson:
    """A JSON document that is text already, for a column that takes values."""

    text: str


def dumps(document: object) -> str:
    """Return a JSON document as text."""
    return document.text if isinstance(document, WrittenJson) else json.dumps(document)


def loads(document: str | bytes) -> Any:
    """Return the values of a stored JSON document, from either driver; most are an empty object or list."""
    text = document if isinstance(document, str) else str(document, "utf-8")
    if text == "{}":
        return {}
    return [] if text == "[]" else _decode(text)


def to_text(instant: datetime) -> str:
    """Return the fixed-width ISO form that SQLite stores, so that comparing text compares times."""
    # A third of the time that strftime takes.
    return instant.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"


def from_text(text: str) -> datetime:
    """Return the instant behind the stored form."""
    return datetime.fromisoformat(text)


class UtcDateTime(TypeDecorator[datetime]):
    """An instant in UTC: ``timestamptz`` on PostgreSQL, ISO text with six decimals and ``Z`` on SQLite."""

    impl = String(27)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the column type of the database at hand."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(TIMESTAMP(timezone=True))
        return dialect.type_descriptor(String(27))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Refuse naive times: without a zone nobody knows which instant is meant."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(
                f"stored time: must carry a zone, got the naive {value.isoformat()}; use datetime.now(UTC)"
            )
        return value.astimezone(UTC) if dialect.name == "postgresql" else to_text(value)

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        """Return a reader of aware times in UTC. Called for every time that is read, so nothing stands between."""
        del coltype
        return _utc_of_postgres if dialect.name == "postgresql" else _utc_of_sqlite


def _utc_of_postgres(value: datetime | None) -> datetime | None:
    return None if value is None else value.astimezone(UTC)


def _utc_of_sqlite(value: str | None) -> datetime | None:
    return None if value is None else from_text(value)


SCHEMA: Final = "cronograph"
"""The schema of the tables on PostgreSQL, unless another one is chosen; and the word for it in every statement."""

AMONG_ALL = "attempt >= 0"
BY_JOB = "failures >= 0"
"""Hold for every run; only statements that say the one may use the indexes that go across all lanes and groups, and
only those that say the other the one that begins with the job.

Where the statistics are of a time at which nothing waited, PostgreSQL takes every index of waiting runs for as short
as every other: it would look for the runs of each lane of each group along an index of all of them. Those statements
do not say it, so it cannot. They are about columns that no index is ordered by: SQLite might begin at such a bound.
"""

IN_LINE: Final[ColumnElement[Any]] = literal_column("coalesce(due_at, available_at)")
"""When a run is due: the order in which a queue is shown. A run that waits for a slot or a token has its place there
too.
"""

metadata = MetaData(
    schema=SCHEMA,
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    },
)


def quoted(values: Iterable[StrEnum]) -> str:
    """Return ``'a', 'b'``: the values of an enumeration for an IN list, sorted so that the text is always the same."""
    return ", ".join(f"'{value}'" for value in sorted(value.value for value in values))


class Part(StrEnum):
    """The parts of a table that is split (``parts.Split``): rows that change, and the history."""

    OPEN = "open"
    DONE = "done"


def one_of(
    column: str, values: Iterable[StrEnum], *, nullable: bool = False, parts: Iterable[Part] | None = None
) -> CheckConstraint:
    """Return the constraint that a text column holds a word of an enumeration; for ``parts`` see ``check``."""
    condition = f"{column} IN ({quoted(values)})"
    return check(column, f"{column} IS NULL OR {condition}" if nullable else condition, parts)


def check(name: str, condition: str, parts: Iterable[Part] | None = None) -> CheckConstraint:
    """Return a constraint of a table; on PostgreSQL of those ``parts`` of it to whose rows it says anything."""
    return CheckConstraint(condition, name=name, info={} if parts is None else {"parts": tuple(parts)})


def key() -> Column[int]:
    """Return the identity column of a table."""
    return Column("id", Key, primary_key=True, autoincrement=True)


# Keys are never used twice: the log keeps the ids of what was deleted.
NO_REUSE: dict[str, Any] = {"sqlite_autoincrement": True}
# Hot tables: room for updates in place, and a vacuum that comes early.
HOT: dict[str, Any] = {
    **NO_REUSE,
    "postgresql_with": {
        "fillfactor": 70,
        "autovacuum_vacuum_scale_factor": 0.02,
        "autovacuum_vacuum_cost_delay": 0,
        "autovacuum_analyze_scale_factor": 0.05,
    },
}


def partial_index(
    name: str,
    condition: str,
    *columns: str | ColumnElement[Any],
    unique: bool = False,
    parts: Iterable[Part] = tuple(Part),
) -> Index:
    """Return an index of the rows that meet a condition, on either database; by columns or expressions.

    Args:
        condition: The condition that its rows meet.
        columns: Or expressions.
        unique: Whether no two rows may have the same.
        parts: Those of a split table that have it on PostgreSQL.
    """
    where = text(condition)
    info = {"parts": tuple(parts)}
    return Index(name, *columns, unique=unique, sqlite_where=where, postgresql_where=where, info=info)


__all__ = ["SCHEMA", "SQLITE_SCHEMA", "SchemaText", "in_schema", "schema_fault"]

SQLITE_SCHEMA: Final = "main"
"""SQLite's name for the tables in the file of a connection."""

_NAME: Final = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")
_WORD: Final = re.compile(rf"\b{SCHEMA}\b")


def schema_fault(name: str) -> str | None:
    """Return why a schema cannot have this name, in words; None if it can."""
    # What has to be quoted in one place is forgotten in another.
    if _NAME.fullmatch(name) and name not in RESERVED_WORDS:
        return None
    return (
        "must be a name of 1 to 63 small letters, digits and underscores that begins with no digit and not with pg_, "
        f"and no word of SQL, got {name!r:.80}"
    )


@lru_cache(maxsize=256)
def in_schema(statement: str, schema: str) -> str:
    """Return ``statement`` with ``schema`` in place of the word ``cronograph``."""
    return statement if schema == SCHEMA else _WORD.sub(schema, statement)


class SchemaText(TextClause):
    """A textual statement, in which the word ``cronograph`` stands for the schema of the connection."""

    inherit_cache = True


@compiles(SchemaText)
def _compile(element: SchemaText, compiler: Any, **options: Any) -> str:
    # The name itself, or what stands for it until the statement is executed.
    schema: str = compiler.preparer.schema_for_object(metadata)
    return in_schema(compiler.visit_textclause(element, **options), schema)
