"""``cronograph secret``: secrets for arguments, straight in the database, without a server."""

import sys
from typing import Annotated

import typer

from ...jobs.accounts.actions import secrets as actions
from ...jobs.accounts.read import secrets as stored_secrets
from ...jobs.accounts.rules.sealing import KeyRing
from ...jobs.accounts.rules.secrets import MAX_VALUE
from ...jobs.core.base.errors import ConfigurationError
from ...jobs.store.db.transaction import Tx
from ..configuration.secret_keys import key_file, key_source, write_keys
from .base.application import CommandLine
from .base.database_command import DatabaseCommand, database_command
from .base.output import Output, answering

secret = CommandLine(
    help="Keep passwords and tokens for arguments, encrypted, straight in the database.", no_args_is_help=True
)

Name = Annotated[str, typer.Argument(help='What arguments call it: {"$secret": "NAME"}.')]


@secret.command(name="set")
@database_command
def keep(command: DatabaseCommand, name: Name) -> None:
    """Keep the value that is read from standard input; a line break at its end is left out."""
    command.check_database()
    value, ring = _value(), key_source(command.settings)()
    kept = command.do(lambda tx: actions.set_secret(tx, name, value, ring))
    command.result({"name": kept.name, "keyId": kept.key_id}, f"Secret {kept.name} set")


@secret.command(name="list")
@database_command
def show(command: DatabaseCommand) -> None:
    """List the secrets without their values, and the tasks that use them."""

    def read(tx: Tx) -> list[dict[str, object]]:
        users = stored_secrets.users(tx.conn)
        return [
            {
                "name": one.name,
                "keyId": one.key_id,
                "updatedAt": one.updated_at.isoformat(),
                "updatedBy": one.updated_by,
                "usedBy": users.get(one.name, []),
            }
            for one in stored_secrets.everything(tx.conn)
        ]

    found = command.do(read)
    lines = [f"{one['name']:<30} set by {one['updatedBy']} at {one['updatedAt']}" for one in found]
    command.result({"secrets": found}, "\n".join(lines) or "No secrets yet")


@secret.command()
@database_command
def delete(
    command: DatabaseCommand,
    name: Name,
    force: Annotated[bool, typer.Option("--force", help="Also if tasks use it; their runs fail from then on.")] = False,
) -> None:
    """Forget a secret."""
    gone = command.do(lambda tx: actions.delete_secret(tx, name, force=force))
    command.result({"name": gone.name}, f"Secret {gone.name} deleted")


@secret.command()
@answering
def new_key(output: Output) -> None:
    """Print a new key for CRONOGRAPH_SECRET_KEY, and nothing else."""
    key = actions.fresh_key()
    output.result({"ok": True, "key": key.text, "keyId": key.id}, key.text)


@secret.command()
@database_command
def rotate_key(command: DatabaseCommand) -> None:
    """Encrypt all secrets with the newest key.

    Where the keys are in a file, a new one is made and the older ones are forgotten; a running server notices. Where
    CRONOGRAPH_SECRET_KEY holds them, put the new key before the old one on every node first ("NEW,OLD"), restart the
    nodes, run this command, and take the old one away.
    """
    command.check_database()
    settings = command.settings
    ring, path = key_source(settings)(), key_file(settings)
    if path is not None:
        ring = KeyRing((actions.fresh_key(), *ring.keys))
        # The server must have the new key before anything is encrypted with it.
        write_keys(path, ring)
    count = command.do(lambda tx: actions.reseal_all(tx, ring))
    if path is not None:
        write_keys(path, KeyRing(ring.keys[:1]))
    data = {"keyId": ring.newest.id, "secrets": count}
    command.result(data, f"{count} secrets are encrypted with the key {ring.newest.id} now")


def _value() -> str:
    if sys.stdin.isatty():
        raise ConfigurationError("the value must come by standard input, e.g. `cronograph secret set NAME < file`")
    value = sys.stdin.read(MAX_VALUE + 2)
    return value.removesuffix("\n").removesuffix("\r")
