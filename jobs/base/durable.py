"""What a job does once and for all: its steps."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol, TypeVar, TypeVarTuple, overload

from ..core.base.errors import InvalidState
from .run_info import RunInfo
from .steps import StepHost, Steps, Wanted, current_step

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class _Host(Protocol):
    @property
    def steps(self) -> StepHost: ...


class DurableContext:
    """The part of ``JobContext`` that outlives the attempt.

    Args:
        info: The facts about the attempt.
        host: What carries the job.
    """

    def __init__(self, info: RunInfo, host: _Host) -> None:
        self.info = info
        self._durable_host = host
        # Most jobs take no steps.
        self._steps_taken: Steps | None = None

    @overload
    async def step(
        self,
        name: str,
        function: Callable[[*Ts], Awaitable[T]],
        /,
        *args: *Ts,
        key: str | int | None = None,
        retries: int = 0,
        retry_delay: float = 1.0,
    ) -> T: ...
    @overload
    async def step(
        self,
        name: str,
        function: Callable[[*Ts], T],
        /,
        *args: *Ts,
        key: str | int | None = None,
        retries: int = 0,
        retry_delay: float = 1.0,
    ) -> T: ...
    async def step(
        self,
        name: str,
        function: Callable[[*Ts], Any],
        /,
        *args: *Ts,
        key: str | int | None = None,
        retries: int = 0,
        retry_delay: float = 1.0,
    ) -> Any:
        """Do something once in this run: what it returned is stored, and a later attempt gets that instead.

        ``total = await ctx.step("charge", charge, order, retries=2)``. For ``async`` jobs; a plain function is called
        in a thread.

        Args:
            name: What the step is known by in its run, with the number of its use: the second use of ``charge`` is
                ``charge#2``. 1 to 200 characters.
            function: What to do. What it returns becomes JSON by its annotation, at most a million characters.
            args: Its arguments; for arguments by name give a ``lambda`` or ``functools.partial``.
            key: Tells steps of one name apart that run at the same time, for example by the order that each is about.
            retries: How often the function is called again in this attempt after it has failed. Then the attempt fails,
                and the run's next attempt does this step again.
            retry_delay: Seconds before the first of these retries, doubled each time.

        Raises:
            UserError: the step is not what it must be, begins within another one, or is under way already.
            StepMismatch: what an earlier attempt stored is not what the function returns now.
            Exception: what the function has raised.
        """
        wanted = Wanted.of(name, function, key=key, retries=retries, retry_delay=retry_delay)
        return await self._steps.take(wanted, partial(function, *args))

    def step_sync(
        self,
        name: str,
        function: Callable[[*Ts], T],
        /,
        *args: *Ts,
        key: str | int | None = None,
        retries: int = 0,
        retry_delay: float = 1.0,
    ) -> T:
        """``step`` for jobs that are plain functions."""
        wanted = Wanted.of(name, function, key=key, retries=retries, retry_delay=retry_delay)
        done: T = self._steps.take_waiting(wanted, partial(function, *args))
        return done

    @property
    def step_key(self) -> str:
        """An idempotency key for what a step does outside: the same in every attempt, and no other step or run has it.

        Raises:
            InvalidState: no step is under way here.
        """
        label = current_step.get()
        if label is None:
            raise InvalidState("step_key: there is one only inside a step; call what uses it by ctx.step(…)")
        return f"{self.info.job_name}:{self.info.run_id}:{label}"

    @property
    def _steps(self) -> Steps:
        if self._steps_taken is None:
            self._steps_taken = Steps(self._durable_host.steps)
        return self._steps_taken
