"""``cronograph user``, ``token``, ``secret`` and ``audit``: accounts and their belongings, straight in the database."""

import json
import sys
from dataclasses import fields
from datetime import timedelta
from typing import Annotated

import typer

from ...jobs.accounts.actions import accounts as actions
from ...jobs.accounts.actions import secrets as secret_actions
from ...jobs.accounts.actions.accounts import fresh_secret, the_account
from ...jobs.accounts.actions.sessions import NewToken, create_token, revoke_token
from ...jobs.accounts.rules.accounts import MAX_PASSWORD, Account, check_account_name, check_password
from ...jobs.accounts.rules.credentials import Prefix, shown_form, stored_form
from ...jobs.accounts.rules.secrets import MAX_VALUE, KeyRing
from ...jobs.accounts.rules.sessions import ApiToken
from ...jobs.accounts.statements import accounts, sessions
from ...jobs.accounts.statements import secrets as stored_secrets
from ...jobs.accounts.statements.audit import Unreadable, chain
from ...jobs.accounts.statements.audit import verify as verify_chain
from ...jobs.core.actor import Entry, Role, described
from ...jobs.core.base.errors import ConfigurationError
from ...jobs.core.base.times import counted, time_text
from ...jobs.store.db.opening import connected
from ...jobs.store.db.transaction import Tx
from ..auth.passwords import hasher
from ..configuration.secret_keys import key_file, key_source, write_keys
from ..process.ending import ExitCode
from .base.application import CommandLine
from .base.database_command import DatabaseCommand, database_command
from .base.options import DEFAULT_SERVER
from .base.output import Output, answering, print_line
from .remote.values import camel

user = CommandLine(help="Manage accounts, straight in the database; no server is needed.", no_args_is_help=True)

AccountName = Annotated[str, typer.Argument(help="Name of the account; upper and lower case are the same.")]
RoleOption = Annotated[Role, typer.Option("--role", help="The role of the account.")]
PasswordStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from the first line of standard input.")
]


@user.command(name="add")
@database_command
def add_account(
    command: DatabaseCommand, name: AccountName, role: RoleOption = Role.VIEWER, password_stdin: PasswordStdin = False
) -> None:
    """Make an account; without a password it can only be used by tokens until it gets one."""
    hashed = hasher().hash(_password_of(name)) if password_stdin else None
    made = command.do(lambda tx: actions.add_account(tx, name, role, hashed))
    command.result({"account": _account_data(made)}, f"Account {made.name} made, role {made.role.value}")


@user.command(name="list")
@database_command
def list_accounts(command: DatabaseCommand) -> None:
    """List the accounts."""
    found = command.do(lambda tx: accounts.everybody(tx.conn))
    lines = [f"{one.name:<30} {one.role.value:<9} {_account_state(one)}" for one in found]
    command.result({"accounts": [_account_data(one) for one in found]}, "\n".join(lines) or "No accounts yet")


@user.command(name="role")
@database_command
def change_role(
    command: DatabaseCommand,
    name: AccountName,
    new_role: Annotated[Role, typer.Argument(metavar="ROLE", help="The new role.")],
) -> None:
    """Change the role of an account; its sign-ins end."""
    changed = command.do(lambda tx: actions.set_role(tx, name, new_role))
    command.result({"account": _account_data(changed)}, f"Account {changed.name} has role {changed.role.value}")


@user.command(name="disable")
@database_command
def disable_account(command: DatabaseCommand, name: AccountName) -> None:
    """Lock an account out at once: sessions end, tokens stop working, runs in its name fail."""
    changed = command.do(lambda tx: actions.disable(tx, name))
    command.result({"account": _account_data(changed)}, f"Account {changed.name} is disabled")


@user.command(name="enable")
@database_command
def enable_account(command: DatabaseCommand, name: AccountName) -> None:
    """Let an account sign in again."""
    changed = command.do(lambda tx: actions.enable(tx, name))
    command.result({"account": _account_data(changed)}, f"Account {changed.name} is enabled")


@user.command(name="password")
@database_command
def change_password(command: DatabaseCommand, name: AccountName, password_stdin: PasswordStdin = False) -> None:
    """Set the password of an account, asked for or from standard input; its sign-ins end."""
    text = _password_of(name) if password_stdin else _asked_password(name)
    hashed = hasher().hash(text)
    changed = command.do(lambda tx: actions.set_password(tx, name, hashed))
    command.result({"account": _account_data(changed)}, f"Account {changed.name} has a new password")


