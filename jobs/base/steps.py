"""The steps of one attempt: each is done once in its run, and every later attempt gets its result."""

import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Final, Protocol, cast

from ..core.base.errors import InvalidInput, InvalidState, StepMismatch, UserError
from ..core.model import Json
from ..core.outcome import retry_delay
from ..core.rules import MAX_RETRIES
from ..core.run_spec import RunSpec, Seconds, length
from ..core.steps import StepEnd, StepKind, StepName, StepState, StoredStep, check_step
from ..core.waits import Wait, awaited
from .branches import Branches
from .outcomes import JobSignal, PermanentFailure, Suspend
from .step_shape import Shape, shape_of


class StepUnstorable(PermanentFailure):
    """The result of a step cannot be stored. Another attempt would only do it again, so there is none."""


class StepHost(Protocol):
    """Store the steps of an attempt. Every call is safe from any thread."""

    @property
    def branches(self) -> Branches:
        """Return the branches of the attempt."""
        ...

    @property
    def may_have_steps(self) -> bool:
        """Return whether earlier attempts at the run may have stored steps."""
        ...

    def left_step(self, label: str) -> Awaitable[None] | None:
        """Return the work of an earlier attempt to await before a step begins here; None: there is none."""
        ...

    def left_step_waiting(self, label: str) -> None:
        """Do the same as ``left_step`` for code that no event loop runs: wait for it."""
        ...

    def find_step(self, label: str) -> Awaitable[StoredStep | None]:
        """Return the stored state of a step; None = it is not done yet."""
        ...

    def find_step_waiting(self, label: str) -> StoredStep | None:
        """Do the same as ``find_step`` for code that no event loop runs."""
        ...

    def keep_step(self, end: StepEnd) -> Awaitable[None]:
        """Store the end of a step; an end without a result need not be awaited."""
        ...

    def keep_step_waiting(self, end: StepEnd) -> None:
        """Do the same as ``keep_step`` for code that no event loop runs."""
        ...

    def begin_wait(self, asked: Wait) -> Awaitable[StoredStep]:
        """Begin a wait unless it has begun, and end it if the awaited thing is there; returns its state."""
        ...

    def begin_wait_waiting(self, asked: Wait) -> StoredStep:
        """Do the same as ``begin_wait`` for code that no event loop runs."""
        ...

    def signal_url(self, label: str, page: Mapping[str, Json] | None = None) -> Awaitable[str]:
        """Return a new address by which somebody without an account sends the signal that this wait takes."""
        ...

    def signal_url_waiting(self, label: str, page: Mapping[str, Json] | None = None) -> str:
        """Do the same as ``signal_url`` for code that no event loop runs."""
        ...

    def step_json(self, value: Json, label: str) -> Json:
        """Return the value of a step as it is stored: bounded, and without the secrets that the job was given."""
        ...

    def step_cleanup(self, run: RunSpec) -> RunSpec:
        """Return the run that undoes a step as it is stored: without the secrets that the job was given.

        Raises:
            UserError: it is no valid run.
        """
        ...

    def step_failed(self, label: str, error: BaseException, retry_in: float | None) -> str:
        """Note that a step failed, and when it is tried again (None = not in this attempt); return the message."""
        ...

    def pause(self, seconds: float) -> Awaitable[None]:
        """Wait, by the clock of the attempt."""
        ...

    def pause_waiting(self, seconds: float) -> bool:
        """Do the same as ``pause`` for code that no event loop runs; return False at once if the job should stop."""
        ...


