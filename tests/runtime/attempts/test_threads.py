"""Threads are kept and used again, many ends wake the loop once, and nothing waits for a thread for long."""

import asyncio
import contextvars
import threading
from collections.abc import Iterator

import pytest

from cronograph.jobs.runtime.attempts.threads import ThreadPool
from tests.support.waiting import eventually, wait_until

colour: contextvars.ContextVar[str] = contextvars.ContextVar("colour", default="none")


@pytest.fixture
def pool() -> Iterator[ThreadPool[object]]:
    made = ThreadPool[object](2, look_every=60.0)
    yield made
    made.close()


async def test_a_thread_is_used_again_and_each_call_has_a_context_of_its_own(pool: ThreadPool[object]) -> None:
    def paint() -> tuple[int, str]:
        before = colour.get()
        colour.set("red")
        return threading.get_ident(), before

    colour.set("blue")
    first, second = [await pool.submit(paint, None).ended for _ in range(2)]
    assert first == second
    assert first == (first[0], "blue")  # type: ignore[index]
    assert colour.get() == "blue"


async def test_there_are_never_more_threads_than_the_pool_has(pool: ThreadPool[object]) -> None:
    go_on, begun = threading.Event(), threading.Semaphore(0)

    def block() -> str:
        begun.release()
        go_on.wait()
        return threading.current_thread().name

    calls = [pool.submit(block, None) for _ in range(5)]
    for _ in range(2):
        begun.acquire()
    assert (pool.waiting, begun.acquire(blocking=False)) == (3, False)
    go_on.set()
    names = {await call.ended for call in calls}
    assert len(names) == 2
    assert all(threading.main_thread().name != name for name in names)


async def test_many_ends_wake_the_loop_once(pool: ThreadPool[object], monkeypatch: pytest.MonkeyPatch) -> None:
    loop, woken, ended = asyncio.get_running_loop(), list[object](), threading.Semaphore(0)
    wake = loop.call_soon_threadsafe

    def count(*args: object, **kwargs: object) -> object:
        woken.append(args)
        return wake(*args, **kwargs)  # type: ignore[arg-type]

    with monkeypatch.context() as watched:
        watched.setattr(loop, "call_soon_threadsafe", count)
        calls = [pool.submit(ended.release, None) for _ in range(50)]
        # The loop does not turn meanwhile.
        for _ in calls:
            ended.acquire()
        wait_until(lambda: not pool.waiting)
        await asyncio.gather(*(call.ended for call in calls))
    assert len(woken) < 5


async def test_what_a_call_raises_is_raised_where_it_is_awaited_and_the_thread_goes_on(
    pool: ThreadPool[object],
) -> None:
    def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        await pool.submit(leave, None).ended
    assert await pool.submit(lambda: 1, None).ended == 1


async def test_a_call_that_gets_no_thread_in_time_is_given_back_and_never_begins() -> None:
    pool, go_on, begun = ThreadPool[object](1, look_every=0.01), threading.Event(), list[str]()
    entered = threading.Event()

    def block() -> bool:
        entered.set()
        return go_on.wait()

    blocking = pool.submit(block, "never")
    while not entered.is_set():
        # A busy machine may take longer to start a thread than the pool waits here.
        if blocking.ended.done():
            blocking = pool.submit(block, "never")
        await asyncio.sleep(0)
    late = pool.submit(lambda: begun.append("late"), "no thread")
    assert await late.ended == "no thread"
    assert not pool.recall(late)
    go_on.set()
    assert await blocking.ended is True
    assert await pool.submit(lambda: "again", None).ended == "again"
    assert begun == []
    pool.close()


async def test_a_call_can_be_recalled_until_it_begins(pool: ThreadPool[object]) -> None:
    go_on = threading.Event()
    running = [pool.submit(go_on.wait, "recalled") for _ in range(2)]
    await eventually(lambda: not pool.waiting)
    waiting = pool.submit(go_on.wait, "recalled")
    assert [pool.recall(call) for call in (*running, waiting)] == [False, False, True]
    assert await waiting.ended == "recalled"
    go_on.set()
    assert [await call.ended for call in running] == [True, True]


async def test_a_thread_that_is_at_work_when_its_pool_closes_ends_after_it() -> None:
    pool, go_on = ThreadPool[threading.Thread | None](1), threading.Event()

    def block() -> threading.Thread:
        found.append(threading.current_thread())
        go_on.wait()
        return found[0]

    found: list[threading.Thread] = []
    call = pool.submit(block, None)
    await eventually(lambda: found)
    pool.close()
    pool.close()
    assert found[0].daemon
    assert found[0].is_alive()
    go_on.set()
    assert await call.ended is found[0]
    found[0].join()


async def test_a_system_that_gives_one_thread_only_is_served_by_that_one(
    pool: ThreadPool[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    first = pool.submit(go_on.wait, None)

    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as limited:
        limited.setattr(threading.Thread, "start", refuse)
        second = pool.submit(lambda: 2, None)
        empty = ThreadPool[object](1)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            empty.submit(lambda: 3, None)
    go_on.set()
    assert (await first.ended, await second.ended) == (True, 2)
