"""Damaged rows are set aside: what comes across them goes on with the others, and the log names each.

Nothing is judged before something fails. Then the tables that it spoke of are searched (see ``damage``), and it is done
again by statements in which a table stands for its other rows.
"""

import logging
import re
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from sqlalchemy import Connection, event
from sqlalchemy.exc import DataError, IntegrityError, OperationalError

from ...core.base.driving import drive, drive_in_loop
from ...core.base.errors import UnreadableRow, UserError
from ...core.base.lazy import LazyModule
from ..schema.parts import metadata
from . import dialect
from .damage import Damage, find, of_key, still_damaged, tables

if TYPE_CHECKING:
    import sqlite3
else:
    sqlite3 = LazyModule("sqlite3")

log = logging.getLogger(__name__)

T = TypeVar("T")
Work: TypeAlias = Callable[[Connection], T]
Transactions: TypeAlias = Generator[Work[Any], T, T]
"""Functions to be run one after the other, in a transaction each; they get what it brings or raises."""

FAULTS: Final = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError, DataError)
"""What is raised by a value that is none of its column: a time that is no time, a word that is no state."""
FRESH: Final = 2.0
"""Seconds for which a row is taken to be as damaged as it was."""
PAUSE: Final = 10.0
"""Seconds for which a table in which nothing was found is not searched again."""
_ROUNDS: Final = 20


def may_be_damage(error: BaseException) -> bool:
    """Whether a stored value may be the reason for an error, and not the database or the way to it."""
    if isinstance(error, OperationalError):
        # Of a function in a statement, such as that for JSON, and, without a code, of a text that is none.
        own = isinstance(error.orig, sqlite3.Error)
        return own and getattr(error.orig, "sqlite_errorcode", sqlite3.SQLITE_ERROR) == sqlite3.SQLITE_ERROR
    return isinstance(error, (*FAULTS, IntegrityError))


