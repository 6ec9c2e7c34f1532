"""Jobs that do what no job should. Nodes of the chaos suite load a copy of this file."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
import time
from typing import Any, NoReturn

from cronograph.jobs import JobContext, job


@job("poison_exits")
async def exits() -> NoReturn:
    """Wants the interpreter to end."""
    sys.exit(3)


@job("poison_interrupts")
async def interrupts() -> NoReturn:
    """Raises what Ctrl+C raises."""
    raise KeyboardInterrupt


@job("poison_generator_exit")
async def leaves() -> NoReturn:
    """Raises what closes generators."""
    raise GeneratorExit


@job("poison_cancels_itself")
async def cancels_itself() -> NoReturn:
    """Raises what cancels tasks."""
    raise asyncio.CancelledError


@job("poison_thread_exits")
def thread_exits() -> NoReturn:
    """Wants the interpreter to end, from a thread."""
    raise SystemExit(4)


@job("poison_recurses")
def recurses() -> int:
    """Calls itself without end."""

    def again(depth: int) -> int:
        return again(depth + 1) + 1

    return again(0)


@job("poison_no_memory")
def no_memory() -> NoReturn:
    """Runs out of memory."""
    raise MemoryError


@job("poison_long_error")
async def long_error() -> NoReturn:
    """Says more than anybody wants to read, and what no database stores."""
    raise ValueError("\0\ud800" + "x" * 2_000_000)


@job("poison_no_json")
async def no_json() -> Any:
    """Returns what is no JSON."""
    return object()


@job("poison_not_finite")
async def not_finite() -> Any:
    """Returns a number that JSON does not know."""
    return {"value": float("nan")}


@job("poison_surrogate")
async def surrogate() -> Any:
    """Returns a text that no database stores."""
    return {"value": "\ud800\0"}


@job("poison_deep")
async def deep() -> Any:
    """Returns lists in lists in lists."""
    value: list[Any] = []
    for _ in range(50_000):
        value = [value]
    return value


@job("poison_negative")
async def negative() -> int:
    """Has processed less than nothing."""
    return -1


@job("poison_blocks")
async def blocks() -> None:
    """Keeps the event loop of the jobs to itself."""
    time.sleep(1.2)


@job("poison_deaf")
async def deaf() -> None:
    """Swallows the first request to end."""
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(0.5)
    await asyncio.sleep(0.1)


@job("poison_floods")
def floods(context: JobContext) -> None:
    """Logs more than is kept, and reports progress as often."""
    for number in range(3_000):
        logging.getLogger("flood").warning("line %d %s", number, "x" * 200)
        context.progress(number, 3_000, "flooding")


@job("poison_leaves_threads")
async def leaves_threads() -> None:
    """Leaves a thread behind that never ends."""
    threading.Thread(target=threading.Event().wait, daemon=True).start()


@job("poison_leaves_tasks")
async def leaves_tasks() -> None:
    """Leaves a task behind that never ends."""
    leaves_tasks.__dict__["kept"] = asyncio.create_task(asyncio.Event().wait())


@job("poison_child_exits", isolation="process")
def child_exits() -> NoReturn:
    """Ends its process without a word."""
    os._exit(5)


@job("poison_child_dies", isolation="process")
def child_dies() -> None:
    """Kills its process."""
    os.kill(os.getpid(), signal.SIGKILL)


@job("poison_child_prints", isolation="process")
def child_prints() -> None:
    """Writes rubbish to where the process speaks to its parent."""
    os.write(1, b"\0rubbish\xff" * 10_000)


async def leave() -> NoReturn:
    """Wants the interpreter to end, wherever it is awaited."""
    sys.exit(3)


def out(*_: object) -> Any:
    """The same, for anyone who calls it."""
    sys.exit(3)


@job("poison_gathers_exit")
async def gathers_exit() -> None:
    """Exits in a task that it awaits."""
    await asyncio.gather(leave(), asyncio.sleep(0))


@job("poison_forgets_exit")
async def forgets_exit() -> None:
    """Exits in a task that nobody awaits."""
    forgets_exit.__dict__["kept"] = asyncio.create_task(leave())
    await asyncio.Event().wait()


@job("poison_groups_exit")
async def groups_exit() -> None:
    """Exits in a task of a group."""
    async with asyncio.TaskGroup() as group:
        group.create_task(leave())


@job("poison_waits_for_exit")
async def waits_for_exit() -> None:
    """Exits within a time box of its own."""
    await asyncio.wait_for(leave(), 60)


@job("poison_exits_later")
async def exits_later() -> None:
    """Exits in a timer."""
    asyncio.get_running_loop().call_later(0.01, sys.exit, 3)
    await asyncio.Event().wait()


@job("poison_interrupts_in_task")
async def interrupts_in_task() -> None:
    """Raises in a task what Ctrl+C raises."""
    await asyncio.gather(interrupts.definition.handler())


@job("poison_stops_loop")
async def stops_loop() -> None:
    """Stops what all jobs share."""
    loop = asyncio.get_running_loop()
    loop.call_soon(loop.stop)
    await asyncio.Event().wait()


@job("poison_ends_pool")
async def ends_pool() -> None:
    """Ends the threads of the loop."""
    await asyncio.get_running_loop().shutdown_default_executor()


@job("poison_cancels_all")
async def cancels_all() -> None:
    """Cleans up as a program does at its end."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


@job("poison_backoff_exits", backoff=out)
async def backoff_exits() -> NoReturn:
    """Fails, and exits when it is asked for the delay until its retry."""
    raise ValueError("failed")


@job("poison_on_failure_exits", on_failure=out)
async def on_failure_exits() -> NoReturn:
    """Fails, and exits when it is told so."""
    raise ValueError("failed")


class UnreadableError(Exception):
    """Exits when it is read."""

    def __str__(self) -> str:
        """Its message."""
        return str(out())


@job("poison_unreadable")
async def unreadable() -> NoReturn:
    """Raises what cannot be read."""
    raise UnreadableError


POISONS = (
    "poison_exits",
    "poison_interrupts",
    "poison_generator_exit",
    "poison_cancels_itself",
    "poison_thread_exits",
    "poison_recurses",
    "poison_no_memory",
    "poison_long_error",
    "poison_no_json",
    "poison_not_finite",
    "poison_surrogate",
    "poison_deep",
    "poison_negative",
    "poison_blocks",
    "poison_deaf",
    "poison_floods",
    "poison_leaves_threads",
    "poison_leaves_tasks",
    "poison_child_exits",
    "poison_child_dies",
    "poison_child_prints",
    "poison_gathers_exit",
    "poison_forgets_exit",
    "poison_groups_exit",
    "poison_waits_for_exit",
    "poison_exits_later",
    "poison_interrupts_in_task",
    "poison_stops_loop",
    "poison_ends_pool",
    "poison_cancels_all",
    "poison_backoff_exits",
    "poison_on_failure_exits",
    "poison_unreadable",
)
"""What none of which may do any harm to its node."""
