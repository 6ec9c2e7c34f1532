"""Rows that cannot be read, because somebody wrote past this product: each is named, and the others are read.

Rows are decoded one by one only after a whole answer could not be decoded. No other statement is changed or repeated,
and nothing is searched for: the rows are those that were asked for.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar
from typing import cast as as_type

from sqlalchemy import Column, ColumnElement, Connection, Row, Select, String, Table, cast, select
from sqlalchemy.exc import DataError, OperationalError

from ...core.base.errors import UnreadableRow
from ...core.base.lazy import LazyModule
from ..schema.rows import UnreadableValueError

if TYPE_CHECKING:
    import sqlite3

    import psycopg
else:
    psycopg = LazyModule("psycopg")
    sqlite3 = LazyModule("sqlite3")

log = logging.getLogger(__name__)

M = TypeVar("M")
Key: TypeAlias = int | str
AnySelect: TypeAlias = Select[*tuple[Any, ...]]

_DECODING: Final = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError)
_SHOWN: Final = 60
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def is_undecodable(error: BaseException) -> bool:
    """Return whether ``error``, raised while the rows of an answer were decoded, is the fault of a stored value."""
    if isinstance(error, DataError):
        # Of the driver; the server has a state for each of its own.
        return getattr(error.orig, "sqlstate", None) is None
    if isinstance(error, psycopg.DataError):
        return error.sqlstate is None
    if isinstance(error, OperationalError):
        # Of a text that is no UTF-8; errors of SQLite itself have a code.
        return isinstance(error.orig, sqlite3.Error) and not hasattr(error.orig, "sqlite_errorcode")
    return isinstance(error, _DECODING)


def each(
    conn: Connection,
    statement: AnySelect,
    key: ColumnElement[Any],
    make: Callable[[Row[Any]], M],
    parameters: Mapping[str, Any] = _NOTHING,
    *,
    stored: ColumnElement[Any] | None = None,
) -> list[M | UnreadableRow]:
    """Return the result of ``make`` for each row, in order, or in its place the row's fault.

    Args:
        statement: Selects the rows.
        key: The column whose value names a row.
        make: Makes the model of a row.
        stored: The column of a table that holds the key, if ``key`` is a column of something else.
    """
    found = conn.execute(statement, parameters)
    try:
        return [make(row) for row in found]
    except Exception as error:
        # An answer that is half read would keep the snapshot of its transaction.
        found.close()
        if not is_undecodable(error):
            raise
        cause = error
    keys = conn.execute(statement.with_only_columns(key, maintain_column_froms=True), parameters)
    try:
        wanted: Sequence[Key] = keys.scalars().all()
    except Exception as error:
        keys.close()
        if not is_undecodable(error):
            raise
        raise UnreadableRow(f"table {_table_of(key)}: the key of a row cannot be read: {cause}") from cause
    of = key if stored is None else stored
    return [_one(conn, statement.where(key == one), of, one, make, parameters) for one in wanted]


def every(
    conn: Connection,
    statement: AnySelect,
    key: ColumnElement[Any],
    make: Callable[[Row[Any]], M],
    parameters: Mapping[str, Any] = _NOTHING,
) -> list[M]:
    """Return the result of ``make`` for each row, in order.

    Raises:
        UnreadableRow: one of the rows cannot be read; it names the first of them.
    """
    found = each(conn, statement, key, make, parameters)
    for one in found:
        if isinstance(one, UnreadableRow):
            raise one
    return found  # type: ignore[return-value]  # pyright: ignore[reportReturnType]


def readable(
    conn: Connection,
    statement: AnySelect,
    key: ColumnElement[Any],
    make: Callable[[Row[Any]], M],
    parameters: Mapping[str, Any] = _NOTHING,
) -> list[M]:
    """Return ``every`` row that can be read; the log names the others. For duties, which go on without them."""
    found = each_named(conn, statement, key, make, parameters)
    return [one for one in found if not isinstance(one, UnreadableRow)]


def each_named(
    conn: Connection,
    statement: AnySelect,
    key: ColumnElement[Any],
    make: Callable[[Row[Any]], M],
    parameters: Mapping[str, Any] = _NOTHING,
) -> list[M | UnreadableRow]:
    """Return ``each`` row; the log names those that cannot be read."""
    found = each(conn, statement, key, make, parameters)
    for one in found:
        if isinstance(one, UnreadableRow):
            log.error("left out a row that cannot be read: %s", one.message)
    return found


def _one(
    conn: Connection,
    statement: AnySelect,
    key: ColumnElement[Any],
    value: Key,
    make: Callable[[Row[Any]], M],
    parameters: Mapping[str, Any],
) -> M | UnreadableRow:
    found = conn.execute(statement, parameters)
    try:
        rows = found.all()
        if not rows:
            return UnreadableRow(f"table {_table_of(key)}, row {_name_of(key)} {value}: is gone")
        return make(rows[0])
    except Exception as error:
        found.close()
        if not is_undecodable(error):
            raise
        return fault_of(conn, key, value, error)


def fault_of(conn: Connection, key: ColumnElement[Any], value: Key, error: Exception) -> UnreadableRow:
    """Return the fault of the row of this key, which could not be decoded for ``error``.

    The message names table, key and column, and shows the stored value.
    """
    place = f"table {_table_of(key)}, row {_name_of(key)} {value}"
    column = _column_at_fault(conn, key, value, error)
    if column is None:
        return _because(UnreadableRow(f"{place}: cannot be read: {error}; set it right in the database"), error)
    what = f"column {column.name} cannot be read, got {_shown(conn, column, key, value)}"
    return _because(UnreadableRow(f"{place}: {what}; set it right in the database"), error)


def _because(fault: UnreadableRow, error: Exception) -> UnreadableRow:
    fault.__cause__ = error
    return fault


def _column_at_fault(conn: Connection, key: ColumnElement[Any], value: Key, error: Exception) -> Column[Any] | None:
    table = getattr(key, "table", None)
    if not isinstance(table, Table):
        return None
    columns = as_type("Table", table).columns
    if isinstance(error, UnreadableValueError):
        return columns.get(error.column)
    for column in list(columns):
        found = conn.execute(select(column).where(key == value))
        try:
            found.all()
        except Exception as fault:
            found.close()
            if not is_undecodable(fault):
                raise
            return column
    return None


def _shown(conn: Connection, column: Column[Any], key: ColumnElement[Any], value: Key) -> str:
    found = conn.execute(select(cast(column, String)).where(key == value))
    try:
        stored: object = found.scalar_one()
    except Exception as error:
        found.close()
        if not is_undecodable(error):
            raise
        return "bytes that are no text"
    shown = repr(stored)
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"


def _table_of(key: ColumnElement[Any]) -> str:
    return str(getattr(getattr(key, "table", None), "name", "?"))


def _name_of(key: ColumnElement[Any]) -> str:
    return str(getattr(key, "name", "?"))
