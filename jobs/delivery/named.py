"""Keep things that have a unique name and a version, one a row: alarms, channels, webhooks and hooks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, delete, select, true, update

from ..core.base.errors import AlreadyExists, VersionConflict
from ..core.rules import unknown
from ..store.db import dialect
from ..store.db.transaction import Tx

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Named(Generic[M]):
    """Find and change things of one kind.

    Attributes:
        kind: The word for one.
        table: The rows; they have a column ``name``.
        model: Returns the thing of a row.
        values: Returns the row of a thing, with its ``name`` and ``version``.
        ours: The rows of a table that are of this kind.
        taken: The words for all that share the name, for a refusal.
    """

    kind: str
    table: Table
    model: Callable[[Row[Any]], M]
    values: Callable[[M], Mapping[str, object]]
    ours: ColumnElement[bool] = field(default_factory=true)
    taken: str = ""

    def _rows(self, *conditions: ColumnElement[bool], lock: bool) -> Select[Any]:
        found = select(self.table).where(self.ours, *conditions).order_by(self.table.c.name)
        return found.with_for_update() if lock else found

    def find(self, conn: Connection, name: str, *, lock: bool = False) -> M | None:
        """Return the one of a name."""
        row = conn.execute(self._rows(self.table.c.name == name, lock=lock)).one_or_none()
        return None if row is None else self.model(row)

    def having(self, conn: Connection, *conditions: ColumnElement[bool]) -> list[M]:
        """Return those for which all conditions hold, locked in the order of their names."""
        return [self.model(row) for row in conn.execute(self._rows(*conditions, lock=True))]

    def update(self, conn: Connection, one: M) -> M:
        """Store one as it is now."""
        values = self.values(one)
        changed = update(self.table).where(self.table.c.name == values["name"]).values(values)
        return self.model(conn.execute(changed.returning(self.table)).one())

    def delete(self, conn: Connection, name: str) -> None:
        """Delete the one of a name."""
        conn.execute(delete(self.table).where(self.table.c.name == name))


def locked(named: Named[M], tx: Tx, name: str, expected: int | None = None) -> M:
    """Return the one of a name, which nobody else changes before this transaction ends.

    Raises:
        NotFound: there is none of this name.
        VersionConflict: it is at another version than the caller expects.
    """
    found = named.find(tx.conn, name, lock=True)
    if found is None:
        names = select(named.table.c.name).where(named.ours).order_by(named.table.c.name)
        raise unknown(named.kind, name, list(tx.conn.execute(names).scalars()))
    version = named.values(found)["version"]
    if expected is not None and expected != version:
        raise VersionConflict(
            f"expectedVersion: {named.kind} '{name}' is at version {version}, got {expected}; read it again "
            "and repeat the change on the new version",
            path=("expectedVersion",),
        )
    return found


def insert(named: Named[M], conn: Connection, one: M, **more: object) -> M:
    """Keep a new one; ``more``: further columns.

    Raises:
        AlreadyExists: its name is taken.
    """
    values = {**named.values(one), **more}
    row = conn.execute(dialect.insert_or_ignore(conn, named.table).values(values).returning(named.table)).one_or_none()
    if row is None:
        there_is = named.taken or f"{'an' if named.kind == 'alarm' else 'a'} {named.kind}"
        raise AlreadyExists(
            f"name: there is {there_is} '{values['name']}'; choose another name, or update it", path=("name",)
        )
    return named.model(row)
