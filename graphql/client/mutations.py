"""The ready-made mutations. Each function makes an operation; ``Client`` and ``AsyncClient`` have it as a method.

All raise ``RefusedError`` when the server refuses the input: nothing was changed then. ``idempotency_key`` makes a
repetition safe: within 24 hours the same key with the same request answers as before and changes nothing. With
``dry_run`` the server makes the change, answers it, and takes it back; for mutations that make runs there is another
function, whose name begins with ``preview``.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Unpack

from .base.errors import Refusal
from .base.shapes import Seconds, read, read_all, selection
from .builders import ERRORS, Argument, changed, document, mutation, present, refuse, variables, whole
from .enums import Priority, WhenFull
from .inputs import (
    DebounceInput,
    NewFlowRun,
    NewRun,
    ResourcesInput,
    ScheduleInput,
    TaskChanges,
    TaskSettings,
    ThrottleInput,
)
from .mutation_parts import (
    KeyOption,
    MutationOptions,
    RunChoice,
    TaskChoice,
    TaskOptions,
    WebhookOptions,
    chosen,
    deleted_tasks,
    many_tasks,
    selected,
    settings_of,
)
from .operation import Operation
from .records import Flow, Group, Job, Node, Preview, Run, SavedView, Task, TriggeredJob, Webhook
from .results import ChangedRuns, ChangedTasks, DeletedTasks, Pruning


def trigger_job(  # noqa: PLR0913 - each setting of a run has a name of its own
    name: str,
    args: Mapping[str, Any] | None = None,
    *,
    unique_key: str | None = None,
    labels: Mapping[str, str] | None = None,
    unique_for: Seconds | None = None,
    unique_among: Sequence[str] | None = None,
    debounce: DebounceInput | None = None,
    throttle: ThrottleInput | None = None,
    expires_at: datetime | None = None,
    ttl: Seconds | None = None,
    resources: ResourcesInput | None = None,
    dry_run: bool = False,
    idempotency_key: str | None = None,
) -> Operation[TriggeredJob]:
    """Make a run of a job now.

    Args:
        name: The job.
        args: Its arguments.
        unique_key: While a run with this key is unfinished, that one is answered; as the job declares, unless given.
        labels: Words by which it is found, in addition to those of the job.
        unique_for: The unique key holds so long after the enqueueing, or until the run is finished; seconds or a
            ``timedelta``.
        unique_among: ``["WAITING"]``: the unique key is free once the run has begun.
        debounce: One run for many enqueues of the unique key, with the last arguments.
        throttle: At most one run of the unique key is enqueued in a period.
        expires_at: It is skipped, with the reason ``EXPIRED``, unless it has started by then.
        ttl: The same as a duration from when it may start.
        resources: Those at the engine of the job, each over that of the job.
        dry_run: Change nothing; ``preview`` has the fate of the run, ``message`` the same in words.
        idempotency_key: Makes a repetition safe.
    """

    def answer(data: Mapping[str, Any]) -> TriggeredJob:
        payload = read(dict[str, Any], data.get("triggerJob"), "triggerJob")
        refuse(read_all(Refusal, payload.get("errors", ()), "triggerJob.errors"))
        triggered = read(TriggeredJob, payload, "triggerJob")
        if not triggered.success:
            refuse([Refusal(code="REFUSED", message=triggered.message)])
        return triggered

    arguments = {
        "jobName": Argument("String!", name),
        "args": Argument("JSON", args),
        "idempotencyKey": Argument("String", idempotency_key),
        "uniqueKey": Argument("String", unique_key),
        "labels": Argument("JSON", labels),
        "uniqueFor": Argument("Float", unique_for),
        "uniqueAmong": Argument("[RunState!]", None if unique_among is None else list(unique_among)),
        "resources": Argument("ResourcesInput", resources),
        "debounce": Argument("DebounceInput", debounce),
        "throttle": Argument("ThrottleInput", throttle),
        "expiresAt": Argument("DateTime", expires_at),
        "ttl": Argument("Float", ttl),
        "dryRun": Argument("Boolean", dry_run or None),
    }
    text = document("mutation", "triggerJob", arguments, f"{selection(TriggeredJob)} {ERRORS}")
    return Operation(document=text, variables=variables(arguments), read=answer)


def trigger_task(
    name: str,
    args: Mapping[str, Any] | None = None,
    *,
    resources: ResourcesInput | None = None,
    **options: Unpack[KeyOption],
) -> Operation[Run]:
    """Make a run of a task now, with ``args`` or else its own; its schedule does not move, its overlap policy holds.

    ``resources`` at the engine of its job are each over that of the task.
    """
    return changed("triggerTask", present(name=name, args=args, resources=resources, **options), Run)


def preview_task(name: str, args: Mapping[str, Any] | None = None) -> Operation[Preview]:
    """Predict ``trigger_task``, and why the run would wait; nothing is changed."""
    return _predicted("triggerTask", present(name=name, args=args))


def enqueue_runs(runs: Sequence[NewRun], **options: Unpack[KeyOption]) -> Operation[tuple[Run, ...]]:
    """Put runs into the queue, all or none; those whose unique key existed already say ``is_deduplicated``."""
    given = present(runs=list(runs), **options)
    fields = f"runs {{ {selection(Run)} }}"
    return mutation(
        "enqueueRuns", given, fields, lambda payload: read_all(Run, payload.get("runs"), "enqueueRuns.runs")
    )


def preview_runs(runs: Sequence[NewRun]) -> Operation[Preview]:
    """Predict ``enqueue_runs``, and why each run would wait; nothing is changed."""
    return _predicted("enqueueRuns", present(runs=list(runs)))


def _predicted(field: str, given: Mapping[str, object]) -> Operation[Preview]:
    fields = f"preview {{ {selection(Preview)} }}"
    tried = {**given, "dryRun": True}
    return mutation(field, tried, fields, lambda payload: read(Preview, payload.get("preview"), f"{field}.preview"))


def cancel_run(id: int, *, reason: str | None = None, **options: Unpack[MutationOptions]) -> Operation[Run]:
    """Cancel a run: at once while it waits or is stuck, through the job's ``should_stop`` while it runs."""
    return changed("cancelRun", present(id=id, reason=reason, **options), Run)


