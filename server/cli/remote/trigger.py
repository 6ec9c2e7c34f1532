"""``cronograph trigger``: make a run now."""

from typing import Annotated, Any

import typer

from ....graphql.client import Client, Run
from .api import Api, at_server
from .values import arguments_of
from .waiting import Wait, wait_for

Arguments = Annotated[
    str | None,
    typer.Option("--args", metavar="JSON", help="Arguments of the job as a JSON object, e.g. '{\"days\": 7}'."),
]


@at_server
def trigger(
    api: Api,
    name: Annotated[str, typer.Argument(help="Name of the job; with --task, of the task.")],
    args: Arguments = None,
    task: Annotated[bool, typer.Option("--task", help="NAME is a task: its arguments and policies apply.")] = False,
    wait: Wait = False,
) -> None:
    """Make a run of a job (or of a task) now, on a running server.

    The exit status is 0 when a run was made (with --wait: when it succeeded), 1 when the server refused (or the run did
    not succeed), 3 when it cannot be reached.
    """
    given = arguments_of(args)
    act = _trigger_task if task else _trigger_job
    run, data, text = act(api.client, name, given)
    if wait and run is not None:
        wait_for(api, run.id)
        return
    api.result({**data, "run": _summary(run)}, text)


def _trigger_job(client: Client, name: str, args: dict[str, Any] | None) -> tuple[Run | None, dict[str, Any], str]:
    done = client.trigger_job(name, args)
    data = {"success": done.success, "message": done.message, "jobName": done.job_name}
    return done.run, data, f"{done.message} (run {done.run.id if done.run else 'unknown'})"


def _trigger_task(client: Client, name: str, args: dict[str, Any] | None) -> tuple[Run | None, dict[str, Any], str]:
    run = client.trigger_task(name, args)
    return run, {}, f"Task {name} triggered successfully (run {run.id})"


def _summary(run: Run | None) -> dict[str, int | str] | None:
    return None if run is None else {"id": run.id, "state": run.state, "jobName": run.job_name}
