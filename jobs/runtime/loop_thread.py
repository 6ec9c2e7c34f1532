"""The event loop of the jobs in a thread of its own, and how another loop has something done in it."""

import asyncio
import concurrent.futures
import contextvars
import logging
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar, cast

from ..own.threads import in_own_thread
from .job.ownership import owner
from .job_loop import JobLoop

T = TypeVar("T")

log = logging.getLogger(__name__)

GIVE_UP: Final = 2.0
"""Seconds for which the loop is started again although it does not turn once."""
_BREATH: Final = 0.01
"""Seconds between two such starts."""
_POOL = "shutdown_default_executor"
"""What waits, at the end of a loop, for the threads of its pool."""


class LoopEndedError(Exception):
    """The event loop has ended although nobody asked it to; says why."""


class LoopThread:
    """An event loop in a daemon thread: it never keeps the process from ending.

    What gets out of the loop, or stops it, does not end it: it goes on with the next callback.

    Args:
        name: Of the thread.
        loop_factory: Makes the loop.
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
        """Why the loop has ended, if nobody asked it to."""

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
        """Cancel what still runs in the loop, close it, and end the thread; may be called again.

        Returns:
            Whether the thread has ended: one whose loop is blocked, or holds a task that swallows its cancel, has not.
        """
        ending = self._ending
        if self._loop is not None and ending is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(_resolve, ending)
            await in_own_thread(self._thread.join, timeout)
        return not self._thread.is_alive()

    def unfinished(self) -> list[str]:
        """What the tasks are about that ``close`` waited for in vain; empty if the thread has ended."""
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
        """Turn until something is done, no matter what gets out of the loop meanwhile.

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
    """What got out of a loop, and which place it came from."""
    if reason is None:
        return "somebody stopped what turns"
    places = traceback.extract_tb(reason.__traceback__)
    at = f" at {places[-1].filename}:{places[-1].lineno} in {places[-1].name}" if places else ""
    return f"{type(reason).__name__} ({reason}) was raised{at}"


def _about(task: asyncio.Task[object]) -> str:
    """Which coroutines a task awaits, the outermost first."""
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
