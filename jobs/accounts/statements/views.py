"""Read and change saved views."""

from collections.abc import Collection

from sqlalchemy import Connection, delete, func, select, update
from sqlalchemy.exc import IntegrityError

from ...store.db import dialect
from ...store.schema.rows import reader_of
from ...store.schema.tables import saved_view as v
from ..rules.views import SavedView

view_from = reader_of(SavedView)
"""The view behind a row."""


def of_scopes(conn: Connection, scopes: Collection[str], page: str | None = None) -> list[SavedView]:
    """Return the views of these scopes, of one page or of all, by page and name."""
    statement = select(v).where(v.c.scope.in_(scopes)).order_by(v.c.page, v.c.name, v.c.id)
    if page is not None:
        statement = statement.where(v.c.page == page)
    return [view_from(row) for row in conn.execute(statement)]


def count(conn: Connection, scope: str) -> int:
    """Return how many views a scope has."""
    return conn.execute(select(func.count()).select_from(v).where(v.c.scope == scope)).scalar_one()


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
