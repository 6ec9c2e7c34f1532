"""The inputs of ``enqueueRuns``, and how they become values of the engine; see ``inputs``."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Final

import strawberry
from strawberry.scalars import JSON

from ...jobs.core.actor import Submitter
from ...jobs.core.admission.holding import Debounce, Hold, Throttle, hold_of
from ...jobs.core.base.errors import UserError
from ...jobs.core.base.resources import carrying
from ...jobs.core.defaults import FOLLOWED
from ...jobs.core.model import NewRun, Priority, Trigger
from ...jobs.core.rules import new_run_faults
from ...jobs.core.states import RunState
from ..base.fields import Size, sized
from ..base.scalars import MAX_RUNS, Duration, Labels
from .base.changes import given
from .base.inputs import LABELS, RESOURCES, UNIQUE_KEY, MutationInput, ResourcesInput, optional

UNIQUE_FOR: Final = (
    "The seconds for which the unique key holds from the enqueueing on, and at least until the run is finished. Until "
    "then only unless given."
)
UNIQUE_AMONG: Final = (
    "The states in which a run holds its unique key: `[WAITING]` frees the key once the run has begun. All unfinished "
    "states unless given."
)
DEBOUNCE: Final = (
    "A delay that makes one run of many enqueues with the same unique key; the run has the last arguments. No delay "
    "unless given."
)
THROTTLE: Final = "A period in which at most one run of the unique key is enqueued. Any number unless given."
EXPIRES_AT: Final = (
    "The time by which the run must have started, or else it is skipped with the reason EXPIRED. None unless given."
)
TTL: Final = (
    "The seconds in which the run must start once it may, or else it is skipped with the reason EXPIRED. Those of the "
    "job unless given."
)


@strawberry.input(description="A delay that makes one run of many enqueues of a key, with the last arguments.")
class DebounceInput:
    """The time for which a debounced run waits for further requests."""

    delay: Duration = strawberry.field(description="The seconds without a new enqueue after which the run is due.")
    max_wait: Duration | None = optional(
        "The most seconds from the first enqueue after which the run is due in any case. No limit unless given."
    )


@strawberry.input(description="A period in which at most one run of a key is enqueued.")
class ThrottleInput:
    """The length of the period."""

    period: Duration = strawberry.field(description="The length of the period in seconds.")
    last: bool | None = optional(
        "True folds later enqueues of the period into one run at its end, with the newest arguments; false answers "
        "them with the first run. False unless given."
    )


@strawberry.input(description="A run that is put into the queue. Absent and null mean the default.")
class EnqueueRunInput:
    """One of the runs of ``enqueueRuns``."""

    job_name: str = strawberry.field(description="The name of the job, one of `availableJobs`.")
    args: JSON | None = optional("The arguments of the run, an object. None unless given.")
    group: str | None = optional("The group of the run. That of the job, or else `default`, unless given.")
    priority: Priority | None = optional("The priority of the run. That of the job, or else LOW, unless given.")
    run_at: datetime | None = optional("The time before which the run does not start. Now unless given.")
    unique_key: str | None = optional(UNIQUE_KEY)
    retries: int | None = optional(
        "The number of failures that the run survives. That of the job, or else 2, unless given."
    )
    retry_delay: Duration | None = optional(
        "The seconds before the first retry; each further one waits twice as long. That of the job, or else 60, unless "
        "given."
    )
    timeout: Duration | None = optional(
        "The seconds after which an attempt is stopped. The time box of the job, or else none, unless given."
    )
    max_duration: Duration | None = optional(
        "The seconds that the run may take from its first start, sleeping and waiting included. The limit of the job, "
        "or else none, unless given."
    )
    description: str | None = optional("A description of the run. Empty unless given; at most 10,000 characters.")
    labels: Labels | None = optional(LABELS)
    unique_for: Duration | None = optional(UNIQUE_FOR)
    unique_among: list[RunState] | None = optional(UNIQUE_AMONG)
    debounce: DebounceInput | None = optional(DEBOUNCE)
    throttle: ThrottleInput | None = optional(THROTTLE)
    expires_at: datetime | None = optional(EXPIRES_AT)
    ttl: Duration | None = optional(TTL)
    resources: ResourcesInput | None = optional(RESOURCES)

    def hold(self) -> Hold | None:
        """Return how the unique key holds.

        Raises:
            InvalidInput: it cannot hold so.
        """
        debounce, throttle = self.debounce or None, self.throttle or None
        return hold_of(
            given(self.unique_for),
            given(self.unique_among),
            None if debounce is None else Debounce(debounce.delay, given(debounce.max_wait)),
            None if throttle is None else Throttle(throttle.period, bool(given(throttle.last))),
        )

    def to_run(self, submitter: Submitter | None = None) -> NewRun:
        """Return the engine's form, in somebody's name; without one it can only be judged."""
        named = ((one.name, getattr(self, one.name)) for one in fields(EnqueueRunInput) if one.name != "job_name")
        chosen: dict[str, Any] = {
            "available_at" if name == "run_at" else name: value
            for name, value in named
            if value is not None and value is not strawberry.UNSET
        }
        for name in ("unique_for", "unique_among", "debounce", "throttle", "resources"):
            chosen.pop(name, None)
        inherits = FOLLOWED.difference(chosen)
        chosen["hold"] = self.hold()
        chosen["carried"] = carrying(None, self.resources.document() if self.resources else None)
        if submitter is not None:
            chosen["submitter"], chosen["submitter_id"] = submitter
        return NewRun(job_name=self.job_name, trigger=Trigger.API, inherits=inherits, **chosen)


@dataclass(frozen=True, slots=True)
class TriggerJobInput:
    """The arguments of ``triggerJob`` as one value, to be checked like an input object; see ``EnqueueRunInput``."""

    job_name: str
    args: object
    unique_key: str | None
    labels: object
    unique_for: float | None
    unique_among: list[RunState] | None
    debounce: DebounceInput | None
    throttle: ThrottleInput | None
    expires_at: datetime | None
    ttl: float | None
    resources: ResourcesInput | None

    def to_run(self, submitter: Submitter) -> NewRun:
        """Return the engine's form, in somebody's name.

        Raises:
            InvalidInput: its key cannot hold so.
        """
        given: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        return replace(EnqueueRunInput(**given).to_run(submitter), trigger=Trigger.MANUAL)


def _faults_of(run: EnqueueRunInput) -> Iterator[UserError]:
    try:
        run.hold()
    except UserError as fault:
        yield fault
    else:
        yield from new_run_faults(run.to_run())


@strawberry.input(description="The runs that `enqueueRuns` puts into the queue, all or none.")
class EnqueueRunsInput(MutationInput):
    """The input of ``enqueueRuns``."""

    runs: list[EnqueueRunInput] = strawberry.field(
        description="The runs to enqueue, from 1 to 10,000.", metadata=sized(Size(most=MAX_RUNS))
    )

    def to_runs(self, submitter: Submitter) -> list[NewRun]:
        """Return the engine's form of all of them, in somebody's name.

        Raises:
            UserError: one cannot be, with its place.
        """
        made: list[NewRun] = []
        for place, run in enumerate(self.runs):
            try:
                made.append(run.to_run(submitter))
            except UserError as error:
                raise error.with_prefix("runs", str(place)) from error
        return made

    def faults(self) -> Iterator[UserError]:
        """Yield the faults of the runs' settings by the engine's rules."""
        for place, run in enumerate(self.runs):
            for fault in _faults_of(run):
                yield fault.with_prefix("runs", str(place))
