"""The host of a job that runs outside of Cronograph: a script, a notebook, a test that calls the function itself."""

import logging
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..core.base.errors import InvalidState
from ..core.base.lazy import LazyModule
from ..core.flows import FlowSpec, StartedBy
from ..core.model import Json
from ..core.run_spec import RunSpec, RunTarget
from ..core.states import RunState
from ..core.steps import StepEnd, StepKind, StoredStep
from ..core.waits import RunChange, Wait
from .branches import Branches
from .services import RunInfo, StopReason

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = LazyModule("asyncio")

OUTSIDE: Final = RunInfo(
    run_id=0,
    execution_id=0,
    job_name="",
    task_id=None,
    task_name=None,
    attempt=1,
    is_last_attempt=True,
    scheduled_for=None,
    deadline=None,
    submitter=None,
    args={},
)
"""The facts about an attempt that is none."""

_log = logging.getLogger("cronograph.job")
_GRACE: Final = 10.0


class Done(Awaitable[None]):
    """Await nothing: it is done already."""

    def __await__(self) -> Generator[Any, None, None]:
        """Return at once: there is nothing to wait for."""
        yield from ()


class OutsideHost:
    """Do nothing where a job asks for something: lines go to ``logging``, and a checkpoint stays in memory."""

    may_have_steps = False

    def __init__(self) -> None:
        self.branches = Branches(lambda: None, _GRACE, lambda: False)
        self._checkpoint: Json = None

    @property
    def steps(self) -> "OutsideHost":
        """Return itself: nothing of a step is stored."""
        return self

    @property
    def maker(self) -> StartedBy:
        """Return a run that there is not."""
        return StartedBy(run_id=0)

    def stop_reason(self) -> StopReason | None:
        """Return None: nobody asks it to stop."""
        return None

    def remaining(self) -> float | None:
        """Return None: there is no time box."""
        return None

    def log(self, level: int, message: str, fields: Mapping[str, Json] | None) -> None:
        """Write a line by ``logging``."""
        _log.log(level, "%s", " ".join([message, *(f"{name}={value!r}" for name, value in (fields or {}).items())]))

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Show it to nobody."""

    def checkpoint(self) -> Json:
        """Return the last one that was saved by this context."""
        return self._checkpoint

    def save_checkpoint(self, value: Json) -> Awaitable[None]:
        """Keep it in memory."""
        self._checkpoint = value
        return Done()

    def printed(self, text: str, show: Callable[[str], object], *, keep: bool) -> None:
        """Show it as it is."""
        del keep
        show(text)

    async def enqueue(self, runs: Sequence[RunSpec]) -> list[int]:
        """Enqueue nothing; return 0 in place of each id."""
        return self.enqueue_waiting(runs)

    def enqueue_waiting(self, runs: Sequence[RunSpec]) -> list[int]:
        """Do the same as ``enqueue`` for plain functions."""
        for one in runs:
            self.log(logging.INFO, f"a run of '{one.job_name}' is not enqueued: this is outside of Cronograph", None)
        return [0] * len(runs)

    async def enqueue_flow(self, flow: FlowSpec) -> int:
        """Enqueue nothing; return 0 in place of the id."""
        return self.enqueue_flow_waiting(flow)

    def enqueue_flow_waiting(self, flow: FlowSpec) -> int:
        """Do the same as ``enqueue_flow`` for plain functions."""
        self.enqueue_waiting([one.run for one in flow.members])
        return 0

    def enqueue_at_end(self, runs: Sequence[RunSpec]) -> None:
        """Enqueue nothing."""
        self.enqueue_waiting(runs)

    async def change(self, target: RunTarget, change: RunChange) -> RunState:
        """Refuse it: there is no run whose state could be answered."""
        return self.change_waiting(target, change)

    def change_waiting(self, target: RunTarget, change: RunChange) -> RunState:
        """Do the same as ``change`` for plain functions."""
        del change
        raise _nobody(f"run {target.unique_key or target.run_id} cannot be changed")

    def left_step(self, label: str) -> Awaitable[None] | None:
        """Return None: there was no attempt before."""
        del label
        return None

    def left_step_waiting(self, label: str) -> None:
        """Do the same as ``left_step`` for plain functions."""

    async def find_step(self, label: str) -> StoredStep | None:
        """Return None: no step is stored."""
        return self.find_step_waiting(label)

    def find_step_waiting(self, label: str) -> StoredStep | None:
        """Do the same as ``find_step`` for plain functions."""
        del label
        return None

    def keep_step(self, end: StepEnd) -> Awaitable[None]:
        """Store nothing."""
        del end
        return Done()

    def keep_step_waiting(self, end: StepEnd) -> None:
        """Do the same as ``keep_step`` for plain functions."""

    async def begin_wait(self, asked: Wait) -> StoredStep:
        """End a sleep at once."""
        return self.begin_wait_waiting(asked)

    def begin_wait_waiting(self, asked: Wait) -> StoredStep:
        """Do the same as ``begin_wait`` for plain functions.

        Raises:
            InvalidState: it waits for somebody's answer.
        """
        if asked.kind is not StepKind.SLEEP:
            raise _nobody(f"nobody ends the wait '{asked.label}'")
        return StoredStep(asked.label, 1, None, asked.kind)

    async def signal_url(self, label: str, page: Mapping[str, Json] | None = None) -> str:
        """Refuse it: no address would lead anywhere."""
        return self.signal_url_waiting(label, page)

    def signal_url_waiting(self, label: str, page: Mapping[str, Json] | None = None) -> str:
        """Do the same as ``signal_url`` for plain functions."""
        del page
        raise _nobody(f"there is no address for '{label}'")

    def step_json(self, value: Json, label: str) -> Json:
        """Return the value of a step as it is."""
        del label
        return value

    def step_cleanup(self, run: RunSpec) -> RunSpec:
        """Return the run that would undo a step as it is."""
        return run

    def step_failed(self, label: str, error: BaseException, retry_in: float | None) -> str:
        """Write by ``logging`` that a step failed."""
        again = "" if retry_in is None else f"; again in {retry_in:g} s"
        self.log(logging.WARNING, f"step '{label}' failed: {error}{again}", None)
        return str(error)

    async def pause(self, seconds: float) -> None:
        """Wait before a step is tried again."""
        await asyncio.sleep(seconds)

    def pause_waiting(self, seconds: float) -> bool:
        """Do the same as ``pause`` for plain functions."""
        time.sleep(seconds)
        return True


def _nobody(what: str) -> InvalidState:
    return InvalidState(f"{what} outside of Cronograph; try the job with cronograph.testing, or put it into a queue")
