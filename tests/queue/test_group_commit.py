"""What several callers ask for at the same moment is written once; nobody is refused, or kept waiting, for another."""

import asyncio
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from cronograph.jobs.core.base.errors import InvalidInput
from cronograph.jobs.queue.group_commit import GroupCommit, LoopGroupCommit
from tests.support.waiting import eventually, wait_until


class Book:
    """Writes numbers; the first time not before ``go``. A negative number is refused with all that comes with it."""

    def __init__(self) -> None:
        self.written: list[list[int]] = []
        self.writes = 0
        self.began, self.go = threading.Event(), threading.Event()
        self.error: BaseException | None = None
        self.then: Callable[[Sequence[int]], list[int]] | None = None

    def write(self, numbers: Sequence[int]) -> list[int]:
        self.writes += 1
        self.began.set()
        assert self.go.wait(30)
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        if self.then is not None:
            return self.then(numbers)
        if min(numbers) < 0:
            raise InvalidInput(f"must not be negative, got {min(numbers)}")
        self.written.append(list(numbers))
        return [number * 10 for number in numbers]

    async def write_in_loop(self, numbers: Sequence[int]) -> list[int]:
        return await asyncio.to_thread(self.write, numbers)


def outcome(call: Callable[[], int]) -> int | str:
    try:
        return call()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - its name is the outcome
        return type(error).__name__


def waits(group: GroupCommit[int, int], many: int) -> bool:
    """Return whether so many wait, in the order in which they came."""
    return len(group._waiting) == many  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def at_once(book: Book, numbers: Sequence[int], error: BaseException | None = None, most: int = 1000) -> list[object]:
    """Return what becomes of numbers of which the first one is being written when the others come, in this order."""
    group = GroupCommit(book.write, most)
    with ThreadPoolExecutor(len(numbers)) as threads:
        answers = [threads.submit(outcome, partial(group.put, numbers[0]))]
        assert book.began.wait(30)
        for place, number in enumerate(numbers[1:], 1):
            answers.append(threads.submit(outcome, partial(group.put, number)))
            wait_until(partial(waits, group, place))
        book.error = error
        book.go.set()
        return [answer.result(30) for answer in answers]


def test_what_comes_while_one_is_written_is_written_together() -> None:
    book = Book()
    assert at_once(book, [1, 2, 3, 4]) == [10, 20, 30, 40]
    assert book.written == [[1], [2, 3, 4]]


def test_no_more_is_written_together_than_the_most() -> None:
    book = Book()
    assert at_once(book, [1, 2, 3, 4], most=2) == [10, 20, 30, 40]
    assert book.written == [[1], [2, 3], [4]]


def test_who_is_refused_is_refused_alone() -> None:
    book = Book()
    assert at_once(book, [1, 2, -3, 4]) == [10, 20, "InvalidInput", 40]
    assert at_once(Book(), [-1, 2]) == ["InvalidInput", 20]


def test_a_fault_of_the_database_is_raised_to_those_whom_it_concerns() -> None:
    assert at_once(Book(), [1, 2], OSError("gone")) == ["OSError", 20]


def test_a_thread_that_is_interrupted_while_it_writes_leaves_the_others_their_turn() -> None:
    assert at_once(Book(), [1, 2, 3], SystemExit()) == ["SystemExit", 20, 30]


def test_who_was_being_written_by_an_interrupted_thread_hears_of_it() -> None:
    book = Book()
    real, writes = book.write, 0

    def write(numbers: Sequence[int]) -> list[int]:
        nonlocal writes
        writes += 1
        if writes == 2:
            raise SystemExit
        return real(numbers)

    book.write = write  # type: ignore[method-assign]  # the second writing is interrupted
    assert at_once(book, [1, 2, 3, 4], most=2) == [10, "SystemExit", "StorageError", 40]


def test_a_thread_that_is_interrupted_while_it_waits_is_not_written_and_keeps_nobody_waiting() -> None:
    book = Book()
    group = GroupCommit(book.write)

    def interrupt(*_: object) -> None:
        raise SystemExit

    def write_interrupted(main: int) -> list[int]:
        wait_until(partial(waits, group, 1))
        signal.pthread_kill(main, signal.SIGUSR1)
        wait_until(partial(waits, group, 0))
        third = threads.submit(group.put, 3)
        wait_until(partial(waits, group, 1))
        book.go.set()
        return [first.result(30), third.result(30)]

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with ThreadPoolExecutor(3) as threads:
            first = threads.submit(group.put, 1)
            assert book.began.wait(30)
            interrupted = threads.submit(write_interrupted, threading.get_ident())
            assert outcome(partial(group.put, 2)) == "SystemExit"
            assert interrupted.result(30) == [10, 30]
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert book.written == [[1], [3]]


async def test_tasks_and_threads_share_one_group_and_who_gives_up_keeps_nobody_waiting() -> None:
    book = Book()
    group = GroupCommit(book.write)
    first = asyncio.create_task(asyncio.to_thread(group.put, 1))
    await asyncio.to_thread(book.began.wait, 30)
    given_up = asyncio.create_task(group.put_in_loop(2))
    await eventually(partial(waits, group, 1))
    others = [asyncio.create_task(group.put_in_loop(number)) for number in (3, 4)]
    await eventually(partial(waits, group, 3))
    given_up.cancel()
    await asyncio.gather(given_up, return_exceptions=True)
    book.go.set()
    assert await asyncio.gather(first, *others) == [10, 30, 40]
    assert book.written == [[1], [3, 4]]


