"""The queue's SQL: a file for each statement in ``sql/postgres`` and ``sql/sqlite``, found by its name.

Each begins with a heading: its effect, its parameters, the index that must serve it, its callers. Parameters are
written ``:name``, the word ``cronograph`` stands for the schema of the tables, ``{event_written}`` for the beginning
of the part that writes the event (``outbox.EVENT_WRITTEN``), and ``{audit_begun}`` and ``{audited}`` for the parts
that write an entry of the audit log (``audit``). ``{has_place}`` and ``{held_for_place}`` stand for the conditions of
concurrency keys in ``tables``, for the run that is nearest in the statement. ``{begin}`` stands for
``parts/begin.sql``: the attempts of the runs in ``chosen`` begin at the time in ``start``, with an event; ``{begun}``
stands for their columns. Rows are read by the names of columns.

A statement may have a plain form and one with a name. The lines between ``--if NAME`` and ``--end`` are only in
that form, those between ``--else`` and ``--end`` only in the plain one.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, CursorResult, TextClause, TextualSelect, bindparam, column
from sqlalchemy.types import JSON, TypeEngine

from ...store.db import audit, dialect, outbox
from ...store.db.autocommit import PLANNED
from ...store.schema.tables import HAS_PLACE, HELD_FOR_PLACE, job_execution, periodic_task, run
from ...store.schema.types import SQLITE_SCHEMA, SchemaText, UtcDateTime, in_schema

POSTGRES: Final = "postgres"
SQLITE: Final = "sqlite"
FOLDER: Final = Path(__file__).parents[1] / "sql"
_HEADING: Final = re.compile(r"(?:--.*\n)+")
PARAMETER: Final = re.compile(r"(?<![:\w]):([a-z_][a-z0-9_]*)")
"""A parameter in a statement; two colons are none."""


_INDENTED: Final = re.compile(r"^ +", re.MULTILINE)
_PARTS: Final = re.compile(r"^ *--if (\w+)\n(.*?)(?:^ *--else\n(.*?))?^ *--end\n", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as its file has it: ``heading`` without its dashes, and the ``text`` behind it.

    ``form``: the name of its form; None = the plain one.
    """

    name: str
    form: str | None
    heading: str
    text: str

    @property
    def title(self) -> str:
        """Its name, with that of its form."""
        return self.name if self.form is None else f"{self.name}, form {self.form}"

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters, in the order of their first use."""
        return tuple(dict.fromkeys(PARAMETER.findall(self.text)))

    @property
    def for_driver(self) -> str:
        """The text as psycopg takes it, which marks parameters in its own way."""
        return PARAMETER.sub(r"%(\1)s", self.text.replace("%", "%%"))


def names(database: str) -> list[str]:
    """Return the names of all statements for ``POSTGRES`` or ``SQLITE``."""
    return sorted(path.stem for path in (FOLDER / database).glob("*.sql"))


def every(database: str) -> Iterator[Statement]:
    """Yield all statements for ``POSTGRES`` or ``SQLITE``, in each of their forms."""
    for name in names(database):
        for form in (None, *dict.fromkeys(found[1] for found in _PARTS.finditer(_read(database, name)))):
            yield statement(database, name, form)


@cache
def _read(database: str, name: str) -> str:
    return (FOLDER / database / f"{name}.sql").read_text(encoding="utf-8")


@cache
def statement(database: str, name: str, form: str | None = None) -> Statement:
    """Return the statement of this name for ``POSTGRES`` or ``SQLITE``.

    Args:
        database: Which of the two.
        name: Of its file, without the ending.
        form: The name of a form of it; None = the plain one. ``audited``, which writes an entry of the audit log too,
            has the parameters of ``audit.link_values``.

    Raises:
        FileNotFoundError: there is none.
    """
    whole = _read(database, name)
    heading = _HEADING.match(whole)
    assert heading is not None, f"{name}.sql has no heading"
    lines = (line.removeprefix("--").removeprefix(" ") for line in heading[0].splitlines())
    text = _PARTS.sub(lambda part: part[2] if part[1] == form else part[3] or "", whole[heading.end() :])
    for path in (FOLDER / database / "parts").glob("*.sql"):
        if f"{{{path.stem}}}\n" in text:
            text = text.replace(f"{{{path.stem}}}\n", path.read_text(encoding="utf-8"))
    for mark, part in _SHARED.items():
        text = text.replace(mark, part)
    # psycopg remembers no statement of more than 4,096 characters.
    return Statement(name, form, "\n".join(lines), _INDENTED.sub("", text))


_SHARED: Final = {
    "{event_written}": outbox.EVENT_WRITTEN,
    "{audit_begun}": audit.BEGUN,
    "{audited}": audit.AUDITED,
    "{has_place}": HAS_PLACE,
    "{held_for_place}": HELD_FOR_PLACE,
}
"""Parts of statements that stand elsewhere."""


def read_all(database: str) -> None:
    """Read all statements for ``POSTGRES`` or ``SQLITE``, for a process that may be able to open no file later on."""
    for one in every(database):
        assert one.text, one.name


@cache
def for_driver(name: str, form: str | None = None) -> str:
    """Return a statement for a connection of psycopg's own, whose rows are named tuples; see ``statement``."""
    return statement(POSTGRES, name, form).for_driver


