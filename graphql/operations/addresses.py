"""Addresses that nobody guesses: operators make them for pings, badges and calendars."""

from datetime import datetime
from functools import partial
from typing import Final

import strawberry

from ...jobs.delivery import addresses
from ...jobs.delivery.addresses import AddressKind
from ...jobs.store.db.transaction import Tx
from ..base.enums import Described, Role, described
from ..base.fields import mutates
from ..execution.shown import FromModel
from ..lists.connections import Connection
from ..lists.declared import kind_of, listed
from ..lists.filters import DateTimeFilter, Filter, IdFilter, RowFilter, StringFilter, condition, filter_of
from ..resolving.context import Info
from ..types.common import MutationPayload
from .base.changes import given, is_dry, kept_whole, parse_key, perform, perform_once
from .base.inputs import MutationInput, TriedInput, optional


@filter_of("A filter of addresses.")
class AddressFilter(RowFilter):
    """Conditions on addresses."""

    id: IdFilter | None = condition("The key.")
    kind: Filter[AddressKind] | None = condition("The use.")
    task_name: StringFilter | None = condition("The name of the task.")
    created_at: DateTimeFilter | None = condition("The time when the address was created.")


@described("A field by which addresses can be ordered; newest first unless given.")
class AddressOrderField(Described):
    """Fields of addresses to order by."""

    ID = "id", "The key: the order of their creation."


ADDRESS_LIST: Final = kind_of(addresses.ADDRESSES, AddressFilter, AddressOrderField, "addresses")


@strawberry.type(description="An address that nobody guesses, by which programs without an account reach one thing.")
class Address(FromModel):
    """An address without the part that nobody guesses."""

    id: strawberry.ID = strawberry.field(description="The decimal key of the address.")
    kind: AddressKind = strawberry.field(description="The use of the address.")
    task_name: str | None = strawberry.field(
        description="The name of the task that the address is about; null = every task."
    )
    created_at: datetime = strawberry.field(description="The time when the address was created.")
    created_by: str = strawberry.field(description="The person or program that created the address.")


@strawberry.type
class AddressMade(MutationPayload):
    """An address or errors."""

    address: Address | None = strawberry.field(description="The new address.", default=None)
    path: str | None = strawberry.field(
        description="The path of the address below the URL of the server. It is shown once, and null in a dry run.",
        default=None,
    )


@strawberry.type
class AddressDeleted(MutationPayload):
    """An address or errors."""

    address: Address | None = strawberry.field(description="The address, as it was.", default=None)


@strawberry.input(description="The address that `createAddress` creates.")
class CreateAddressInput(TriedInput):
    """The input of ``createAddress``."""

    kind: AddressKind = strawberry.field(description="The use of the address.")
    task_name: str | None = optional(
        "The name of the task that the address is about; for pings one of the job `foreign_job`. Every task unless "
        "given: pings then name the task behind the address, and a badge is refused."
    )


@strawberry.input(description="The address that `deleteAddress` deletes.")
class DeleteAddressInput(MutationInput):
    """The input of ``deleteAddress``."""

    id: strawberry.ID = strawberry.field(description="The id of the address to delete.")


GONE: Final = kept_whole(addresses.Address)


@strawberry.type
class AddressQueries:
    """Queries of addresses."""

    addresses: Connection[Address] | None = listed(
        ADDRESS_LIST,
        lambda: Address,
        description="The addresses for pings, badges and calendars, without the parts that nobody guesses.",
        requires=Role.OPERATOR,
    )


@strawberry.type
class AddressMutations:
    """Everything that changes addresses."""

    @mutates(requires=Role.OPERATOR)
    async def create_address(self, info: Info, input: CreateAddressInput) -> AddressMade:
        """Creates an address for pings, a badge or a calendar. Its path is shown once; only its hash is kept."""
        name = given(input.task_name)
        token = addresses.fresh_token(input.kind, name)
        action = partial(addresses.create_address, kind=input.kind, task_name=name, token=token)
        done = await perform_once(info, input, action)
        return done.answer(
            AddressMade,
            address=Address.from_model,
            path=lambda made: None if is_dry(input) else addresses.path_of(made, token),
        )

    @mutates(requires=Role.OPERATOR)
    async def delete_address(self, info: Info, input: DeleteAddressInput) -> AddressDeleted:
        """Deletes an address. Requests to it are answered as to an unknown one from then on."""

        def action(tx: Tx) -> addresses.Address:
            return addresses.delete_address(tx, parse_key(input.id, "id"))

        done = await perform(info, input, action, GONE)
        return done.answer(AddressDeleted, address=Address.from_model)