def cancel_runs(*, reason: str | None = None, **choice: Unpack[RunChoice]) -> Operation[ChangedRuns]:
    """Cancel many runs, named by ``ids``, by ``filter``, or ``all`` of them; finished ones are left as they are."""
    return whole("cancelRuns", present(reason=reason, **selected("runs", choice)), ChangedRuns)


def update_run(
    id: int,
    *,
    args: Mapping[str, Any] | None = None,
    run_at: datetime | None = None,
    **options: Unpack[MutationOptions],
) -> Operation[Run]:
    """Change when a run that waits is due, and its arguments as long as it has not begun; None changes nothing."""
    return changed("updateRun", present(id=id, args=args, runAt=run_at, **options), Run)


def signal_run(
    name: str,
    payload: object = None,
    *,
    id: int | None = None,
    unique_key: str | None = None,
    reject: str | None = None,
    **options: Unpack[MutationOptions],
) -> Operation[Run]:
    """Send a signal to an unfinished run, named by its ``id`` or its ``unique_key``; with ``reject`` it says no."""
    run = chosen(id=id, uniqueKey=unique_key)
    given = present(name=name, run=run, payload=payload, reject=reject, **options)
    return changed("signalRun", given, Run)


def retry_run(
    id: int, *, args: Mapping[str, Any] | None = None, from_step: str | None = None, **options: Unpack[KeyOption]
) -> Operation[Run]:
    """Make a new run like a finished one, with ``args`` instead of its own if given.

    With ``from_step`` it has the results of the steps that began before that one.
    """
    return changed("retryRun", present(id=id, args=args, fromStep=from_step, **options), Run)


