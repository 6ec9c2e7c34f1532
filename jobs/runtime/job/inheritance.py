"""Threads that a job starts itself belong to it, if asked: what they log by ``logging`` is kept with its execution.

``current_host`` says in whose job code runs. Python hands context variables on to tasks and to ``asyncio.to_thread``,
but (before 3.14) not to threads, so a job's ``threading.Thread`` and ``ThreadPoolExecutor`` would write to nobody.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

from ...base.context import Host, current_host

P = ParamSpec("P")
T = TypeVar("T")

_start_thread: Final = threading.Thread.start
_submit_to_pool: Final = ThreadPoolExecutor.submit


def let_threads_belong_to_jobs() -> None:
    """From now on hand ``current_host`` on to threads and to calls in thread pools; for the life of the process.

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
