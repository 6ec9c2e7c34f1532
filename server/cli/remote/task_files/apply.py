"""``cronograph apply``: bring tasks about as files want them."""

from pathlib import Path
from typing import Annotated

import typer

from .....graphql.client.command_line import APPLY_TASKS
from ..api import Api, at_server
from .plan import AllowDelete, Prune
from .sets import in_words, request_of


@at_server
def apply(
    api: Api,
    path: Annotated[Path, typer.Argument(help="A YAML or TOML file of tasks, a folder of them, or a kept plan.")],
    prune: Prune = False,
    allow_delete: AllowDelete = 0,
) -> None:
    """Create, change and archive tasks, and set limits of groups, as the files want them, in one transaction.

    A plan that `plan --out` has kept is refused if one of its tasks or groups has changed since.
    """
    request = request_of(path, prune=prune, allow_delete=allow_delete)
    answer = api.change(APPLY_TASKS, **request.input(dry_run=False))
    api.result({"tasks": answer["planned"], "groups": answer["groups"]}, in_words(answer, done=True))
