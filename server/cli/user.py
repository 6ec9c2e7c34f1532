"""``cronograph user``: accounts, straight in the database, without a server."""

import sys
from typing import Annotated

import typer

from ...jobs.accounts.actions import accounts as actions
from ...jobs.accounts.actions.fresh import fresh_secret
from ...jobs.accounts.read import accounts
from ...jobs.accounts.rules.accounts import MAX_PASSWORD, Account, check_account_name, check_password
from ...jobs.accounts.rules.credentials import Prefix, stored_form
from ...jobs.core.actor import Role
from ...jobs.core.base.errors import ConfigurationError
from ...jobs.store.db.transaction import Tx
from ..auth.passwords import HASHER
from .base.application import CommandLine
from .base.database_command import DatabaseCommand, database_command
from .base.options import DEFAULT_SERVER

user = CommandLine(help="Manage accounts, straight in the database; no server is needed.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Name of the account; upper and lower case are the same.")]
RoleOption = Annotated[Role, typer.Option("--role", help="What the account may do.")]
PasswordStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from the first line of standard input.")
]


@user.command()
@database_command
def add(
    command: DatabaseCommand, name: Name, role: RoleOption = Role.VIEWER, password_stdin: PasswordStdin = False
) -> None:
    """Make an account; without a password it can only be used by tokens until it gets one."""
    hashed = HASHER.hash(_password(name)) if password_stdin else None
    made = command.do(lambda tx: actions.add_account(tx, name, role, hashed))
    command.result({"account": _data(made)}, f"Account {made.name} made, role {made.role.value}")


@user.command(name="list")
@database_command
def show(command: DatabaseCommand) -> None:
    """List the accounts."""
    found = command.do(lambda tx: accounts.everybody(tx.conn))
    lines = [f"{one.name:<30} {one.role.value:<9} {_state(one)}" for one in found]
    command.result({"accounts": [_data(one) for one in found]}, "\n".join(lines) or "No accounts yet")


@user.command()
@database_command
def role(
    command: DatabaseCommand,
    name: Name,
    new_role: Annotated[Role, typer.Argument(metavar="ROLE", help="The new role.")],
) -> None:
    """Change what an account may do; its sign-ins end."""
    changed = command.do(lambda tx: actions.set_role(tx, name, new_role))
    command.result({"account": _data(changed)}, f"Account {changed.name} has role {changed.role.value}")


@user.command()
@database_command
def disable(command: DatabaseCommand, name: Name) -> None:
    """Lock an account out at once: sessions end, tokens stop working, runs in its name fail."""
    changed = command.do(lambda tx: actions.disable(tx, name))
    command.result({"account": _data(changed)}, f"Account {changed.name} is disabled")


@user.command()
@database_command
def enable(command: DatabaseCommand, name: Name) -> None:
    """Let an account sign in again."""
    changed = command.do(lambda tx: actions.enable(tx, name))
    command.result({"account": _data(changed)}, f"Account {changed.name} is enabled")


@user.command()
@database_command
def password(command: DatabaseCommand, name: Name, password_stdin: PasswordStdin = False) -> None:
    """Set the password of an account, asked for or from standard input; its sign-ins end."""
    text = _password(name) if password_stdin else _asked(name)
    hashed = HASHER.hash(text)
    changed = command.do(lambda tx: actions.set_password(tx, name, hashed))
    command.result({"account": _data(changed)}, f"Account {changed.name} has a new password")


@user.command()
@database_command
def link(
    command: DatabaseCommand,
    name: Name,
    url: Annotated[str, typer.Option("--url", envvar="CRONOGRAPH_URL", help="Address of the server.")] = DEFAULT_SERVER,
) -> None:
    """Print a link by which the owner of an account sets a new password, once and within 24 hours."""
    secret = fresh_secret(Prefix.LINK)

    def prepare(tx: Tx) -> str:
        return actions.prepare_recovery(tx, name, stored_form(secret)).isoformat()

    until = command.do(prepare)
    address = f"{url.rstrip('/')}/recover?token={secret}"
    command.result({"link": address, "until": until}, address)


def _data(account: Account) -> dict[str, object]:
    return {
        "name": account.name,
        "role": account.role.value,
        "hasPassword": account.has_password,
        "disabledAt": account.disabled_at and account.disabled_at.isoformat(),
        "createdAt": account.created_at.isoformat(),
    }


def _state(account: Account) -> str:
    return "disabled" if account.disabled_at else "active" if account.has_password else "active, no password"


def _password(name: str) -> str:
    """The first line of standard input.

    Raises:
        ConfigurationError: there is none.
        InvalidInput: it cannot be a password.
    """
    line = sys.stdin.readline(MAX_PASSWORD + 2)
    if not line:
        raise ConfigurationError("--password-stdin: must find the password on standard input, got nothing")
    text = line.removesuffix("\n").removesuffix("\r")
    check_password(text, check_account_name(name))
    return text


def _asked(name: str) -> str:
    if not sys.stdin.isatty():
        raise ConfigurationError("password: there is no terminal to ask at; use --password-stdin")
    text: str = typer.prompt("New password", hide_input=True, confirmation_prompt=True)
    check_password(text, check_account_name(name))
    return text
