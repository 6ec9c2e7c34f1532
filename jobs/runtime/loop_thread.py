"""An event loop in a thread of its own, and how another loop has something done in it."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import TypeVar, cast

T = TypeVar("T")

_POOL = "shutdown_default_executor"
"""What waits, at the end of a loop, for the threads of its pool."""


class LoopThread:
    """An event loop in a daemon thread: it never keeps the process from ending.

    Args:
        name: Of the thread.
        loop_factory: Makes the loop.
    """

    def __init__(self, name: str, loop_factory: Callable[[], asyncio.AbstractEventLoop]) -> None:
        self._factory = loop_factory
        self._started = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._turn, name=name, daemon=True)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
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
        """Await ``function()`` in the thread's loop; a cancel here cancels it there."""
        loop = self.loop

        async def awaited() -> T:
            return await function()

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(awaited(), loop))

    async def close(self, within: float) -> bool:
        """Cancel what still runs in the loop, close it, and end the thread; may be called again.

        Args:
            within: Seconds to wait for that.

        Returns:
            Whether the thread has ended: one whose loop is blocked, or holds a task that swallows its cancel, has not.
        """
        if self._loop is not None and self._ending is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ending.set)
            await asyncio.to_thread(self._thread.join, within)
        return not self._thread.is_alive()

    def unfinished(self) -> list[str]:
        """What the tasks are about that ``close`` waited for in vain; empty if the thread has ended."""
        if self._loop is None or not self._thread.is_alive():
            return []
        return sorted(_about(task) for task in asyncio.all_tasks(self._loop))

    def _turn(self) -> None:
        with asyncio.Runner(loop_factory=self._factory) as runner:
            runner.run(self._until_ended())

    async def _until_ended(self) -> None:
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        self._started.set()
        await self._ending.wait()


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
