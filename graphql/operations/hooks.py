"""Hooks, which administrators create: addresses at which other programs start runs."""

from datetime import datetime
from functools import partial
from typing import Any, ClassVar, Final

import strawberry
from strawberry.scalars import JSON

from ...jobs.delivery import hooks, inbound
from ...jobs.delivery.inbound import HookKind
from ..base.enums import Described, Role, described
from ..base.fields import Size, mutates, sized
from ..execution.shown import FromModel, Makers
from ..lists.connections import Connection
from ..lists.declared import kind_of, listed
from ..lists.filters import BooleanFilter, DateTimeFilter, Filter, RowFilter, StringFilter, condition, filter_of
from ..resolving.context import Info
from ..types.common import MutationPayload
from .base.changes import changed, given, kept_whole, perform
from .base.inputs import MutationInput, optional

_SECRETS: Final = Size(default=inbound.MAX_SECRETS, most=inbound.MAX_SECRETS)


@filter_of("A filter of hooks.")
class HookFilter(RowFilter):
    """Conditions on hooks."""

    name: StringFilter | None = condition("The name.")
    job_name: StringFilter | None = condition("The name of the job.")
    kind: Filter[HookKind] | None = condition("The form of the proof.")
    enabled: BooleanFilter | None = condition("Whether the hook takes requests.", "isEnabled")
    created_at: DateTimeFilter | None = condition("The time when the hook was created.")
    updated_at: DateTimeFilter | None = condition("The time when the hook was last changed.")


@described("A field by which hooks can be ordered; by name unless given.")
class HookOrderField(Described):
    """Fields of hooks to order by."""

    NAME = "name", "The name."
    UPDATED_AT = "updated_at", "The time when the hook was last changed."


HOOK_LIST: Final = kind_of(hooks.HOOKS, HookFilter, HookOrderField, "hooks")


@strawberry.type(description="An address at which requests of other programs start runs of a job.")
class Hook(FromModel):
    """A hook without the values of its secrets."""

    name: str = strawberry.field(description="The unique name of the hook.")
    path: str = strawberry.field(
        description="The path of the address below the URL of the server: `/hooks/` and the name."
    )
    job_name: str = strawberry.field(description="The name of the job whose runs the hook starts.")
    kind: HookKind = strawberry.field(description="The form in which senders prove that they know a secret.")
    secrets: list[str] = strawberry.field(
        description="The names of the secrets; a request by any of them is taken.", metadata=sized(_SECRETS)
    )
    argument: str | None = strawberry.field(
        description="The argument of the job that gets the whole payload; null = the members of the payload are the "
        "arguments."
    )
    description: str = strawberry.field(description="The purpose of the hook, in words.")
    enabled: bool = strawberry.field(name="isEnabled", description="Whether the hook takes requests.")
    version: int = strawberry.field(description="The number of changes of the hook, from 1.")
    created_at: datetime = strawberry.field(description="The time when the hook was created.")
    created_by: str = strawberry.field(description="The person or program that created the hook.")
    updated_at: datetime = strawberry.field(description="The time when the hook was last changed.")
    set_name: str | None = strawberry.field(
        description="The set of the task file that defines the hook; null if people created it."
    )
    definition: JSON = strawberry.field(description="The hook as a task file has it, an object.")

    MADE: ClassVar[Makers] = {
        "path": lambda one: f"/hooks/{one.name}",
        "secrets": lambda one: list(one.secrets),
        "definition": lambda one: one.definition,
    }


@strawberry.type
class HookChanged(MutationPayload):
    """A hook or errors."""

    hook: Hook | None = strawberry.field(description="The hook; a deleted one as it was.", default=None)


