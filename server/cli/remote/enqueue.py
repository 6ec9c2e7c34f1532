"""``cronograph enqueue``: put a run into the queue."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ....graphql.client.command_line import ENQUEUE, TRY_ENQUEUE
from ....jobs.core.base.errors import ConfigurationError
from .api import Api, DryRun, at_server, show_preview
from .names import group_names, job_names
from .values import Label, arguments_of, labels_of, seconds_of
from .waiting import Wait, wait_for

JobName = Annotated[str, typer.Argument(help="Name of the job.", autocompletion=job_names)]
Pairs = Annotated[list[str] | None, typer.Argument(metavar="[NAME=VALUE]...", help="Its arguments.")]
Args = Annotated[str | None, typer.Option("--args", metavar="JSON", help="Arguments as a JSON object.")]
RunAt = Annotated[str | None, typer.Option("--at", metavar="TIME", help="Not before 2030-01-01T00:00:00Z, say.")]
Group = Annotated[str | None, typer.Option("--group", help="Its group.", autocompletion=group_names)]
Priority = Annotated[str | None, typer.Option("--priority", help="high or low.")]
Key = Annotated[str | None, typer.Option("--key", help="An unfinished run with this key is taken instead.")]
Ttl = Annotated[
    str | None, typer.Option("--ttl", metavar="TIME", help="It is skipped unless it starts within, e.g. 10m.")
]
ExpiresAt = Annotated[
    str | None, typer.Option("--expires-at", metavar="TIME", help="The same as a time, 2030-01-01T00:00:00Z, say.")
]
UniqueFor = Annotated[
    str | None, typer.Option("--unique-for", metavar="TIME", help="The key holds at least so long, e.g. 1h.")
]
UntilStart = Annotated[bool, typer.Option("--unique-until-start", help="The key is free once the run has begun.")]
Debounce = Annotated[
    str | None,
    typer.Option(
        "--debounce",
        metavar="DELAY[/MAX]",
        help="One run for many enqueues of the key, with the last arguments, e.g. 5s or 5s/1m.",
    ),
]
Throttle = Annotated[
    str | None, typer.Option("--throttle", metavar="PERIOD", help="At most one run of the key in a period.")
]
ThrottleLast = Annotated[
    bool, typer.Option("--throttle-last", help="With --throttle: the last one runs at the period's end.")
]


@at_server
def enqueue(
    api: Api,
    job: JobName,
    pairs: Pairs = None,
    args: Args = None,
    at: RunAt = None,
    group: Group = None,
    priority: Priority = None,
    key: Key = None,
    label: Label = None,
    ttl: Ttl = None,
    expires_at: ExpiresAt = None,
    unique_for: UniqueFor = None,
    until_start: UntilStart = False,
    debounce: Debounce = None,
    throttle: Throttle = None,
    throttle_last: ThrottleLast = False,
    wait: Wait = False,
    dry_run: DryRun = False,
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
        "ttl": seconds_of("--ttl", ttl),
        "expiresAt": expires_at,
        "uniqueFor": seconds_of("--unique-for", unique_for),
        "uniqueAmong": ["WAITING"] if until_start else None,
        "debounce": _debounce(debounce),
        "throttle": _throttle(throttle, last=throttle_last),
    }
    run = {name: value for name, value in given.items() if value is not None}
    if dry_run:
        show_preview(api, api.change(TRY_ENQUEUE, runs=[run], dryRun=True))
    else:
        _enqueue(api, run, wait=wait)


def _enqueue(api: Api, run: Mapping[str, Any], *, wait: bool) -> None:
    (made,) = api.change(ENQUEUE, runs=[run])["runs"]
    if wait:
        wait_for(api, made["id"])
        return
    word = "is in the queue already" if made["deduplicated"] else "enqueued"
    api.result({"run": made}, f"Run {made['id']} of {run['jobName']} {word}")


def _debounce(text: str | None) -> dict[str, float | None] | None:
    if text is None:
        return None
    delay, slash, most = text.partition("/")
    debounce = {"delay": seconds_of("--debounce", delay)}
    return {**debounce, "maxWait": seconds_of("--debounce", most)} if slash else debounce


def _throttle(text: str | None, *, last: bool) -> dict[str, float | bool | None] | None:
    if text is None:
        if last:
            raise ConfigurationError("--throttle-last: is for --throttle; give the period, e.g. --throttle 1m")
        return None
    return {"period": seconds_of("--throttle", text), "last": last}
