"""Waits for a run: follows its log and progress, and ends with its result."""

from typing import Annotated, Any

import typer

from ....graphql.client.command_line import ONE_RUN
from ...process.ending import ExitCode
from .api import Api
from .lists import text_of

Wait = Annotated[bool, typer.Option("--wait", help="Wait for its end; the exit status is 0 if it succeeded, else 1.")]


def wait_for(api: Api, key: str | int) -> None:
    """Wait for a run's end and show it.

    Raises:
        typer.Exit: it did not succeed.
    """
    api.output.note(f"run {key} is waited for; Ctrl+C leaves it alone")
    shown = 0.0
    for run in api.client.run_updates(int(key)):
        if run.progress is not None and run.progress.done != shown:
            shown = run.progress.done
            total = "" if run.progress.total is None else f" of {run.progress.total:g}"
            api.output.note(f"{shown:g}{total} {run.progress.message or ''}".rstrip())
    found: dict[str, Any] = api.ask(ONE_RUN, id=str(key))["run"]
    succeeded = found["state"] == "SUCCESS"
    last = f": {text_of(found['result'])}" if found["result"] is not None else ""
    why = f": {found['error']}" if found["error"] else ""
    api.output.result(
        {"ok": succeeded, "run": found}, f"Run {key} ended: {found['state'].lower()}{last if succeeded else why}"
    )
    if not succeeded:
        raise typer.Exit(ExitCode.REFUSED)
