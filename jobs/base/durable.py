"""Run the durable parts of a job: its steps, and its waits without a slot."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar, TypeVarTuple, cast, overload

from ..core.actor import Role
from ..core.base.errors import InvalidInput, InvalidState
from ..core.base.times import check_time
from ..core.model import Json
from ..core.run_spec import RunSpec, Seconds, length
from ..core.steps import StepKind, StepState, StoredStep, check_step
from ..core.waits import AnswerPage, Wait
from .outcomes import Rejected, WaitTimedOut
from .services import RunInfo
from .step_shape import Shape, shape_of_model
from .steps import StepClock, StepHost, Steps, Wanted, current_step, key_text

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


T_contra = TypeVar("T_contra", contravariant=True)


class Undoing(Protocol[T_contra]):
    """A job that takes the result of a step."""

    def run(self, result: T_contra, /) -> RunSpec:
        """Return a run that undoes the step."""
        ...


Cleanup: TypeAlias = RunSpec | Callable[[T], RunSpec] | Undoing[T]
"""A run that undoes a step, a function of the result that returns one, or a job that takes the result."""


class _Host(Protocol):
    @property
    def steps(self) -> StepHost: ...


class DurableContext:
    """The part of ``JobContext`` that outlives the attempt."""

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
        retry_delay: Seconds = 1.0,
        cleanup: Cleanup[T] | None = None,
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
        retry_delay: Seconds = 1.0,
        cleanup: Cleanup[T] | None = None,
    ) -> T: ...
    async def step(
        self,
        name: str,
        function: Callable[[*Ts], Any],
        /,
        *args: *Ts,
        key: str | int | None = None,
        retries: int = 0,
        retry_delay: Seconds = 1.0,
        cleanup: Any = None,
    ) -> Any:
        """Do something once in this run: its result is stored, and a later attempt gets that instead.

        ``total = await ctx.step("charge", charge, order, retries=2)``. For ``async`` jobs; a plain function is called
        in a thread.

        Args:
            name: The step's name within its run, with the number of its use: the second use of ``charge`` is
                ``charge#2``. 1 to 200 characters.
            function: The function to call. Its result becomes JSON by its annotation, at most a million characters.
            args: Its arguments; for arguments by name give a ``lambda`` or ``functools.partial``.
            key: Distinguishes steps of one name that run at the same time, for example by the order that each is about.
            retries: How often the function is called again in this attempt after it has failed. Then the attempt fails,
                and the run's next attempt does this step again.
            retry_delay: Before the first of these retries, doubled each time; seconds, or a text such as ``"5m"``.
            cleanup: Undoes the step if the run fails for good or is cancelled: a job that takes the result, a run
                of one (``refund.run(order=7)``), or a function of the result that returns one. Stored with the result.

        Raises:
            UserError: the step is invalid, begins within another one, or is under way already.
            StepMismatch: the value that an earlier attempt stored does not fit the function's result now.
            Exception: the function's own exceptions.
        """
        wanted = Wanted.of(name, function, key=key, retries=retries, retry_delay=retry_delay, cleanup=cleanup)
        return await self._steps.take(wanted, partial(function, *args))

    def step_sync(
        self,
        name: str,
        function: Callable[[*Ts], T],
        /,
        *args: *Ts,
        key: str | int | None = None,
        retries: int = 0,
        retry_delay: Seconds = 1.0,
        cleanup: Cleanup[T] | None = None,
    ) -> T:
        """Do the same as ``step`` for jobs that are plain functions."""
        wanted = Wanted.of(name, function, key=key, retries=retries, retry_delay=retry_delay, cleanup=cleanup)
        done: T = self._steps.take_waiting(wanted, partial(function, *args))
        return done

    async def cleanup(self, name: str, run: RunSpec, /, *, key: str | int | None = None) -> None:
        """Register a run that is enqueued if this run fails for good or is cancelled; the last registered comes first.

        ``await ctx.cleanup("release", release.run(seat=7))`` before the step that reserves the seat: so a node that
        dies in between leaves nothing behind. It is stored once, as a step of this name, in the first attempt that
        comes here. For ``async`` jobs; ``cleanup_sync`` is for plain functions.

        Args:
            name: The name of the step.
            run: A run of a job.
            key: As of ``step``.

        Raises:
            UserError: the step or the run is invalid.
        """
        await self._steps.take(Wanted.of(name, _nothing, key=key, cleanup=run), _nothing)

    def cleanup_sync(self, name: str, run: RunSpec, /, *, key: str | int | None = None) -> None:
        """Do the same as ``cleanup`` for jobs that are plain functions."""
        self._steps.take_waiting(Wanted.of(name, _nothing_sync, key=key, cleanup=run), _nothing_sync)

    async def sleep(self, name: str, seconds: Seconds, *, key: str | int | None = None) -> None:
        """Sleep without a slot: the attempt ends, and the run goes on after this time, on whichever node.

        The job then begins again at its first line, and gets the stored results of its steps. It returns at once if
        the time is over. For ``async`` jobs; ``sleep_sync`` is for plain functions.

        Args:
            name: The sleep's name within its run, as of a step.
            seconds: A number, a ``timedelta`` or a text such as ``"3d"``, 0 to ten years; counted by the database's
                clock from the first attempt that comes here.
            key: As of ``step``.

        Raises:
            Suspend: the time is not over; no ``Exception``, so that ``except Exception`` does not catch it.
        """
        await self._steps.wait(_sleep(seconds, None), *_named(name, key))

    def sleep_sync(self, name: str, seconds: Seconds, *, key: str | int | None = None) -> None:
        """Do the same as ``sleep`` for jobs that are plain functions."""
        self._steps.wait_waiting(_sleep(seconds, None), *_named(name, key))

    async def sleep_until(self, name: str, until: datetime, *, key: str | int | None = None) -> None:
        """Sleep until a time, with its zone. The time of the first attempt that comes here holds for all."""
        await self._steps.wait(_sleep(None, until), *_named(name, key))

    def sleep_until_sync(self, name: str, until: datetime, *, key: str | int | None = None) -> None:
        """Do the same as ``sleep_until`` for jobs that are plain functions."""
        self._steps.wait_waiting(_sleep(None, until), *_named(name, key))

    @overload
    async def wait_for(
        self,
        name: str,
        model: type[T],
        /,
        *,
        timeout: Seconds | None = None,
        on_timeout: object = "raise",
        key: str | int | None = None,
        role: Role | str = Role.OPERATOR,
    ) -> T: ...
    @overload
    async def wait_for(
        self,
        name: str,
        /,
        *,
        timeout: Seconds | None = None,
        on_timeout: object = "raise",
        key: str | int | None = None,
        role: Role | str = Role.OPERATOR,
    ) -> Any: ...  # noqa: ANN401 - any JSON
    async def wait_for(
        self,
        name: str,
        model: Any = Any,
        /,
        *,
        timeout: Seconds | None = None,
        on_timeout: object = "raise",
        key: str | int | None = None,
        role: Role | str = Role.OPERATOR,
    ) -> Any:
        """Wait without a slot, as ``sleep`` does, for a signal that somebody sends to this run; return its payload.

        Signals lie in a box of the run and this name until they are taken, the oldest first, each once. So one that
        comes before the wait is not lost. For ``async`` jobs; ``wait_for_sync`` is for plain functions.

        Args:
            name: Of the signal; with a key its box is ``name[key]``.
            model: The signal's payload; anything that Pydantic reads from JSON. Who sends another is refused.
            timeout: After this duration the wait ends without a signal; None = it does not.
            on_timeout: The reaction then: ``"raise"`` raises ``WaitTimedOut``, ``"reject"`` raises ``Rejected`` as a
                signal that says no does, any other value is returned.
            key: Distinguishes waits of one name, as for ``step``.
            role: Whose signals it takes: of accounts with this role or one above it. Code may send any; an address of
                ``signal_url`` stands for an operator.

        Raises:
            Suspend: there is no signal yet; no ``Exception``, so that ``except Exception`` does not catch it.
            Rejected: the signal says no.
            WaitTimedOut: it did not come in time.
            StepMismatch: its payload does not fit the model.
        """
        shape = shape_of_model(model)
        asked = _signal(shape, timeout, role)
        return _received(await self._steps.wait(asked, *_named(name, key)), shape, on_timeout)

    def wait_for_sync(
        self,
        name: str,
        model: Any = Any,  # noqa: ANN401 - all that an annotation can be
        /,
        *,
        timeout: Seconds | None = None,
        on_timeout: object = "raise",
        key: str | int | None = None,
        role: Role | str = Role.OPERATOR,
    ) -> Any:  # noqa: ANN401 - what the model says
        """Do the same as ``wait_for`` for jobs that are plain functions."""
        shape = shape_of_model(model)
        asked = _signal(shape, timeout, role)
        return _received(self._steps.wait_waiting(asked, *_named(name, key)), shape, on_timeout)

    async def signal_url(
        self,
        name: str,
        model: Any = Any,  # noqa: ANN401 - all that an annotation can be
        /,
        *,
        key: str | int | None = None,
        page: AnswerPage | None = None,
    ) -> str:
        """Return a new address by which somebody without an account sends the signal that the next ``wait_for`` takes.

        It works once, and no longer than the wait or the run. Call it in the step that sends it: so a later attempt
        does not make another one. Anyone who has it can answer as an operator can, so treat it as a password. A wait
        with ``role="admin"`` is not answered by it.

        Args:
            name: Of the wait, which may begin later.
            model: Of the wait: its page asks for that also before the wait has begun.
            key: Of the wait.
            page: The content of the page in a browser.

        Raises:
            ConfigurationError: the node does not know its ``public_url``.
            InvalidState: the run has made too many.
        """
        return await self._steps.signal_url(*_named(name, key), _page(model, page))

    def signal_url_sync(
        self,
        name: str,
        model: Any = Any,  # noqa: ANN401 - all that an annotation can be
        /,
        *,
        key: str | int | None = None,
        page: AnswerPage | None = None,
    ) -> str:
        """Do the same as ``signal_url`` for jobs that are plain functions."""
        return self._steps.signal_url_waiting(*_named(name, key), _page(model, page))

    @property
    def step_key(self) -> str:
        """An idempotency key for a step's outside effects: the same in every attempt, and no other step or run has it.

        Raises:
            InvalidState: no step is under way here.
        """
        label = current_step.get()
        if label is None:
            raise InvalidState("step_key: there is one only inside a step; call code that uses it by ctx.step(…)")
        return f"{self.info.job_name}:{self.info.run_id}:{label}"

    @property
    def _steps(self) -> Steps:
        if self._steps_taken is None:
            self._steps_taken = Steps(self._durable_host.steps, StepClock(self.info.clock_ahead))
        return self._steps_taken


async def _nothing() -> None: ...


def _nothing_sync() -> None: ...


def _page(model: Any, page: AnswerPage | None) -> dict[str, Json] | None:  # noqa: ANN401 - an annotation
    """Return the record stored with an address: the page, and the form of the wait."""
    given = cast("object", page)
    if given is not None and not isinstance(given, AnswerPage):
        raise InvalidInput(f"page: must be an AnswerPage(title=…), got {given!r:.60}", path=("page",))
    form = shape_of_model(model).json_schema
    stored = {} if page is None else page.to_json()
    return ({**stored, "form": form} if form is not None else stored) or None


def _named(name: str, key: str | int | None) -> tuple[str, str | None]:
    check_step(name, given := key_text(key))
    return name, given


def _sleep(seconds: Seconds | None, until: datetime | None) -> Callable[[str], Wait]:
    check_time(until, "until")
    given = None if seconds is None else length("seconds", seconds)
    return lambda label: Wait(label, StepKind.SLEEP, given, until)


def _signal(shape: Shape, timeout: Seconds | None, role: Role | str) -> Callable[[str], Wait]:
    seconds = None if timeout is None else length("timeout", timeout)
    try:
        who = Role(str(role).lower())
    except ValueError as error:
        known = ", ".join(f"'{one.value}'" for one in Role)
        raise InvalidInput(f"role: must be one of {known}, got {role!r}", path=("role",)) from error
    return lambda label: Wait(label, StepKind.SIGNAL, seconds, form=shape.json_schema, role=who)


def _received(found: StoredStep, shape: Shape, on_timeout: object) -> Any:  # noqa: ANN401 - what the model says
    match found.state:
        case StepState.REJECTED:
            raise Rejected(found.error or "no reason given")
        case StepState.TIMED_OUT if on_timeout == "raise":
            raise WaitTimedOut(f"no signal came for '{found.label}' in time")
        case StepState.TIMED_OUT if on_timeout == "reject":
            raise Rejected(f"no signal came for '{found.label}' in time")
        case StepState.TIMED_OUT:
            return on_timeout
        case _:
            return shape.load(found.label, found.value, found.attempt)
