"""Group commit: requests of several callers at the same moment are written by one of them, in one transaction."""

import asyncio
import contextlib
import contextvars
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from typing_extensions import override

from ..core.base.errors import StorageError
from ..store.db.faults import kind_of

A = TypeVar("A")
R = TypeVar("R")
T = TypeVar("T")
A_co = TypeVar("A_co", covariant=True)
R_contra = TypeVar("R_contra", contravariant=True)

MOST: Final = 1000
"""Number of requests that one transaction writes at most."""


class _Asked(Generic[A, R]):
    """Hold the request of one thread, and its result.

    Attributes:
        leads: Whether it is this thread's turn to write.
    """

    __slots__ = ("_error", "_results", "_woken", "leads", "what")

    def __init__(self, what: A) -> None:
        self.what = what
        self.leads = False
        self._results: tuple[R, ...] = ()
        self._error: BaseException | None = None
        self._woken = threading.Lock()
        self._woken.acquire()

    @property
    def is_over(self) -> bool:
        return bool(self._results) or self._error is not None

    @property
    def is_abandoned(self) -> bool:
        """Return whether nobody can learn its result any more."""
        return False

    def done(self, result: R) -> None:
        self._results = (result,)

    def failed(self, error: BaseException) -> None:
        self._error = error

    def wait(self) -> None:
        """Wait until it is over, or this thread leads."""
        self._woken.acquire()

    def wake(self) -> None:
        """Wake its thread."""
        self._woken.release()

    def answer(self) -> R:
        if self._error is not None:
            raise self._error
        return self._results[0]


class _AskedInLoop(_Asked[A, R]):
    """Hold the request of one task of an event loop; it never leads."""

    __slots__ = ("_loop", "over")

    def __init__(self, what: A) -> None:
        super().__init__(what)
        self._loop = asyncio.get_running_loop()
        self.over: asyncio.Future[None] = self._loop.create_future()

    @property
    @override
    def is_abandoned(self) -> bool:
        return self._loop.is_closed()

    @override
    def wake(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._wake_task)
        except RuntimeError:
            # The loop was closed meanwhile, and nobody waits there any more.
            return

    def _wake_task(self) -> None:
        if not self.over.done():
            self.over.set_result(None)


class GroupCommit(Generic[A, R]):
    """Let one thread at a time write; it also writes the requests of the others, and then the first of them leads.

    For the tasks of event loops a thread of the group leads, which does nothing else: code that holds up a loop, or
    fills its executor, perhaps because it waits for this group, holds up nobody here.

    Args:
        write: Writes all that was asked for in one transaction; the results are in the same order. If it raises an
            error that may concern one row alone, nothing was written: each half is written by itself
            then, until the guilty ones stand alone.
        most: The most rows that one transaction writes.
    """

    def __init__(self, write: Callable[[Sequence[A]], Sequence[R]], most: int = MOST) -> None:
        self._write = write
        self._most = most
        self._waiting: deque[_Asked[A, R]] = deque()
        self._lock = threading.Lock()
        self._is_led = False
        # Its thread begins with the first task that asks, and ends with this group.
        self._own_thread = ThreadPoolExecutor(1, "cronograph-group-commit")

    def put(self, what: A) -> R:
        """Write it with others; return its result once it is committed.

        Raises:
            Exception: as the writing of it, or of all that was written with it, raised.
        """
        mine: _Asked[A, R] = _Asked(what)
        mine.leads = self._begins_to_lead(mine)
        if not mine.leads:
            try:
                mine.wait()
            except BaseException:
                self._give_up(mine)
                raise
        if not mine.is_over:
            self._lead(mine)
        return mine.answer()

    async def put_in_loop(self, what: A) -> R:
        """Do the same as ``put`` in a task of an event loop. One that is cancelled before its turn writes nothing."""
        mine: _AskedInLoop[A, R] = _AskedInLoop(what)
        if self._begins_to_lead(mine):
            self._lead_by_own_thread()
        try:
            await mine.over
        except BaseException:
            self._give_up(mine)
            raise
        return mine.answer()

    def _begins_to_lead(self, mine: _Asked[A, R]) -> bool:
        """Join those who wait; return whether nobody writes for them yet."""
        with self._lock:
            self._waiting.append(mine)
            begins, self._is_led = not self._is_led, True
        return begins

    def _give_up(self, mine: _Asked[A, R]) -> None:
        """Withdraw a caller that no longer waits; if it led, pass the lead on."""
        with self._lock:
            if mine in self._waiting:
                self._waiting.remove(mine)
        if mine.leads and not mine.is_over:
            self._pass_on()

    def _lead_by_own_thread(self) -> None:
        try:
            self._own_thread.submit(self._lead)
        except RuntimeError:
            # The interpreter ends and begins no more threads.
            self._lead()

    def _lead(self, mine: _Asked[A, R] | None = None) -> None:
        try:
            self._write_some(mine)
        finally:
            self._pass_on()

    def _pass_on(self) -> None:
        """Pass the lead to the first one that waits, in its own thread or in that of the group."""
        with self._lock:
            while self._waiting and self._waiting[0].is_abandoned:
                self._waiting.popleft()
            following = self._waiting[0] if self._waiting else None
            self._is_led = following is not None
            by_own_thread = isinstance(following, _AskedInLoop)
            if following is not None:
                following.leads = not by_own_thread
        if by_own_thread:
            self._lead_by_own_thread()
        elif following is not None:
            following.wake()

    async def _write_here(self, some: Sequence[A]) -> Sequence[R]:
        return self._write(some)

    def _write_some(self, mine: _Asked[A, R] | None) -> None:
        with self._lock:
            some = [one for one in _taken(self._waiting, self._most) if not one.is_abandoned]
        try:
            if some:
                _in_this_thread(_write_shares(some, self._write_here))
        except BaseException:
            for one in some:
                if not one.is_over:
                    one.failed(_interrupted())
            raise
        finally:
            for one in some:
                if one is not mine:
                    one.wake()


