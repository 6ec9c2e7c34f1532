"""``cronograph trigger``: make a run now."""

import json
from typing import Annotated, Any, cast

import typer

from ...jobs.core.errors import ConfigurationError
from .client import call
from .options import DEFAULT_SERVER, AsJson, ServerUrl
from .output import Output, Refused

TRIGGER_JOB = """
mutation Trigger($name: String!, $args: JSON) {
  triggerJob(jobName: $name, args: $args) { success message jobName run { id state } }
}
"""
TRIGGER_TASK = """
mutation Trigger($name: String!, $args: JSON) {
  triggerTask(input: { name: $name, args: $args }) { run { id state jobName } errors { code message path } }
}
"""

Arguments = Annotated[
    str | None,
    typer.Option("--args", metavar="JSON", help="Arguments of the job as a JSON object, e.g. '{\"days\": 7}'."),
]


def trigger(
    name: Annotated[str, typer.Argument(help="Name of the job; with --task, of the task.")],
    args: Arguments = None,
    task: Annotated[bool, typer.Option("--task", help="NAME is a task: its arguments and policies apply.")] = False,
    url: ServerUrl = DEFAULT_SERVER,
    as_json: AsJson = False,
) -> None:
    """Make a run of a job (or of a task) now, on a running server.

    The exit status is 0 when a run was made, 1 when the server refused, 3 when it cannot be reached.
    """
    output = Output(as_json=as_json)
    with output.errors():
        variables = {"name": name, "args": _arguments(args)}
        data, message = _trigger_task(url, variables) if task else _trigger_job(url, variables)
        output.result(data, message)


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


def _trigger_job(url: str, variables: dict[str, Any]) -> tuple[dict[str, Any], str]:
    result = call(url, TRIGGER_JOB, variables)["triggerJob"]
    if not result["success"]:
        raise Refused(result["message"])
    return {"ok": True, **result}, f"{result['message']} (run {result['run']['id']})"


def _trigger_task(url: str, variables: dict[str, Any]) -> tuple[dict[str, Any], str]:
    result = call(url, TRIGGER_TASK, variables)["triggerTask"]
    if result["errors"]:
        raise Refused("; ".join(error["message"] for error in result["errors"]))
    return {"ok": True, **result}, f"Task {variables['name']} triggered successfully (run {result['run']['id']})"
