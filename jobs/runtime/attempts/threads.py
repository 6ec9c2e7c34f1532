"""The threads of a node's plain jobs: kept, used again, and never more than the node has slots for."""

import asyncio
import contextlib
import contextvars
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from queue import SimpleQueue
from typing import Generic, TypeVar

from ..process.children import LONGEST, LOOK_EVERY, WaitLimit

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Call(Generic[T]):
    """A call on its way to a thread, in one, or done.

    Attributes:
        context: Its context variables, a copy for this call alone.
        instead: The result of a call that got no thread.
        ended: The result of the call.
        since: When it was submitted, by the monotonic clock.
    """

    function: Callable[[], T]
    context: contextvars.Context
    instead: T
    ended: "asyncio.Future[T]"
    since: float


class ThreadPool(Generic[T]):
    """At most ``size`` daemon threads, which never block the exit of the process.

    Everything but ``_serve`` belongs to one event loop. However many calls end at once, the loop is woken once.

    Args:
        size: How many threads there may be.
        look_every: Seconds between two looks at the waiting calls.
    """

    def __init__(self, size: int, look_every: float = LOOK_EVERY) -> None:
        self._size = size
        self._look_every = look_every
        self._wait_limit = WaitLimit()
        self._queue: SimpleQueue[Call[T] | None] = SimpleQueue()
        # The taker of a call owns it: a thread, or the loop, which gives it back.
        self._waiting: dict[int, Call[T]] = {}
        self._threads: set[threading.Thread] = set()
        self._numbers = itertools.count(1)
        self._unfinished = 0
        self._done: deque[tuple[Call[T], Callable[[asyncio.Future[T]], None]]] = deque()
        self._is_woken = False
        self._is_closed = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """The number of calls that no thread has begun."""
        return len(self._waiting)

    def submit(self, function: Callable[[], T], instead: T, context: contextvars.Context | None = None) -> Call[T]:
        """Have a function called in a thread.

        Args:
            function: Takes no argument.
            instead: The result if threads do not become free any more, or if the call is recalled before it begins.
            context: For this call alone; None = a copy of the present one.

        Raises:
            RuntimeError: there is no thread, and none can be started.
        """
        loop = asyncio.get_running_loop()
        context = contextvars.copy_context() if context is None else context
        call = Call(function, context, instead, loop.create_future(), time.monotonic())
        if self._unfinished >= len(self._threads) and len(self._threads) < self._size:
            self._start(loop)
        self._unfinished += 1
        self._waiting[id(call)] = call
        self._queue.put(call)
        if self._unfinished > len(self._threads) and self._timer is None:
            self._wait_limit.begin()
            # Not in the context of a job that happens to be the first to wait.
            self._timer = loop.call_later(0.0, self._look, loop, context=contextvars.Context())
        return call

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        thread = threading.Thread(target=self._serve, args=(loop,), name=f"job-{next(self._numbers)}", daemon=True)
        self._threads.add(thread)
        try:
            # A thread of its own context: it outlives the run for which it is started.
            contextvars.Context().run(thread.start)
        except RuntimeError:
            self._threads.discard(thread)
            if not self._threads:
                raise

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        """Call one after the other, in a thread of the pool."""
        while (call := self._queue.get()) is not None:
            if self._waiting.pop(id(call), None) is None:
                continue
            self._done.append((call, _outcome(call)))
            if not self._is_woken:
                self._is_woken = True
                # The loop may be closed by now: a thread that outlives a shutdown has nobody left to tell.
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(self._deliver)
            del call

    def _deliver(self) -> None:
        self._is_woken = False
        while self._done:
            call, settle = self._done.popleft()
            self._unfinished -= 1
            self._wait_limit.ended()
            if not call.ended.done():
                settle(call.ended)

    def recall(self, call: Call[T]) -> bool:
        """Give back a call that no thread has begun; return whether it is one."""
        if self._waiting.pop(id(call), None) is None:
            return False
        self._unfinished -= 1
        if not call.ended.done():
            call.ended.set_result(call.instead)
        return True

    def recall_all(self) -> None:
        """Give back all that no thread has begun."""
        for call in list(self._waiting.values()):
            self.recall(call)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        is_over, due = self._wait_limit.is_over(), time.monotonic() - LONGEST
        for call in list(self._waiting.values()):
            if is_over or call.since <= due:
                self.recall(call)
        if self._waiting:
            self._timer = loop.call_later(self._look_every, self._look, loop)

    def close(self) -> None:
        """Let every thread end as soon as it is free; calls that none has begun are given back."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self.recall_all()
        for _ in self._threads:
            self._queue.put(None)


def _outcome(call: Call[T]) -> "Callable[[asyncio.Future[T]], None]":
    try:
        result = call.context.run(call.function)
    except BaseException as error:
        return partial(_fail, error)
    return methodcaller("set_result", result)


def _fail(error: BaseException, ended: "asyncio.Future[T]") -> None:
    ended.set_exception(error)