class _Pending(NamedTuple, Generic[A, R]):
    """Hold the request of a task, and its answer; the task may have given up."""

    what: A
    answer: "asyncio.Future[R]"

    def done(self, result: R) -> None:
        if not self.answer.done():
            self.answer.set_result(result)

    def failed(self, error: BaseException) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class LoopGroupCommit(Generic[A, R]):
    """``GroupCommit`` for the tasks of one event loop; one that gives up waiting leaves the others alone.

    Args:
        write: See there; it may as well read.
        most: How many of those that wait are written together, at least one; all up to ``MOST`` unless given.
    """

    def __init__(
        self,
        write: Callable[[Sequence[A]], Awaitable[Sequence[R]]],
        most: Callable[[Iterable[A]], int] = lambda _: MOST,
    ) -> None:
        self._write = write
        self._most = most
        self._waiting: deque[_Pending[A, R]] = deque()
        self._writer: asyncio.Task[None] | None = None

    async def put(self, what: A) -> R:
        """See ``GroupCommit.put``."""
        return await self.begin(what)

    def begin(self, what: A) -> "asyncio.Future[R]":
        """Begin ``put``, whether its answer is awaited or not."""
        loop = asyncio.get_running_loop()
        asked = _Pending[A, R](what, loop.create_future())
        if self._writer is not None and self._writer.get_loop() is not loop:
            # That loop ended in the midst of it; nobody there waits any more.
            self._writer, self._waiting = None, deque()
        self._waiting.append(asked)
        if self._writer is None or self._writer.done():
            # Not in the context of the job that happens to be the first to ask: it would be kept until the next one.
            context = contextvars.Context()
            self._writer = loop.create_task(self._write_all(self._waiting), name="group commit", context=context)
        return asked.answer

    async def close(self) -> None:
        """Write nothing more; who still waits is cancelled."""
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.wait([self._writer])
            # It may not even have begun.
            _cancel(self._waiting)

    async def _write_all(self, waiting: deque[_Pending[A, R]]) -> None:
        some: list[_Pending[A, R]] = []
        try:
            # Let everything that is asked for in this turn of the loop join.
            await asyncio.sleep(0)
            while waiting:
                some = _taken(waiting, self._most(one.what for one in waiting))
                await _write_shares(some, self._write)
        finally:
            # Nobody else would end the waiting, for any end of this.
            _cancel(some)
            _cancel(waiting)


def _cancel(some: "list[_Pending[A, R]] | deque[_Pending[A, R]]") -> None:
    for one in some:
        if not one.answer.get_loop().is_closed():
            one.answer.cancel()
    some.clear()


class _Waiter(Protocol[A_co, R_contra]):
    """Somebody who asks for something."""

    @property
    def what(self) -> A_co: ...

    def done(self, result: R_contra) -> None: ...

    def failed(self, error: BaseException) -> None: ...


async def _write_shares(some: Sequence[_Waiter[A, R]], write: Callable[[Sequence[A]], Awaitable[Sequence[R]]]) -> None:
    """Write these requests together; each gets its result, or the exception of the writing."""
    try:
        results = await write([one.what for one in some])
    except Exception as error:  # noqa: BLE001 - it is raised to those who asked
        if len(some) > 1 and _may_concern_one(error):
            half = len(some) // 2
            await _write_shares(some[:half], write)
            await _write_shares(some[half:], write)
            return
        for one in some:
            one.failed(error)
    else:
        for one, result in zip(some, results, strict=True):
            one.done(result)


def _in_this_thread(written: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end whose work is done by this thread, so that it never waits for an event loop."""
    with contextlib.suppress(StopIteration):
        written.send(None)


def _may_concern_one(error: Exception) -> bool:
    """Return whether an error may come from the request of only one of several; else all would get the same."""
    return not isinstance(error, StorageError) and not kind_of(error).passes


def _taken(waiting: deque[T], most: int) -> list[T]:
    return [waiting.popleft() for _ in range(min(most, len(waiting)))]


def _interrupted() -> StorageError:
    return StorageError(
        "the thread that was writing this together with its own was interrupted, so it may be stored or not; look "
        "before you enqueue it again, or give it a unique_key"
    )