@strawberry.input(description="A hook as a file defines it.")
class HookOfSetInput:
    """A wanted hook."""

    name: str = strawberry.field(
        description="The unique name of the hook, a part of its address: 1 to 100 letters, digits, `.`, `_` and `-`."
    )
    job_name: str = strawberry.field(description="The name of the job whose runs the hook starts.")
    kind: HookKind = strawberry.field(description="The form in which senders prove that they know a secret.")
    secrets: list[str] = strawberry.field(
        description="The names of 1 to 3 secrets of at least 16 characters. A request by any of them is taken, so that "
        "a sender can be moved from one to the next.",
        metadata={"size": _SECRETS},
    )
    argument: str | None = optional(
        "The argument of the job that gets the whole payload. The members of the payload are the arguments unless "
        "given."
    )
    description: str = strawberry.field(
        description="The purpose of the hook, at most 10,000 characters. Empty unless given.", default=""
    )

    def wanted(self, *, enabled: bool = True) -> inbound.Hook:
        """Return the engine's form."""
        return hooks.new_hook(
            self.name,
            self.job_name,
            self.kind,
            secrets=tuple(self.secrets),
            argument=given(self.argument),
            description=self.description,
            enabled=enabled,
        )


@strawberry.input(description="The hook that `createHook` creates.")
class CreateHookInput(HookOfSetInput, MutationInput):
    """The input of ``createHook``."""

    enabled: bool = strawberry.field(description="False creates the hook disabled. True unless given.", default=True)


@strawberry.input
class HookInput(MutationInput):
    """The input of a mutation that changes one hook."""

    name: str = strawberry.field(description="The name of the hook.")
    expected_version: int | None = optional(
        "The `version` that the hook must still have, or else the change is refused. Any version unless given."
    )


@strawberry.input(description="The changes of a hook that `updateHook` makes. Absent fields stay as they are.")
class UpdateHookInput(HookInput):
    """The input of ``updateHook``."""

    job_name: str | None = optional("The name of the job whose runs the hook starts. Unchanged unless given.")
    kind: HookKind | None = optional("The form of the proof. Unchanged unless given.")
    secrets: list[str] | None = optional("The names of 1 to 3 secrets. Unchanged unless given.", _SECRETS)
    argument: str | None = optional(
        "The argument that gets the whole payload; null = the members of the payload are the arguments. Unchanged "
        "unless given."
    )
    description: str | None = optional("The purpose of the hook; null = empty. Unchanged unless given.")
    enabled: bool | None = optional("False lets the hook take no requests; null = true. Unchanged unless given.")

    def changes(self) -> dict[str, Any]:
        """Return the values that are given, by the names of the model."""
        kept = dict.fromkeys(("job_name", "kind", "secrets"), strawberry.UNSET)
        return changed(self, {**kept, "description": "", "enabled": True, "argument": None})


@strawberry.input(description="The hook that `deleteHook` deletes.")
class DeleteHookInput(HookInput):
    """The input of ``deleteHook``."""


HOOK: Final = kept_whole(inbound.Hook)


@strawberry.type
class HookQueries:
    """Queries of hooks."""

    hooks: Connection[Hook] | None = listed(
        HOOK_LIST, lambda: Hook, description="The hooks, without the values of their secrets.", requires=Role.OPERATOR
    )


@strawberry.type
class HookMutations:
    """Everything that changes hooks."""

    @mutates(requires=Role.ADMIN)
    async def create_hook(self, info: Info, input: CreateHookInput) -> HookChanged:
        """Creates a hook: an address at which requests that are proven by a secret start runs of a job."""
        wanted = input.wanted(enabled=input.enabled)
        done = await perform(info, input, partial(hooks.create_hook, hook=wanted, ring=info.context.keys()), HOOK)
        return done.answer(HookChanged, hook=Hook.from_model)

    @mutates(requires=Role.ADMIN)
    async def update_hook(self, info: Info, input: UpdateHookInput) -> HookChanged:
        """Changes a hook. Requests from then on are judged by the new values."""
        action = partial(
            hooks.update_hook,
            name=input.name,
            changes=input.changes(),
            ring=info.context.keys(),
            expected=given(input.expected_version),
        )
        done = await perform(info, input, action, HOOK)
        return done.answer(HookChanged, hook=Hook.from_model)

    @mutates(requires=Role.ADMIN)
    async def delete_hook(self, info: Info, input: DeleteHookInput) -> HookChanged:
        """Deletes a hook. Its address is unknown from then on; runs that it started go on."""
        action = partial(hooks.delete_hook, name=input.name, expected=given(input.expected_version))
        done = await perform(info, input, action, HOOK)
        return done.answer(HookChanged, hook=Hook.from_model)