current_step: ContextVar[str | None] = ContextVar("cronograph_current_step", default=None)
"""The label of the step whose function runs in this context; log lines know their step by it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Hold a job's request for a step.

    Attributes:
        key: Distinguishes steps of one name that run at the same time.
        retries: How often its function is called again after a failure, in this attempt.
        delay: Seconds before the first of these, doubled each time.
        shape: The declared result of its function.
        cleanup: The run that undoes it, or the function that makes that run of its result.
    """

    name: str
    key: str | None
    retries: int
    delay: float
    shape: Shape
    cleanup: RunSpec | Callable[[Any], object] | None = None

    @classmethod
    def of(
        cls,
        name: str,
        function: Callable[..., object],
        *,
        key: object,
        retries: int = 0,
        retry_delay: Seconds = 1.0,
        cleanup: object = None,
    ) -> "Wanted":
        """Return the requested step.

        Raises:
            UserError: a part of it is wrong.
            ConfigurationError: the type of the function's result cannot be read from its annotation.
        """
        check_step(name, given := key_text(key))
        if not callable(function):
            raise InvalidInput(
                f"step '{name}': must be given a function and its arguments, got {function!r:.60}; write "
                f"ctx.step('{name}', charge, order), not charge(order)",
                path=("function",),
            )
        if type(retries) is not int or not 0 <= retries <= MAX_RETRIES:
            raise InvalidInput(
                f"step '{name}': retries must be a whole number from 0 to {MAX_RETRIES}, got {retries!r:.60}",
                path=("retries",),
            )
        delay = length(f"step '{name}': retry_delay", retry_delay, "retry_delay")
        # A job is called by its runs: ``cleanup=refund`` is ``refund.run`` with the result.
        undoing: Any = getattr(cleanup, "run", cleanup)
        if not (undoing is None or isinstance(undoing, RunSpec) or callable(undoing)):
            raise InvalidInput(
                f"step '{name}': cleanup must be a job that takes the result, a run of one (refund.run(…)), or a "
                f"function of the result that returns one, got {cleanup!r:.60}",
                path=("cleanup",),
            )
        return cls(name, given, retries, delay, shape_of(function), undoing)

    def cleanup_of(self, label: str, value: object) -> RunSpec | None:
        """Return the run that undoes the step with this result.

        Raises:
            StepUnstorable: the function that makes it fails, or makes something else.
        """
        if self.cleanup is None or isinstance(self.cleanup, RunSpec):
            return self.cleanup
        try:
            made: object = self.cleanup(value)
        except Exception as error:
            raise StepUnstorable(f"step '{label}': its cleanup cannot be made of {value!r:.60}: {error}") from error
        if not isinstance(made, RunSpec):
            raise StepUnstorable(f"step '{label}': its cleanup must return a run (refund.run(…)), got {made!r:.60}")
        return made


