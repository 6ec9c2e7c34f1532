"""Change saved views. Only the owner changes a personal view; operators change those of the team."""

from dataclasses import dataclass, replace

from ...core.actor import Actor
from ...core.base.errors import AlreadyExists, InvalidState, NotFound, refuse
from ...store.db.transaction import Tx
from ..rules.views import MAX_VIEWS, TEAM, SavedView, scope_of, sharing_faults, view_faults
from ..statements import views as stored_views


@dataclass(frozen=True, slots=True)
class ViewChange:
    """Change a view; None = as it is.

    Attributes:
        search: The query of its address.
        shared: Whether the whole team sees it.
    """

    name: str | None = None
    search: str | None = None
    shared: bool | None = None


def save_view(tx: Tx, person: Actor, page: str, name: str, search: str, *, shared: bool = False) -> SavedView:
    """Keep an address of the dashboard under a name.

    Raises:
        InvalidInput: of the name or the address.
        UserError: code ``FORBIDDEN``: this person may not change views of the team.
        InvalidState: there are too many.
        AlreadyExists: this page has a view of this name.
    """
    refuse(view_faults(page, name, search))
    if shared:
        refuse(sharing_faults(person))
    scope = scope_of(person, shared=shared)
    _check_room(tx, scope)
    view = SavedView(0, scope, page, name, search, tx.now, person.name, tx.now)
    kept = stored_views.insert_view(tx.conn, view, _account_of(person, scope))
    if kept is None:
        raise _taken(view)
    tx.record("view.saved", name, after=_described(kept))
    return kept


def change_view(tx: Tx, person: Actor, view_id: int, change: ViewChange) -> SavedView:
    """Rename a view, point it elsewhere, or move it between oneself and the team.

    Raises:
        NotFound: this person sees no such view.
        InvalidInput: of the name or the address.
        UserError: code ``FORBIDDEN``: this person may not change views of the team.
        InvalidState: there are too many where it shall go.
        AlreadyExists: its page has a view of this name there.
    """
    before = _locked(tx, person, view_id)
    scope = before.scope if change.shared in {None, before.shared} else scope_of(person, shared=bool(change.shared))
    name, search = (before.name if change.name is None else change.name), before.search
    search = search if change.search is None else change.search
    after = replace(before, scope=scope, name=name, search=search, updated_at=tx.now)
    refuse(view_faults(after.page, after.name, after.search))
    if before.shared or after.shared:
        refuse(sharing_faults(person))
    if scope != before.scope:
        _check_room(tx, scope)
    if not stored_views.update_view(tx.conn, after, _account_of(person, scope)):
        raise _taken(after)
    tx.record("view.changed", after.name, before=_described(before), after=_described(after))
    return after


def delete_view(tx: Tx, person: Actor, view_id: int) -> SavedView:
    """Forget a view.

    Raises:
        NotFound: this person sees no such view.
        UserError: code ``FORBIDDEN``: this person may not change views of the team.
    """
    view = _locked(tx, person, view_id)
    if view.shared:
        refuse(sharing_faults(person))
    stored_views.delete_view(tx.conn, view.id)
    tx.record("view.deleted", view.name, before=_described(view))
    return view


def _locked(tx: Tx, person: Actor, view_id: int) -> SavedView:
    view = stored_views.lock(tx.conn, view_id, [TEAM, scope_of(person, shared=False)])
    if view is None:
        raise NotFound(f"id: there is no view {view_id}, or it is another person's", path=("id",))
    return view


def _account_of(person: Actor, scope: str) -> int | None:
    return None if scope == TEAM else person.account_id


def _check_room(tx: Tx, scope: str) -> None:
    if stored_views.count(tx.conn, scope) >= MAX_VIEWS:
        whose = "the team has" if scope == TEAM else "you have"
        raise InvalidState(f"{whose} {MAX_VIEWS} views, the most there may be; delete one first")


def _taken(view: SavedView) -> AlreadyExists:
    whose = "the team has" if view.shared else "you have"
    return AlreadyExists(
        f"name: {whose} a view '{view.name}' of {view.page}; choose another name, or delete it first", path=("name",)
    )


def _described(view: SavedView) -> dict[str, str | bool]:
    return {"page": view.page, "name": view.name, "search": view.search, "shared": view.shared}
