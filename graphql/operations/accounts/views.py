"""Saved views: one's own, and those of the team, which operators change."""

from datetime import datetime
from functools import partial
from typing import Annotated, Final

import strawberry

from ....jobs.accounts.actions import views as actions
from ....jobs.accounts.rules import views as model
from ....jobs.accounts.rules.views import MAX_VIEWS, TEAM, scope_of
from ....jobs.accounts.statements import views as stored
from ....jobs.store.db.transaction import Tx
from ...base.enums import Role
from ...base.fields import Size, mutates, resolved
from ...base.scalars import checked_text
from ...execution.shown import FromModel
from ...resolving.context import Info
from ...types.common import MutationPayload
from ..base.changes import given, kept_whole, parse_key, perform
from ..base.inputs import MutationInput


@strawberry.type(description="An address of the dashboard under a name, for one person or for the team.")
class SavedView(FromModel):
    """A view."""

    id: strawberry.ID = strawberry.field(description="The decimal key of the view.")
    page: str = strawberry.field(description="The path of the page, such as `/runs`.")
    name: str = strawberry.field(description="The name of the view.")
    search: str = strawberry.field(description="The query of the address with its `?`, or nothing.")
    shared: bool = strawberry.field(name="isShared", description="Whether the whole team sees it.")
    created_at: datetime = strawberry.field(description="The time when the view was first saved.")
    created_by: str = strawberry.field(description="The person who first saved the view.")
    updated_at: datetime = strawberry.field(description="The time when the view was last changed.")


@strawberry.type
class SavedViewChanged(MutationPayload):
    """A view or errors."""

    view: SavedView | None = strawberry.field(description="The view; of a deleted one as it was.", default=None)


@strawberry.input(description="The view of the dashboard that `saveView` saves.")
class SaveViewInput(MutationInput):
    """The input of ``saveView``."""

    page: str = strawberry.field(description="The path of the page, such as `/runs`, at most 200 characters.")
    name: str = strawberry.field(
        description="The name of the view, 1 to 200 characters; a person, and the team, has each name once on a page."
    )
    search: str = strawberry.field(
        description="The query of the address with its `?`, percent-encoded, at most 2,000 characters; empty for the "
        "page as it is."
    )
    shared: bool = strawberry.field(
        description="True shows the view to the whole team, which needs the role OPERATOR. False unless given.",
        default=False,
    )


@strawberry.input(description="The changes of a view that `updateView` makes. Absent fields stay as they are.")
class UpdateViewInput(MutationInput):
    """The input of ``updateView``."""

    id: strawberry.ID = strawberry.field(description="The id of the view to change.")
    name: str | None = strawberry.field(
        description="The new name of the view, 1 to 200 characters. Unchanged unless given.", default=strawberry.UNSET
    )
    search: str | None = strawberry.field(
        description="The new query of the view's address. Unchanged unless given.", default=strawberry.UNSET
    )
    shared: bool | None = strawberry.field(
        description="True shows the view to the whole team, false to you alone. Unchanged unless given.",
        default=strawberry.UNSET,
    )


@strawberry.input(description="The view that `deleteView` deletes.")
class DeleteViewInput(MutationInput):
    """The input of ``deleteView``."""

    id: strawberry.ID = strawberry.field(description="The id of the view to delete.")


VIEW: Final = kept_whole(model.SavedView)


@strawberry.type
class ViewQueries:
    """Queries of views."""

    @resolved(size=Size(default=2 * MAX_VIEWS, most=2 * MAX_VIEWS), requires=Role.VIEWER)
    async def saved_views(
        self,
        info: Info,
        page: Annotated[str | None, strawberry.argument(description="Only of this page, such as `/runs`.")] = None,
    ) -> list[SavedView] | None:
        """One's own saved views of the dashboard and those of the team, by page and name."""
        chosen = None if page is None else checked_text(page, "page")
        scopes = [TEAM, scope_of(info.context.person.actor, shared=False)]
        return [
            SavedView.from_model(view) for view in await info.context.database.read(stored.of_scopes, scopes, chosen)
        ]


@strawberry.type
class ViewMutations:
    """Everything that changes views."""

    @mutates(requires=Role.VIEWER)
    async def save_view(self, info: Info, input: SaveViewInput) -> SavedViewChanged:
        """Saves a view. One of the team needs OPERATOR."""
        action = partial(
            actions.save_view,
            person=info.context.person.actor,
            page=input.page,
            name=input.name,
            search=input.search,
            shared=input.shared,
        )
        done = await perform(info, input, action, VIEW)
        return done.answer(SavedViewChanged, view=SavedView.from_model)

    @mutates(
        description="Renames a view, points it elsewhere, or moves it between oneself and the team; a view of the "
        "team needs OPERATOR.",
        requires=Role.VIEWER,
    )
    async def update_view(self, info: Info, input: UpdateViewInput) -> SavedViewChanged:
        """The view as it is now."""
        change = actions.ViewChange(given(input.name), given(input.search), given(input.shared))

        def action(tx: Tx) -> model.SavedView:
            return actions.change_view(tx, info.context.person.actor, parse_key(input.id, "id"), change)

        done = await perform(info, input, action, VIEW)
        return done.answer(SavedViewChanged, view=SavedView.from_model)

    @mutates(requires=Role.VIEWER)
    async def delete_view(self, info: Info, input: DeleteViewInput) -> SavedViewChanged:
        """Deletes a view. One of the team needs OPERATOR."""

        def action(tx: Tx) -> model.SavedView:
            return actions.delete_view(tx, info.context.person.actor, parse_key(input.id, "id"))

        done = await perform(info, input, action, VIEW)
        return done.answer(SavedViewChanged, view=SavedView.from_model)
