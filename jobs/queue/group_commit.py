"""Group commit: what several callers ask for at the same moment is written by one of them, in one transaction."""

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from ..core.base.driving import Steps, drive, drive_in_loop
from ..core.base.errors import StorageError, UserError

A = TypeVar("A")
R = TypeVar("R")
A_co = TypeVar("A_co", covariant=True)
R_contra = TypeVar("R_contra", contravariant=True)

MOST: Final = 1000
"""What one transaction writes."""


class _Asked(Generic[A, R]):
    """What one thread asks for, and what has become of it.

    Attributes:
        leads: Whether it is this thread's turn to write.
    """

    __slots__ = ("_error", "_results", "_woken", "leads", "what")

    def __init__(self, what: A, *, leads: bool) -> None:
        self.what = what
        self.leads = leads
        self._results: tuple[R, ...] = ()
        self._error: BaseException | None = None
        self._woken = threading.Lock()
        self._woken.acquire()

    @property
    def is_over(self) -> bool:
        return bool(self._results) or self._error is not None

    def done(self, result: R) -> None:
        self._results = (result,)

    def failed(self, error: BaseException) -> None:
        self._error = error

    def wait(self) -> None:
        """Until it is over, or this thread leads."""
        self._woken.acquire()

    def wake(self) -> bool:
        """Have its thread look again; whether there is one that can."""
        self._woken.release()
        return True

    def answer(self) -> R:
        if self._error is not None:
            raise self._error
        return self._results[0]


class _AskedInLoop(_Asked[A, R]):
    """What a task of an event loop asks for."""

    __slots__ = ("_loop", "_woken_task")

    def __init__(self, what: A, *, leads: bool) -> None:
        super().__init__(what, leads=leads)
        self._loop = asyncio.get_running_loop()
        self._woken_task: asyncio.Future[None] = self._loop.create_future()

    async def wait_in_loop(self) -> None:
        await self._woken_task

    def wake(self) -> bool:
        try:
            self._loop.call_soon_threadsafe(self._wake_task)
        except RuntimeError:
            # The loop was closed meanwhile, and nobody waits there any more.
            return False
        return True

    def _wake_task(self) -> None:
        if not self._woken_task.done():
            self._woken_task.set_result(None)


