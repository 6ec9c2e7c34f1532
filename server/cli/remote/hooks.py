"""``cronograph hooks``: addresses at which other programs start runs."""

from typing import Annotated, Final

import typer

from ....graphql.client.command_line import (
    ADDRESSES,
    CREATE_ADDRESS,
    CREATE_HOOK,
    DELETE_ADDRESS,
    DELETE_HOOK,
    HOOKS,
    UPDATE_HOOK,
)
from ....jobs.core.base.errors import ConfigurationError
from ..base.application import CommandLine
from .api import Api, changes_server
from .lists import Listing, add_list
from .values import FLAG, TEXT, TIME, WORD, given_of

HOOK_LIST: Final = Listing(
    "hooks",
    HOOKS,
    ("name", "isEnabled", "kind", "jobName", "argument", "path", "secrets"),
    {
        **dict.fromkeys(("name", "jobName"), TEXT),
        "kind": WORD,
        "isEnabled": FLAG,
        **dict.fromkeys(("createdAt", "updatedAt"), TIME),
    },
    ("name", "updatedAt"),
)
KINDS: Final = ("github", "stripe", "standard", "bearer")

hooks = CommandLine(help="Look at hooks, create, change and delete them, on a running server.", no_args_is_help=True)
HookName = Annotated[str, typer.Argument(help="Name of the hook.")]
Secrets = Annotated[
    list[str] | None,
    typer.Option("--secret", metavar="NAME", help="A secret that senders know; repeatable, at most 3."),
]
Argument = Annotated[
    str | None, typer.Option("--argument", metavar="NAME", help="The argument of the job that gets the whole payload.")
]
ProofKind = Annotated[str | None, typer.Option("--kind", metavar="WORD", help=f"One of {', '.join(KINDS)}.")]
add_list(hooks, HOOK_LIST, "List hooks.")


@hooks.command(name="create")
@changes_server()
def create_hook(
    api: Api,
    name: HookName,
    job: Annotated[str, typer.Argument(help="Name of the job whose runs it starts.")],
    kind: ProofKind = "bearer",
    secret: Secrets = None,
    argument: Argument = None,
) -> None:
    """Create a hook: an address at which other programs start runs of a job."""
    chosen = {"kind": _kind(kind), "secrets": secret or [], "argument": argument}
    hook = api.change(CREATE_HOOK, name=name, jobName=job, **chosen)["hook"]
    api.result({"hook": hook}, f"Hook {name} takes requests at {api.url.rstrip('/')}{hook['path']}")


@hooks.command(name="update")
@changes_server(version=True)
def update_hook(
    api: Api,
    name: HookName,
    job: Annotated[str | None, typer.Option("--job", metavar="NAME", help="The job whose runs it starts.")] = None,
    kind: ProofKind = None,
    secret: Secrets = None,
    argument: Argument = None,
    enabled: Annotated[bool | None, typer.Option("--enable/--disable", help="Whether it takes requests.")] = None,
) -> None:
    """Change a hook; options that are not given change nothing."""
    proof = None if kind is None else _kind(kind)
    changes = given_of(jobName=job, kind=proof, secrets=secret, argument=argument, enabled=enabled)
    api.result({"hook": api.change(UPDATE_HOOK, name=name, **changes)["hook"]}, f"Hook {name} changed")


@hooks.command(name="delete")
@changes_server(version=True)
def delete_hook(api: Api, name: HookName) -> None:
    """Delete a hook; its address is unknown from then on."""
    api.result({"hook": api.change(DELETE_HOOK, name=name)["hook"]}, f"Hook {name} deleted")


def _kind(word: str | None) -> str:
    if word not in KINDS:
        raise ConfigurationError(f"--kind: must be one of {', '.join(KINDS)}, got {word!r:.40}")
    return word.upper()


ADDRESS_LIST: Final = Listing(
    "addresses",
    ADDRESSES,
    ("id", "kind", "taskName", "createdAt", "createdBy"),
    {"id": TEXT, "kind": WORD, "taskName": TEXT, "createdAt": TIME},
    ("id",),
)
ADDRESS_KINDS: Final = ("ping", "badge", "calendar")

addresses = CommandLine(
    help="Look at addresses for pings, badges and calendars, create and delete them, on a running server.",
    no_args_is_help=True,
)
add_list(addresses, ADDRESS_LIST, "List addresses.")


@addresses.command(name="create")
@changes_server()
def create_address(
    api: Api,
    kind: Annotated[str, typer.Argument(help=f"One of {', '.join(ADDRESS_KINDS)}.")],
    task: Annotated[str | None, typer.Option("--task", metavar="NAME", help="The task. (default: every task)")] = None,
) -> None:
    """Create an address that nobody guesses; it is shown this once."""
    if kind not in ADDRESS_KINDS:
        raise ConfigurationError(f"KIND: must be one of {', '.join(ADDRESS_KINDS)}, got {kind[:40]!r}")
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