class Steps:
    """The steps of one attempt."""

    def __init__(self, host: StepHost, clock: "StepClock") -> None:
        self._host = host
        self._clock = clock
        self._lock = threading.Lock()
        self._uses: dict[tuple[str, str | None], int] = {}
        self._under_way: set[tuple[str, str | None]] = set()
        self._cleanups = count()

    async def take(self, wanted: Wanted, call: Callable[[], Any]) -> Any:  # noqa: ANN401 - what the function returns
        """Get the stored result of a step, or do the step and store its result."""
        host = self._host
        with self.entered(wanted.name, wanted.key) as label, host.branches.working(label):
            if host.may_have_steps:
                if (stored := await host.find_step(label)) is not None:
                    return _loaded(wanted, label, stored)
                if (left := host.left_step(label)) is not None:
                    await left
            began = self._clock.now()
            value, end = self._end(wanted, label, began, await self._called(wanted, label, began, call))
            await host.keep_step(end)
            return value

    async def wait(self, asked: Callable[[str], Wait], name: str, key: str | None) -> StoredStep:
        """Return a wait that has ended.

        Raises:
            Suspend: it has not; by now every other branch of the job stands at a wait, too, or is over.
        """
        host = self._host
        with self.entered(name, key) as label:
            with host.branches.working(label):
                wanted = asked(label)
                found = await host.find_step(label) if host.may_have_steps else None
                if found is None or found.state is StepState.WAITING:
                    found = await host.begin_wait(wanted)
                _check_kind(label, found, wanted.kind)
                self._clock.catch_up(found.began)
            if found.state is not StepState.WAITING:
                return found
            await host.branches.stand()
            raise Suspend(awaited([found]), until=found.wake_at)

    def wait_waiting(self, asked: Callable[[str], Wait], name: str, key: str | None) -> StoredStep:
        """Do the same as ``wait`` for code that no event loop runs."""
        host = self._host
        with self.entered(name, key) as label, host.branches.working(label):
            wanted = asked(label)
            found = host.find_step_waiting(label) if host.may_have_steps else None
            if found is None or found.state is StepState.WAITING:
                found = host.begin_wait_waiting(wanted)
            _check_kind(label, found, wanted.kind)
            self._clock.catch_up(found.began)
            if found.state is not StepState.WAITING:
                return found
            raise Suspend(awaited([found]), until=found.wake_at)

    def next_label(self, name: str, key: str | None) -> str:
        """Return the label that the next use of a name will have, or the one that is under way."""
        with self._lock:
            place = (name, key)
            used = self._uses.get(place, 0)
            return StepName(name, key, used if place in self._under_way else used + 1).label

    async def signal_url(self, name: str, key: str | None, page: Mapping[str, Json] | None) -> str:
        """Return a new address for the next wait of this name."""
        return await self._host.signal_url(self.next_label(name, key), page)

    def signal_url_waiting(self, name: str, key: str | None, page: Mapping[str, Json] | None) -> str:
        """Do the same as ``signal_url`` for code that no event loop runs."""
        return self._host.signal_url_waiting(self.next_label(name, key), page)

    def take_waiting(self, wanted: Wanted, call: Callable[[], Any]) -> Any:  # noqa: ANN401 - what the function returns
        """Do the same as ``take`` for code that no event loop runs."""
        host = self._host
        with self.entered(wanted.name, wanted.key) as label, host.branches.working(label):
            if host.may_have_steps:
                if (stored := host.find_step_waiting(label)) is not None:
                    return _loaded(wanted, label, stored)
                host.left_step_waiting(label)
            began = self._clock.now()
            value, end = self._end(wanted, label, began, self._called_waiting(wanted, label, began, call))
            host.keep_step_waiting(end)
            return value

    async def _called(self, wanted: Wanted, label: str, began: datetime, call: Callable[[], Any]) -> object:
        """Return the function's result; call it again after failures as often as it may be."""
        failures = 0
        while True:
            try:
                with _Within(label):
                    return await self._awaited(wanted, label, began, call)
            except Exception as error:
                delay = self._retry_in(wanted, failures, error)
                message = self._failed(label, error, delay)
                if delay is None:
                    if message is not None:
                        self._host.keep_step(StepEnd(label, began, self._clock.now(), error=message))
                    raise
            failures += 1
            await self._host.pause(delay)

    async def _awaited(self, wanted: Wanted, label: str, began: datetime, call: Callable[[], Any]) -> object:
        """Call the function; a plain one is called in a thread, so that it does not keep the loop from turning.

        A thread goes on when its step is cancelled. Its result within the attempt is stored all the same.
        """
        if inspect.iscoroutinefunction(getattr(call, "func", call)):
            return await call()

        def keep(returned: object) -> None:
            if inspect.isawaitable(returned):
                return
            try:
                _, end = self._end(wanted, label, began, returned)
            except StepUnstorable as error:
                self._failed(label, error, None)
            else:
                self._host.keep_step(end)

        returned = await self._host.branches.in_thread(label, call, keep)
        return await returned if inspect.isawaitable(returned) else returned

    def _called_waiting(self, wanted: Wanted, label: str, began: datetime, call: Callable[[], Any]) -> object:
        """Do the same as ``_called`` for code that no event loop runs."""
        failures = 0
        while True:
            try:
                with _Within(label):
                    return call()
            except Exception as error:
                delay = self._retry_in(wanted, failures, error)
                message = self._failed(label, error, delay)
                if delay is None or not self._host.pause_waiting(delay):
                    if message is not None:
                        self._host.keep_step_waiting(StepEnd(label, began, self._clock.now(), error=message))
                    raise
            failures += 1

    @contextmanager
    def entered(self, name: str, key: str | None) -> Generator[str]:
        """Yield a step that begins here and ends with the block; its label.

        Raises:
            InvalidState: it begins within another step, or while the last use of its name is still under way.
        """
        outer = current_step.get()
        if outer is not None:
            raise InvalidState(
                f"step '{name}': began inside step '{outer}', whose result would not be stored yet; take it behind "
                "that step, or call its function directly",
                path=("name",),
            )
        place = (name, key)
        with self._lock:
            if place in self._under_way:
                raise InvalidState(_again(name, key), path=("key",))
            self._under_way.add(place)
            use = self._uses[place] = self._uses.get(place, 0) + 1
        try:
            yield StepName(name, key, use).label
        finally:
            with self._lock:
                self._under_way.discard(place)

    def _retry_in(self, wanted: Wanted, failures: int, error: Exception) -> float | None:
        if isinstance(error, JobSignal) or failures >= wanted.retries:
            return None
        return retry_delay(failures, wanted.delay)

    def _failed(self, label: str, error: Exception, delay: float | None) -> str | None:
        """Note a failure; its message, unless the job has said something else than that it failed."""
        if isinstance(error, JobSignal) and not isinstance(error, PermanentFailure):
            return None
        with _Within(label):
            return self._host.step_failed(label, error, delay)

    def _end(self, wanted: Wanted, label: str, began: datetime, returned: object) -> tuple[Any, StepEnd]:
        """Return the value for the job, the same that a later attempt would get, and the end of the step to store."""
        try:
            written = wanted.shape.dump(label, returned)
            document = self._host.step_json(written, label)
            value = wanted.shape.load(label, document, None)
            # Secrets are cut out of what is kept; that is no change on the way.
            as_returned = value if document == written else wanted.shape.load(label, written, None)
            wanted.shape.check(label, returned, as_returned)
            cleanup = wanted.cleanup_of(label, value)
            cleanup = None if cleanup is None else self._host.step_cleanup(cleanup)
        except (ValueError, UserError) as error:
            raise StepUnstorable(str(error)) from error
        if cleanup is None:
            return value, StepEnd(label, began, self._clock.now(), document)
        return value, StepEnd(label, began, self._clock.now(), document, cleanup=cleanup, place=next(self._cleanups))


