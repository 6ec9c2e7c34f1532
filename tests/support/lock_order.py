"""Records in which order transactions on PostgreSQL take row locks, and which of them wait, against the one order.

By the statements that are sent, not by the server, which keeps row locks in the rows themselves. A lock that is only
tried (``SKIP LOCKED``, ``NOWAIT``) may be taken at any time: nobody waits there, so no circle can close. A change of
rows of a table of which the transaction has locked rows already is taken to be one of these.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple

from sqlalchemy import Connection, Engine, event

from cronograph.jobs.store.schema.types import Part

ORDER: Final = (
    *("node", "flow", "run", "queue_group", "periodic_task", "rate_bucket"),
    *("consumer", "channel", "alarm", "alarm_firing", "delivery"),
)
"""The tables whose rows several parts of the engine lock, in the order of docs/decisions/0034-lock-order.md."""
_RANK: Final = {table: rank for rank, table in enumerate(ORDER)}
_CHANGES: Final = re.compile(rf"\b(?:UPDATE|DELETE FROM)\s+\S*\b({'|'.join(ORDER)})\b")
_LOCKS: Final = re.compile(
    r"\bFOR\s+(?:NO KEY\s+)?(?:UPDATE|SHARE|KEY SHARE)\b(?:\s+OF\s+(?P<of>[\w.\"]+))?"
    r"(?P<tried>\s+(?:SKIP LOCKED|NOWAIT))?"
)
_FROM: Final = re.compile(rf"\b(?:FROM|JOIN)\s+\S*?\b({'|'.join(ORDER)})\b(?:\s+(?:AS\s+)?(?P<alias>[a-z]+)\b)?")
_PART: Final = re.compile(rf"\b({'|'.join(ORDER)})_(?:{'|'.join(Part)})\b")
"""A part of such a table, by its own name."""
_COMMENT: Final = re.compile(r"--[^\n]*")


class Lock(NamedTuple):
    """Rows of a table that a statement locks; ``waits``: for whoever has locked them."""

    table: str
    waits: bool


@cache
def locks_of(statement: str) -> tuple[Lock, ...]:
    """Return the row locks that a statement takes, as far as its text says it, in its order."""
    text = _PART.sub(r"\1", _COMMENT.sub("", statement))
    found: list[tuple[int, Lock]] = []
    tried: set[str] = set()
    for lock in _LOCKS.finditer(text):
        table = _table(text[: lock.start()], lock["of"])
        if table is not None:
            found.append((lock.start(), Lock(table, not lock["tried"])))
            tried.add(table)
    found += [(one.start(), Lock(one[1], True)) for one in _CHANGES.finditer(text) if one[1] not in tried]
    return tuple(lock for _, lock in sorted(found))


def _table(before: str, of: str | None) -> str | None:
    """Return what ``FOR UPDATE`` behind this text locks: the table that it names, or the last one before it."""
    sources = list(_FROM.finditer(_same_query(before)))
    if of is None:
        return sources[-1][1] if sources else None
    name = of.strip('"').rpartition(".")[2]
    if name in _RANK:
        return name
    return next((one[1] for one in reversed(sources) if one["alias"] == name), None)


def _same_query(before: str) -> str:
    """The end of a text that belongs to the query that goes on behind it, without the queries within it."""
    depth, kept = 0, list[str]()
    for letter in reversed(before):
        depth += (letter == ")") - (letter == "(")
        if depth < 0:
            break
        if depth == 0 and letter != "(":
            kept.append(letter)
    return "".join(reversed(kept))


@dataclass(slots=True)
class LockOrder:
    """The locks of open transactions, and those that were taken out of the order.

    Attributes:
        faults: For each, the tables that a transaction had locked, the one that it waited for, and the statement.
    """

    faults: list[str] = field(default_factory=list[str])
    _held: dict[Connection, list[str]] = field(default_factory=dict[Connection, list[str]])
    _before: dict[Connection, list[list[str]]] = field(default_factory=dict[Connection, list[list[str]]])

    def sent(self, conn: Connection, statement: str) -> None:
        """A transaction sends a statement."""
        held = self._held.setdefault(conn, [])
        for lock in locks_of(statement):
            later = [one for one in held if _RANK[one] > _RANK[lock.table]]
            if lock.waits and later and lock.table not in held:
                words = " ".join(_COMMENT.sub("", statement).split())[:300]
                self.faults.append(f"holding {', '.join(held)}, waits for {lock.table}: {words}")
            if lock.table not in held:
                held.append(lock.table)

    def began_savepoint(self, conn: Connection, *_: object) -> None:
        """A transaction begins a savepoint, within those that it has."""
        self._before.setdefault(conn, []).append(list(self._held.get(conn, ())))

    def kept_savepoint(self, conn: Connection, *_: object) -> None:
        """A transaction releases its innermost savepoint."""
        self._before[conn].pop()

    def went_back(self, conn: Connection, *_: object) -> None:
        """A transaction goes back to its innermost savepoint: what it has locked since then is free."""
        self._held[conn] = self._before[conn].pop()

    def ended(self, conn: Connection) -> None:
        """A transaction ends."""
        self._held.pop(conn, None)
        self._before.pop(conn, None)


@contextmanager
def recorded() -> Iterator[LockOrder]:
    """What all transactions of this process on PostgreSQL lock while the block runs."""
    order = LockOrder()

    def on_statement(conn: Connection, _cursor: object, statement: str, *_: object) -> None:
        if conn.dialect.name == "postgresql":
            order.sent(conn, statement)

    listeners: dict[str, Callable[..., None]] = {
        "before_cursor_execute": on_statement,
        "commit": order.ended,
        "rollback": order.ended,
        "savepoint": order.began_savepoint,
        "rollback_savepoint": order.went_back,
        "release_savepoint": order.kept_savepoint,
    }
    for name, listener in listeners.items():
        event.listen(Engine, name, listener)
    try:
        yield order
    finally:
        for name, listener in listeners.items():
            event.remove(Engine, name, listener)