def preview_retry(
    id: int, *, args: Mapping[str, Any] | None = None, from_step: str | None = None
) -> Operation[Preview]:
    """Predict ``retry_run``, and why the new run would wait; nothing is changed."""
    return _predicted("retryRun", present(id=id, args=args, fromStep=from_step))


def retry_runs(*, exclude_retried: bool | None = None, **choice: Unpack[RunChoice]) -> Operation[ChangedRuns]:
    """Make new runs like finished ones, named by ``ids``, by ``filter``, or ``all`` of them.

    A filter leaves out those that were retried already, unless ``exclude_retried`` is False.
    """
    given = present(excludeRetried=exclude_retried, **selected("runs", choice))
    return whole("retryRuns", given, ChangedRuns)


def retry_run_now(id: int, **options: Unpack[MutationOptions]) -> Operation[Run]:
    """Make a run that waits for its time, or for its retry, due now."""
    return changed("retryRunNow", present(id=id, **options), Run)


def retry_runs_now(**choice: Unpack[RunChoice]) -> Operation[ChangedRuns]:
    """Make many runs that wait for their time due now, named by ``ids``, by ``filter``, or ``all`` of them."""
    return whole("retryRunsNow", present(**selected("runs", choice)), ChangedRuns)


def set_run_priorities(priority: Priority, **choice: Unpack[RunChoice]) -> Operation[ChangedRuns]:
    """Change the priority of waiting and stuck runs, named by ``ids``, by ``filter``, or ``all`` of them."""
    return whole("setRunPriorities", present(priority=priority, **selected("runs", choice)), ChangedRuns)


def create_task(
    name: str,
    job_name: str,
    schedule: ScheduleInput,
    *,
    idempotency_key: str | None = None,
    **settings: Unpack[TaskSettings],
) -> Operation[Task]:
    """Make a task; its name is unique, and stays. ``settings`` are those that differ from the defaults."""
    given = present(name=name, jobName=job_name, schedule=schedule, idempotencyKey=idempotency_key)
    return changed("createTask", {**given, **settings_of(settings)}, Task)


def update_task(
    name: str,
    *,
    expected_version: int | None = None,
    idempotency_key: str | None = None,
    **changes: Unpack[TaskChanges],
) -> Operation[Task]:
    """Change a task: absent settings stay, None sets the default.

    Args:
        name: Which task.
        expected_version: Refuse if the task was edited since this ``version`` was read.
        idempotency_key: Makes a repetition safe.
        **changes: The new settings.
    """
    given = present(name=name, expectedVersion=expected_version, idempotencyKey=idempotency_key)
    return changed("updateTask", {**given, **settings_of(changes)}, Task)


def delete_task(name: str, **options: Unpack[TaskOptions]) -> Operation[str]:
    """Delete a task; answers its name. Waiting runs of it are cancelled, its history stays."""
    return mutation(
        "deleteTask",
        present(name=name, **options),
        "deletedName",
        lambda payload: read(str, payload.get("deletedName"), "deleteTask.deletedName"),
    )


def delete_tasks_of_owner(owner: str, **options: Unpack[MutationOptions]) -> Operation[DeletedTasks]:
    """Delete all tasks of an owner who is gone; their waiting runs are cancelled, their history stays."""
    return deleted_tasks("deleteTasksOfOwner", present(owner=owner, **options))


def pause_task(name: str, *, reason: str | None = None, **options: Unpack[TaskOptions]) -> Operation[Task]:
    """Pause a task: its occurrences are recorded as skipped until it is resumed."""
    return changed("pauseTask", present(name=name, reason=reason, **options), Task)


def resume_task(name: str, **options: Unpack[TaskOptions]) -> Operation[Task]:
    """End the pause of a task."""
    return changed("resumeTask", present(name=name, **options), Task)


def reset_task(name: str, **options: Unpack[TaskOptions]) -> Operation[Task]:
    """Give a task that is declared in code its declared settings back."""
    return changed("resetTask", present(name=name, **options), Task)


