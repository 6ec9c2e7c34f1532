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

from .job.ownership import EXITS, Owner, SharedLoopError, note, owner, retrieve, show_own_tasks_only

if TYPE_CHECKING:
    from _typeshed import HasFileno
import concurrent.futures
import contextvars
import logging
import threading
import time
import traceback
from collections.abc import Coroutine
from typing import cast

from ..own.threads import in_own_thread

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

log = logging.getLogger(__name__)


# Looked up once: each step of a task comes by.
_call_soon: Final = uvloop.Loop.call_soon
_SHARED: Final = "the event loop is shared by all jobs of the node, so a job must not {0}; {1}"
_TO_END: Final = "return from the job, or raise an exception, to end it"


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
        """Create a task, hidden from ``asyncio.all_tasks()`` unless a job creates it: jobs like to cancel them all."""
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
        """Call soon, as always; a callback of a job cannot end the loop."""
        of = owner.get() if context is None else context.get(owner)
        if of is None:
            return _call_soon(self, callback, *args, context=context)
        return _call_soon(self, _guarded, of, callback, *args, context=context)

    @override
    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
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
        of = owner.get()
        if of is None:
            super().add_reader(fd, callback, *args)
        else:
            super().add_reader(fd, _guarded, of, callback, *args)

    @override
    def add_writer(self, fd: "int | HasFileno", callback: Callable[[*Ts], object], *args: *Ts) -> None:
        of = owner.get()
        if of is None:
            super().add_writer(fd, callback, *args)
        else:
            super().add_writer(fd, _guarded, of, callback, *args)

    @override
    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Call the handler, as always; a job may have replaced it."""
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
            _refuse("stop it", _TO_END)
        super().stop()

    @override
    def set_task_factory(self, factory: Any) -> None:
        """Have ``factory`` make all tasks.

        Raises:
            SharedLoopError: a job asks for it.
        """
        if owner.get() is not None:
            _refuse("replace its task factory", "give the job isolation='process', which has a loop of its own")
        super().set_task_factory(factory)

    @override
    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """End the threads of the loop's pool.

        Raises:
            SharedLoopError: a job asks for it.
        """
        if owner.get() is not None:
            _refuse("end its threads", _TO_END)
        await super().shutdown_default_executor(timeout)


def _guarded(of: Owner, callback: Callable[[*Ts], object], *args: *Ts) -> None:
    try:
        callback(*args)
    except (*EXITS, SharedLoopError) as error:
        retrieve(error)
        of.wants_exit(error)


def _refuse(what: str, instead: str) -> NoReturn:
    raise SharedLoopError(_SHARED.format(what, instead))


GIVE_UP: Final = 2.0
"""Seconds for which the loop is started again although it does not turn once."""
_BREATH: Final = 0.01
"""Seconds between two such starts."""
_POOL = "shutdown_default_executor"
"""The coroutine that waits, at the end of a loop, for the threads of its pool."""


class LoopEndedError(Exception):
    """The event loop has ended although nobody asked it to; says why."""


class LoopThread:
    """An event loop in a daemon thread: it never keeps the process from ending.

    An error that gets out of the loop, or a stop of it, does not end it: it goes on with the next callback.

    Args:
        on_end: Called in the thread once the loop has ended although nobody asked it to, with the reason.
    """

    def __init__(
        self,
        name: str,
        loop_factory: Callable[[], JobLoop] = JobLoop,
        *,
        on_end: Callable[[LoopEndedError], None] = lambda _: None,
    ) -> None:
        self._factory = loop_factory
        self._on_end = on_end
        self._started = threading.Event()
        self._loop: JobLoop | None = None
        self._ending: asyncio.Future[None] | None = None
        self._crossing: set[concurrent.futures.Future[Any]] = set()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self.fault: LoopEndedError | None = None
        """The reason for the end of the loop, if nobody asked for it."""

    @property
    def loop(self) -> JobLoop:
        """The loop, once it was started."""
        if self._loop is None:
            raise RuntimeError(f"the event loop of thread '{self._thread.name}' must be started before it is used")
        return self._loop

    @property
    def identity(self) -> int:
        """The thread's number, as ``threading.get_ident`` gives it there."""
        return self._thread.ident or 0

    def start(self) -> None:
        """Begin, and wait until the loop turns. Once only."""
        self._thread.start()
        self._started.wait()

    async def run(self, function: Callable[[], Awaitable[T]]) -> T:
        """Await ``function()`` in the thread's loop; a cancel here cancels it there.

        Raises:
            LoopEndedError: the loop has ended, or ends meanwhile, although nobody asked it to.
        """
        loop = self.loop

        async def awaited() -> T:
            return await function()

        # No matter who asks, it is the node that does it.
        context = contextvars.copy_context()
        context.run(owner.set, None)
        work = awaited()
        crossing = context.run(asyncio.run_coroutine_threadsafe, work, loop)
        self._crossing.add(crossing)
        crossing.add_done_callback(self._crossing.discard)
        if self.fault is not None:
            work.close()
            self._fail_crossing(self.fault)
        return await asyncio.wrap_future(crossing)

    async def close(self, timeout: float) -> bool:
        """Cancel the tasks that still run in the loop, close it, and end the thread; may be called again.

        Returns:
            Whether the thread has ended: one whose loop is blocked, or holds a task that swallows its cancel, has not.
        """
        ending = self._ending
        if self._loop is not None and ending is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(_resolve, ending)
            await in_own_thread(self._thread.join, timeout)
        return not self._thread.is_alive()

    def unfinished(self) -> list[str]:
        """Describe the tasks that ``close`` waited for in vain; empty if the thread has ended."""
        if self._loop is None or not self._thread.is_alive():
            return []
        return sorted(_about(task) for task in self._loop.tasks)

    def _work(self) -> None:
        loop = self._loop = self._factory()
        self._ending = loop.create_future()
        loop.call_soon(self._started.set)
        try:
            self._turn(loop, self._ending)
            tasks = loop.tasks
            for task in tasks:
                task.cancel()
            if tasks:
                self._turn(loop, asyncio.gather(*tasks, return_exceptions=True))
            self._turn(loop, loop.create_task(loop.shutdown_asyncgens()))
            self._turn(loop, loop.create_task(loop.shutdown_default_executor()))
        except LoopEndedError as fault:
            self.fault = fault
            self._started.set()
            self._fail_crossing(fault)
            self._on_end(fault)
        else:
            loop.close()

    def _turn(self, loop: JobLoop, until: "asyncio.Future[Any]") -> None:
        """Turn until something is done, regardless of errors that get out of the loop meanwhile.

        Raises:
            LoopEndedError: it does not turn any more.
        """
        over = threading.Event()

        def stop(_: object) -> None:
            over.set()
            loop.stop()

        until.add_done_callback(stop)
        stuck_since: float | None = None
        while not over.is_set():
            turned = threading.Event()
            reason: BaseException | None = None
            try:
                loop.call_soon(turned.set)
                loop.run_forever()
            except BaseException as error:
                reason = error
            if reason is None and over.is_set():
                return
            now = time.monotonic()
            stuck_since = None if turned.is_set() else stuck_since or now
            if stuck_since is None:
                log.error("%s in the event loop of the jobs, which goes on", _described(reason), exc_info=reason)
            elif now - stuck_since > GIVE_UP:
                raise LoopEndedError(
                    f"the event loop of the jobs does not turn any more: {_described(reason)}"
                ) from reason
            else:
                time.sleep(_BREATH)

    def _fail_crossing(self, fault: LoopEndedError) -> None:
        for crossing in list(self._crossing):
            if not crossing.done() and crossing.set_running_or_notify_cancel():
                crossing.set_exception(fault)


def _resolve(ending: "asyncio.Future[None]") -> None:
    if not ending.done():
        ending.set_result(None)


def _described(reason: BaseException | None) -> str:
    if reason is None:
        return "somebody stopped the running loop"
    places = traceback.extract_tb(reason.__traceback__)
    at = f" at {places[-1].filename}:{places[-1].lineno} in {places[-1].name}" if places else ""
    return f"{type(reason).__name__} ({reason}) was raised{at}"


def _about(task: asyncio.Task[object]) -> str:
    """Return the coroutines that a task awaits, the outermost first."""
    names: list[str] = []
    awaited: object = task.get_coro()
    # Also those of the loop itself, which are compiled: for these ``inspect.iscoroutine`` is false.
    while isinstance(awaited, Coroutine):
        coroutine: object = cast("object", awaited)
        names.append(getattr(coroutine, "__qualname__", type(coroutine).__name__))
        awaited = getattr(coroutine, "cr_await", None)
    if any(name.endswith(_POOL) for name in names):
        return "a call in the thread pool of the event loop"
    return " > ".join(names) or task.get_name()
