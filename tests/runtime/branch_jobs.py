"""Jobs that do several things at the same time; child processes import them too."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from cronograph.jobs import JobContext, job
from cronograph.jobs.base.branches import RunIsOverError
from cronograph.jobs.registry import Registry

JOBS = Registry()


def note(path: str, line: str) -> None:
    """Say what is done, in a file that outlives a process."""
    with Path(path).open("a") as file:
        file.write(f"{line}\n")


@job("other", registry=JOBS)
async def other(ctx: JobContext) -> None:
    """A run that does not end by itself."""
    await ctx.wait_for("end")


@job("gathered", registry=JOBS)
async def gathered(ctx: JobContext, others_first: bool) -> None:
    """Whichever comes first, and that is the time."""
    if ctx.attempt > 1:
        await ctx.sleep("nap", 0.01)
        return
    waits = [lambda: ctx.wait_for("never"), lambda: ctx.sleep("nap", 0.01)]
    await asyncio.gather(*(begin() for begin in (waits if others_first else reversed(waits))))


@job("grouped", registry=JOBS)
async def grouped(ctx: JobContext, others_first: bool) -> None:
    if ctx.attempt > 1:
        await ctx.sleep("nap", 0.01)
        return
    async with asyncio.TaskGroup() as group:
        if others_first:
            group.create_task(ctx.wait_for("never"))
        # What a group does by itself has a turn of the loop, too.
        await asyncio.sleep(0.01)
        group.create_task(ctx.sleep("nap", 0.01))
        if not others_first:
            group.create_task(ctx.wait_for("never"))


@job("in process", registry=JOBS, isolation="process")
async def in_process(ctx: JobContext, others_first: bool) -> None:
    await gathered(ctx, others_first)


@job("threads", registry=JOBS)
def threads(ctx: JobContext, others_first: bool) -> None:
    _in_threads(ctx, others_first=others_first)


@job("threads in process", registry=JOBS, isolation="process")
def threads_in_process(ctx: JobContext, others_first: bool) -> None:
    _in_threads(ctx, others_first=others_first)


def _in_threads(ctx: JobContext, *, others_first: bool) -> None:
    if ctx.attempt > 1:
        ctx.sleep_sync("nap", 0.01)
        return
    waits: list[Callable[[], object]] = [lambda: ctx.wait_for_sync("never"), lambda: ctx.sleep_sync("nap", 0.01)]
    pool = ThreadPoolExecutor(2)
    both = [pool.submit(begin) for begin in (waits if others_first else reversed(waits))]
    try:
        for one in both:
            one.result()
    finally:
        # Nobody waits for the other thread.
        pool.shutdown(wait=False)


@job("beside a run", registry=JOBS)
async def beside_a_run(ctx: JobContext, others_first: bool) -> None:
    """Another run that does not end, or a time."""
    if ctx.attempt > 1:
        await ctx.sleep("nap", 0.01)
        return
    waits: list[Callable[[], Awaitable[object]]] = [lambda: ctx.run(other), lambda: ctx.sleep("nap", 0.01)]
    await asyncio.gather(*(begin() for begin in (waits if others_first else reversed(waits))))


@job("works beside", registry=JOBS)
async def works_beside(ctx: JobContext, path: str) -> None:
    """A branch with pauses between its steps, beside one that waits."""

    async def works() -> None:
        for n in (1, 2, 3):
            await ctx.step("work", note, path, f"step {n}")
            await asyncio.sleep(0.02)
        await ctx.sleep("nap", 0.01)
        await ctx.step("last", note, path, "last")

    await asyncio.gather(ctx.wait_for("go"), works())


@job("works beside in process", registry=JOBS, isolation="process")
async def works_beside_in_process(ctx: JobContext, path: str) -> None:
    await works_beside(ctx, path)


AT_WORK: list[str] = []
"""What acts now, in this process."""
SEEN: list[list[str]] = []
"""What acted when something began."""
LET_GO = threading.Event()
"""Lets threads end."""


@contextmanager
def acting(who: str) -> Generator[None]:
    """Act as long as the block lasts."""
    SEEN.append([*AT_WORK])
    AT_WORK.append(who)
    try:
        yield
    finally:
        AT_WORK.remove(who)


async def _act(who: str) -> None:
    with acting(who):
        await asyncio.Event().wait()


@job("fails beside", registry=JOBS)
async def fails_beside(ctx: JobContext, how: str) -> None:
    """A step, or a task without one, is at work while another branch fails."""

    async def fails() -> None:
        while not AT_WORK:  # noqa: ASYNC110 - what acts says so from anywhere
            await asyncio.sleep(0)
        raise ValueError("no luck")

    def work() -> Awaitable[None]:
        if how == "step":
            return ctx.step("charge", _act, "charge")
        return asyncio.shield(_act("task")) if how == "shield" else _act("task")

    if ctx.attempt == 1:
        await asyncio.gather(work(), fails())
    SEEN.append([*AT_WORK])


@job("leaves a task", registry=JOBS)
async def leaves_a_task(ctx: JobContext) -> None:
    del ctx
    task = asyncio.create_task(_act("task"))
    while not AT_WORK:  # noqa: ASYNC110 - what acts says so from anywhere
        await asyncio.sleep(0)
    TASKS.append(task)


TASKS: list["asyncio.Task[None]"] = []


def _until_let_go(who: str) -> str:
    with acting(who):
        LET_GO.wait(30)
    return who


@job("plain step", registry=JOBS)
async def plain_step(ctx: JobContext) -> None:
    """A plain function in a thread, which no time-out ends."""
    await ctx.step("charge", _until_let_go, f"attempt {ctx.attempt}")


@job("undoes", registry=JOBS)
async def undoes(ctx: JobContext, path: str) -> None:
    """A branch takes a step while it is cancelled, and one swallows its first cancel."""

    async def undo() -> None:
        try:
            await _act("undo")
        finally:
            await ctx.step("undo", note, path, "undone")

    async def stays() -> None:
        with suppress(asyncio.CancelledError):
            await _act("stays")
        await ctx.step("stay", note, path, "stayed")

    async def fails() -> None:
        while len(AT_WORK) < 2:  # noqa: ASYNC110 - what acts says so from anywhere
            await asyncio.sleep(0)
        raise ValueError("no luck")

    await asyncio.gather(asyncio.gather(undo(), stays()), fails())


@job("holds a place", registry=JOBS)
async def holds_a_place(ctx: JobContext) -> None:
    """Branches that wait for each other, by a lock and a queue, beside one that waits for a signal."""
    place, things = asyncio.Semaphore(1), asyncio.Queue[int]()

    async def waits(name: str) -> None:
        async with place:
            await ctx.wait_for(name)

    async def numbers() -> AsyncIterator[int]:
        while True:
            yield await things.get()

    async def takes() -> None:
        async for _ in numbers():
            pass

    await asyncio.gather(waits("one"), waits("two"), takes())


@job("wants more", registry=JOBS)
def wants_more(ctx: JobContext) -> None:
    """A thread that nobody waits for asks for something once its attempt is over."""

    def late() -> None:
        LET_GO.wait(30)
        wishes: list[Callable[[], object]] = [
            lambda: ctx.step_sync("late", print),
            lambda: ctx.enqueue_sync("other"),
            lambda: ctx.enqueue_at_end("other"),
            lambda: ctx.save_checkpoint(1),
        ]
        for wish in wishes:
            try:
                wish()
            except RunIsOverError as error:
                REFUSED.append(str(error))
        ctx.progress(1, 2, "late")
        REFUSED.append("over")

    threading.Thread(target=late, daemon=True).start()


REFUSED: list[str] = []
