"""Handle an enqueued run: wait for it, look at it, cancel it."""

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, Self

from . import lazy
from .base.context import current_host
from .base.outcomes import RunFailed
from .core.base.errors import ConfigurationError, NotFound
from .core.base.lazy import LazyModule
from .core.model import Json, Run
from .core.run_spec import Cancel, ReplaceArgs, Reschedule, RunTarget, Seconds, length
from .core.states import FINAL, RunState
from .core.waits import RunChange, Signal
from .registry import Registry, registry_or_default
from .registry.queue import RunQueue

if TYPE_CHECKING:
    import asyncio

    from .own import threads as own_threads
else:
    asyncio = LazyModule("asyncio")
    own_threads = LazyModule(f"{__package__}.own.threads")

_FIRST_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 0.5
"""Seconds between two looks at a run that is waited for."""


@dataclass(frozen=True, slots=True, repr=False)
class RunHandle:
    """A run in the queue. Queries of the database have twins that end in ``_sync``, for code without an event loop.

    Of a run that was enqueued in a session, these see nothing until the session is committed, and need a database that
    this process knows (``connect``, or the variable ``CRONOGRAPH_DATABASE_URL``).

    Attributes:
        run: As it was put into the queue, or the unfinished one that had its unique key.
        deduplicated: Whether it is that one, and nothing was added. None: not known, because the node of a running job
            has enqueued it.
    """

    run: Run
    _queue: RunQueue | None
    deduplicated: bool | None = False

    @classmethod
    async def of(cls, run: int | str, *, registry: Registry | None = None) -> Self:
        """Return the handle of a run that is in the queue already.

        Args:
            run: Its id, or the unique key that it holds while it is unfinished.
            registry: Whose database; that of the default registry unless given.

        Raises:
            NotFound: there is no such run.
            ConfigurationError: this process knows no database.
        """
        return await own_threads.briefly_in_thread(lambda: cls.of_sync(run, registry=registry))

    @classmethod
    def of_sync(cls, run: int | str, *, registry: Registry | None = None) -> Self:
        """See ``of``."""
        queue = lazy.queue_of(registry_or_default(registry))
        if queue is None:
            raise no_database()
        found = queue.find(RunTarget(unique_key=run) if isinstance(run, str) else RunTarget(run))
        if found is None:
            named = (
                f"unfinished run has the unique key {run!r:.60}" if isinstance(run, str) else f"run has the id {run}"
            )
            raise NotFound(f"run: no {named}")
        return cls(found, queue)

    @property
    def run_id(self) -> int:
        """The run's id."""
        return self.run.id

    async def status(self) -> RunState:
        """Return the state of the run now.

        Raises:
            NotFound: there is none (any more): its session was not committed, or history was pruned.
        """
        return await own_threads.briefly_in_thread(self.status_sync)

    def status_sync(self) -> RunState:
        """See ``status``."""
        return self._now().state

    async def cancel(self, reason: str | None = None) -> RunState:
        """Cancel the run: at once while it waits, by asking its job while it runs. Where it stands then.

        Raises:
            NotFound: see ``status``.
        """
        return await change(self._queue, RunTarget(self.run_id), Cancel(reason))

    def cancel_sync(self, reason: str | None = None) -> RunState:
        """See ``cancel``."""
        return change_sync(self._queue, RunTarget(self.run_id), Cancel(reason))

    async def reschedule(self, run_at: datetime) -> RunState:
        """Give the run, which must be waiting, another time; return its state then.

        Raises:
            NotFound: see ``status``.
            UserError: the run does not wait, or the time has no zone.
        """
        return await change(self._queue, RunTarget(self.run_id), Reschedule(run_at))

    def reschedule_sync(self, run_at: datetime) -> RunState:
        """See ``reschedule``."""
        return change_sync(self._queue, RunTarget(self.run_id), Reschedule(run_at))

    async def replace_args(self, args: Mapping[str, Json]) -> RunState:
        """Give the run, which must not have begun, other arguments instead of all that it has; return its state then.

        Raises:
            NotFound: see ``status``.
            UserError: the run has begun, or its job does not take these arguments.
        """
        return await change(self._queue, RunTarget(self.run_id), ReplaceArgs(args))

    def replace_args_sync(self, args: Mapping[str, Json]) -> RunState:
        """See ``replace_args``."""
        return change_sync(self._queue, RunTarget(self.run_id), ReplaceArgs(args))

    async def signal(self, name: str, payload: Json = None, *, reject: str | None = None) -> RunState:
        """Send a signal to the run, for ``ctx.wait_for`` of this name; return where the run stands then.

        Args:
            name: Of the wait; of one with a key ``name[key]``.
            payload: The data of the signal, plain JSON.
            reject: It says no, for this reason.

        Raises:
            NotFound: see ``status``.
            UserError: the run has ended, or its wait does not accept the payload.
        """
        return await change(self._queue, RunTarget(self.run_id), Signal(name, payload, reject))

    def signal_sync(self, name: str, payload: Json = None, *, reject: str | None = None) -> RunState:
        """See ``signal``."""
        return change_sync(self._queue, RunTarget(self.run_id), Signal(name, payload, reject))

    async def result(self, timeout: Seconds | None = None) -> Json:
        """Wait until the run has ended, and give the value of the ``Result`` that its job returned.

        Args:
            timeout: Seconds, or a text such as ``"5m"``; None = as long as it takes.

        Raises:
            RunFailed: it ended otherwise than successfully.
            TimeoutError: it has not ended by then; it goes on.
            NotFound: see ``status``.
        """
        for pause in self._pauses(timeout):
            run = await own_threads.briefly_in_thread(self._now)
            if run.state in FINAL:
                return _value(run)
            await asyncio.sleep(pause)
        raise self._not_over(timeout)

    def result_sync(self, timeout: Seconds | None = None) -> Json:
        """See ``result``."""
        for pause in self._pauses(timeout):
            run = self._now()
            if run.state in FINAL:
                return _value(run)
            time.sleep(pause)
        raise self._not_over(timeout)

    def __repr__(self) -> str:
        return f"<run {self.run_id} of job '{self.run.job_name}'>"

    def _pauses(self, timeout: Seconds | None) -> Iterator[float]:
        """Yield the seconds between two looks, longer each time, until the time is used up."""
        most = math.inf if timeout is None else length("timeout", timeout)
        began, pause = time.monotonic(), _FIRST_PAUSE
        while time.monotonic() - began <= most:
            yield min(pause, most)
            pause = min(_LONGEST_PAUSE, pause * 1.5)

    def _not_over(self, timeout: Seconds | None) -> TimeoutError:
        shown = f"{timeout} s" if isinstance(timeout, int | float) else timeout
        return TimeoutError(f"run {self.run_id} of job '{self.run.job_name}' has not ended within {shown}")

    def _now(self) -> Run:
        if self._queue is None:
            raise no_database()
        found = self._queue.find(RunTarget(self.run_id))
        if found is None:
            raise NotFound(f"run {self.run_id} does not exist: was its session committed, and is it still kept?")
        return found


async def change(queue: RunQueue | None, target: RunTarget, asked: RunChange) -> RunState:
    """Change a run in its own transaction; return its state. Within a job, its node does it if ``queue`` is None."""
    host = current_host.get()
    if queue is None and host is not None:
        return await host.change(target, asked)
    return await own_threads.briefly_in_thread(change_sync, queue, target, asked)


def change_sync(queue: RunQueue | None, target: RunTarget, asked: RunChange) -> RunState:
    """Do the same as ``change`` for code without an event loop."""
    host = current_host.get()
    if queue is None and host is not None:
        return host.change_waiting(target, asked)
    if queue is None:
        raise no_database()
    return queue.change(target, asked).state


def no_database() -> ConfigurationError:
    """Return the error that this process does not know yet where the queue is."""
    return ConfigurationError(
        "this process knows no database for its jobs: give a session, call cronograph.jobs.connect(database_url) once, "
        "or set CRONOGRAPH_DATABASE_URL"
    )


def _value(run: Run) -> Json:
    if run.state is not RunState.SUCCESS:
        raise RunFailed(run.id, run.job_name, run.state, run.error)
    return run.result
