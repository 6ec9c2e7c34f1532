"""The steps of one attempt on its node: those stored already, and those on their way to the database."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol, TypeVar

from ...base.branches import Branches
from ...base.hiding import Redactor
from ...core.base.errors import python_names
from ...core.model import Json
from ...core.outcome import Suspended
from ...core.run_spec import RunSpec
from ...core.steps import StepEnd, StepState, StoredStep
from ...core.waits import Wait, awaited
from ...queue.claims.claim import Started
from ...queue.enqueue.requests import new_run
from .ownership import StopSignal, as_node, wait_unless_stopped
from .results import failed_step_line, message_of
from .values import plain_json

T = TypeVar("T")


class StepStore(Protocol):
    """The storage of steps."""

    def may_have(self, started: Started) -> bool:
        """Return whether earlier attempts may have stored steps."""
        ...

    async def stored(self, started: Started) -> Mapping[str, StoredStep]:
        """Return the results that the run has, by label."""
        ...

    def keep(self, started: Started, end: StepEnd) -> asyncio.Future[bool]:
        """Have the end of a step stored; False = refused, since the run was taken from this node."""
        ...

    async def wait(self, started: Started, asked: Wait) -> StoredStep | None:
        """Begin or end a wait; None = refused, since the run was taken from this node."""
        ...

    async def signal_url(self, started: Started, label: str, page: Mapping[str, Json] | None) -> str | None:
        """Return a new URL for the signal that a wait takes; None = refused, since the run was taken from this node."""
        ...


class Carrier(Protocol):
    """The host of the job whose steps these are."""

    redactor: Redactor

    @property
    def started(self) -> Started:
        """The attempt."""
        ...

    @property
    def signal(self) -> StopSignal:
        """The signal to stop: why and when."""
        ...

    @property
    def branches(self) -> Branches:
        """The tasks and steps that the attempt has begun."""
        ...

    def log(self, level: int, message: str, fields: Mapping[str, Json] | None) -> None:
        """Keep a line with the execution."""
        ...

    def wait_for(self, twin: str, work: Coroutine[Any, Any, T]) -> T:
        """Have the event loop do something, for a thread that waits for it."""
        ...


class RunTakenError(Exception):
    """The run was taken from its node: another one may have begun its next attempt, so this one must do no more."""


class LeftAtWork:
    """The steps whose functions go on in threads of this process although their attempts are over."""

    def __init__(self) -> None:
        self._branches: dict[int, list[Branches]] = {}

    def add(self, run_id: int, branches: Branches) -> None:
        """Remember the branches that an attempt at a run left behind, for as long as it is at work."""
        known = {key: [one for one in some if one.steps_at_work] for key, some in [*self._branches.items()]}
        self._branches = {key: some for key, some in known.items() if some}
        self._branches.setdefault(run_id, []).append(branches)

    def has(self, run_id: int, label: str) -> bool:
        """Return whether a step of a run is at work that an earlier attempt left behind."""
        return any(label in one.steps_at_work for one in self._branches.get(run_id, ()))


LEFT_AT_WORK: Final = LeftAtWork()
"""Of this process, whichever life of its node began them."""
_LOOK: Final = 0.05
"""Seconds between two looks at such a step."""


class JobSteps:
    """The steps of an attempt. Methods that do not end in ``_waiting`` are called in the event loop."""

    def __init__(self, carrier: Carrier, store: StepStore, pause: Callable[[float], object] | None) -> None:
        self._carrier = carrier
        self._started = carrier.started
        self._store = store
        self._pause = pause
        self._loading: asyncio.Task[Mapping[str, StoredStep]] | None = None
        self._asked: set[str] = set()
        self._keeping: set[asyncio.Future[bool]] = set()
        self._standing: dict[str, StoredStep] = {}

    @property
    def may_have_steps(self) -> bool:
        """Return whether earlier attempts at the run may have stored steps."""
        return self._store.may_have(self._started)

    @property
    def branches(self) -> Branches:
        """The tasks and steps that the attempt has begun."""
        return self._carrier.branches

    def left_step(self, label: str) -> Awaitable[None] | None:
        """Return an awaitable to wait for if an earlier attempt left this step at work here; None: it did not."""
        return self._left(label) if LEFT_AT_WORK.has(self._started.run.id, label) else None

    async def _left(self, label: str) -> None:
        line = f"step '{label}' is still at work in a thread that an earlier attempt left behind; it begins after that"
        self._carrier.log(logging.WARNING, line, None)
        while LEFT_AT_WORK.has(self._started.run.id, label):  # noqa: ASYNC110 - a thread ends it
            await asyncio.sleep(_LOOK)

    def left_step_waiting(self, label: str) -> None:
        """Do the same as ``left_step`` for a thread."""
        if LEFT_AT_WORK.has(self._started.run.id, label):
            self._carrier.wait_for("ctx.step", self._left(label))

    async def find_step(self, label: str) -> StoredStep | None:
        """Return the step as an earlier attempt stored it."""
        if self._loading is None:
            self._loading = as_node(asyncio.ensure_future, self._load())
        stored = await asyncio.shield(self._loading)
        self._asked.add(label)
        return stored.get(label)

    async def _load(self) -> Mapping[str, StoredStep]:
        return await self._store.stored(self._started)

    def find_step_waiting(self, label: str) -> StoredStep | None:
        """Do the same as ``find_step`` for a thread."""
        return self._carrier.wait_for("ctx.step", self.find_step(label))

    def keep_step(self, end: StepEnd) -> Awaitable[None]:
        """Store the end of a step, whether it is awaited or not.

        Raises:
            RunTakenError: where it is awaited: it is refused.
        """
        keeping = as_node(self._store.keep, self._started, end)
        self._keeping.add(keeping)
        keeping.add_done_callback(self._kept)
        return _Keeping(keeping, end.label)

    async def _keep(self, end: StepEnd) -> None:
        await self.keep_step(end)

    def keep_step_waiting(self, end: StepEnd) -> None:
        """Do the same as ``keep_step`` for a thread."""
        self._carrier.wait_for("ctx.step", self._keep(end))

    async def begin_wait(self, asked: Wait) -> StoredStep:
        """Begin a wait, and end it if the awaited event is there; returns its state.

        Raises:
            RunTakenError: it is refused.
        """
        found = await self._store.wait(self._started, asked)
        if found is None:
            raise RunTakenError(f"step '{asked.label}': not begun, since the run was taken from this node")
        if found.state is StepState.WAITING:
            self._standing[asked.label] = found
        return found

    def suspended(self, outcome: Suspended) -> Suspended:
        """Return the outcome of an attempt that waits: for all of its waits, and by time for the earliest of them."""
        waits = list(self._standing.values())
        if not waits:
            return outcome
        until = min((one.wake_at for one in waits if one.wake_at is not None), default=None)
        return Suspended(awaited(waits), until=until, waits=frozenset(self._standing))

    def begin_wait_waiting(self, asked: Wait) -> StoredStep:
        """Do the same as ``begin_wait`` for a thread."""
        return self._carrier.wait_for("the method without _sync", self.begin_wait(asked))

    async def signal_url(self, label: str, page: Mapping[str, Json] | None = None) -> str:
        """Return a new address for the signal that this wait takes.

        Raises:
            RunTakenError: it is refused.
        """
        made = await self._store.signal_url(self._started, label, page)
        if made is None:
            raise RunTakenError(f"signal_url for '{label}': not made, since the run was taken from this node")
        return made

    def signal_url_waiting(self, label: str, page: Mapping[str, Json] | None = None) -> str:
        """Do the same as ``signal_url`` for a thread."""
        return self._carrier.wait_for("ctx.signal_url", self.signal_url(label, page))

    def _kept(self, keeping: asyncio.Future[bool]) -> None:
        self._keeping.discard(keeping)
        if not keeping.cancelled():
            # The job gets the error, if it waits.
            keeping.exception()

    def step_json(self, value: Json, label: str) -> Json:
        """Return the value of a step as it is stored."""
        return self._carrier.redactor.json(plain_json(value, f"the value of step '{label}'"))

    def step_cleanup(self, run: RunSpec) -> RunSpec:
        """Return the run that undoes a step as it is stored."""
        with python_names():
            new_run(run)
        return replace(run, args=self._carrier.redactor.json(dict(run.args or {})))

    def step_failed(self, label: str, error: BaseException, retry_in: float | None) -> str:
        """Note that a step failed; return the message."""
        message = message_of(error, self._carrier.redactor)
        self._carrier.log(logging.WARNING, failed_step_line(label, error, message, retry_in), None)
        return message

    async def pause(self, seconds: float) -> None:
        """Wait, by the clock of the attempt."""
        if self._pause is None:
            await asyncio.sleep(seconds)
        else:
            self._pause(seconds)

    def pause_waiting(self, seconds: float) -> bool:
        """Do the same as ``pause`` for a thread; return False at once if the job should stop."""
        if self._pause is None:
            return wait_unless_stopped(self._carrier.signal, seconds)
        self._pause(seconds)
        return True

    @property
    def left_more(self) -> bool:
        """Return whether ends are still to be stored, or results were read that the job perhaps did not ask for."""
        return bool(self._keeping or self._standing) or self._loading is not None

    async def end(self) -> frozenset[str]:
        """Wait until all ends of steps are stored; return the labels of results that the attempt did not ask for."""
        while self._keeping:
            await asyncio.wait(self._keeping)
        loading = self._loading
        if loading is None or not loading.done() or loading.cancelled() or loading.exception() is not None:
            return frozenset()
        return frozenset(loading.result()) - self._asked


class _Keeping(Awaitable[None]):
    """The end of a step on its way to the database."""

    def __init__(self, keeping: asyncio.Future[bool], label: str) -> None:
        self._keeping = keeping
        self._label = label

    def __await__(self) -> Any:  # noqa: ANN401 - what an event loop takes
        # A job that is cancelled while it waits still keeps what its step returned.
        is_stored = yield from asyncio.shield(self._keeping).__await__()
        if not is_stored:
            raise RunTakenError(f"step '{self._label}': not stored, since the run was taken from this node")
