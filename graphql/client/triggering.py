"""``triggerJob``: a run of a job now, with all that can be said of it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from .base.errors import Refusal
from .base.shapes import Seconds, read, read_all, selection
from .builders import ERRORS, Argument, document, refuse, variables
from .inputs import DebounceInput, ResourcesInput, ThrottleInput
from .operation import Operation
from .records import TriggeredJob


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
        dry_run: Change nothing; ``preview`` says what would become of it, ``message`` the same in words.
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
