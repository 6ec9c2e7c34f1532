"""The inputs of mutations of accounts, tokens and sessions."""

from datetime import datetime

import strawberry

from ...base.enums import Role


@strawberry.input(description="A new account.")
class CreateAccountInput:
    """The input of ``createAccount``."""

    name: str = strawberry.field(description="Its name, 1 to 100 characters.")
    role: Role = strawberry.field(description="What it may do.")


@strawberry.input(description="Changes of an account; what is absent stays.")
class UpdateAccountInput:
    """The input of ``updateAccount``."""

    name: str = strawberry.field(description="Which account.")
    role: Role | None = strawberry.field(description="What it may do.", default=strawberry.UNSET)
    disabled: bool | None = strawberry.field(
        description="Whether nobody may sign in with it.", default=strawberry.UNSET
    )
    recovery: bool | None = strawberry.field(
        description="Whether to make a link by which its owner sets a new password.", default=strawberry.UNSET
    )


@strawberry.input(description="A new API token.")
class CreateApiTokenInput:
    """The input of ``createApiToken``."""

    name: str = strawberry.field(description="What it is for.")
    role: Role = strawberry.field(description="What it may do, at most what one may oneself.")
    expires_at: datetime | None = strawberry.field(description="When it ends; null = never.", default=strawberry.UNSET)


@strawberry.input(description="An API token by its id.")
class RevokeApiTokenInput:
    """The input of ``revokeApiToken``."""

    id: strawberry.ID = strawberry.field(description="The decimal key.")


@strawberry.input(description="Which sessions.")
class EndSessionsInput:
    """The input of ``endSessions``."""

    id: strawberry.ID | None = strawberry.field(
        description="One session; all but the one of this request unless given.", default=strawberry.UNSET
    )


@strawberry.input(description="A new name for a passkey.")
class RenamePasskeyInput:
    """The input of ``renamePasskey``."""

    id: strawberry.ID = strawberry.field(description="The decimal key.")
    name: str = strawberry.field(description="What to call it, 1 to 200 characters.")


@strawberry.input(description="A passkey by its id.")
class DeletePasskeyInput:
    """The input of ``deletePasskey``."""

    id: strawberry.ID = strawberry.field(description="The decimal key.")


@strawberry.input(description="An identity at a provider by its id.")
class DeleteIdentityInput:
    """The input of ``deleteIdentity``."""

    id: strawberry.ID = strawberry.field(description="The decimal key.")