@user.command(name="link")
@database_command
def print_link(
    command: DatabaseCommand,
    name: AccountName,
    url: Annotated[str, typer.Option("--url", envvar="CRONOGRAPH_URL", help="Address of the server.")] = DEFAULT_SERVER,
) -> None:
    """Print a link by which the owner of an account sets a new password, once and within 24 hours."""
    secret = fresh_secret(Prefix.LINK)

    def prepare(tx: Tx) -> str:
        return time_text(actions.prepare_recovery(tx, name, stored_form(secret)))

    until = command.do(prepare)
    address = f"{url.rstrip('/')}/recover?token={secret}"
    command.result({"link": address, "until": until}, address)


def _account_data(account: Account) -> dict[str, object]:
    return {
        "name": account.name,
        "role": account.role.value,
        "hasPassword": account.has_password,
        "disabledAt": account.disabled_at and time_text(account.disabled_at),
        "createdAt": time_text(account.created_at),
    }


def _account_state(account: Account) -> str:
    return "disabled" if account.disabled_at else "active" if account.has_password else "active, no password"


def _password_of(name: str) -> str:
    """Return the first line of standard input.

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


def _asked_password(name: str) -> str:
    if not sys.stdin.isatty():
        raise ConfigurationError("password: there is no terminal to ask at; use --password-stdin")
    text: str = typer.prompt("New password", hide_input=True, confirmation_prompt=True)
    check_password(text, check_account_name(name))
    return text


token = CommandLine(help="Make, list and revoke personal API tokens, straight in the database.", no_args_is_help=True)


@token.command(name="create")
@database_command
def make_token(
    command: DatabaseCommand,
    user: Annotated[str, typer.Option("--user", help="Whose token it is.")],
    role: Annotated[
        Role | None, typer.Option("--role", help="Its role, at most that of the account. [default: the same]")
    ] = None,
    name: Annotated[str, typer.Option("--name", help="Its purpose.")] = "command line",
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
    expires = time_text(made.expires_at) if made.expires_at else None
    data = {"token": secret, "id": made.id, "role": made.role.value, "expiresAt": expires}
    command.result(data, secret)


@token.command(name="list")
@database_command
def list_tokens(
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
    command.result({"tokens": [_token_data(*pair) for pair in found]}, "\n".join(lines) or "No tokens yet")


@token.command(name="revoke")
@database_command
def revoke_one(
    command: DatabaseCommand,
    number: Annotated[int, typer.Argument(metavar="ID", help="The id that `token list` shows.")],
) -> None:
    """Make a token worthless; servers notice within some seconds."""
    gone = command.do(lambda tx: revoke_token(tx, number))
    command.result({"id": gone.id}, f"Token {gone.id} ({gone.name}) is revoked")


def _token_data(owner: str, one: ApiToken) -> dict[str, object]:
    return {
        "id": one.id,
        "user": owner,
        "name": one.name,
        "role": one.role.value,
        "shown": one.shown,
        "expiresAt": time_text(one.expires_at) if one.expires_at else None,
        "lastUsedAt": time_text(one.last_used_at) if one.last_used_at else None,
    }


secret = CommandLine(
    help="Keep passwords and tokens for arguments, encrypted, straight in the database.", no_args_is_help=True
)

SecretName = Annotated[str, typer.Argument(help='What arguments call it: {"$secret": "NAME"}.')]


@secret.command(name="set")
@database_command
def set_secret(command: DatabaseCommand, name: SecretName) -> None:
    """Keep the value that is read from standard input; a line break at its end is left out."""
    command.check_database()
    value, ring = _secret_value(), key_source(command.settings)()
    kept = command.do(lambda tx: secret_actions.set_secret(tx, name, value, ring))
    command.result({"name": kept.name, "keyId": kept.key_id}, f"Secret {kept.name} set")


@secret.command(name="list")
@database_command
def list_secrets(command: DatabaseCommand) -> None:
    """List the secrets without their values, and the tasks that use them."""

    def read(tx: Tx) -> list[dict[str, object]]:
        users = stored_secrets.users(tx.conn)
        return [
            {
                "name": one.name,
                "keyId": one.key_id,
                "updatedAt": time_text(one.updated_at),
                "updatedBy": one.updated_by,
                "usedBy": users.get(one.name, []),
            }
            for one in stored_secrets.everything(tx.conn)
        ]

    found = command.do(read)
    lines = [f"{one['name']:<30} set by {one['updatedBy']} at {one['updatedAt']}" for one in found]
    command.result({"secrets": found}, "\n".join(lines) or "No secrets yet")


@secret.command(name="delete")
@database_command
def delete_secret(
    command: DatabaseCommand,
    name: SecretName,
    force: Annotated[bool, typer.Option("--force", help="Also if something uses it, which fails then.")] = False,
) -> None:
    """Forget a secret."""
    gone = command.do(lambda tx: secret_actions.delete_secret(tx, name, force=force))
    command.result({"name": gone.name}, f"Secret {gone.name} deleted")


@secret.command(name="new-key")
@answering
def new_secret_key(output: Output) -> None:
    """Print a new key for CRONOGRAPH_SECRET_KEY, and nothing else."""
    key = secret_actions.fresh_key()
    output.result({"ok": True, "key": key.text, "keyId": key.id}, key.text)


@secret.command(name="rotate-key")
@database_command
def rotate_secret_key(command: DatabaseCommand) -> None:
    """Encrypt all secrets with the newest key.

    Where the keys are in a file, a new one is made and the older ones are forgotten; a running server notices. Where
    CRONOGRAPH_SECRET_KEY holds them, put the new key before the old one on every node first ("NEW,OLD"), restart the
    nodes, run this command, and take the old one away.
    """
    command.check_database()
    settings = command.settings
    ring, path = key_source(settings)(), key_file(settings)
    if path is not None:
        ring = KeyRing((secret_actions.fresh_key(), *ring.keys))
        # The server must have the new key before anything is encrypted with it.
        write_keys(path, ring)
    count = command.do(lambda tx: secret_actions.reseal_all(tx, ring))
    if path is not None:
        write_keys(path, KeyRing(ring.keys[:1]))
    data = {"keyId": ring.newest.id, "secrets": count}
    command.result(data, f"Encrypted {counted(count, 'secret')} with the key {ring.newest.id}")


def _secret_value() -> str:
    if sys.stdin.isatty():
        raise ConfigurationError("the value must come by standard input, e.g. `cronograph secret set NAME < file`")
    value = sys.stdin.read(MAX_VALUE + 2)
    return value.removesuffix("\n").removesuffix("\r")


audit = CommandLine(help="Look at the audit log, straight in the database.", no_args_is_help=True)


@audit.command(name="verify")
@database_command
def verify_audit(
    command: DatabaseCommand,
    expect: Annotated[
        str | None, typer.Option("--expect", help="A hash that was printed before and must still be in the chain.")
    ] = None,
) -> None:
    """Compute the chain of hashes again; the status is 1 if an entry was changed or is missing.

    Keep the newest hash somewhere else: with `--expect` a rewritten chain is noticed, too.
    """
    with connected(command.check_database()) as connection:
        found = verify_chain(connection)
        known = expect is None or any(stored == expect for _, stored in chain(connection))
    fault = found.fault or (None if known else f"no entry has the hash {expect}")
    if fault is not None:
        command.output.failed([f"audit log: {fault}"], ExitCode.REFUSED)
        raise typer.Exit(ExitCode.REFUSED)
    words = (
        f"The audit log is whole: {counted(found.entries, 'entry', 'entries')}; the newest has the hash {found.newest}"
    )
    command.result({"entries": found.entries, "newest": found.newest}, words)


@audit.command(name="export")
@database_command
def export_audit(command: DatabaseCommand) -> None:
    """Write all entries to standard output, the oldest first, one JSON object a line.

    An entry that cannot be read has `unreadable` in the place of its contents, and the status is 1.
    """
    faults: list[str] = []
    with connected(command.check_database()) as connection:
        for entry, stored in chain(connection):
            if isinstance(entry, Unreadable):
                faults.append(f"audit log: entry {entry.id} cannot be read: {entry.fault}")
                print_line(json.dumps({"id": entry.id, "unreadable": entry.fault, "hash": stored}))
            else:
                print_line(json.dumps({**_entry_line(entry), "hash": stored}))
    if faults:
        command.output.failed(faults, ExitCode.REFUSED)
        raise typer.Exit(ExitCode.REFUSED)


def _entry_line(entry: Entry) -> dict[str, object]:
    values = {camel(one.name): getattr(entry, one.name) for one in fields(entry)}
    texts = {"before": described(entry.before), "after": described(entry.after)}
    return {**values, **texts, "at": time_text(entry.at)}
