"""Jobs that write a secret wherever a process can write; a server under test loads this as a module of jobs."""
# ruff: noqa: T201, TRY301 - these are the ways to write that a job has

import asyncio
import logging
import sys
import threading
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from logging.handlers import QueueHandler, QueueListener
from queue import SimpleQueue

from cronograph.jobs import JobContext, PermanentFailure, job

own = logging.getLogger("telling")
own.propagate = False
own.addHandler(logging.StreamHandler(sys.stderr))
own.addHandler(logging.StreamHandler(sys.stdout))
queued = logging.getLogger("telling.queued")
queued.propagate = False
waiting: SimpleQueue[logging.LogRecord] = SimpleQueue()
queued.addHandler(QueueHandler(waiting))
QueueListener(waiting, logging.StreamHandler()).start()


def tell(key: str) -> None:
    """Write it in every way that a plain function has."""
    print(key)
    print(ascii(key), repr(key), key.encode())
    print(key[:5], end="")
    sys.stdout.flush()
    print(key[5:])
    print(key, file=sys.stderr)
    sys.stderr.write(f"{key}\n")
    sys.stdout.writelines([key, "\n"])
    sys.stdout.buffer.write(f"{key}\n".encode())
    print(key, file=sys.__stderr__)
    own.error("own handler: %s", key)
    queued.error("queued: %s", key)
    logging.getLogger("plain").error("plain: %s", key)
    warnings.warn(f"warned of {key}", stacklevel=1)
    try:
        raise ValueError(key)
    except ValueError:
        traceback.print_exc()
        own.exception("with a traceback")
    sys.excepthook(RuntimeError, RuntimeError(key), None)
    thread = threading.Thread(target=_fails, args=(key,))
    thread.start()
    thread.join()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(print, key).result()


def _fails(key: str) -> None:
    raise RuntimeError(key)


async def _fails_later(key: str) -> None:
    raise RuntimeError(key)


@job("telling in a coroutine")
async def in_a_coroutine(ctx: JobContext, key: str) -> None:
    """A coroutine, with a task that nobody awaits: its traceback is written outside of any job."""
    tell(key)
    task = asyncio.get_running_loop().create_task(_fails_later(key))
    await asyncio.wait([task])
    del task
    asyncio.get_running_loop().call_exception_handler({"message": f"handled {key}", "exception": RuntimeError(key)})
    raise PermanentFailure(key)


@job("telling in a thread")
def in_a_thread(key: str) -> None:
    """A plain function."""
    tell(key)
    raise PermanentFailure(key)


@job("telling in a process", isolation="process")
def in_a_process(key: str) -> None:
    """A child process."""
    tell(key)
    raise PermanentFailure(key)
