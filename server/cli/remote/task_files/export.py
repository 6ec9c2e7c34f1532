"""``cronograph export``: the present tasks as a file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .....graphql.client.command_line import EXPORTED_GROUPS, EXPORTED_TASKS
from .....jobs.core.base.errors import ConfigurationError
from ....task_files.writing import UNSET_NAME, files_of, has_limits
from ..api import Api, at_server

MOST = 100_000


@at_server
def export(
    api: Api,
    set_name: Annotated[str | None, typer.Option("--set", metavar="NAME", help="Only the tasks of this set.")] = None,
    unset: Annotated[
        str, typer.Option("--as", metavar="NAME", help="The set to write for tasks that are of none.")
    ] = UNSET_NAME,
    out: Annotated[Path | None, typer.Option("--out", help="Write to this file instead of standard output.")] = None,
) -> None:
    """Write the present tasks and limits of groups in the form that `apply` reads; tasks of code are left out.

    A document for each set, and one for the groups, which `--set` leaves out: they are of no set.
    What is exported and applied changes nothing, but that tasks of no set get one.
    """
    tasks: list[dict[str, Any]] = [
        task
        for task in api.rows(EXPORTED_TASKS, MOST)
        if task["source"] != "CODE" and (set_name is None or task["setName"] == set_name)
    ]
    groups = [] if set_name is not None else [one for one in api.rows(EXPORTED_GROUPS, MOST) if has_limits(one)]
    text = files_of(tasks, unset, groups)
    if out is None:
        api.result({"tasks": tasks, "groups": groups}, text.rstrip("\n"))
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"--out: cannot write {out}: {error.strerror}") from None
    limited = f" and the limits of {len(groups)} group{'s' if len(groups) > 1 else ''}" if groups else ""
    summary = f"{len(tasks)} tasks{limited}"
    api.result({"tasks": tasks, "groups": groups, "file": str(out)}, f"{summary} written to {out}")
