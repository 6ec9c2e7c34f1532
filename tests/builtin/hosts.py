"""Runs a handler as a node would, with a host that keeps what the job says."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import anyio.lowlevel

from cronograph.jobs.base.context import JobContext, RunInfo, StopReason
from cronograph.jobs.base.services import Services
from cronograph.jobs.base.steps import StepHost
from cronograph.jobs.core.actor import Submitter
from cronograph.jobs.core.flows import FlowSpec, StartedBy
from cronograph.jobs.core.model import Json
from cronograph.jobs.core.run_spec import RunSpec, RunTarget
from cronograph.jobs.core.states import RunState
from cronograph.jobs.core.waits import RunChange


@dataclass
class KeepingHost:
    """A host that keeps lines and progress. ``stop_after``: ask to stop once progress was shown so many times."""

    stop_after: int | None = None
    time_left: float | None = None
    lines: list[tuple[str, str, Mapping[str, Json] | None]] = field(
        default_factory=list[tuple[str, str, Mapping[str, Json] | None]]
    )
    shown: list[tuple[float, float | None, str | None]] = field(
        default_factory=list[tuple[float, float | None, str | None]]
    )
    saved: Json = None
    enqueued: list[RunSpec] = field(default_factory=list[RunSpec])

    @property
    def steps(self) -> StepHost:
        raise AssertionError("no built-in job takes steps")

    @property
    def maker(self) -> StartedBy:
        raise AssertionError("no built-in job enqueues a flow")

    def stop_reason(self) -> StopReason | None:
        asked = self.stop_after is not None and len(self.shown) >= self.stop_after
        return StopReason.DEADLINE if asked else None

    def remaining(self) -> float | None:
        return self.time_left

    def log(self, level: int, message: str, fields: Mapping[str, Json] | None) -> None:
        self.lines.append((logging.getLevelName(level), message, fields))

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.shown.append((done, total, message))

    def checkpoint(self) -> Json:
        return self.saved

    def save_checkpoint(self, value: Json) -> Awaitable[None]:
        self.saved = value
        return anyio.lowlevel.checkpoint()

    def printed(self, text: str, show: Callable[[str], object], *, keep: bool) -> None:
        show(text)
        if keep:
            self.lines.append(("INFO", text, None))

    async def enqueue(self, runs: Sequence[RunSpec]) -> list[int]:
        self.enqueued += runs
        return [*range(len(runs))]

    def enqueue_waiting(self, runs: Sequence[RunSpec]) -> list[int]:
        self.enqueued += runs
        return [*range(len(runs))]

    async def enqueue_flow(self, flow: FlowSpec) -> int:
        return self.enqueue_flow_waiting(flow)

    def enqueue_flow_waiting(self, flow: FlowSpec) -> int:
        self.enqueued += [one.run for one in flow.members]
        return 1

    async def change(self, target: RunTarget, change: RunChange) -> RunState:
        return self.change_waiting(target, change)

    def change_waiting(self, target: RunTarget, change: RunChange) -> RunState:
        raise AssertionError(f"no built-in job changes runs, but one would change {target} by {change}")

    def enqueue_at_end(self, runs: Sequence[RunSpec]) -> None:
        self.enqueued += runs


def context_of(
    handler: Callable[..., object],
    services: Services | None,
    host: KeepingHost | None = None,
    *,
    submitter: Submitter | None = None,
    args: Mapping[str, Json] | None = None,
) -> JobContext:
    """The context of the first attempt at a run of ``handler``."""
    info = RunInfo(
        run_id=1,
        execution_id=1,
        job_name=handler.__name__,
        task_id=None,
        task_name=None,
        attempt=1,
        is_last_attempt=False,
        scheduled_for=None,
        deadline=None,
        submitter=submitter,
        args=args or {},
    )
    return JobContext(info, host or KeepingHost(), services)
