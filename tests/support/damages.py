"""Values that are none of the column they are written to, past the product and past what the database would refuse."""

import itertools
from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Boolean, Column, Connection, Float, Integer, Table, text
from sqlalchemy.types import JSON

from cronograph.jobs.store.db import dialect
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import metadata
from cronograph.jobs.store.schema.types import UtcDateTime

ALSO_UNIQUE: Final = {("run_id", "job_execution"), ("name", "node"), ("key", "flow_run")}
"""Columns by which copies of a row must differ, beside those that say so themselves."""
_DOCUMENTS: Final = ("'[1]'", "'7'", "'\"t\"'", "'{\"a\": [1]}'", "'[{\"kind\": 1}]'", "'null'")
_BYTES: Final = "x'00ff'"
_ON_POSTGRES: Final[Sequence[tuple[type[Any], Sequence[str]]]] = (
    (UtcDateTime, ("'infinity'", "'-infinity'", "'20000-01-01 00:00+00'", "'0300-01-01 00:00+00 BC'")),
    (JSON, _DOCUMENTS),
    (Float, ("'NaN'", "'Infinity'")),
    (Boolean, ()),
    (Integer, ()),
    (object, ("'zz'",)),
)
_ON_SQLITE: Final[Sequence[tuple[type[Any], Sequence[str]]]] = (
    (UtcDateTime, ("'x'", "5", "'2026-02-31T00:00:00.000000Z'", "'2026-01-01 00:00:00'", _BYTES, "NULL")),
    (JSON, ("'{x'", *_DOCUMENTS, _BYTES, "NULL")),
    (Boolean, ("'x'", "7", "NULL")),
    (Float, ("'x'", "9e999", _BYTES, "NULL")),
    (Integer, ("'x'", "1.5", "9000000000", _BYTES, "NULL")),
    (object, ("'zz'", _BYTES, "CAST(x'ff41' AS TEXT)", "NULL")),
)
"""By the type of a column, values that it must not have, as SQL: all that the database takes."""


def damages(column: Column[Any], *, postgres: bool) -> Sequence[str]:
    """Values that are none of a column."""
    kinds = _ON_POSTGRES if postgres else _ON_SQLITE
    found = next(values for kind, values in kinds if isinstance(column.type, kind))
    # SQLite takes nothing but numbers for the key that numbers the rows, and every row has a key.
    return () if column.primary_key else found


def refuse_nothing(conn: Connection) -> None:
    """Have the database take what its constraints forbid, as a file does that was edited with other tools."""
    if dialect.is_postgresql(conn):
        constraints = (
            "SELECT conrelid::regclass::text, conname FROM pg_constraint "
            "WHERE contype IN ('c', 'f') AND connamespace = 'cronograph'::regnamespace"
        )
        for table, name in conn.execute(text(constraints)).all():
            conn.execute(text(f'ALTER TABLE {table} DROP CONSTRAINT "{name}"'))
        return
    kept = "replace(replace(replace(sql, 'IS NOT NULL', '@'), 'NOT NULL', ''), '@', 'IS NOT NULL')"
    conn.exec_driver_sql("PRAGMA writable_schema = ON")
    conn.exec_driver_sql(f"UPDATE sqlite_master SET sql = {kept} WHERE type = 'table'")
    conn.exec_driver_sql("PRAGMA writable_schema = RESET")


def damaged_copies(conn: Connection, table: Table, only: int | None = None) -> int:
    """Copy the first row of a table for each damage of each column, or ``only`` for one of them; how many there are."""
    postgres = dialect.is_postgresql(conn)
    if not postgres:
        conn.exec_driver_sql("PRAGMA ignore_check_constraints = ON")
    ways = [(one, value) for one in table.columns for value in damages(one, postgres=postgres)]
    for column, value in ways if only is None else ways[only : only + 1]:
        _copy(conn, table, "cronograph" if postgres else "main", {column.name: value})
    return len(ways)


_numbers = itertools.count(1_000)


def _copy(conn: Connection, table: Table, schema: str, damage: dict[str, str]) -> None:
    """A copy of the first row that breaks no unique constraint, but for the damage."""
    number = next(_numbers)
    values = dict[str, str]()
    for one in table.columns:
        unique = one.unique or one.primary_key or (one.name, table.name) in ALSO_UNIQUE
        values[one.name] = damage.get(one.name) or (_fresh(one, number) if unique else f'"{one.name}"')
    order = ", ".join(f'"{one.name}"' for one in table.primary_key.columns)
    columns = ", ".join(f'"{one}"' for one in values)
    source = f"SELECT {', '.join(values.values())} FROM {schema}.{table.name} ORDER BY {order} LIMIT 1"
    conn.exec_driver_sql(f"INSERT INTO {schema}.{table.name} ({columns}) {source}")


def _fresh(column: Column[Any], number: int) -> str:
    if isinstance(column.type, Integer):
        return str(number)
    return f"'2026-03-01T00:00:00.{number:06d}Z'" if isinstance(column.type, UtcDateTime) else f"'d{number}'"


def damage_all(tx: Tx) -> None:
    """Put rows into every table that are damaged in every way."""
    for table in metadata.tables.values():
        damaged_copies(tx.conn, table)
