"""Decide to which job the running code belongs: its tasks, its threads, and its wish to end the process."""

import asyncio
import contextvars
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from typing import Any, Final, ParamSpec, Protocol, TypeVar, cast
from weakref import WeakKeyDictionary

from ...base.branches import Branches
from ...base.context import Host, StopReason, current_host


class StopSignal:
    """Set once, with the first reason; a deadline sets itself.

    Args:
        timeout: Seconds of the time box from now; None = none.
        clock: Seconds that only grow; the system's monotonic clock unless a test brings its own.
    """

    __slots__ = ("_asked", "_clock", "_deadline", "_lock", "_since")

    def __init__(self, timeout: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = clock()
        self._deadline = None if timeout is None else self._since + timeout
        self._asked: StopReason | None = None
        self._lock = threading.Lock()

    @property
    def reason(self) -> StopReason | None:
        """Return why the job should stop; None if it need not."""
        if self._asked is not None:
            return self._asked
        return StopReason.DEADLINE if self.remaining() == 0.0 else None

    def remaining(self) -> float | None:
        """Return the seconds left of the time box, never negative; None = no time box."""
        return None if self._deadline is None else max(0.0, self._deadline - self._clock())

    def elapsed(self) -> float:
        """Return the seconds since this was made."""
        return self._clock() - self._since

    def ask(self, reason: StopReason) -> None:
        """Ask the job to stop; the first reason stays (a deadline that has passed is one), but a cancel outranks it."""
        with self._lock:
            self._asked = reason if reason is StopReason.CANCEL else self.reason or reason


_LOOK: Final = 0.2
"""Seconds between two looks of a thread that waits at whether it should stop."""


def wait_unless_stopped(signal: StopSignal, seconds: float) -> bool:
    """Block a thread for so many seconds; False, and at once: its job should stop."""
    end = time.monotonic() + seconds
    while signal.reason is None:
        left = end - time.monotonic()
        if left <= 0:
            return True
        time.sleep(min(_LOOK, left))
    return False


P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)


_start_thread: Final = threading.Thread.start
_submit_to_pool: Final = ThreadPoolExecutor.submit


def let_threads_belong_to_jobs() -> None:
    """Start to hand ``current_host`` on to threads and to calls in thread pools; for the life of the process.

    Code that runs in no job is left as it was. Doing it again changes nothing.
    """
    if threading.Thread.start is not _start:
        threading.Thread.start = _start  # type: ignore[method-assign, assignment]
        ThreadPoolExecutor.submit = _submit  # type: ignore[method-assign, assignment]


def _start(thread: threading.Thread) -> None:
    host = current_host.get()
    if host is not None:
        thread.run = _belonging(host, thread.run)  # type: ignore[method-assign]
    _start_thread(thread)


def _submit(pool: ThreadPoolExecutor, call: Callable[..., T], /, *args: object, **kwargs: object) -> Future[T]:
    host = current_host.get()
    if host is None:
        return _submit_to_pool(pool, call, *args, **kwargs)
    # The pool may start a thread now; it serves the next caller, so it belongs to nobody.
    token = current_host.set(None)
    try:
        return _submit_to_pool(pool, _belonging(host, call), *args, **kwargs)
    finally:
        current_host.reset(token)


def _belonging(host: Host, call: Callable[P, T]) -> Callable[P, T]:
    def owned(*args: P.args, **kwargs: P.kwargs) -> T:
        token = current_host.set(host)
        try:
            return call(*args, **kwargs)
        finally:
            current_host.reset(token)

    return owned


class Owner(Protocol):
    """An attempt, or something else that runs code of the user."""

    def wants_exit(self, error: BaseException) -> None:
        """Note that this code wanted to end the process or the loop, outside of any await; called in the loop."""
        ...

    def note_task(self, task: "asyncio.Task[Any]") -> None:
        """Own a task that this code has made; called in the loop."""
        ...


