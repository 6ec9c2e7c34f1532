"""``cronograph enqueue``: put a run into the queue."""

from typing import Annotated, Any

import typer

from ....graphql.client.command_line import ENQUEUE
from .api import Api, at_server
from .values import Label, arguments_of, labels_of
from .waiting import Wait, wait_for


@at_server
def enqueue(
    api: Api,
    job: Annotated[str, typer.Argument(help="Name of the job.")],
    pairs: Annotated[list[str] | None, typer.Argument(metavar="[NAME=VALUE]...", help="Its arguments.")] = None,
    args: Annotated[str | None, typer.Option("--args", metavar="JSON", help="Arguments as a JSON object.")] = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="Not before 2030-01-01T00:00:00Z, say.")
    ] = None,
    group: Annotated[str | None, typer.Option("--group", help="Its group.")] = None,
    priority: Annotated[str | None, typer.Option("--priority", help="high or low.")] = None,
    key: Annotated[str | None, typer.Option("--key", help="An unfinished run with this key is taken instead.")] = None,
    label: Label = None,
    wait: Wait = False,
) -> None:
    """Put a run of a job into the queue."""
    given: dict[str, Any] = {
        "jobName": job,
        "args": arguments_of(args, pairs or ()),
        "runAt": at,
        "group": group,
        "priority": None if priority is None else priority.upper(),
        "uniqueKey": key,
        "labels": labels_of(label),
    }
    (made,) = api.change(ENQUEUE, runs=[{name: value for name, value in given.items() if value is not None}])["runs"]
    if wait:
        wait_for(api, made["id"])
        return
    word = "is in the queue already" if made["deduplicated"] else "enqueued"
    api.result({"run": made}, f"Run {made['id']} of {job} {word}")