def pause_tasks(*, reason: str | None = None, **choice: Unpack[TaskChoice]) -> Operation[ChangedTasks]:
    """Pause many tasks, by ``names``, by ``filter``, or ``all`` of them."""
    return many_tasks("pauseTasks", present(reason=reason, **selected("tasks", choice)))


def resume_tasks(**choice: Unpack[TaskChoice]) -> Operation[ChangedTasks]:
    """Resume many paused tasks, by ``names``, by ``filter``, or ``all`` of them."""
    return many_tasks("resumeTasks", present(**selected("tasks", choice)))


def delete_tasks(**choice: Unpack[TaskChoice]) -> Operation[DeletedTasks]:
    """Delete many tasks, by ``names``, by ``filter``, or ``all``; a filter finds none that live code declares."""
    return deleted_tasks("deleteTasks", present(**selected("tasks", choice)), "hasMore endCursor")


def pause_group(name: str, *, reason: str | None = None, **options: Unpack[MutationOptions]) -> Operation[Group]:
    """Pause a group: none of its runs starts."""
    return changed("pauseGroup", present(name=name, reason=reason, **options), Group)


def resume_group(name: str, **options: Unpack[MutationOptions]) -> Operation[Group]:
    """End the pause of a group."""
    return changed("resumeGroup", present(name=name, **options), Group)


def enqueue_flow(
    name: str,
    runs: Sequence[NewFlowRun],
    *,
    open: bool | None = None,  # noqa: A002 - the word of the API
    unique_key: str | None = None,
    labels: Mapping[str, str] | None = None,
    deadline: Seconds | None = None,
    on_success: NewRun | None = None,
    on_failure: NewRun | None = None,
    on_end: NewRun | None = None,
    **options: Unpack[MutationOptions],
) -> Operation[Flow]:
    """Enqueue runs together, all or none, of which some start after others have ended.

    Args:
        name: The purpose of the flow.
        runs: Its runs, in any order.
        open: Whether runs can be added later, until ``close_flow``.
        unique_key: While a flow with this key is unfinished, a second one is refused.
        labels: Words that its runs inherit, and are found by.
        deadline: After this many seconds its unfinished runs are cancelled.
        on_success: A run that is enqueued when no run failed or was cancelled.
        on_failure: A run that is enqueued when one failed or was cancelled.
        on_end: A run that is enqueued however the flow ends.
        **options: ``idempotency_key`` and ``dry_run``.
    """
    callbacks = {"onSuccess": on_success, "onFailure": on_failure, "onEnd": on_end}
    given = present(
        name=name, runs=list(runs), open=open, uniqueKey=unique_key, labels=labels, deadline=deadline, **callbacks,
        **options,
    )  # fmt: skip
    return changed("enqueueFlow", given, Flow)


def add_flow_runs(id: int, runs: Sequence[NewFlowRun], **options: Unpack[MutationOptions]) -> Operation[Flow]:
    """Add runs to an open flow, all or none."""
    return changed("addFlowRuns", present(id=id, runs=list(runs), **options), Flow)


def close_flow(id: int, **options: Unpack[MutationOptions]) -> Operation[Flow]:
    """Let an open flow take no further runs, so that it ends with the last one that it has."""
    return changed("closeFlow", present(id=id, **options), Flow)


def cancel_flow(id: int, *, reason: str | None = None, **options: Unpack[MutationOptions]) -> Operation[Flow]:
    """Cancel all unfinished runs of a flow."""
    return changed("cancelFlow", present(id=id, reason=reason, **options), Flow)


def retry_flow(
    id: int,
    *,
    from_run: int | None = None,
    args: Mapping[str, Any] | None = None,
    **options: Unpack[MutationOptions],
) -> Operation[Flow]:
    """Re-run a finished flow's failed and cancelled runs, and the runs that they kept from starting.

    Args:
        id: The flow.
        from_run: Re-run this run and all that come after it instead, however they ended.
        args: Arguments of the new run in the place of ``from_run``, if they are to be others.
        **options: ``idempotency_key`` and ``dry_run``.
    """
    return changed("retryFlow", present(id=id, fromRun=from_run, args=args, **options), Flow)


