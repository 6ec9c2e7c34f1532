"""``cronograph addresses``: addresses that nobody guesses, for pings, badges and calendars."""

from typing import Annotated, Final

import typer

from ....graphql.client.command_line import ADDRESSES, CREATE_ADDRESS, DELETE_ADDRESS
from ....jobs.core.base.errors import ConfigurationError
from ..base.application import CommandLine
from .api import Api, changes_server
from .lists import Listing, add_list
from .values import TEXT, TIME, WORD

ADDRESS_LIST: Final = Listing(
    "addresses",
    ADDRESSES,
    ("id", "kind", "taskName", "createdAt", "createdBy"),
    {"id": TEXT, "kind": WORD, "taskName": TEXT, "createdAt": TIME},
    ("id",),
)
KINDS: Final = ("ping", "badge", "calendar")

addresses = CommandLine(
    help="Look at addresses for pings, badges and calendars, create and delete them, on a running server.",
    no_args_is_help=True,
)
add_list(addresses, ADDRESS_LIST, "List addresses.")


@addresses.command(name="create")
@changes_server()
def create_address(
    api: Api,
    kind: Annotated[str, typer.Argument(help=f"One of {', '.join(KINDS)}.")],
    task: Annotated[str | None, typer.Option("--task", metavar="NAME", help="The task. (default: every task)")] = None,
) -> None:
    """Create an address that nobody guesses; it is shown this once."""
    if kind not in KINDS:
        raise ConfigurationError(f"KIND: must be one of {', '.join(KINDS)}, got {kind[:40]!r}")
    made = api.change(CREATE_ADDRESS, kind=kind.upper(), taskName=task)
    shown = "an address that is shown once" if made["path"] is None else f"{api.url.rstrip('/')}{made['path']}"
    api.result({"address": made["address"], "path": made["path"]}, shown)


@addresses.command(name="delete")
@changes_server()
def delete_address(
    api: Api, address_id: Annotated[str, typer.Argument(help="Id of the address.", metavar="ID")]
) -> None:
    """Delete an address; requests to it are answered as to an unknown one."""
    api.result({"address": api.change(DELETE_ADDRESS, id=address_id)["address"]}, f"Address {address_id} deleted")
