"""The inputs of ``enqueueRuns``, and how they become values of the engine; see ``inputs``."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Final, TypeVar

import strawberry
from strawberry.scalars import JSON

from ....jobs.core.actor import Submitter
from ....jobs.core.admission.holding import Debounce, Hold, Throttle, hold_of
from ....jobs.core.base.errors import UserError
from ....jobs.core.defaults import FOLLOWED
from ....jobs.core.model import NewRun, Priority, Trigger
from ....jobs.core.rules import new_run_faults
from ....jobs.core.states import RunState
from ...base.arguments import MAX_RUNS
from ...base.fields import Size, sized
from ..base.inputs import LABELS, UNIQUE_KEY, MutationInput, optional

T = TypeVar("T")

UNIQUE_FOR: Final = (
    "The unique key holds so many seconds after the enqueueing, or until the run is finished, whichever is later."
)
UNIQUE_AMONG: Final = "[WAITING]: the unique key is free once the run has begun."
DEBOUNCE: Final = "One run for many enqueues of the unique key: it has the last arguments, and waits for further ones."
THROTTLE: Final = "At most one run of the unique key is enqueued in a period."
EXPIRES_AT: Final = "It is skipped, with the reason EXPIRED, unless it has started by then."
TTL: Final = "The same in seconds from when it may start; as the job says, unless given."


@strawberry.input(description="One run for many enqueues of a key, with the last arguments.")
class DebounceInput:
    """The time for which a debounced run waits for further requests."""

    delay: float = strawberry.field(description="Seconds without a new one after which it is due.")
    max_wait: float | None = optional("It is due at the latest so many seconds after the first.")


@strawberry.input(description="At most one run of a key is enqueued in a period.")
class ThrottleInput:
    """The length of the period."""

    period: float = strawberry.field(description="Seconds.")
    last: bool | None = optional(
        "Whether what comes within it is folded into one run at its end, with the newest arguments; else, and unless "
        "given, it is answered with the first."
    )


@strawberry.input(description="A run to be put into the queue. Null = the default.")
class EnqueueRunInput:
    """One of the runs of ``enqueueRuns``."""

    job_name: str = strawberry.field(description="The job; see `availableJobs`.")
    args: JSON | None = optional("Its arguments, an object; none unless given.")
    group: str | None = optional("Its group; the job's, or else `default`, unless given.")
    priority: Priority | None = optional("Its priority; the job's, or else LOW, unless given.")
    run_at: datetime | None = optional("It does not start before this time.")
    unique_key: str | None = optional(UNIQUE_KEY)
    retries: int | None = optional("How many failures it survives; as the job says, or else 2, unless given.")
    retry_delay: float | None = optional("Seconds before the first retry; as the job says, or else 60, unless given.")
    timeout: float | None = optional("The time box of an attempt in seconds; the job's, or else none, unless given.")
    max_duration: float | None = optional(
        "Seconds that it may take from its first start, sleeping and waiting included; the job's, or else any."
    )
    description: str | None = optional("What it is for.")
    labels: JSON | None = optional(LABELS)
    unique_for: float | None = optional(UNIQUE_FOR)
    unique_among: list[RunState] | None = optional(UNIQUE_AMONG)
    debounce: DebounceInput | None = optional(DEBOUNCE)
    throttle: ThrottleInput | None = optional(THROTTLE)
    expires_at: datetime | None = optional(EXPIRES_AT)
    ttl: float | None = optional(TTL)

    def hold(self) -> Hold | None:
        """Return how the unique key holds.

        Raises:
            InvalidInput: it cannot hold so.
        """
        debounce, throttle = self.debounce or None, self.throttle or None
        return hold_of(
            _given(self.unique_for),
            _given(self.unique_among),
            None if debounce is None else Debounce(debounce.delay, _given(debounce.max_wait)),
            None if throttle is None else Throttle(throttle.period, bool(_given(throttle.last))),
        )

    def to_run(self, submitter: Submitter | None = None) -> NewRun:
        """The engine's form, in somebody's name; without one it can only be judged."""
        named = ((one.name, getattr(self, one.name)) for one in fields(EnqueueRunInput) if one.name != "job_name")
        chosen: dict[str, Any] = {
            "available_at" if name == "run_at" else name: value
            for name, value in named
            if value is not None and value is not strawberry.UNSET
        }
        for name in ("unique_for", "unique_among", "debounce", "throttle"):
            chosen.pop(name, None)
        inherits = FOLLOWED.difference(chosen)
        chosen["hold"] = self.hold()
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

    def to_run(self, submitter: Submitter) -> NewRun:
        """The engine's form, in somebody's name.

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


def _given(value: T | None) -> T | None:
    return None if value is strawberry.UNSET else value


@strawberry.input(description="Runs to be put into the queue, all or none.")
class EnqueueRunsInput(MutationInput):
    """The input of ``enqueueRuns``."""

    runs: list[EnqueueRunInput] = strawberry.field(
        description="The runs, 1 to 10,000.", metadata=sized(Size(most=MAX_RUNS))
    )

    def to_runs(self, submitter: Submitter) -> list[NewRun]:
        """The engine's form of all of them, in somebody's name.

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
