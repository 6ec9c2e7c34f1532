"""``cronograph enqueue``: put a run into the queue."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ....graphql.client import ResourcesInput, Run
from ....graphql.client.command_line import ENQUEUE, ONE_RUN, TRY_ENQUEUE, TRY_TRIGGER_TASK
from ....jobs.core.base.errors import ConfigurationError
from ...process.ending import ExitCode
from .api import Api, DryRun, changes_server, show_preview
from .lists import text_of
from .names import group_names, job_names, job_or_task_names
from .values import Label, Resource, arguments_of, labels_of, resources_of, seconds_of

JobName = Annotated[str, typer.Argument(help="Name of the job.", autocompletion=job_names)]
Pairs = Annotated[list[str] | None, typer.Argument(metavar="[NAME=VALUE]...", help="Its arguments.")]
Args = Annotated[str | None, typer.Option("--args", metavar="JSON", help="Arguments as a JSON object.")]
RunAt = Annotated[
    str | None, typer.Option("--at", metavar="TIME", help="Not before 2030-01-01T00:00:00Z, or in so long: 2h.")
]
Group = Annotated[str | None, typer.Option("--group", help="Its group.", autocompletion=group_names)]
Priority = Annotated[str | None, typer.Option("--priority", help="high or low.")]
Key = Annotated[str | None, typer.Option("--key", help="An unfinished run with this key is taken instead.")]
Ttl = Annotated[
    str | None, typer.Option("--ttl", metavar="TIME", help="It is skipped unless it starts within, e.g. 10m.")
]
ExpiresAt = Annotated[
    str | None, typer.Option("--expires-at", metavar="TIME", help="The same as a time, e.g. 2030-01-01T00:00:00Z.")
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
Wait = Annotated[bool, typer.Option("--wait", help="Wait for its end; the exit status is 0 if it succeeded, else 1.")]


@changes_server(dry_run=False)
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
    resource: Resource = None,
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
        "runAt": api.instant("--at", at),
        "group": group,
        "priority": None if priority is None else priority.upper(),
        "uniqueKey": key,
        "labels": labels_of(label),
        "resources": resources_of(resource),
        "ttl": seconds_of("--ttl", ttl),
        "expiresAt": api.instant("--expires-at", expires_at),
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
    word = "is in the queue already" if made["isDeduplicated"] else "enqueued"
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


Arguments = Annotated[
    str | None,
    typer.Option("--args", metavar="JSON", help="Arguments of the job as a JSON object, e.g. '{\"days\": 7}'."),
]
UniqueKey = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="While a run with this key is unfinished, no second one is made; as the job declares, unless given.",
    ),
]
JobOrTask = Annotated[
    str, typer.Argument(help="Name of the job; with --task, of the task.", autocompletion=job_or_task_names)
]


@changes_server(dry_run=False)
def trigger(
    api: Api,
    name: JobOrTask,
    args: Arguments = None,
    unique_key: UniqueKey = None,
    task: Annotated[bool, typer.Option("--task", help="NAME is a task: its arguments and policies apply.")] = False,
    label: Label = None,
    resource: Resource = None,
    wait: Wait = False,
    dry_run: DryRun = False,
) -> None:
    """Make a run of a job (or of a task) now, on a running server.

    The exit status is 0 when a run was made (with --wait: when it succeeded), 1 when the server refused (or the run did
    not succeed), 3 when it cannot be reached.
    """
    given, asked = arguments_of(args), resources_of(resource)
    if task and unique_key is not None:
        raise ConfigurationError("--unique-key: is for jobs; a run of a task has the key that its job declares")
    if task and label:
        raise ConfigurationError("--label: is for jobs; a run of a task has the labels of the task")
    if dry_run:
        _preview(api, name, {"args": given, "resources": asked}, unique_key, label, is_task=task)
        return
    needs = None if asked is None else ResourcesInput(**asked)
    made = _trigger_task(api, name, given, needs) if task else _trigger_job(api, name, given, unique_key, label, needs)
    run, data, text = made
    if not task and api.client.task(name) is not None:
        api.output.note(f"This was the job '{name}'; to trigger the task of that name, write: trigger --task {name}")
    if wait and run is not None:
        wait_for(api, run.id)
        return
    api.result({**data, "run": _summary(run)}, text)


def _preview(
    api: Api, name: str, asked: dict[str, Any], key: str | None, label: list[str] | None, *, is_task: bool
) -> None:
    given = {field: value for field, value in asked.items() if value is not None}
    if is_task:
        show_preview(api, api.change(TRY_TRIGGER_TASK, name=name, dryRun=True, **given))
        return
    run = {"jobName": name, "uniqueKey": key, "labels": labels_of(label), **given}
    present = {field: value for field, value in run.items() if value is not None}
    show_preview(api, api.change(TRY_ENQUEUE, runs=[present], dryRun=True))


def _trigger_job(
    api: Api,
    name: str,
    args: dict[str, Any] | None,
    unique_key: str | None,
    label: list[str] | None,
    needs: ResourcesInput | None,
) -> tuple[Run | None, dict[str, Any], str]:
    labels = labels_of(label)
    done = api.client.trigger_job(
        name, args, unique_key=unique_key, labels=labels, resources=needs, idempotency_key=api.key
    )
    data = {"success": done.success, "message": done.message, "jobName": done.job_name}
    return done.run, data, f"{done.message} (run {done.run.id if done.run else 'unknown'})"


def _trigger_task(
    api: Api, name: str, args: dict[str, Any] | None, needs: ResourcesInput | None
) -> tuple[Run | None, dict[str, Any], str]:
    run = api.client.trigger_task(name, args, resources=needs, idempotency_key=api.key)
    return run, {}, f"Task {name} triggered successfully (run {run.id})"


def _summary(run: Run | None) -> dict[str, int | str] | None:
    return None if run is None else {"id": run.id, "state": run.state, "jobName": run.job_name}


def wait_for(api: Api, key: str | int) -> None:
    """Wait for a run's end and show it.

    Raises:
        typer.Exit: it did not succeed.
    """
    api.output.note(f"Waiting for run {key}; Ctrl+C stops waiting, not the run")
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
