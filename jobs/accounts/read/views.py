"""Saved views: those that a person sees."""

from collections.abc import Collection

from sqlalchemy import Connection, func, select

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
