"""Statements on ``saved_view``."""

from collections.abc import Collection

from sqlalchemy import Connection, delete, select, update
from sqlalchemy.exc import IntegrityError

from ...store.db import dialect
from ...store.schema.tables import saved_view as v
from ..read.views import view_from
from ..rules.views import SavedView


def insert_view(conn: Connection, view: SavedView, account_id: int | None) -> SavedView | None:
    """Keep a new view, with an id of its own; None if its name is taken.

    Args:
        view: The stored view.
        account_id: With whose account it goes; None = with none.
    """
    statement = dialect.insert_or_ignore(conn, v).values(**_values(view), account_id=account_id).returning(v)
    row = conn.execute(statement).one_or_none()
    return None if row is None else view_from(row)


def lock(conn: Connection, view_id: int, scopes: Collection[str]) -> SavedView | None:
    """Return a view of one of these scopes, which nobody else changes before this transaction ends."""
    statement = select(v).where(v.c.id == view_id, v.c.scope.in_(scopes)).with_for_update()
    row = conn.execute(statement).one_or_none()
    return None if row is None else view_from(row)


def update_view(conn: Connection, view: SavedView, account_id: int | None) -> bool:
    """Store a view as it is now; False if its name is taken."""
    statement = update(v).where(v.c.id == view.id).values(**_values(view), account_id=account_id)
    try:
        with conn.begin_nested():
            conn.execute(statement)
    except IntegrityError:
        return False
    return True


def delete_view(conn: Connection, view_id: int) -> None:
    """Delete a view."""
    conn.execute(delete(v).where(v.c.id == view_id))


def _values(view: SavedView) -> dict[str, object]:
    names = ("scope", "page", "name", "search", "created_at", "created_by", "updated_at")
    return {name: getattr(view, name) for name in names}