def limit_group(name: str, max_running: int | None, **options: Unpack[MutationOptions]) -> Operation[Group]:
    """Limit how many runs of a group run at once on all nodes together; None = no limit."""
    return changed("updateGroup", {"name": name, "maxRunning": max_running, **present(**options)}, Group)


def age_group(name: str, max_wait_low: Seconds | None, **options: Unpack[MutationOptions]) -> Operation[Group]:
    """Set after how long a due run of low priority goes before those of high priority; None = never."""
    return changed("updateGroup", {"name": name, "maxWaitLow": max_wait_low, **present(**options)}, Group)


def keep_group(name: str, keep: Seconds | None, **options: Unpack[MutationOptions]) -> Operation[Group]:
    """Set how long the history of a group's finished runs is kept; None = as their jobs say."""
    return changed("updateGroup", {"name": name, "keep": keep, **present(**options)}, Group)


def rate_group(
    name: str, limit: int | None, per: Seconds = 1.0, burst: int | None = None, **options: Unpack[MutationOptions]
) -> Operation[Group]:
    """Limit how many runs of a group start in how long, on all nodes together.

    Args:
        name: The group.
        limit: How many start in ``per``; None = any number.
        per: Seconds, or a ``timedelta``.
        burst: How many start at once after a pause; a twentieth of the limit unless given, at least 1.
    """
    rate = {"limit": limit, "per": per, "burst": burst}
    return changed("updateGroup", {"name": name, "rate": None if limit is None else rate, **present(**options)}, Group)


def rate_job(
    name: str, limit: int | None, per: Seconds = 1.0, burst: int | None = None, **options: Unpack[MutationOptions]
) -> Operation[Job]:
    """Limit how many runs of a job start in how long, None = as its code says; see ``rate_group``."""
    rate = {"limit": limit, "per": per, "burst": burst}
    return changed("updateJob", {"name": name, "rate": None if limit is None else rate, **present(**options)}, Job)


def cap_group(
    name: str, limit: int | None, when_full: WhenFull | None = None, **options: Unpack[MutationOptions]
) -> Operation[Group]:
    """Limit how many runs of a group wait, None = any number; unless ``when_full`` is given, more are refused."""
    cap = {"limit": limit, "whenFull": when_full or WhenFull.REFUSE}
    return changed("updateGroup", {"name": name, "cap": None if limit is None else cap, **present(**options)}, Group)


def prune_history(
    *, max_age_days: float | None = None, max_per_task: int | None = None, **options: Unpack[MutationOptions]
) -> Operation[Pruning]:
    """Delete old history now: by a run of the job ``prune_history``, whose progress and result say how far it is.

    Args:
        max_age_days: Runs that ended longer ago go; 30 unless given.
        max_per_task: How many of the newest of each task stay; any number unless given.
        **options: ``idempotency_key``, and ``dry_run`` to answer the history that would go.
    """
    given = present(maxAgeDays=max_age_days, maxPerTask=max_per_task, **options)
    return whole("pruneHistory", given, Pruning)


def drain_node(name: str, **options: Unpack[MutationOptions]) -> Operation[Node]:
    """Ask a node to take nothing new and to end once its running jobs have ended."""
    return changed("drainNode", present(name=name, **options), Node)


def resume_node(name: str, **options: Unpack[MutationOptions]) -> Operation[Node]:
    """Let a node that drains take runs again; refused once it stops for good."""
    return changed("resumeNode", present(name=name, **options), Node)


WEBHOOK_DOCUMENTS: Final[Mapping[str, str]] = json.loads(
    Path(__file__).with_name("webhook_documents.json").read_text(encoding="utf-8")
)
"""Subscriptions for the usual cases, by name."""