owner: Final[ContextVar[Owner | None]] = ContextVar("cronograph_owner", default=None)
"""The owner of the running code: tasks, callbacks and timers inherit it. None = the node."""


class Outsider:
    """Code of the user that belongs to no attempt."""

    def __init__(self, what: str) -> None:
        self._what = what

    def wants_exit(self, error: BaseException) -> None:
        """Log it, as nobody awaits this code."""
        log.error("%s raised %s, and nothing ends by it", self._what, type(error).__name__, exc_info=error)

    def note_task(self, task: "asyncio.Task[Any]") -> None:
        """Do nothing: the task may go on."""

    def context(self) -> contextvars.Context:
        """Return a copy of the present context, in which the code that runs is this one's."""
        context = contextvars.copy_context()
        context.run(owner.set, self)
        return context


class SharedLoopError(RuntimeError):
    """Code of a job wanted to end the loop that all jobs of its node share."""


def is_asked_to_end(error: BaseException) -> bool:
    """Return whether ``error`` cancels the present task, and was not raised by its code."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


EXITS: Final = (SystemExit, KeyboardInterrupt)
"""Exceptions that an event loop lets out on purpose, so that it ends."""


_owners: Final[WeakKeyDictionary[asyncio.Task[Any], Owner]] = WeakKeyDictionary()
_everybodys: Final = asyncio.all_tasks


def note(task: asyncio.Task[Any], of: Owner) -> None:
    """Remember whose code has made a task."""
    _owners[task] = of
    of.note_task(task)


_branches: Final[ContextVar[Branches | None]] = ContextVar("cronograph_branches", default=None)


@contextmanager
def noting_tasks(of: Branches) -> Generator[None]:
    """Make an attempt own the tasks created in this context, in a loop that is no ``JobLoop``."""
    loop = asyncio.get_running_loop()
    before: Any = loop.get_task_factory()

    def make(
        loop: asyncio.AbstractEventLoop,
        coro: Coroutine[Any, Any, Any],
        *,
        context: Context | None = None,
        **more: Any,  # noqa: ANN401 - what asyncio hands on
    ) -> asyncio.Task[Any]:
        if before is None:
            made: asyncio.Task[Any] = asyncio.Task(coro, loop=loop, context=context, **more)
        else:
            made = before(loop, coro, context=context, **more)
        owned_by = _branches.get() if context is None else context.get(_branches)
        if owned_by is not None:
            owned_by.note(made)
        return made

    token = _branches.set(of)
    loop.set_task_factory(cast("Any", make))
    try:
        yield
    finally:
        loop.set_task_factory(before)
        _branches.reset(token)


def as_node(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call something that makes tasks which are the node's, though a job asks for them: they do not end with it."""
    context = copy_context()
    context.run(owner.set, None)
    context.run(_branches.set, None)
    return context.run(call, *args, **kwargs)


def retrieve(error: BaseException) -> None:
    """Retrieve the exception of the tasks that ended with it: it ends the attempt whose code raised it.

    Otherwise asyncio logs it, whenever such a task is collected, as an exception that was never retrieved.
    """
    for task in list(_owners):
        # What others ended with is still nobody's, and ``exception()`` would be taken for somebody who wants to know.
        if task.done() and not task.cancelled() and task._exception is error:  # noqa: SLF001 - see above
            task.exception()


def own_tasks(loop: asyncio.AbstractEventLoop | None = None) -> set[asyncio.Task[Any]]:
    """Return the tasks of a loop that have not ended; for a job without those of others.

    Args:
        loop: Which; the running one unless given.
    """
    mine = owner.get()
    tasks = _everybodys(loop)
    return tasks if mine is None else {task for task in tasks if _owners.get(task, mine) is mine}


def show_own_tasks_only() -> None:
    """Replace ``asyncio.all_tasks`` by ``own_tasks`` in this process; only jobs see a difference.

    asyncio has no other place where this could be said: a task is either registered for all who ask, or for nobody.
    """
    for module in (asyncio, asyncio.tasks):
        vars(module)["all_tasks"] = own_tasks
