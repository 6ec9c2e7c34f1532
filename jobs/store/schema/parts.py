"""What the definitions of the tables share."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import CheckConstraint, Column, ColumnElement, Index, MetaData, literal_column, text

from .types import Key

SCHEMA: Final = "cronograph"
"""The schema of the tables on PostgreSQL, unless another one is chosen; and the word for it in every statement."""

AMONG_ALL = "attempt >= 0"
BY_JOB = "failures >= 0"
"""Hold for every run; only statements that say the one may use the indexes that go across all lanes and groups, and
only those that say the other the one that begins with the job.

Where the statistics are of a time at which nothing waited, PostgreSQL takes every index of what waits for as short as
every other: it would look for the runs of each lane of each group along an index of all of them. Those statements do
not say it, so it cannot. They are about columns that no index is ordered by: SQLite might begin at such a bound.
"""

IN_LINE: Final[ColumnElement[Any]] = literal_column("coalesce(due_at, available_at)")
"""When a run is due: the order in which a queue is shown. What waits for a slot or a token has its place there too."""

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
    """``'a', 'b'``: the values of an enumeration for an IN list, sorted so that the text is always the same."""
    return ", ".join(f"'{value}'" for value in sorted(value.value for value in values))


def one_of(column: str, values: Iterable[StrEnum], *, nullable: bool = False) -> CheckConstraint:
    """The constraint that a text column holds a word of an enumeration."""
    condition = f"{column} IN ({quoted(values)})"
    return CheckConstraint(f"{column} IS NULL OR {condition}" if nullable else condition, name=column)


def key() -> Column[int]:
    """The identity column of a table."""
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


def partial_index(name: str, condition: str, *columns: str | ColumnElement[Any], unique: bool = False) -> Index:
    """An index of the rows that meet a condition, on either database; by columns or expressions."""
    return Index(name, *columns, unique=unique, sqlite_where=text(condition), postgresql_where=text(condition))
