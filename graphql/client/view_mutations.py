"""The ready-made mutations of the dashboard's saved views; they are found in ``mutations``."""

from typing import Unpack

from .builders import changed, present
from .mutation_parts import MutationOptions
from .operation import Operation
from .records import SavedView


def save_view(
    page: str, name: str, search: str = "", *, shared: bool = False, **options: Unpack[MutationOptions]
) -> Operation[SavedView]:
    """Save an address of the dashboard under a name.

    Args:
        page: The path of the page, such as ``/runs``.
        name: What the view is called; one person, and the team, has each name once on a page.
        search: The query of the address with its ``?``, percent-encoded; empty for the page as it is.
        shared: Whether the whole team sees it; needs the role ``OPERATOR``.
    """
    return changed(
        "saveView",
        {"page": page, "name": name, "search": search, "shared": shared, **present(**options)},
        SavedView,
        "view",
    )


def update_view(
    id: int,
    *,
    name: str | None = None,
    search: str | None = None,
    shared: bool | None = None,
    **options: Unpack[MutationOptions],
) -> Operation[SavedView]:
    """Rename a saved view, point it elsewhere, or move it between oneself and the team; None = as it is.

    Args:
        id: Its key.
        name: What it is called from now on.
        search: The query of its address from now on; empty for the page as it is.
        shared: Whether the whole team sees it from now on; what concerns the team needs the role ``OPERATOR``.
    """
    return changed("updateView", present(id=id, name=name, search=search, shared=shared, **options), SavedView, "view")


def delete_view(id: int, **options: Unpack[MutationOptions]) -> Operation[SavedView]:
    """Delete a saved view; the answer is the view as it was. One of the team needs the role ``OPERATOR``."""
    return changed("deleteView", present(id=id, **options), SavedView, "view")
