"""Processes that are forked from one that enqueues, or from one that serves: real forks, on both databases."""

import asyncio
import gc
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from weakref import finalize

import pytest

from cronograph.jobs import JobContext, Result, connect, job
from cronograph.jobs.connection import Connection
from cronograph.jobs.core.base.errors import ConfigurationError, StorageError
from cronograph.jobs.core.states import RunState
from cronograph.jobs.own.forks import EndingForks, Gate
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.statements import runs
from tests.support.engines import StartEngine
from tests.support.waiting import wait_until

# Python warns of what is tried here.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

JOBS = Registry()
CHILDREN = 4


@job(registry=JOBS)
def note(number: int) -> None: ...


@pytest.fixture
def connection(database_url: str) -> Iterator[Connection]:
    with connect(database_url, registry=JOBS) as connection:
        yield connection


def forked(work: Callable[[], object]) -> int:
    """Fork a process that does something and ends with status 0, or 1 if it raised; its id."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:  # noqa: BLE001 - the test reads it
            traceback.print_exc()
        finally:
            os._exit(status)
    return process


def statuses(processes: list[int]) -> list[int]:
    """Return how these processes end."""
    ended: dict[int, int] = {}

    def all_ended() -> bool:
        for one in set(processes) - ended.keys():
            found, status = os.waitpid(one, os.WNOHANG)
            if found:
                ended[one] = os.waitstatus_to_exitcode(status)
        return len(ended) == len(processes)

    try:
        wait_until(all_ended, 30, "the forked processes to end")
    finally:
        for one in set(processes) - ended.keys():
            # Not SIGKILL: pytest's faulthandler writes where it hangs.
            os.kill(one, signal.SIGABRT)
            os.waitpid(one, 0)
    return [ended[one] for one in processes]


@contextmanager
def enqueueing() -> Iterator[None]:
    """Threads enqueue without a pause, by themselves and for event loops."""
    over = threading.Event()
    begun = threading.Barrier(4)

    def in_thread() -> None:
        note.enqueue_sync(number=0)
        begun.wait(30)
        while not over.is_set():
            note.enqueue_sync(number=0)

    async def in_loop() -> None:
        await note.enqueue(number=0)
        await asyncio.to_thread(begun.wait, 30)
        while not over.is_set():
            await note.enqueue(number=0)

    threads = [threading.Thread(target=in_thread) for _ in range(2)]
    threads.append(threading.Thread(target=lambda: asyncio.run(in_loop())))
    for thread in threads:
        thread.start()
    begun.wait(30)
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(30)


@pytest.mark.costly
def test_a_fork_of_a_process_that_enqueues_has_connections_and_writers_of_its_own(connection: Connection) -> None:
    def enqueue() -> None:
        first = note.enqueue_sync(number=1)
        assert first.status_sync() is RunState.WAITING
        asyncio.run(note.enqueue(number=1))

    with enqueueing():
        ended = statuses([forked(enqueue) for _ in range(CHILDREN)])
    assert ended == [0] * CHILDREN
    # The parent goes on with what it had.
    note.enqueue_sync(number=2)
    found = [run.args["number"] for run in connection.latest(100_000)]
    assert (found.count(1), found.count(2)) == (2 * CHILDREN, 1)


def test_what_serves_refuses_to_go_on_in_a_fork(database_url: str) -> None:
    database = Database(database_url)
    database.write_sync(lambda tx: tx.now)

    def use() -> None:
        for way in (lambda: database.write_sync(lambda tx: tx.now), lambda: asyncio.run(database.read(runs.latest, 1))):
            with pytest.raises(StorageError, match="was forked from one that serves"):
                way()

    try:
        assert statuses([forked(use)]) == [0]
        database.write_sync(lambda tx: tx.now)
    finally:
        database.close_sync()


async def test_what_job_code_forks_is_told_that_it_belongs_to_no_job(start_engine: StartEngine) -> None:
    jobs = Registry()

    @job(registry=jobs)
    def other() -> None: ...

    @job(registry=jobs)
    def forks(ctx: JobContext) -> Result:
        def use() -> None:
            with pytest.raises(ConfigurationError, match="knows no database"):
                other.enqueue_sync()
            with pytest.raises(RuntimeError, match="was forked from one that serves"):
                ctx.enqueue_sync(other)
            with pytest.raises(RuntimeError, match="was forked from one that serves"):
                ctx.step_sync("one", int)

        return Result(value=statuses([forked(use)]))

    engine = await start_engine(jobs)
    done = await engine.finish("forks")
    assert (done.run.state, done.run.result) == (RunState.SUCCESS, [0])


@pytest.mark.costly
def test_a_fork_ends_with_its_status_though_a_stream_cannot_be_written_out() -> None:
    class Closed(io.StringIO):
        def flush(self) -> None:
            raise ValueError("I/O operation on closed file")

    def fork_within() -> None:
        with EndingForks():
            process = os.fork()
            if process == 0:
                sys.stdout = Closed()
                raise SystemExit(7)
        check(statuses([process]) == [7])

    assert statuses([forked(fork_within)]) == [0]


def test_the_collector_of_a_fork_closes_nothing_of_its_parent() -> None:
    class Circle:
        def __init__(self) -> None:
            self.itself = self

    closed: list[int] = []
    gc.collect()
    gc.disable()
    try:
        finalize(Circle(), closed.append, 1)

        def collect() -> None:
            finalize(Circle(), closed.append, 2)
            gc.collect()
            assert closed == [2]

        assert statuses([forked(collect)]) == [0]
    finally:
        gc.enable()
    gc.collect()
    assert closed == [1]


def test_a_fork_waits_until_no_thread_is_in_the_midst_of_a_statement() -> None:
    gate, go, inside = Gate(), threading.Event(), threading.Event()
    seen: list[bool] = []

    def work() -> None:
        with gate:
            inside.set()
            go.wait(30)
            seen.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(30)
    timer = threading.Timer(0.05, go.set)
    timer.start()
    assert statuses([forked(lambda: check(seen == [True]))]) == [0]
    thread.join(30)
    with gate:
        # It is open again.
        assert seen == [True]


def check(holds: bool) -> None:
    assert holds
