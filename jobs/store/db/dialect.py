"""Give the two databases one form for statements, and ``is_postgresql`` to code that must know."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Any, Final

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Connection,
    Float,
    Row,
    String,
    Subquery,
    Table,
    Text,
    TypeDecorator,
    bindparam,
    cast,
    column,
    func,
    select,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import JSON, TypeEngine

from ...own.forks import renew_in_forks
from ..schema.types import JsonDocument, SchemaText, UtcDateTime, to_text

SLOWED: Final = 0.9
"""So fast it goes on while it is ahead of the machine's: an hour is made up for in ten."""
AT_MOST: Final = timedelta(days=1)
"""If the machine's clock is set back by more, that one is followed."""


def machine_time() -> datetime:
    """Return the time of day of this machine."""
    return datetime.now(UTC)


class SteadyClock:
    """A clock of one process; from any thread.

    Args:
        wall: The time of day, which may be set back.
        monotonic: Seconds that only grow.
    """

    def __init__(
        self, wall: Callable[[], datetime] = machine_time, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._last = wall()
        self._at = monotonic()
        renew_in_forks(self)

    def renew(self) -> None:
        """Start again in a forked process: a thread that is not there may have held the lock."""
        self._lock = threading.Lock()

    def now(self) -> datetime:
        """Return the time of day; after that was set back, the last time plus the time passed since, slowed down."""
        with self._lock:
            wall, at = self._wall(), self._monotonic()
            going_on = self._last + timedelta(seconds=(at - self._at) * SLOWED)
            self._last = max(wall, going_on) if going_on - wall <= AT_MOST else wall
            self._at = at
            return self._last


def is_postgresql(conn: Connection) -> bool:
    """Return whether ``conn`` speaks to PostgreSQL; otherwise it is SQLite."""
    return conn.dialect.name == "postgresql"


def database_now(conn: Connection) -> datetime:
    """Return the time that decides about due things: PostgreSQL's own clock, so that nodes with differing clocks agree.

    SQLite has one process, and its own ``CURRENT_TIMESTAMP`` knows whole seconds only: there it is this process' clock,
    which does not go back when the machine's is set back.
    """
    if is_postgresql(conn):
        now: datetime = conn.execute(text("SELECT statement_timestamp()")).scalar_one()
        return now.astimezone(UTC)
    return _of_process.now()


_of_process: Final = SteadyClock()


_NOTIFY = SchemaText("SELECT pg_notify('cronograph', :payload)")


def notify(conn: Connection, payload: str) -> None:
    """Send a hint to all nodes when ``conn``'s transaction commits; SQLite has one process and needs none."""
    if is_postgresql(conn):
        conn.execute(_NOTIFY, {"payload": payload})


def insert_or_ignore(conn: Connection, table: Table) -> Any:
    """Return ``INSERT … ON CONFLICT DO NOTHING`` into ``table``: rows that break a unique constraint are left out."""
    return ignoring_conflicts(table, postgres=is_postgresql(conn))


def ignoring_conflicts(table: Table, *, postgres: bool) -> Any:
    """Do the same as ``insert_or_ignore`` for statements that are put together once."""
    if postgres:
        return postgresql.insert(table).on_conflict_do_nothing()
    return sqlite.insert(table).on_conflict_do_nothing()


def upsert(conn: Connection, table: Table, key: Sequence[str], update: Iterable[str]) -> Any:
    """Return ``INSERT … ON CONFLICT (key) DO UPDATE``: the named columns take the new values."""
    statement = postgresql.insert(table) if is_postgresql(conn) else sqlite.insert(table)
    return statement.on_conflict_do_update(
        index_elements=list(key), set_={name: statement.excluded[name] for name in update}
    )


def adding(conn: Connection, table: Table, key: Sequence[str], added: Iterable[str]) -> Any:
    """Return ``INSERT … ON CONFLICT (key) DO UPDATE``: the new values are added to those of the named columns."""
    statement = postgresql.insert(table) if is_postgresql(conn) else sqlite.insert(table)
    sums = {name: table.c[name] + statement.excluded[name] for name in added}
    return statement.on_conflict_do_update(index_elements=list(key), set_=sums)


def batch(
    conn: Connection, columns: Mapping[str, TypeEngine[Any]], rows: Sequence[Sequence[Any]], name: str = "batch"
) -> tuple[Subquery, dict[str, Any]]:
    """Return ``rows`` as something to select from: one statement for any number of rows, always the same text.

    They travel as one JSON array (``json_to_recordset``, ``json_each``): that costs the client a third of an array per
    column.

    Args:
        conn: Decides the form.
        columns: Name and type of each column, in the order of the rows' values.
        rows: The values; times as aware datetimes, JSON documents as plain values.
        name: The alias in the statement.

    Returns:
        The subquery and the parameters that it needs.
    """
    postgres = is_postgresql(conn)
    return batch_source(columns, name, postgres=postgres), batch_rows(columns, rows, name, postgres=postgres)


def batch_source(columns: Mapping[str, TypeEngine[Any]], name: str = "batch", *, postgres: bool) -> Subquery:
    """Return the subquery of ``batch`` alone, for statements that are put together once."""
    if postgres:
        typed = [column(one, _recordset_type(kind)) for one, kind in columns.items()]
        rows = func.json_to_recordset(cast(bindparam(f"{name}_rows", type_=Text()), postgresql.JSON()))
        lines = rows.table_valued(*typed, name=f"{name}_lines").render_derived(with_types=True)
        return select(*(lines.c[one].label(one) for one in columns)).subquery(name)
    each = func.json_each(bindparam(f"{name}_rows", type_=Text())).table_valued("value", name=f"{name}_lines")
    extracted = [
        func.json_extract(each.c.value, f"$[{place}]", type_=_stored(kind)).label(one)
        for place, (one, kind) in enumerate(columns.items())
    ]
    return select(*extracted).subquery(name)


def batch_rows(
    columns: Mapping[str, TypeEngine[Any]], rows: Sequence[Sequence[Any]], name: str = "batch", *, postgres: bool
) -> dict[str, Any]:
    """Return the parameters of ``batch`` alone."""
    if postgres:
        named = [dict(zip(columns, row, strict=True)) for row in rows]
        return {f"{name}_rows": json.dumps(named, default=time_text)}
    documents = [place for place, kind in enumerate(columns.values()) if _is_json(kind)]
    listed = [_with_texts(row, documents) for row in rows] if documents else rows
    return {f"{name}_rows": json.dumps(listed, default=time_text)}


def insert_rows(
    conn: Connection, table: Table, rows: Sequence[Mapping[str, Any]], returned: tuple[ColumnElement[Any], ...] = ()
) -> Sequence[Row[Any]]:
    """Insert rows in their order, by one statement of one parameter; rows that a constraint forbids are left out.

    Args:
        rows: Values by column, all with the same columns.
        returned: The columns that are returned; none = all.

    Returns:
        The stored rows, in any order.
    """
    if not rows:
        return []
    postgres, names = is_postgresql(conn), tuple(rows[0])
    values = [(*map(row.__getitem__, names), place) for place, row in enumerate(rows)]
    parameters = batch_rows(_placed(table, names), values, "new", postgres=postgres)
    return conn.execute(_inserting(table, names, returned, postgres=postgres), parameters).all()


@cache
def _placed(table: Table, names: tuple[str, ...]) -> dict[str, TypeEngine[Any]]:
    return {**{name: table.c[name].type for name in names}, "place": KINDS[int]}


@cache
def _inserting(
    table: Table, names: tuple[str, ...], returned: tuple[ColumnElement[Any], ...], *, postgres: bool
) -> Any:
    batch = batch_source(_placed(table, names), "new", postgres=postgres)
    # SQLite needs a WHERE between a SELECT and ON CONFLICT to tell it from a join's ON.
    source = select(*(batch.c[name] for name in names)).where(batch.c.place.is_not(None)).order_by(batch.c.place)
    statement = ignoring_conflicts(table, postgres=postgres).from_select(list(names), source)
    return statement.returning(*(returned or table.c))


def _is_json(kind: TypeEngine[Any]) -> bool:
    return isinstance(kind, JSON) or kind is JsonDocument


def _recordset_type(kind: TypeEngine[Any]) -> TypeEngine[Any]:
    if _is_json(kind):
        return JSONB()
    return postgresql.TIMESTAMP(timezone=True) if isinstance(kind, TypeDecorator) else kind


def _stored(kind: TypeEngine[Any]) -> TypeEngine[Any]:
    """Return the type under which SQLite keeps the extracted value: JSON travels as text and is stored as that text."""
    return Text() if _is_json(kind) else kind


def time_text(value: object) -> str:
    """Return a time as both databases read it from JSON; ``json`` asks for values that it does not know itself."""
    if isinstance(value, datetime):
        return _text_of(value)
    raise TypeError(f"a {type(value).__name__} is no value of a row")


# Rows of one batch have many times in common.
_text_of = lru_cache(maxsize=1024)(to_text)


def _with_texts(row: Sequence[Any], documents: Sequence[int]) -> list[Any]:
    """Return a row whose values at these places are texts of JSON documents; SQLite stores them as they are."""
    values = list(row)
    for place in documents:
        if values[place] is not None:
            values[place] = json.dumps(values[place])
    return values


KINDS: Mapping[type, TypeEngine[Any]] = {
    int: postgresql.BIGINT(),
    str: String(),
    bool: Boolean(),
    float: Float(),
    datetime: UtcDateTime(),
    dict: JsonDocument,
}
"""Python type to column type, for the columns of a ``batch``."""
