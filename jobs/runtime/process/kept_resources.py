"""What a child process that is used again keeps from one run to the next: an event loop, and resources of its node."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack
from typing import Any, TypeVar

from ...registry.hooks import Resource

T = TypeVar("T")


class KeptResources:
    """The resources of a child process: opened for the first run, closed after the last one."""

    def __init__(self) -> None:
        self.opened: Mapping[Any, object] = {}
        self._stack = ExitStack()
        self._runner: asyncio.Runner | None = None
        self._closing: asyncio.Event | None = None
        self._keeper: asyncio.Task[None] | None = None

    def open(self, needed: Sequence[Resource]) -> None:
        """Open what needs no event loop, once; what is open already stays so.

        Raises:
            Exception: one of them cannot be opened.
        """
        if not self.opened and needed:
            opened: dict[Any, object] = {}
            for one in needed:
                opened[one.kind] = self._stack.enter_context(one.manager(opened))  # type: ignore[arg-type] # asynchronous ones are refused for a plain job
            self.opened = opened

    def run(self, needed: Sequence[Resource], handle: Callable[[], Awaitable[T]]) -> T:
        """Await ``handle()`` in the event loop of this process, in a context of its own, with what is needed open.

        Tasks that it leaves are cancelled, as ``asyncio.run`` does.
        """
        if self._runner is None:
            self._runner = self._stack.enter_context(asyncio.Runner())
        return self._runner.run(self._handled(needed, handle), context=contextvars.copy_context())

    async def _handled(self, needed: Sequence[Resource], handle: Callable[[], Awaitable[T]]) -> T:
        if self._keeper is None and needed:
            await self._open_in_loop(needed)
        stay = asyncio.all_tasks()
        try:
            return await handle()
        finally:
            left = asyncio.all_tasks() - stay
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def _open_in_loop(self, needed: Sequence[Resource]) -> None:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # One task opens and closes all of it: a task group, for one, is left where it was entered.
        self._closing = asyncio.Event()
        self._keeper = asyncio.create_task(self._keep(needed, ready, self._closing))
        await asyncio.wait([ready, self._keeper], return_when=asyncio.FIRST_COMPLETED)
        if self._keeper.done():
            self._keeper.result()

    async def _keep(self, needed: Sequence[Resource], ready: "asyncio.Future[None]", closing: asyncio.Event) -> None:
        async with AsyncExitStack() as stack:
            opened: dict[Any, object] = {}
            for one in needed:
                manager = one.manager(opened)
                if isinstance(manager, AbstractAsyncContextManager):
                    opened[one.kind] = await stack.enter_async_context(manager)
                else:
                    opened[one.kind] = stack.enter_context(manager)
            self.opened = opened
            ready.set_result(None)
            await closing.wait()

    def close(self) -> None:
        """Close all of it, in the opposite order.

        Raises:
            Exception: one of them could not be closed.
        """
        with self._stack:
            if self._runner is not None and self._keeper is not None and self._closing is not None:
                self._closing.set()
                self._runner.run(_ended(self._keeper))


async def _ended(keeper: asyncio.Task[None]) -> None:
    await keeper
