"""Threads for the work of this product: never those of an event loop's default executor, which everybody may fill.

Code of the user that waits in that executor for something of ours would keep us from doing it.
"""

import asyncio
import contextlib
import contextvars
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

from .forks import renew_in_forks

P = ParamSpec("P")
T = TypeVar("T")

POOLED: Final = 16
"""Threads for brief work; what is more waits its turn."""
_numbers = itertools.count(1)


class _Pool:
    """The threads for brief work of this process; each begins when it is needed first."""

    def __init__(self) -> None:
        self.renew()
        renew_in_forks(self)

    def renew(self) -> None:
        self.threads = ThreadPoolExecutor(POOLED, "cronograph-brief")


_pool: Final = _Pool()


async def briefly_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function of ours in one of a few threads and return its result; it must not wait for code of users.

    Context variables are handed on as ``asyncio.to_thread`` does.
    """
    call = partial(contextvars.copy_context().run, function, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_pool.threads, call)


def in_own_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "asyncio.Future[T]":
    """Call a function in a new thread that waits for nobody; for calls that may take long, and for code of users.

    Context variables are handed on. A caller that stops waiting leaves the thread to its work. It is a daemon: it does
    not hold up the end of the process.

    Returns:
        The result or the error of the function, in the running event loop.

    Raises:
        RuntimeError: the system gives no further thread.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()
    call = partial(contextvars.copy_context().run, function, *args, **kwargs)
    name = f"cronograph-own-{next(_numbers)}"
    threading.Thread(target=_answer, args=(loop, answer, call), name=name, daemon=True).start()
    return answer


def _answer(loop: asyncio.AbstractEventLoop, answer: "asyncio.Future[T]", call: Callable[[], T]) -> None:
    settle: Callable[[], None]
    try:
        settle = partial(answer.set_result, call())
    except StopIteration as error:
        # No future takes it.
        fault = RuntimeError("a function raised StopIteration")
        fault.__cause__ = error
        settle = partial(answer.set_exception, fault)
    except BaseException as error:  # noqa: BLE001 - it is raised to the caller that waits
        settle = partial(answer.set_exception, error)
    # The loop may be closed by now: nobody is left who waits for it.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(_settle, answer, settle)


def _settle(answer: "asyncio.Future[T]", settle: Callable[[], None]) -> None:
    if not answer.done():
        settle()
