"""``cronograph plan``: what `apply` would do."""

from pathlib import Path
from typing import Annotated

import typer

from .....graphql.client.command_line import APPLY_TASKS
from ....process.ending import ExitCode
from ..api import Api, at_server
from .sets import differs, in_words, keep, request_of

Files = Annotated[Path, typer.Argument(help="A YAML or TOML file of tasks, or a folder of them.")]
Prune = Annotated[bool, typer.Option("--prune", help="Archive tasks of these sets that the files do not name.")]
AllowDelete = Annotated[
    int,
    typer.Option("--allow-delete", min=0, metavar="N", help="Let N tasks go although they are most of their set."),
]


@at_server
def plan(
    api: Api,
    path: Files,
    prune: Prune = False,
    allow_delete: AllowDelete = 0,
    out: Annotated[
        Path | None, typer.Option("--out", help="Keep the plan in this .json file; `apply FILE` does just that.")
    ] = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit status 6 when something differs.")
    ] = False,
) -> None:
    """Show what `apply` would create, change and archive, and which limits of groups it would set; nothing is changed.

    The exit status is 0, with --detailed-exitcode 6 when something differs; 1 when the server refuses the tasks.
    """
    request = request_of(path, prune=prune, allow_delete=allow_delete)
    answer = api.change(APPLY_TASKS, **request.input(dry_run=True))
    if out is not None:
        keep(out, request, answer)
    changed = differs(answer)
    shown = {"differs": changed, "tasks": answer["planned"], "groups": answer["groups"]}
    api.result(shown, in_words(answer, done=False))
    if detailed_exitcode and changed:
        raise typer.Exit(ExitCode.DIFFERS)
