"""Track the tasks of one attempt, and the threads of its steps. The attempt is over when all of these are."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..core.base.lazy import LazyModule

if TYPE_CHECKING:
    import asyncio

    from ..own import threads as own_threads
else:
    asyncio = LazyModule("asyncio")
    own_threads = LazyModule("cronograph.jobs.own.threads")

T = TypeVar("T")

_LOOKS: Final = (0.0, 0.0, 0.001, 0.002, 0.005, 0.01, 0.02)
"""Seconds before the first looks at the branches; then always the last of these."""
_CANCEL_AGAIN: Final = 1.0
"""Seconds after which a task that swallowed its cancel is cancelled again."""
MAX_THREADS: Final = 32
"""Plain functions of steps that one attempt calls at the same time."""
_MEETING: Final = ("asyncio/taskgroups.py", "asyncio/locks.py", "asyncio/queues.py", "anyio/_backends/_asyncio.py")
"""Code in which a task waits for other tasks of its job."""


class RunIsOverError(Exception):
    """A task or a thread that an attempt left behind wanted something in its name; the attempt is over."""


class Branches:
    """The tasks of one attempt, and its steps that are at work. Functions that are called in threads say so.

    Args:
        main: Returns the task of the job itself; None = it has none.
        grace: Seconds that tasks have, without any step, before those that wait stop waiting for them.
        should_stop: Returns whether the attempt was asked to stop.
    """

    def __init__(
        self, main: "Callable[[], asyncio.Future[Any] | None]", grace: float, should_stop: Callable[[], bool]
    ) -> None:
        self._main = main
        self._grace = grace
        self._should_stop = should_stop
        self._lock = threading.Lock()
        self._tasks: set[asyncio.Future[Any]] = set()
        self._standing: set[asyncio.Future[Any]] = set()
        self._at_work: Counter[str] = Counter()
        self._calls: set[_Call] = set()
        self._threads: asyncio.Semaphore | None = None
        self._moved_at = time.monotonic()
        self._is_over = False

    @property
    def is_quiet(self) -> bool:
        """Return whether nothing is at work that the attempt has begun."""
        return not (self._tasks or self._at_work or self._calls)

    @property
    def steps_at_work(self) -> frozenset[str]:
        """The labels of the steps whose functions have not returned. Safe from any thread."""
        with self._lock:
            return frozenset(self._at_work) | {one.label for one in self._calls if not one.is_over}

    def note(self, task: "asyncio.Task[Any]") -> None:
        """Make the attempt own a task; called in the event loop."""
        if not task.done():
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _refuse_if_over(self, label: str) -> None:
        if self._is_over:
            raise RunIsOverError(f"step '{label}': not begun, since its attempt is over")

    @contextmanager
    def working(self, label: str) -> Generator[None]:
        """Take part in the attempt as this step until the block ends. Safe from any thread.

        Raises:
            RunIsOverError: the attempt is over, so a later one may do this step.
        """
        with self._lock:
            self._refuse_if_over(label)
            self._at_work[label] += 1
            self._moved_at = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                self._at_work[label] -= 1
                if not self._at_work[label]:
                    del self._at_work[label]
                self._moved_at = time.monotonic()

    async def in_thread(self, label: str, function: Callable[[], T], keep: Callable[[T], object]) -> T:
        """Call the function of a step in a thread of its own, which does not keep the process from ending.

        Args:
            label: The step.
            function: A plain function.
            keep: Gets, in the event loop, the result of a function whose caller was cancelled meanwhile.

        Raises:
            RunIsOverError: the attempt is over.
            RuntimeError: no thread can be started.
        """
        if self._threads is None:
            self._threads = asyncio.Semaphore(MAX_THREADS)
        async with self._threads:
            call = _Call(label)
            with self._lock:
                self._refuse_if_over(label)
                self._calls.add(call)
            try:
                answer = own_threads.in_own_thread(call.work, function)
            except BaseException:
                self._end_call(call)
                raise
            answer.add_done_callback(lambda _: self._settle(call, answer, keep))
            try:
                # The thread goes on when the step is cancelled: its answer comes in any case.
                return await asyncio.shield(answer)
            finally:
                call.is_left = True

    def _settle(self, call: "_Call", answer: "asyncio.Future[T]", keep: Callable[[T], object]) -> None:
        goes_on = self._end_call(call)
        if answer.exception() is None and call.is_left and goes_on:
            keep(answer.result())

    def _end_call(self, call: "_Call") -> bool:
        """Note that the function of a step has returned in its thread; return whether the attempt goes on."""
        with self._lock:
            self._calls.discard(call)
            self._moved_at = time.monotonic()
            return not self._is_over

    async def stand(self) -> None:
        """Wait until the present task may suspend the attempt.

        It may once every other task of the attempt stands too, waits for other tasks, or is over; once these have
        begun no step for the grace time; or once the attempt should stop.
        """
        me = asyncio.current_task()
        assert me is not None, "it is called in a task"
        self._standing.add(me)
        try:
            await self._settled()
        finally:
            self._standing.discard(me)

    async def _settled(self) -> None:
        began, looks = time.monotonic(), 0
        while self._is_moving() and not self._should_stop():
            if not self._at_work and not self._calls and self._is_late(began):
                return
            await asyncio.sleep(_LOOKS[min(looks, len(_LOOKS) - 1)])
            looks += 1

    def _is_late(self, began: float) -> bool:
        return time.monotonic() - max(began, self._moved_at) > self._grace

    def _is_moving(self) -> bool:
        """Return whether a step is at work, or a task that neither stands nor waits for another one."""
        if self._at_work or self._calls:
            return True
        main = self._main()
        tasks = self._tasks if main is None else {main, *self._tasks}
        return any(not (one.done() or one in self._standing or _waits_for_tasks(one)) for one in tasks)

    async def end(
        self, *, let_go_on: bool, is_abandoned: Callable[[], bool], on_late: Callable[[frozenset[str]], object]
    ) -> bool:
        """Wait until everything that the attempt has begun is over; return whether some of it was cut off.

        Args:
            let_go_on: Let tasks go on until each stands or waits for others; else they are cancelled at once.
            is_abandoned: Returns whether nobody waits any more: unfinished ones are left behind then.
            on_late: Called once if something goes on for the grace time after its cancel; with its steps at work.
        """
        if let_go_on:
            # Those that stand leave by themselves.
            await self._settled()
        was_cut, began, looks, is_told, cancelled_at = False, time.monotonic(), 0, False, 0.0
        while not self.is_quiet and not is_abandoned():
            now = time.monotonic()
            if now - cancelled_at >= _CANCEL_AGAIN:
                cancelled_at, was_cut = now, was_cut or not self.is_quiet
                for task in [*self._tasks]:
                    task.cancel()
            if not is_told and now - began > self._grace:
                is_told = True
                on_late(self.steps_at_work)
            await asyncio.sleep(_LOOKS[min(looks, len(_LOOKS) - 1)])
            looks += 1
        self.close()
        return was_cut

    def close(self) -> None:
        """Let nothing begin any more: the attempt is over."""
        with self._lock:
            self._is_over = True

    def wait_for_steps(self) -> None:
        """Block until no step is at work any more, where no event loop turns; then the attempt is over."""
        looks = 0
        while True:
            with self._lock:
                if not self._at_work and not self._calls:
                    self._is_over = True
                    return
            time.sleep(_LOOKS[min(looks, len(_LOOKS) - 1)])
            looks += 1


class _Call:
    """A plain function that a thread calls for a step; nothing but itself can stop it.

    Attributes:
        is_left: Nobody awaits it any more.
        is_over: It has returned; the event loop need not have heard of it.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self.is_left = False
        self.is_over = False

    def work(self, function: Callable[[], T]) -> T:
        """Call it."""
        try:
            return function()
        finally:
            self.is_over = True


def _waits_for_tasks(task: "asyncio.Future[Any]") -> bool:
    """Return whether a task waits for other tasks: it has nothing to do before one of these goes on or ends.

    Only the task itself knows the object that it awaits. A task about which nothing is known counts as at work.
    """
    waiter = getattr(task, "_fut_waiter", None)
    if isinstance(waiter, asyncio.Task) or type(waiter).__name__ == "_GatheringFuture":
        return True
    code = None
    awaited = task.get_coro() if isinstance(task, asyncio.Task) else None
    while (inner := getattr(awaited, "cr_await", None)) is not None:
        code, awaited = getattr(inner, "cr_code", code), inner
    if code is None:
        return False
    name = code.co_filename.replace("\\", "/")
    return name.endswith(_MEETING) or (name.endswith("asyncio/tasks.py") and code.co_name in ("_wait", "wait_for"))