class SetAside:
    """The damaged rows of a database, as far as they are known. For any threads.

    Args:
        clock: Seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen_at = 0.0
        self._searched: dict[str, float] = {}
        self.known: tuple[Damage, ...] = ()

    def forget(self) -> None:
        """Look at every row again when it is asked for."""
        with self._lock:
            self.known, self._searched = (), {}

    def of(self, table: str, key: object) -> Damage | None:
        """The damaged row of a table that has this key or name."""
        return next((one for one in self.known if one.table == table and one.is_of(key)), None)

    async def reading(self, run: Callable[[Work[T]], Awaitable[T]], work: Work[T]) -> T:
        """What a function reads, without the rows that cannot be read."""
        return await drive_in_loop(self._reading(work), run)

    async def writing(self, run: Callable[[Work[T]], Awaitable[T]], work: Work[T]) -> T:
        """``reading`` for a function that writes: only if it fails it is done without the rows that cannot be read.

        Raises:
            UnreadableRow: it was asked for one of these.
        """
        return await drive_in_loop(self._writing(work), run)

    def writing_sync(self, run: Callable[[Work[T]], T], work: Work[T]) -> T:
        """``writing`` in a thread."""
        result: T = drive(self._writing(work), run)
        return result

    def _reading(self, work: Work[T]) -> Transactions[T]:
        if not self.known:
            try:
                return (yield partial(_leaving_nothing_open, work))
            except Exception as error:
                if not may_be_damage(error):
                    raise
        elif self._clock() - self._seen_at >= FRESH:
            yield self._refresh
        return (yield from self._without(work, set()))

    def _writing(self, work: Work[T]) -> Transactions[T]:
        try:
            return (yield partial(_leaving_nothing_open, work))
        except Exception as error:
            if not may_be_damage(error):
                raise
        mentioned = set[str]()
        try:
            return (yield from self._without(work, mentioned))
        except Exception as error:
            found = [one for one in self.known if one.table in mentioned]
            # Without the row, a thing is not there, or a name is free that is not.
            if not found or not (isinstance(error, UserError) or may_be_damage(error)):
                raise
            raise UnreadableRow(found[-1].sentence) from error

    def _without(self, work: Work[T], mentioned: set[str]) -> Transactions[T]:
        for _ in range(_ROUNDS):
            known = self.known
            try:
                return (yield partial(self._hiding, work, mentioned))
            except Exception as error:
                if not may_be_damage(error):
                    raise
                yield partial(self.search, names=frozenset(mentioned))
                # It may have been somebody else who found some meanwhile.
                if self.known is known:
                    raise
        return (yield partial(self._hiding, work, mentioned))

    def search(self, conn: Connection, names: Collection[str] | None = None) -> bool:
        """Search tables for damaged rows, all unless named; whether there are some that were not known."""
        more = False
        for table in tables(names):
            if self._clock() - self._searched.get(table.name, -PAUSE) >= PAUSE:
                more = self._note(table.name, find(conn, table, self.known)) or more
        return more

    def _note(self, table: str, found: Sequence[Damage]) -> bool:
        with self._lock:
            keys = {(one.table, one.key) for one in self.known}
            new = [one for one in found if (one.table, one.key) not in keys]
            if not found:
                self._searched[table] = self._clock()
            if not new:
                return False
            self.known += tuple(new)
            self._searched.pop(table, None)
            self._seen_at = self._clock()
        for one in new:
            log.error("left out a row that cannot be read: %s", one.sentence)
        return True

    def _refresh(self, conn: Connection) -> None:
        """Forget the rows that were set right or deleted meanwhile."""
        known = self.known
        well = set(known).difference(still_damaged(conn, known))
        with self._lock:
            self.known = tuple(one for one in self.known if one not in well)
            self._seen_at = self._clock()

    def _hiding(self, work: Work[T], mentioned: set[str], conn: Connection) -> T:
        with hidden(conn, self.known, mentioned):
            return _leaving_nothing_open(work, conn)


def _leaving_nothing_open(work: Work[T], conn: Connection) -> T:
    """Run a function; where it stops in the middle of an answer, its connection goes.

    SQLite would read what comes next on it from the snapshot of the answer that was begun. There it is rolled back
    first: closed, it would keep its lock for as long as anything holds that answer, such as a traceback.
    """
    try:
        return work(conn)
    except Exception as error:
        if may_be_damage(error):
            if not dialect.is_postgresql(conn):
                conn.connection.rollback()
            conn.invalidate(error)
        raise


@contextmanager
def hidden(conn: Connection, rows: Sequence[Damage], mentioned: set[str]) -> Generator[None]:
    """Let the statements on a connection not see these rows, while the block runs.

    Args:
        conn: The connection.
        rows: Which.
        mentioned: Gets the names of the tables that the statements speak of.
    """
    conditions: dict[str, str] = {}
    for one in rows:
        condition = f"NOT ({of_key(conn, one)})"
        conditions[one.table] = f"{conditions[one.table]} AND {condition}" if one.table in conditions else condition
    table = next(iter(metadata.tables.values()))
    schema = conn.dialect.identifier_preparer.schema_for_object(table)

    def rewrite(_conn: object, _cursor: object, statement: str, parameters: Any, *_rest: object) -> tuple[str, Any]:
        mentioned.update(found["table"] for found in _mentions(schema).finditer(statement))
        return without(statement, schema, conditions), parameters

    event.listen(conn, "before_cursor_execute", rewrite, retval=True)
    try:
        yield
    finally:
        event.remove(conn, "before_cursor_execute", rewrite)


@cache
def _mentions(schema: str) -> "re.Pattern[str]":
    """The places where a statement names a table: what stands before it, and the alias behind it."""
    names = "|".join(sorted((one.name for one in metadata.tables.values()), key=len, reverse=True))
    return re.compile(
        rf"(?P<target>\b(?:UPDATE|INTO|DELETE\s+FROM)\s+)?\b{schema}\.(?P<table>{names})\b"
        r"(?:(?P<column>\.)|(?:\s+AS\s+(?P<alias>\w+))|(?:\s+(?!(?:" + _BEHIND + r")\b)(?P<plain>[a-z_]\w*)))?"
        r"(?:\s+INDEXED\s+BY\s+\w+)?",
        re.IGNORECASE,
    )


_BEHIND: Final = (
    "AS|ON|USING|WHERE|GROUP|HAVING|ORDER|LIMIT|OFFSET|FETCH|FOR|WINDOW|UNION|EXCEPT|INTERSECT|JOIN|LEFT|RIGHT|FULL|INNER|"
    "OUTER|CROSS|NATURAL|SET|VALUES|SELECT|DEFAULT|RETURNING|INDEXED|NOT|WITH|LATERAL|TABLESAMPLE|FROM|DO"
)
"""Words that may stand behind a table and are no alias."""


def without(statement: str, schema: str, conditions: dict[str, str]) -> str:
    """A statement in which the tables of ``conditions`` stand for the rows that meet these; but what it writes to."""

    def stand_in(found: "re.Match[str]") -> str:
        table = found["table"]
        if table not in conditions or found["target"]:
            return found[0]
        if found["column"]:
            return f"{table}."
        alias = found["alias"] or found["plain"] or table
        return f"(SELECT * FROM {schema}.{table} WHERE {conditions[table]}) AS {alias}"

    return _mentions(schema).sub(stand_in, statement) if conditions else statement
