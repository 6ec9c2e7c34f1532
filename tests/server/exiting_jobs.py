"""Jobs whose code wants to end the process or the event loop, each at another place."""

import asyncio
import contextlib
import logging
import socket
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from typing import Annotated, Any, NoReturn

import uvloop
from pydantic import AfterValidator

from cronograph.jobs.registry import Registry, define
from cronograph.jobs.registry.hooks import GIVEN, Scope, hook_of, resource_of

Handler = Callable[..., Awaitable[Any]]


async def leave(status: int = 3) -> None:
    sys.exit(status)


async def interrupt() -> NoReturn:
    raise KeyboardInterrupt


async def forever() -> None:
    await asyncio.Event().wait()


async def gather() -> None:
    await asyncio.gather(leave(), forever())


async def awaited_task() -> None:
    await asyncio.create_task(leave())


async def forgotten_task() -> None:
    asyncio.create_task(leave())  # noqa: RUF006 - forgotten on purpose
    await forever()


async def task_group() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(leave())
        group.create_task(forever())


async def wait_for() -> None:
    await asyncio.wait_for(leave(), 60)


async def call_later() -> None:
    asyncio.get_running_loop().call_later(0.001, sys.exit, 3)
    await forever()


async def call_soon() -> None:
    asyncio.get_running_loop().call_soon(sys.exit, 3)
    await forever()


async def from_a_thread() -> None:
    await asyncio.to_thread(asyncio.get_running_loop().call_soon_threadsafe, sys.exit, 3)
    await forever()


async def done_callback() -> None:
    asyncio.create_task(asyncio.sleep(0)).add_done_callback(lambda _: sys.exit(3))
    await forever()


async def reader() -> None:
    loop = asyncio.get_running_loop()
    here, there = socket.socketpair()

    def read() -> None:
        loop.remove_reader(here)
        sys.exit(3)

    loop.add_reader(here, read)
    there.send(b"x")
    try:
        await forever()
    finally:
        here.close()
        there.close()


async def writer() -> None:
    loop = asyncio.get_running_loop()
    here, there = socket.socketpair()

    def write() -> None:
        loop.remove_writer(here)
        sys.exit(3)

    loop.add_writer(here, write)
    try:
        await forever()
    finally:
        here.close()
        there.close()


async def interrupted_task() -> None:
    await asyncio.gather(interrupt())


async def swallowed() -> None:
    with contextlib.suppress(SystemExit, asyncio.CancelledError):
        await asyncio.gather(leave())


async def stops_the_loop() -> None:
    asyncio.get_running_loop().stop()


async def stops_the_loop_later() -> None:
    loop = asyncio.get_running_loop()
    loop.call_soon(loop.stop)
    await forever()


async def replaces_the_task_factory() -> None:
    asyncio.get_running_loop().set_task_factory(exits)


async def closes_the_loop() -> None:
    asyncio.get_running_loop().close()


async def runs_the_loop() -> None:
    # The loop makes a task of it before it refuses, and that ends with the attempt.
    asyncio.get_running_loop().run_until_complete(forever())


async def ends_the_pool() -> None:
    await asyncio.get_running_loop().shutdown_default_executor()


async def cancels_everything() -> None:
    """The usual recipe, by which a program cleans up at its end."""
    asyncio.create_task(forever())  # noqa: RUF006 - cancelled below
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    raise RuntimeError("cleaned up")


async def cancels_itself_with_everything() -> None:
    current = asyncio.current_task()
    assert current is not None
    for task in {current, *asyncio.all_tasks()}:
        task.cancel()
    await forever()


class UnreadableError(Exception):
    def __str__(self) -> str:
        if self.args == ():
            sys.exit(3)
        return "never"


async def unreadable_error() -> None:
    raise UnreadableError


class Exiting(type):
    def __instancecheck__(cls, instance: object) -> bool:
        sys.exit(3)


class ExitingError(Exception, metaclass=Exiting):
    pass


async def judged_by_its_class() -> None:
    raise ValueError("judged by a class that exits")


async def fails() -> None:
    raise ValueError("failed")


def exits(*_: object) -> Any:
    sys.exit(3)


def judges(number: int) -> int:
    sys.exit(number)


async def exits_later(_failure: object) -> None:
    asyncio.create_task(leave())  # noqa: RUF006 - forgotten on purpose
    await asyncio.sleep(0)


async def takes(number: Annotated[int, AfterValidator(judges)]) -> int:
    return number


class Given:
    """What a resource gives."""


async def given(thing: Given = GIVEN) -> None:
    del thing


async def exiting_resource() -> AsyncIterator[Given]:
    await leave()
    yield Given()


async def hooked() -> None:
    raise ValueError("failed within its hook")


def exiting_hook() -> Iterator[None]:
    try:
        yield
    finally:
        sys.exit(3)


class ExitsWhenItGoes:
    def __del__(self) -> None:
        sys.exit(3)


async def leaves_garbage() -> None:
    """What is raised in ``__del__`` is only printed."""
    ExitsWhenItGoes()
    raise ValueError("left garbage")


async def generate() -> AsyncGenerator[int]:
    try:
        yield 1
    finally:
        await asyncio.sleep(0)
        sys.exit(3)


async def leaves_a_generator() -> None:
    """Its generator is closed by the loop, later."""
    async for _ in generate():
        break
    raise ValueError("left a generator behind")


class ExitsWhenItLogs(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        sys.exit(record.levelno)


async def logs_to_an_exit() -> None:
    log = logging.getLogger("exiting")
    log.propagate = False
    log.addHandler(ExitsWhenItLogs())
    log.critical("out")


async def replaces_the_fault_handler() -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(exits)
    loop.call_soon(int, "x")
    try:
        await forever()
    finally:
        loop.set_exception_handler(None)


PLAIN: tuple[Handler, ...] = (
    gather,
    awaited_task,
    forgotten_task,
    task_group,
    wait_for,
    call_later,
    call_soon,
    from_a_thread,
    done_callback,
    reader,
    writer,
    interrupted_task,
    swallowed,
    stops_the_loop,
    stops_the_loop_later,
    replaces_the_task_factory,
    closes_the_loop,
    runs_the_loop,
    ends_the_pool,
    cancels_everything,
    cancels_itself_with_everything,
    unreadable_error,
    leaves_a_generator,
    logs_to_an_exit,
    replaces_the_fault_handler,
)
"""Those that need nothing but themselves."""


def add_exiting_jobs(registry: Registry) -> list[str]:
    """Register all of them; their names."""
    jobs = [define(one.__name__, one) for one in PLAIN]
    registry.add(define("breaks", breaks_the_loop))
    jobs += [
        define("backoff", fails, backoff=exits),
        define("on_failure", fails, on_failure=exits),
        define("on_failure_later", fails, on_failure=exits_later),
        define("judged", judged_by_its_class, give_up_on=ExitingError),
        define("validated", takes),
        define("given", given),
        define("hooked", hooked),
    ]
    for one in jobs:
        registry.add(one)
    registry.hooks.add(resource_of(exiting_resource, Scope.ATTEMPT))
    registry.hooks.around.append(hook_of(exiting_hook, frozenset({"hooked"})))
    return [one.name for one in jobs]


def breaks() -> None:
    raise OSError("out of order")


async def breaks_the_loop() -> None:
    """Goes around everything that keeps a job from it."""
    loop: Any = asyncio.get_running_loop()
    loop.run_forever = breaks
    uvloop.Loop.stop(loop)
    await forever()
