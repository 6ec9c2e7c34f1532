"""Rows that somebody wrote past this product, and that hold what is none of their column: which, and what is wrong.

Databases refuse less than the product does: SQLite keeps any text where a time belongs, and both know of a JSON
document only that it is one. What a column must hold is written here once, from the tables, as conditions that the
database judges.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, Final

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, Connection, Float, Integer, String, Table
from sqlalchemy.types import JSON

from ..schema.meanings import LIST, MEANINGS, OBJECT, SHAPES, WORDS
from ..schema.parts import metadata
from ..schema.types import UtcDateTime
from . import dialect

MOST: Final = 100
"""So many damaged rows of a table are found at once."""
WINDOW: Final = 200_000
"""Rows of a table that one statement looks at, by their keys."""
WINDOWS: Final = 25
"""So many statements at most: what is older is not searched."""
DOCUMENTS: Final = 20_000
"""Rows of a table whose documents are looked into, the newest."""
_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Damage:
    """A row that cannot be read.

    Attributes:
        key: The columns of its key, with their values.
        name: Its name, if it has one besides its key.
        column: Which column is at fault.
        must_be: What that must be.
        got: What is there, as text.
    """

    table: str
    key: tuple[tuple[str, Any], ...]
    name: str | None
    column: str
    must_be: str
    got: str

    @property
    def sentence(self) -> str:
        """What is wrong, and what to do."""
        row = ", ".join(f"{column} {value}" for column, value in self.key)
        return (
            f"table {self.table}, row {row}: column {self.column} must be {self.must_be}, got {self.got}; "
            "set it right in the database, or delete the row"
        )

    def is_of(self, key: object) -> bool:
        """Whether the row is known by this key or name."""
        return key == self.name or any(key == value for _, value in self.key)


@dataclass(frozen=True, slots=True)
class _Judgement:
    """What a column must be, and the SQL of that it is not."""

    column: str
    must_be: str
    fails: str


def find(conn: Connection, table: Table, known: Collection[Damage] = ()) -> list[Damage]:
    """Damaged rows of a table that are not known yet, the newest first, ``MOST`` at most.

    Args:
        conn: A connection to what the table is in.
        table: Which.
        known: Rows that were found before.
    """
    keys = {one.key for one in known if one.table == table.name}
    found = [one for one in _by_columns(conn, table, len(keys)) if one.key not in keys]
    return found or [one for one in _by_documents(conn, table) if one.key not in keys]


def still_damaged(conn: Connection, known: Collection[Damage]) -> list[Damage]:
    """Those of these rows that are there, and damaged."""
    found = set[tuple[str, tuple[Any, ...]]]()
    for table in tables({one.table for one in known}):
        condition = " OR ".join(f"({of_key(conn, one)})" for one in known if one.table == table.name)
        rows = conn.exec_driver_sql(f"{_selected(conn, table)} WHERE {condition}").all()
        found |= {(table.name, _key_of(table, row)) for row in rows if row.fault is not None}
        found |= {(table.name, one.key) for one in _faults_of_documents(table, rows)}
    return [one for one in known if (one.table, one.key) in found]


def of_key(conn: Connection, one: Damage) -> str:
    """The SQL condition that a row has the key of a damaged one."""
    return " AND ".join(f"{column} = {_literal(conn, value)}" for column, value in one.key)


def _literal(conn: Connection, value: object) -> str:
    """A value of a key as SQL writes it, for a statement that is sent with parameters."""
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    text = "'" + str(value).replace("'", "''") + "'"
    return text.replace("%", "%%") if dialect.is_postgresql(conn) else text


def _by_columns(conn: Connection, table: Table, beyond: int) -> Iterator[Damage]:
    """The rows of which the database says that a column holds something else."""
    limit = MOST + beyond
    for window in _windows(conn, table):
        inner = f"{_selected(conn, table)}{window}"
        judged = f"SELECT * FROM ({inner}) AS judged WHERE fault IS NOT NULL LIMIT {limit}"
        rows = conn.exec_driver_sql(judged).all()
        for row in rows:
            place: int = row.fault
            yield _damage(table, row, _judgements(table, dialect.is_postgresql(conn))[place])
        limit -= len(rows)
        if limit <= 0:
            return


def _windows(conn: Connection, table: Table) -> Iterator[str]:
    """Conditions that go through a table by its numbers, the newest first; one for all of a table without numbers."""
    (first, *others) = table.primary_key.columns
    if others or not isinstance(first.type, Integer):
        yield ""
        return
    ends = f"SELECT max({first.name}), min({first.name}) FROM {_name(conn, table)}"
    newest, oldest = conn.exec_driver_sql(ends).one()
    for _ in range(WINDOWS):
        if newest is None or newest < oldest:
            return
        yield f" WHERE {first.name} > {newest - WINDOW} AND {first.name} <= {newest} ORDER BY {first.name} DESC"
        newest -= WINDOW


def _selected(conn: Connection, table: Table) -> str:
    """All columns of a table as they are stored, and which judgement a row fails first, by its place."""
    cases = "".join(
        f" WHEN {one.fails} THEN {place}" for place, one in enumerate(_judgements(table, dialect.is_postgresql(conn)))
    )
    fault = f"CASE{cases} END" if cases else "NULL"
    return f"SELECT {', '.join(_shown(conn, table))}, {fault} AS fault FROM {_name(conn, table)}"


def _shown(conn: Connection, table: Table) -> Iterator[str]:
    # As it is there: the driver makes times and numbers of nothing.
    postgres = dialect.is_postgresql(conn)
    keys = {column.name for column in table.primary_key.columns}
    for column in table.columns:
        name = _quoted(column.name)
        whole = column.name in keys and not (postgres and isinstance(column.type, UtcDateTime))
        yield name if whole else f"CAST({name} AS TEXT) AS {name}" if postgres else f"CAST({name} AS BLOB) AS {name}"


def _quoted(name: str) -> str:
    return f'"{name}"'


def _name(conn: Connection, table: Table) -> str:
    """The table as statements name it."""
    schema = conn.dialect.identifier_preparer.schema_for_object(table)
    return f"{schema}.{_quoted(table.name)}"


def _damage(table: Table, row: Any, judgement: _Judgement) -> Damage:
    keys = _key_of(table, row)
    name = _text(row.name) if "name" in table.columns and "name" not in dict(keys) else None
    got = _text(getattr(row, judgement.column, None))
    shown = "no value" if got is None else repr(got[:_SHOWN]) + ("…" if len(got) > _SHOWN else "")
    return Damage(table.name, keys, name, judgement.column, judgement.must_be, shown)


def _key_of(table: Table, row: Any) -> tuple[tuple[str, Any], ...]:
    return tuple((column.name, getattr(row, column.name)) for column in table.primary_key.columns)


def _text(value: Any) -> str | None:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else None if value is None else str(value)


# What the columns must be.


@cache
def _judgements(table: Table, postgres: bool) -> Sequence[_Judgement]:
    of_columns = _postgres_judgement if postgres else _sqlite_judgement
    found: list[_Judgement] = []
    for column in table.columns:
        name = _quoted(column.name)
        if not column.nullable:
            found.append(_Judgement(column.name, "set", f"{name} IS NULL"))
        must_be, fails = of_columns(table, column)
        if words := WORDS.get((table, column.name)):
            listed = ", ".join(f"'{word}'" for word in sorted(words))
            must_be, fails = f"one of {listed}", f"{name} NOT IN ({listed})"
        if fails:
            found.append(_Judgement(column.name, must_be, f"{name} IS NOT NULL AND ({fails})"))
    for constraint in sorted(
        (one for one in table.constraints if isinstance(one, CheckConstraint)), key=lambda one: str(one.name)
    ):
        condition = str(constraint.sqltext)
        named = next((one.name for one in table.columns if condition.startswith(f"{one.name} ")), None)
        at_fault = named or next(one.name for one in table.columns if one.name in condition)
        found.append(_Judgement(at_fault, f"so that {condition}", f"NOT ({condition})"))
    return found


def _postgres_judgement(table: Table, column: Column[Any]) -> tuple[str, str]:
    name = _quoted(column.name)
    if isinstance(column.type, UtcDateTime):
        # What is outside of Python's calendar, infinity among it.
        return "a time from year 1 to 9999", f"{name} < '0001-01-02 00:00+00' OR {name} >= '9999-12-31 00:00+00'"
    if isinstance(column.type, Float):
        return "a finite number", f"{name} IN ('NaN', 'Infinity', '-Infinity')"
    shape = SHAPES.get((table, column.name))
    if shape is None:
        return "", ""
    return f"a JSON document that is {shape}", f"jsonb_typeof({name}) <> '{_TYPES[shape]}'"


_TYPES: Final = {OBJECT: "object", LIST: "array"}
_DIGITS: Final = "[0-9]" * 6


def _sqlite_judgement(table: Table, column: Column[Any]) -> tuple[str, str]:
    name, kind = _quoted(column.name), column.type
    if isinstance(kind, UtcDateTime):
        seconds = f"substr({name}, 1, 19)"
        return "a time such as 2026-01-31T12:00:00.000000Z", (
            f"typeof({name}) <> 'text' OR strftime('%Y-%m-%dT%H:%M:%S', {seconds}, '+0 days') IS NOT {seconds} "
            f"OR {name} < '0001-01-02' OR substr({name}, 20) NOT GLOB '.{_DIGITS}Z'"
        )
    if isinstance(kind, JSON):
        shape = SHAPES.get((table, column.name))
        other = f"json_type({name}) <> '{_TYPES[shape]}'" if shape else "0"
        valid = f"typeof({name}) <> 'blob' AND json_valid({name})"
        return f"a JSON document{f' that is {shape}' if shape else ''}", f"CASE WHEN {valid} THEN {other} ELSE 1 END"
    if isinstance(kind, Boolean):
        return "0 or 1", f"typeof({name}) <> 'integer' OR {name} NOT IN (0, 1)"
    if isinstance(kind, Integer):
        size = "" if isinstance(kind, BigInteger) else f" OR abs({name}) > 2147483647"
        return "a whole number", f"typeof({name}) <> 'integer'{size}"
    if isinstance(kind, Float):
        return "a finite number", f"typeof({name}) NOT IN ('real', 'integer') OR abs({name}) = 9e999"
    return ("a text", f"typeof({name}) <> 'text'") if isinstance(kind, String) else ("", "")


def _by_documents(conn: Connection, table: Table) -> Iterator[Damage]:
    """The rows whose documents mean nothing or whose texts are none, which the database does not notice."""
    key = table.primary_key.columns[0].name
    rows = conn.exec_driver_sql(f"{_selected(conn, table)} ORDER BY {key} DESC LIMIT {DOCUMENTS}").all()
    yield from islice(_faults_of_documents(table, rows), MOST)


def _faults_of_documents(table: Table, rows: Sequence[Any]) -> Iterator[Damage]:
    texts = [one.name for one in table.columns if isinstance(one.type, String)]
    for row in rows:
        for column in texts:
            stored = getattr(row, column)
            if isinstance(stored, bytes) and not _is_text(stored):
                yield _damage(table, row, _Judgement(column, "a text in UTF-8", ""))
    for (owner, column), (must_be, read) in MEANINGS.items():
        for row in rows if owner is table else ():
            stored = _text(getattr(row, column))
            try:
                if stored is not None:
                    read(json.loads(stored))
            except (ValueError, LookupError, TypeError, AttributeError):
                yield _damage(table, row, _Judgement(column, must_be, ""))


def _is_text(stored: bytes) -> bool:
    try:
        stored.decode()
    except UnicodeDecodeError:
        return False
    return True


def tables(names: Collection[str] | None = None) -> list[Table]:
    """The tables of these names, or all; those that stay small first."""
    large = {"run", "job_execution", "event", "audit_log", "skipped_occurrence", "execution_log"}
    chosen = [one for one in metadata.tables.values() if names is None or one.name in names]
    return sorted(chosen, key=lambda one: one.name in large)
