"""The event loop of the jobs: their code shares it with the node, so it can neither end it nor reach the node's tasks.

asyncio lets ``SystemExit`` and ``KeyboardInterrupt`` of a task or a callback out of the loop, which ends it. Here such
an exception ends the attempt whose code raised it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextvars import Context
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar, TypeVarTuple

import uvloop
from typing_extensions import override

from .job.own_tasks import note, retrieve, show_own_tasks_only
from .job.ownership import EXITS, Owner, SharedLoopError, owner

if TYPE_CHECKING:
    from _typeshed import HasFileno

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

# Looked up once: each step of a task comes by.
_call_soon: Final = uvloop.Loop.call_soon
_SHARED: Final = (
    "the event loop is shared by all jobs of the node, so a job must not {0}; return from the job, or raise an "
    "exception, to end it"
)


class JobLoop(uvloop.Loop):
    """An event loop that distinguishes its own code from that of jobs by the context in which it runs."""

    def __init__(self) -> None:
        super().__init__()
        show_own_tasks_only()
        self._own: set[asyncio.Task[Any]] = set()

    @property
    def tasks(self) -> set[asyncio.Task[Any]]:
        """All tasks that have not ended, those of the node included; called in the loop, or once it has ended."""
        return asyncio.all_tasks(self) | self._own

    @override
    def create_task(
        self,
        coro: Generator[Any, None, T] | Awaitable[T],
        *,
        name: str | None = None,
        context: Context | None = None,
        **kwargs: Any,
    ) -> asyncio.Task[T]:
        """A task; a job finds by ``asyncio.all_tasks()`` those that it has created itself, and likes to cancel them."""
        task: asyncio.Task[T] = super().create_task(coro, name=name, context=context, **kwargs)
        of = owner.get()
        if of is not None and context is not None:
            # A task of an empty context is nobody's: what a job shares with other jobs outlives it this way.
            of = context.get(owner)
        if of is not None:
            note(task, of)
        else:
            asyncio._unregister_task(task)  # noqa: SLF001 - documented under "Extending asyncio"
            self._own.add(task)
            task.add_done_callback(self._own.discard)
        return task

    @override
    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """As always; what a job has called cannot end the loop."""
        of = owner.get() if context is None else context.get(owner)
        if of is None:
            return _call_soon(self, callback, *args, context=context)
        return _call_soon(self, _guarded, of, callback, *args, context=context)

    @override
    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """See ``call_soon``."""
        of = owner.get() if context is None else context.get(owner)
        if of is None:
            return super().call_soon_threadsafe(callback, *args, context=context)
        return super().call_soon_threadsafe(_guarded, of, callback, *args, context=context)

    @override
    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """See ``call_soon``; ``call_at`` comes by here, too."""
        of = owner.get() if context is None else context.get(owner)
        if of is None:
            return super().call_later(delay, callback, *args, context=context)
        return super().call_later(delay, _guarded, of, callback, *args, context=context)

    @override
    def add_reader(self, fd: "int | HasFileno", callback: Callable[[*Ts], object], *args: *Ts) -> None:
        """See ``call_soon``."""
        of = owner.get()
        if of is None:
            super().add_reader(fd, callback, *args)
        else:
            super().add_reader(fd, _guarded, of, callback, *args)

    @override
    def add_writer(self, fd: "int | HasFileno", callback: Callable[[*Ts], object], *args: *Ts) -> None:
        """See ``call_soon``."""
        of = owner.get()
        if of is None:
            super().add_writer(fd, callback, *args)
        else:
            super().add_writer(fd, _guarded, of, callback, *args)

    @override
    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """As always; a job may have replaced the handler."""
        of = owner.get()
        try:
            super().call_exception_handler(context)
        except EXITS as error:
            if of is None:
                raise
            of.wants_exit(error)

    @override
    def stop(self) -> None:
        """Stop turning.

        Raises:
            SharedLoopError: a job asks for it.
        """
        if owner.get() is not None:
            _refuse("stop it")
        super().stop()

    @override
    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """End the threads of the loop's pool.

        Raises:
            SharedLoopError: a job asks for it.
        """
        if owner.get() is not None:
            _refuse("end its threads")
        await super().shutdown_default_executor(timeout)


def _guarded(of: Owner, callback: Callable[[*Ts], object], *args: *Ts) -> None:
    try:
        callback(*args)
    except (*EXITS, SharedLoopError) as error:
        retrieve(error)
        of.wants_exit(error)


def _refuse(what: str) -> NoReturn:
    raise SharedLoopError(_SHARED.format(what))
