"""``cronograph trigger``: make a run now."""

from typing import Annotated, Any

import typer

from ....graphql.client import Client, Run
from ....graphql.client.command_line import TRY_ENQUEUE, TRY_TRIGGER_TASK
from ....jobs.core.base.errors import ConfigurationError
from .api import Api, DryRun, at_server, show_preview
from .names import job_or_task_names
from .values import Label, arguments_of, labels_of
from .waiting import Wait, wait_for

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


@at_server
def trigger(
    api: Api,
    name: JobOrTask,
    args: Arguments = None,
    unique_key: UniqueKey = None,
    task: Annotated[bool, typer.Option("--task", help="NAME is a task: its arguments and policies apply.")] = False,
    label: Label = None,
    wait: Wait = False,
    dry_run: DryRun = False,
) -> None:
    """Make a run of a job (or of a task) now, on a running server.

    The exit status is 0 when a run was made (with --wait: when it succeeded), 1 when the server refused (or the run did
    not succeed), 3 when it cannot be reached.
    """
    given = arguments_of(args)
    if task and unique_key is not None:
        raise ConfigurationError("--unique-key: is for jobs; a run of a task has the key that its job declares")
    if task and label:
        raise ConfigurationError("--label: is for jobs; a run of a task has the labels of the task")
    if dry_run:
        _preview(api, name, given, unique_key, label, is_task=task)
        return
    made = _trigger_task(api.client, name, given) if task else _trigger_job(api.client, name, given, unique_key, label)
    run, data, text = made
    if wait and run is not None:
        wait_for(api, run.id)
        return
    api.result({**data, "run": _summary(run)}, text)


def _preview(
    api: Api, name: str, args: dict[str, Any] | None, key: str | None, label: list[str] | None, *, is_task: bool
) -> None:
    given = {"args": args} if args is not None else {}
    if is_task:
        show_preview(api, api.change(TRY_TRIGGER_TASK, name=name, dryRun=True, **given))
        return
    run = {"jobName": name, "uniqueKey": key, "labels": labels_of(label), **given}
    present = {field: value for field, value in run.items() if value is not None}
    show_preview(api, api.change(TRY_ENQUEUE, runs=[present], dryRun=True))


def _trigger_job(
    client: Client, name: str, args: dict[str, Any] | None, unique_key: str | None, label: list[str] | None
) -> tuple[Run | None, dict[str, Any], str]:
    done = client.trigger_job(name, args, unique_key=unique_key, labels=labels_of(label))
    data = {"success": done.success, "message": done.message, "jobName": done.job_name}
    return done.run, data, f"{done.message} (run {done.run.id if done.run else 'unknown'})"


def _trigger_task(client: Client, name: str, args: dict[str, Any] | None) -> tuple[Run | None, dict[str, Any], str]:
    run = client.trigger_task(name, args)
    return run, {}, f"Task {name} triggered successfully (run {run.id})"


def _summary(run: Run | None) -> dict[str, int | str] | None:
    return None if run is None else {"id": run.id, "state": run.state, "jobName": run.job_name}
