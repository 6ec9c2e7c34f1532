"""Saved views of the dashboard."""

from datetime import datetime

import strawberry

from ..execution.shown import FromModel
from .common import MutationPayload


@strawberry.type(description="An address of the dashboard under a name, for one person or for the team.")
class SavedView(FromModel):
    """A view."""

    id: strawberry.ID = strawberry.field(description="Its decimal key.")
    page: str = strawberry.field(description="The path of the page, such as `/runs`.")
    name: str = strawberry.field(description="What it is called.")
    search: str = strawberry.field(description="The query of the address with its `?`, or nothing.")
    shared: bool = strawberry.field(description="Whether the whole team sees it.")
    created_at: datetime = strawberry.field(description="When it was saved first.")
    created_by: str = strawberry.field(description="By whom.")
    updated_at: datetime = strawberry.field(description="When it was changed last.")


@strawberry.type
class SavedViewChanged(MutationPayload):
    """A view or errors."""

    view: SavedView | None = strawberry.field(description="The view; of a deleted one as it was.", default=None)
