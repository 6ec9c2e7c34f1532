"""Jobs of a registry of their own that child processes run: a fresh process finds them by module and name."""

import asyncio
import atexit
import contextlib
import ctypes
import faulthandler
import functools
import logging
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, TextIO

from pydantic import AfterValidator, BaseModel

from cronograph.jobs import JobContext, Result, job
from cronograph.jobs.registry import Registry

JOBS = Registry()
log = logging.getLogger("tests.of.a.job")
log.setLevel(logging.INFO)
logging.getLogger("tests.quiet").setLevel(logging.WARNING)


in_process = job(isolation="process", registry=JOBS)
"""Registers under the function's own name."""


class Point(BaseModel):
    """A typed argument."""

    x: int
    at: datetime


@in_process
def who_am_i(point: Point | None = None) -> Result:
    value = {
        "pid": os.getpid(),
        "session": os.getsid(0),
        "main_thread": threading.current_thread() is threading.main_thread(),
        "random": random.random(),
        "point": point.model_dump(mode="json") if point else None,
        "files": [path.name for path in Path("/proc/self/fd").glob("*")],
    }
    return Result(records_processed=1, value=value)


def forks(how: str) -> Result:
    with warnings.catch_warnings():
        # Newer Pythons warn of a fork beside threads.
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid:
        return Result(value=os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    if how == "raises":
        raise ValueError(how)
    if how == "exits":
        sys.exit(3)
    return Result(value="by the fork")


async def forks_in_a_loop(how: str) -> Result:
    return forks(how)


in_process(forks)
in_process(forks_in_a_loop)
job("forks_in_a_thread", registry=JOBS)(forks)
job("forks_on_the_node", registry=JOBS)(forks_in_a_loop)


@in_process
def warns() -> None:
    warnings.warn("out of paper", stacklevel=1)


@in_process
async def info(ctx: JobContext, word: str) -> Result:
    value = {
        "args": dict(ctx.args),
        "run_id": ctx.run_id,
        "attempt": ctx.attempt,
        "is_last_attempt": ctx.is_last_attempt,
        "scheduled_for": ctx.scheduled_for and ctx.scheduled_for.isoformat(),
        "has_deadline": ctx.deadline is not None,
        "remaining": ctx.remaining is not None and 0 < ctx.remaining <= 60,
        "services": ctx.services is None,
        "checkpoint": ctx.checkpoint,
        "word": word,
    }
    return Result(value=value)


@in_process
def dies(ctx: JobContext, how: str) -> None:
    ctx.log.info("last words")
    ctx.progress(1, 3, "dying")
    faulthandler.disable()
    match how:
        case "exit":
            os._exit(3)
        case "segfault":
            ctypes.string_at(0)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "group":
            os.killpg(0, signal.SIGKILL)
        case _:
            os.close(3)


@in_process
def says(ctx: JobContext) -> None:
    ctx.log.debug("by ctx", number=1)
    log.debug("by logging, debug")
    log.info("by logging, %s", "info")
    logging.getLogger("tests.quiet").info("too quiet")
    thread = threading.Thread(target=log.warning, args=("by a thread",))
    thread.start()
    thread.join()
    try:
        int("oh")
    except ValueError:
        ctx.log.exception("by exception")
    log.info("wrong %d", "argument")


@in_process
async def saves(ctx: JobContext, times: int, *, wait: bool = True) -> Result:
    before = ctx.checkpoint
    for number in range(times):
        saving = ctx.save_checkpoint({"number": number})
        if wait:
            await saving
        ctx.progress(number, times)
    return Result(value={"before": before, "after": ctx.checkpoint})


@in_process
def saves_nonsense(ctx: JobContext) -> None:
    ctx.save_checkpoint({1, 2})


@in_process
def shows(ctx: JobContext, times: int) -> None:
    for number in range(times):
        ctx.progress(number, times, f"step {number}")


@in_process
def shows_nonsense(ctx: JobContext) -> None:
    ctx.progress(float("nan"))


@in_process
def speaks_nonsense() -> None:
    """Write into every socket of this process what is no frame."""
    for handle in Path("/dev/fd").iterdir():
        with contextlib.suppress(OSError):
            socket.socket(fileno=os.dup(int(handle.name))).sendall(b"\xff" * 64)


@in_process
def leaves_children(ctx: JobContext) -> None:
    """Start something that goes on, and end."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    daemon = subprocess.Popen(["sleep", "600"], start_new_session=True)
    ctx.log.info("child", pids=[child.pid, daemon.pid])


@in_process
def waits_with_child(ctx: JobContext, folder: str) -> None:
    """Start something, also something that leaves its process group; tell all process ids, and wait."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    daemon = subprocess.Popen(["sleep", "600"], start_new_session=True)
    note = Path(folder) / f"{os.getpid()}.tmp"
    note.write_text(f"{os.getpid()} {child.pid} {daemon.pid}")
    note.rename(Path(folder) / "pids")
    ctx.log.info("begun")
    time.sleep(600)


@in_process
def holds_the_interpreter(folder: str) -> None:
    """Block in C without ever giving the interpreter back: no thread and no signal handler of Python runs."""
    (Path(folder) / "pids").write_text(f"{os.getpid()} {os.getpid()}")
    ctypes.PyDLL(None).usleep(600_000_000)


@in_process
def signals_itself(ctx: JobContext) -> int:
    """A stray SIGTERM, as a service manager sends to every process, is not for a job to obey."""
    os.kill(os.getpid(), signal.SIGTERM)
    ctx.log.info("still here")
    return 1


@in_process
def writes_at_exit(path: str) -> None:
    atexit.register(Path(path).write_text, "ended in order")


@in_process
async def is_told_twice_to_leave(path: str) -> None:
    """Be told to leave a second time while it leaves."""

    def leave() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        Path(path).write_text("ended in order")

    atexit.register(leave)
    await asyncio.Event().wait()


_open_files: list[TextIO] = []


@in_process
def leaves_work_for_the_end(folder: str) -> None:
    """What an interpreter does at its exit: threads end, then `atexit` functions run, then files are written out."""
    unclosed = (Path(folder) / "unclosed").open("w")
    unclosed.write("written out")
    _open_files.append(unclosed)
    closed, unreadable = (Path(folder) / "closed").open("w"), os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    unreadable.write("nobody takes this")
    closed.close()
    _open_files.extend([closed, unreadable])
    order = Path(folder) / "order"
    atexit.register(lambda: order.write_text(order.read_text() + " then atexit"))

    def work() -> None:
        threading.Event().wait(0.05)
        order.write_text("a thread")

    threading.Thread(target=work).start()


@in_process
def leaves_a_thread() -> int:
    """A thread that is no daemon and never ends must not keep the run."""
    threading.Thread(target=threading.Event().wait).start()
    return 1


@in_process
def floods(lines: int) -> int:
    for number in range(lines):
        log.warning("line %d", number + 1)
    return lines


@in_process
async def crowds() -> Result:
    """Threads of a coroutine log and save too."""

    def work(number: int) -> int:
        log.warning("thread %d", number)
        return number

    done = await asyncio.gather(*(asyncio.to_thread(work, number) for number in range(4)))
    return Result(records_processed=sum(done))


def doubled(handler: Callable[..., int]) -> Callable[..., int]:
    """A decorator outside of `@job`: what the module has under the name is not what was registered."""

    @functools.wraps(handler)
    def twice(*args: Any, **kwargs: Any) -> int:
        return 2 * handler(*args, **kwargs)

    return twice


HIDDEN = Registry()


@doubled
@job("hidden", isolation="process", registry=HIDDEN)
def hidden() -> int:
    return 1


@doubled
@job("tests.found_by_name", isolation="process")
def found_by_name() -> int:
    return 1


@in_process
def enqueues(ctx: JobContext) -> None:
    ctx.enqueue_sync(who_am_i)


@in_process
async def keeps(ctx: JobContext) -> None:
    await ctx.save_checkpoint({"number": 1})


@in_process
async def waits(ctx: JobContext) -> None:
    await ctx.wait_for("go", str)


@in_process
async def makes_address(ctx: JobContext) -> None:
    await ctx.signal_url("go")


@in_process
async def steps_twice(ctx: JobContext) -> int:
    async def one() -> int:
        return 1

    await ctx.step("one", one)
    if ctx.attempt == 1:
        raise ValueError("the first attempt fails")
    return 2


def _judged_once(mark: str) -> str:
    try:
        Path(mark).touch(exist_ok=False)
    except FileExistsError:
        raise ValueError("only one process takes it") from None
    return mark


@in_process
def judged_once(mark: Annotated[str, AfterValidator(_judged_once)]) -> int:
    return len(mark)