def execute(conn: Connection, name: str, parameters: Mapping[str, Any], form: str | None = None) -> CursorResult[Any]:
    """Execute a statement; lists among the parameters are arrays on PostgreSQL and JSON on SQLite."""
    if dialect.is_postgresql(conn):
        return _prepared(POSTGRES, name, form).execute(conn, parameters)
    values = {key: json.dumps(value) if isinstance(value, list | tuple) else value for key, value in parameters.items()}
    return _prepared(SQLITE, name, form).execute(conn, values)


def execute_on_sqlite(conn: Connection, name: str, parameters: dict[str, Any] | list[dict[str, Any]]) -> None:
    """Execute a statement without rows, for each set of parameters; they are sent as they are."""
    conn.exec_driver_sql(_for_sqlite(name, None), parameters)


def array(values: Iterable[object]) -> str:
    """Return a list of numbers, or None, as PostgreSQL writes it: the driver takes seven times as long for a list."""
    return f"{{{','.join('NULL' if one is None else str(one) for one in values)}}}"


@cache
def _for_sqlite(name: str, form: str | None) -> str:
    return in_schema(statement(SQLITE, name, form).text, SQLITE_SCHEMA)


def _converted() -> Mapping[str, TypeEngine[Any]]:
    columns = (one for table in (periodic_task, run, job_execution) for one in table.columns)
    return {one.name: one.type for one in columns if isinstance(one.type, UtcDateTime | JSON)} | {"now": UtcDateTime()}


_CONVERTED: Final = _converted()


class _Prepared:
    """A statement as SQLAlchemy takes it.

    SQLAlchemy keeps its knowledge of rows whose columns are found by place. So they are, once the first rows have named
    the columns: to look up each by its name at each execution would take some 50 µs.
    """

    def __init__(self, found: Statement) -> None:
        clause = SchemaText(found.text)
        self._clause: TextClause = clause
        if "now" in found.parameters:
            self._clause = clause.bindparams(bindparam("now", type_=UtcDateTime()))
        self._by_name = self._clause.columns(**_CONVERTED)
        self._by_place: TextualSelect | None = None

    def execute(self, conn: Connection, parameters: Mapping[str, Any]) -> CursorResult[Any]:
        if self._by_place is not None:
            return conn.execute(self._by_place, parameters)
        rows = conn.execute(self._by_name, parameters)
        if rows.returns_rows:
            found = tuple(rows.keys())
            self._by_place = self._clause.columns(*(column(name, _CONVERTED.get(name)) for name in found))
        return rows


@cache
def _prepared(database: str, name: str, form: str | None) -> _Prepared:
    return _Prepared(statement(database, name, form))


def picked(
    conn: Connection, name: str, parameters: Mapping[str, Any], wanted: tuple[str, ...]
) -> list[tuple[Any, ...]]:
    """Execute a statement; the ``wanted`` columns of its rows, at least two, in this order."""
    rows = execute(conn, name, parameters)
    return list(map(picker(tuple(rows.keys()), wanted), rows.all()))


@lru_cache(maxsize=64)
def picker(found: tuple[str, ...], wanted: tuple[str, ...]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Return a function that takes the ``wanted`` columns out of rows whose columns are ``found``.

    To look up each by its name for each row would take half a microsecond a column.
    """
    return itemgetter(*map(found.index, wanted))


def plan(conn: Connection, name: str, form: str | None = None) -> list[str]:
    """Return the lines of the plan by which the present database would execute a statement; it is not executed.

    On PostgreSQL that for all values of the parameters, made as on the connections that send it.
    """
    if dialect.is_postgresql(conn):
        return _plan_on_postgres(conn, statement(POSTGRES, name, form))
    found = statement(SQLITE, name, form)
    nothing: dict[str, Any] = dict.fromkeys(found.parameters)
    rows = conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {_for_sqlite(name, form)}", nothing)
    depths = {0: -1}
    lines: list[str] = []
    for row in rows:
        depths[row.id] = depths[row.parent] + 1
        lines.append(f"{'  ' * depths[row.id]}{row.detail}")
    return lines


def _plan_on_postgres(conn: Connection, found: Statement) -> list[str]:
    places = {parameter: f"${place}" for place, parameter in enumerate(found.parameters, 1)}
    numbered = PARAMETER.sub(lambda mark: places[mark[1]], found.text)
    nothing = f"({', '.join('NULL' for _ in places)})" if places else ""
    # Colons that are no parameters, as in the form of a time, are escaped for SQLAlchemy.
    prepared = SchemaText(f"PREPARE explained AS {numbered}".replace(":", "\\:"))
    with conn.begin_nested():
        conn.execute(SchemaText(f"SELECT {PLANNED}"))
        conn.execute(prepared)
        lines = [row[0] for row in conn.execute(SchemaText(f"EXPLAIN EXECUTE explained{nothing}"))]
        conn.execute(SchemaText("DEALLOCATE explained"))
    return lines
