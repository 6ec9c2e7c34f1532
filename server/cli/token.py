"""``cronograph token``: personal API tokens, straight in the database, without a server."""

from datetime import timedelta
from typing import Annotated

import typer

from ...jobs.accounts.actions.accounts import the_account
from ...jobs.accounts.actions.fresh import fresh_secret
from ...jobs.accounts.actions.tokens import NewToken, create_token, revoke_token
from ...jobs.accounts.read import accounts, sessions
from ...jobs.accounts.rules.credentials import Prefix, shown_form, stored_form
from ...jobs.accounts.rules.sessions import ApiToken
from ...jobs.core.actor import Role
from ...jobs.store.db.transaction import Tx
from .base.application import CommandLine
from .base.database_command import DatabaseCommand, database_command

token = CommandLine(help="Make, list and revoke personal API tokens, straight in the database.", no_args_is_help=True)


@token.command()
@database_command
def create(
    command: DatabaseCommand,
    user: Annotated[str, typer.Option("--user", help="Whose token it is.")],
    role: Annotated[
        Role | None, typer.Option("--role", help="What it may do, at most what the account may. [default: the same]")
    ] = None,
    name: Annotated[str, typer.Option("--name", help="What it is for.")] = "command line",
    days: Annotated[
        float | None, typer.Option("--days", min=0.001, max=3660, help="How long it lasts. [default: until revoked]")
    ] = None,
) -> None:
    """Make a token and print it alone on standard output. It is shown this once and stored nowhere."""
    secret = fresh_secret(Prefix.API_TOKEN)

    def make(tx: Tx) -> ApiToken:
        account = the_account(tx, user)
        ends = None if days is None else tx.now + timedelta(days=days)
        new = NewToken(name, role or account.role, stored_form(secret), shown_form(secret), ends)
        return create_token(tx, account, new)

    made = command.do(make)
    expires = made.expires_at.isoformat() if made.expires_at else None
    data = {"token": secret, "id": made.id, "role": made.role.value, "expiresAt": expires}
    command.result(data, secret)


@token.command(name="list")
@database_command
def show(
    command: DatabaseCommand,
    user: Annotated[str | None, typer.Option("--user", help="Whose. [default: everybody's]")] = None,
) -> None:
    """List the tokens that are not revoked, without their secrets."""

    def read(tx: Tx) -> list[tuple[str, ApiToken]]:
        owners = [the_account(tx, user)] if user else accounts.everybody(tx.conn)
        names = {one.id: one.name for one in owners}
        return [(names[one.account_id], one) for one in sessions.tokens_of(tx.conn, list(names))]

    found = command.do(read)
    lines = [f"{one.id:<6} {owner:<20} {one.role.value:<9} {one.shown}…  {one.name}" for owner, one in found]
    command.result({"tokens": [_data(*pair) for pair in found]}, "\n".join(lines) or "No tokens yet")


@token.command()
@database_command
def revoke(
    command: DatabaseCommand,
    number: Annotated[int, typer.Argument(metavar="ID", help="The id that `token list` shows.")],
) -> None:
    """Make a token worthless; servers notice within some seconds."""
    gone = command.do(lambda tx: revoke_token(tx, number))
    command.result({"id": gone.id}, f"Token {gone.id} ({gone.name}) is revoked")


def _data(owner: str, one: ApiToken) -> dict[str, object]:
    return {
        "id": one.id,
        "user": owner,
        "name": one.name,
        "role": one.role.value,
        "shown": one.shown,
        "expiresAt": one.expires_at.isoformat() if one.expires_at else None,
        "lastUsedAt": one.last_used_at.isoformat() if one.last_used_at else None,
    }