class GroupCommit(Generic[A, R]):
    """Lets one thread at a time write; it writes also what others wait to write, and then the first of them leads.

    Args:
        write: Writes all that was asked for in one transaction; the results are in the same order. If it raises a
            ``UserError``, nothing was written: each is written by itself then, so that nobody is refused for another.
        most: What one transaction writes.
    """

    def __init__(self, write: Callable[[Sequence[A]], Sequence[R]], most: int = MOST) -> None:
        self._write = write
        self._most = most
        self._waiting: deque[_Asked[A, R]] = deque()
        self._lock = threading.Lock()
        self._is_led = False

    def put(self, what: A) -> R:
        """Have something written; what has become of it, once it is committed.

        Raises:
            Exception: what the writing of it, or of all that was written with it, raised.
        """
        with self._lock:
            mine: _Asked[A, R] = _Asked(what, leads=not self._is_led)
            self._ask(mine)
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
        """``put`` for a task of an event loop: where it leads, a thread writes."""
        with self._lock:
            mine: _AskedInLoop[A, R] = _AskedInLoop(what, leads=not self._is_led)
            self._ask(mine)
        if not mine.leads:
            try:
                await mine.wait_in_loop()
            except BaseException:
                self._give_up(mine)
                raise
        if not mine.is_over:
            # A task that is cancelled meanwhile leaves the others their thread.
            await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, self._lead, mine))
        return mine.answer()

    def _ask(self, mine: _Asked[A, R]) -> None:
        self._is_led = True
        self._waiting.append(mine)

    def _give_up(self, mine: _Asked[A, R]) -> None:
        """Who asked waits no longer; somebody else has to lead in its place."""
        with self._lock:
            if mine in self._waiting:
                self._waiting.remove(mine)
        if mine.leads:
            self._pass_on()

    def _lead(self, mine: _Asked[A, R]) -> None:
        try:
            self._write_some(mine)
        finally:
            self._pass_on()

    def _pass_on(self) -> None:
        """Have the first one lead that waits; one whose event loop was closed cannot."""
        while True:
            with self._lock:
                following = self._waiting[0] if self._waiting else None
                self._is_led = following is not None
                if following is None:
                    return
                following.leads = True
            if following.wake():
                return
            with self._lock:
                self._waiting.remove(following)

    def _write_some(self, mine: _Asked[A, R]) -> None:
        with self._lock:
            some = _taken(self._waiting, self._most)
        try:
            drive(_shares(some, (UserError,)), self._write)
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
    """What a task asks for, and its answer; the task may have given up."""

    what: A
    answer: "asyncio.Future[R]"

    def done(self, result: R) -> None:
        if not self.answer.done():
            self.answer.set_result(result)

    def failed(self, error: BaseException) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class LoopGroupCommit(Generic[A, R]):
    """``GroupCommit`` for the tasks of one event loop; one who gives up waiting leaves the others alone.

    Args:
        write: See there; it may as well read.
        most: How many of those that wait are written together, at least one; all up to ``MOST`` unless given.
        apart: The errors after which each is written by itself.
    """

    def __init__(
        self,
        write: Callable[[Sequence[A]], Awaitable[Sequence[R]]],
        most: Callable[[Iterable[A]], int] = lambda _: MOST,
        apart: tuple[type[Exception], ...] = (UserError,),
    ) -> None:
        self._write = write
        self._most = most
        self._apart = apart
        self._waiting: deque[_Pending[A, R]] = deque()
        self._writer: asyncio.Task[None] | None = None

    async def put(self, what: A) -> R:
        """See ``GroupCommit.put``."""
        return await self.begin(what)

    def begin(self, what: A) -> "asyncio.Future[R]":
        """``put``, whether its answer is awaited or not."""
        loop = asyncio.get_running_loop()
        asked = _Pending[A, R](what, loop.create_future())
        self._waiting.append(asked)
        if self._writer is None or self._writer.done():
            self._writer = loop.create_task(self._write_all(), name="group commit")
        return asked.answer

    async def close(self) -> None:
        """Write nothing more; who still waits is cancelled."""
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.wait([self._writer])
            # It may not even have begun.
            self._end_waiting(())

    async def _write_all(self) -> None:
        some: list[_Pending[A, R]] = []
        try:
            # Let everything that is asked for in this turn of the loop join.
            await asyncio.sleep(0)
            while self._waiting:
                some = _taken(self._waiting, self._most(one.what for one in self._waiting))
                await drive_in_loop(_shares(some, self._apart), self._write)
        finally:
            # Nobody else would end the waiting, for any end of this.
            self._end_waiting(some)

    def _end_waiting(self, some: Sequence[_Pending[A, R]]) -> None:
        for one in (*some, *self._waiting):
            one.answer.cancel()
        self._waiting.clear()


class _Waiter(Protocol[A_co, R_contra]):
    """Somebody who asks for something."""

    @property
    def what(self) -> A_co: ...

    def done(self, result: R_contra) -> None: ...

    def failed(self, error: BaseException) -> None: ...


def _shares(some: Sequence[_Waiter[A, R]], apart: tuple[type[Exception], ...]) -> Steps[list[A], None]:
    """What is to be written together; each gets its result, or what the writing raised."""
    try:
        results: Sequence[R] = yield [one.what for one in some]
    except Exception as error:  # noqa: BLE001 - it is raised to those who asked
        if isinstance(error, apart) and len(some) > 1:
            for one in some:
                yield from _shares([one], apart)
            return
        for one in some:
            one.failed(error)
    else:
        for one, result in zip(some, results, strict=True):
            one.done(result)


T = TypeVar("T")


def _taken(waiting: deque[T], most: int) -> list[T]:
    """The first ones that wait; they wait no more."""
    return [waiting.popleft() for _ in range(min(most, len(waiting)))]


def _interrupted() -> StorageError:
    return StorageError(
        "the thread that was writing this together with its own was interrupted, so it may be stored or not; look "
        "before you enqueue it again, or give it a unique_key"
    )