def create_webhook(
    name: str,
    url: str,
    document: str = WEBHOOK_DOCUMENTS["executions"],
    variables: Mapping[str, Any] | None = None,
    *,
    secrets: Sequence[str] = (),
    ordered: bool = False,
    description: str = "",
    after: str | None = None,
    **options: Unpack[MutationOptions],
) -> Operation[Webhook]:
    """Create a webhook, which posts the results of a subscription.

    Args:
        name: Its name.
        url: The address of the receiver.
        document: The subscription; of executions unless given.
        variables: Those of the document.
        secrets: The names of the secrets that sign.
        ordered: Whether a message is sent only once the one before it was accepted.
        description: Its purpose.
        after: The event cursor behind which the results begin; now unless given.
    """
    given = {"name": name, "url": url, "document": document, "ordered": ordered, "description": description}
    more = present(variables=variables, secrets=list(secrets) or None, after=after, **options)
    return changed("createWebhook", {**given, **more}, Webhook)


def update_webhook(
    name: str,
    *,
    url: str | None = None,
    document: str | None = None,
    variables: Mapping[str, Any] | None = None,
    secrets: Sequence[str] | None = None,
    ordered: bool | None = None,
    enabled: bool | None = None,
    description: str | None = None,
    **options: Unpack[WebhookOptions],
) -> Operation[Webhook]:
    """Change a webhook; its place stays. See ``create_webhook`` for the parameters; None = as it is."""
    given = present(url=url, document=document, variables=variables, ordered=ordered, enabled=enabled, **options)
    given |= present(description=description, secrets=None if secrets is None else list(secrets))
    return changed("updateWebhook", {"name": name, **given}, Webhook)


def delete_webhook(name: str, **options: Unpack[WebhookOptions]) -> Operation[Webhook]:
    """Delete a webhook; the answer is the webhook as it was. Messages that wait are given up."""
    return changed("deleteWebhook", present(name=name, **options), Webhook)


def resume_webhook(name: str, *, skip: bool = False, **options: Unpack[WebhookOptions]) -> Operation[Webhook]:
    """Let a webhook send again that was parked or stopped, or that leaves a failing receiver alone.

    Args:
        name: Its name.
        skip: Whether to give up the oldest message that waits.
    """
    return changed("resumeWebhook", present(name=name, skip=skip, **options), Webhook)


def redeliver_webhook(name: str, after: str, **options: Unpack[WebhookOptions]) -> Operation[int]:
    """Send the messages with results behind a cursor again, each with its message id; the answer is their number."""
    given = present(name=name, after=after, **options)
    where = "redeliverWebhook.count"
    return mutation("redeliverWebhook", given, "count", lambda payload: read(int, payload.get("count"), where))


def save_view(
    page: str, name: str, search: str = "", *, shared: bool = False, **options: Unpack[MutationOptions]
) -> Operation[SavedView]:
    """Save an address of the dashboard under a name.

    Args:
        page: The path of the page, such as ``/runs``.
        name: The name of the view; one person, and the team, has each name once on a page.
        search: The query of the address with its ``?``, percent-encoded; empty for the page as it is.
        shared: Whether the whole team sees it; needs the role ``OPERATOR``.
    """
    return changed(
        "saveView",
        {"page": page, "name": name, "search": search, "shared": shared, **present(**options)},
        SavedView,
        "view",
    )


def update_view(
    id: int,
    *,
    name: str | None = None,
    search: str | None = None,
    shared: bool | None = None,
    **options: Unpack[MutationOptions],
) -> Operation[SavedView]:
    """Rename a saved view, point it elsewhere, or move it between oneself and the team; None = as it is.

    Args:
        id: Its key.
        name: Its new name.
        search: The query of its address from now on; empty for the page as it is.
        shared: Whether the whole team sees it from now on; a view of the team needs the role ``OPERATOR``.
    """
    return changed("updateView", present(id=id, name=name, search=search, shared=shared, **options), SavedView, "view")


def delete_view(id: int, **options: Unpack[MutationOptions]) -> Operation[SavedView]:
    """Delete a saved view; the answer is the view as it was. One of the team needs the role ``OPERATOR``."""
    return changed("deleteView", present(id=id, **options), SavedView, "view")