def key_text(key: object) -> str | None:
    """Return a key as it is stored; one that is neither a text nor a whole number is refused by ``check_step``."""
    is_whole = isinstance(key, int) and not isinstance(key, bool)
    return str(key) if is_whole else cast("str | None", key)


def _again(name: str, key: str | None) -> str:
    if key is None:
        return (
            f"step '{name}': began again while it was still under way, so nobody could tell which is which in a later "
            f"attempt; give each its own key: ctx.step('{name}', …, key=order_id)"
        )
    return f"step '{name}[{key}]': began again while it was still under way; no two at one time may have the same key"


def _loaded(wanted: Wanted, label: str, stored: StoredStep) -> Any:  # noqa: ANN401 - what the function returned
    _check_kind(label, stored, StepKind.FUNCTION)
    return wanted.shape.load(label, stored.value, stored.attempt)


def _check_kind(label: str, stored: StoredStep, kind: StepKind) -> None:
    """Check that the stored value comes from a step of the same kind.

    Raises:
        StepMismatch: it was not.
    """
    if stored.kind not in (kind, None):
        raise StepMismatch(
            f"step '{label}': attempt {stored.attempt} stored {_KINDS[stored.kind or kind]} under this name, and the "
            f"code has {_KINDS[kind]} there now; rename it"
        )


_KINDS: Final = {
    StepKind.FUNCTION: "a step",
    StepKind.SLEEP: "a sleep",
    StepKind.SIGNAL: "a wait for a signal",
    StepKind.RUNS: "other runs",
}


class _Within:
    """The code in this block is the step's."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._token: Token[str | None] | None = None

    def __enter__(self) -> None:
        self._token = current_step.set(self._label)

    def __exit__(self, *_: object) -> None:
        assert self._token is not None, "it was entered"
        current_step.reset(self._token)


def _time_of_day() -> datetime:
    return datetime.now(UTC)


class StepClock:
    """Read the times of an attempt's steps, which have one order with those of its waits: the database's clock.

    It never shows a later time than that, and goes on when somebody sets the clock of the machine.

    Args:
        ahead: See ``RunInfo.clock_ahead``.
        wall: The time of day, which is read once.
        monotonic: Seconds that only grow.
    """

    def __init__(
        self,
        ahead: float = 0.0,
        wall: Callable[[], datetime] = _time_of_day,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._began, self._at, self._monotonic = wall() - timedelta(seconds=ahead), monotonic(), monotonic

    def now(self) -> datetime:
        """Return the time at which the clock was made, and what has passed since."""
        return self._began + timedelta(seconds=self._monotonic() - self._at)

    def catch_up(self, reached: datetime | None) -> None:
        """Go on from this time, if there is one and it is later: a wait has begun then, by the database's clock."""
        if reached is not None and reached > (now := self.now()):
            self._began += reached - now