def test_a_loop_that_was_closed_keeps_nobody_waiting() -> None:
    book = Book()
    group = GroupCommit(book.write)
    loop = asyncio.new_event_loop()
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(group.put, 1)
        assert book.began.wait(30)
        abandoned = loop.create_task(group.put_in_loop(2))
        loop.run_until_complete(eventually(partial(waits, group, 1)))
        loop.close()
        third = threads.submit(group.put, 3)
        wait_until(partial(waits, group, 2))
        book.go.set()
        assert (first.result(30), third.result(30)) == (10, 30)
    assert not abandoned.done()
    abandoned._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001 - it is meant to be


async def test_tasks_of_one_loop_are_written_together_and_refused_alone() -> None:
    book = Book()
    group = LoopGroupCommit(book.write_in_loop)
    first = asyncio.create_task(group.put(1))
    await asyncio.to_thread(book.began.wait, 30)
    given_up, *others = (asyncio.create_task(group.put(number)) for number in (2, 3, -4, 5))
    await eventually(lambda: len(group._waiting) == 4)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    given_up.cancel()
    book.go.set()
    answers = await asyncio.gather(first, *others, return_exceptions=True)
    assert [str(one) if isinstance(one, InvalidInput) else one for one in answers] == [
        10,
        30,
        "must not be negative, got -4",
        50,
    ]
    assert book.written == [[1], [2, 3], [5]]


async def test_tasks_of_one_loop_hear_of_a_fault_of_the_database() -> None:
    book = Book()
    book.go.set()
    book.error = OSError("gone")
    group = LoopGroupCommit(book.write_in_loop)
    with pytest.raises(OSError, match="gone"):
        await group.put(1)
    assert await group.put(2) == 20


@pytest.mark.parametrize("begins", [True, False])
async def test_who_waits_is_cancelled_when_a_group_of_a_loop_is_closed(begins: bool) -> None:
    book = Book()
    group = LoopGroupCommit(book.write_in_loop)
    first = group.begin(1)
    if begins:
        await asyncio.to_thread(book.began.wait, 30)
    second = group.begin(2)
    await group.close()
    book.go.set()
    assert (first.cancelled(), second.cancelled()) == (True, True)
    assert await group.put(3) == 30


def test_the_guilty_ones_among_many_are_found_by_halves() -> None:
    book = Book()
    numbers = [1, *range(2, 34)]
    numbers[20] = -numbers[20]
    answers = at_once(book, numbers)
    assert answers[20] == "InvalidInput"
    assert [*answers[:20], *answers[21:]] == [number * 10 for number in numbers if number > 0]
    # The first alone, 32 together, and twice as many halves as 32 can be halved.
    assert book.writes == 2 + 2 * 5


@pytest.mark.parametrize("error", [OverflowError("too large"), ValueError("year 10000"), AssertionError("ours")])
def test_a_value_that_nobody_foresaw_fails_its_own_caller_alone(error: Exception) -> None:
    def write(numbers: Sequence[int]) -> list[int]:
        if min(numbers) < 0:
            raise error
        return [number * 10 for number in numbers]

    assert halves(write, [1, 2, -3, 4, 5]) == [10, 20, type(error).__name__, 40, 50]


def test_an_unavailable_database_is_asked_once_for_all() -> None:
    asked: list[int] = []

    def write(numbers: Sequence[int]) -> list[int]:
        asked.append(len(numbers))
        raise OSError("gone")

    assert halves(write, [1, 2, 3]) == ["OSError"] * 3
    assert asked == [1, 2]


def halves(write: Callable[[Sequence[int]], list[int]], numbers: Sequence[int]) -> list[object]:
    """Return what becomes of numbers of which all but the first are written together."""
    book = Book()
    book.then = write
    return at_once(book, numbers)


async def test_a_full_executor_of_the_loop_keeps_no_task_waiting() -> None:
    book = Book()
    book.go.set()
    group = GroupCommit(book.write)
    loop, free = asyncio.get_running_loop(), threading.Event()
    with ThreadPoolExecutor(1) as only:
        loop.set_default_executor(only)
        blocked = loop.run_in_executor(None, free.wait)
        try:
            assert await asyncio.gather(*map(group.put_in_loop, (1, 2))) == [10, 20]
        finally:
            free.set()
            await blocked


async def test_a_loop_that_waits_for_a_thread_of_the_group_does_not_hold_it_up() -> None:
    book = Book()
    group = GroupCommit(book.write)
    first = asyncio.create_task(asyncio.to_thread(group.put, 1))
    await asyncio.to_thread(book.began.wait, 30)
    second = asyncio.create_task(group.put_in_loop(2))
    await eventually(partial(waits, group, 1))
    threading.Timer(0.05, book.go.set).start()
    # The loop itself waits for what comes behind its task.
    assert group.put(3) == 30
    assert [await first, await second] == [10, 20]


def test_a_group_of_a_loop_goes_on_in_the_next_loop() -> None:
    book = Book()
    group = LoopGroupCommit(book.write_in_loop)
    loop = asyncio.new_event_loop()
    began = asyncio.Event()

    async def never(_: Sequence[int]) -> list[int]:
        began.set()
        await asyncio.Event().wait()
        return []

    group._write = never  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    abandoned = loop.create_task(group.put(1))
    loop.run_until_complete(began.wait())
    loop.close()
    writer = group._writer  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    group._write = book.write_in_loop  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    book.go.set()
    assert asyncio.run(group.put(2)) == 20
    for task in (abandoned, writer):
        task._log_destroy_pending = False  # type: ignore[union-attr]  # noqa: SLF001 - it is meant to be
