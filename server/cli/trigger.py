"""``cronograph trigger``: make a run now."""

import json
from typing import Annotated, Any, cast

import typer

from ...graphql.client import Client, Run
from ...jobs.core.base.errors import ConfigurationError
from .client import server_at
from .options import DEFAULT_SERVER, ServerUrl
from .output import Output, answering

Arguments = Annotated[
    str | None,
    typer.Option("--args", metavar="JSON", help="Arguments of the job as a JSON object, e.g. '{\"days\": 7}'."),
]


@answering
def trigger(
    output: Output,
    name: Annotated[str, typer.Argument(help="Name of the job; with --task, of the task.")],
    args: Arguments = None,
    task: Annotated[bool, typer.Option("--task", help="NAME is a task: its arguments and policies apply.")] = False,
    url: ServerUrl = DEFAULT_SERVER,
) -> None:
    """Make a run of a job (or of a task) now, on a running server.

    The exit status is 0 when a run was made, 1 when the server refused, 3 when it cannot be reached.
    """
    given = _arguments(args)
    with server_at(url) as client:
        act = _trigger_task if task else _trigger_job
        output.result(*act(client, name, given))


def _arguments(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ConfigurationError(
            f"--args: must be a JSON object such as '{{\"days\": 7}}', got {text[:80]!r}: {error}"
        ) from None
    if not isinstance(value, dict):
        raise ConfigurationError(f"--args: must be a JSON object such as '{{\"days\": 7}}', got {text[:80]!r}")
    return cast("dict[str, Any]", value)


def _trigger_job(client: Client, name: str, args: dict[str, Any] | None) -> tuple[dict[str, Any], str]:
    done = client.trigger_job(name, args)
    made = _summary(done.run)
    data = {"ok": True, "success": done.success, "message": done.message, "jobName": done.job_name, "run": made}
    return data, f"{done.message} (run {made['id'] if made else 'unknown'})"


def _trigger_task(client: Client, name: str, args: dict[str, Any] | None) -> tuple[dict[str, Any], str]:
    run = client.trigger_task(name, args)
    return {"ok": True, "run": _summary(run)}, f"Task {name} triggered successfully (run {run.id})"


def _summary(run: Run | None) -> dict[str, int | str] | None:
    return None if run is None else {"id": run.id, "state": run.state, "jobName": run.job_name}
