"""Jobs whose child processes serve several runs; they import this module, too."""

import asyncio
import contextvars
import logging
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from cronograph.jobs import GIVEN, JobContext, Result, job, resource
from cronograph.jobs.base.branches import RunIsOverError
from cronograph.jobs.registry import Registry, Reuse

JOBS = Registry()
log = logging.getLogger("tests.of.a.reused.job")
colour: contextvars.ContextVar[str] = contextvars.ContextVar("colour", default="none")
_seen: list[str] = []
_ctx: list[JobContext] = []
_kept: list[Any] = []


class Shared:
    """Opened once in a child process."""

    def __init__(self, thread: str) -> None:
        self.opened_in = thread
        self.used = 0


class Loop:
    """Opened once in the event loop of a child process."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.used = 0


@resource(registry=JOBS)
def shared() -> Iterator[Shared]:
    yield Shared(threading.current_thread().name)
    note = os.environ.get("NOTE_OF_CLOSING")
    if note:
        with Path(note).open("a") as file:
            file.write("closed\n")


@resource(registry=JOBS)
async def looping() -> AsyncIterator[Loop]:
    async with asyncio.TaskGroup() as group:
        idle = group.create_task(asyncio.Event().wait())
        yield Loop()
        idle.cancel()


@job(isolation="process", registry=JOBS, reuse=3)
def counts(word: str = "") -> Result:
    before = colour.get()
    colour.set(word)
    _seen.append(word)
    sys.stdout.write(f"printed {word}\n")
    log.warning("logged %s", word)
    return Result(value={"pid": os.getpid(), "seen": list(_seen), "colour": before})


@job(isolation="process", registry=JOBS, reuse=timedelta(hours=1))
def ends_somehow(how: str = "") -> Result:
    match how:
        case "fails":
            raise ValueError("no luck")
        case "dies":
            os._exit(3)
        case "sleeps":
            threading.Event().wait(600)
        case "leaves a process":
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        case _:
            pass
    return Result(value=os.getpid())


@job(isolation="process", registry=JOBS, reuse=Reuse(runs=100, memory=1))
def is_too_large() -> Result:
    return Result(value=os.getpid())


@job(isolation="process", registry=JOBS, reuse=100)
def takes_shared(note: str = "", shared: Shared = GIVEN) -> Result:
    if note:
        os.environ["NOTE_OF_CLOSING"] = note
    shared.used += 1
    return Result(value={"pid": os.getpid(), "used": shared.used, "thread": shared.opened_in})


@job(isolation="process", registry=JOBS, reuse=100)
async def takes_loop(shared: Shared = GIVEN, looping: Loop = GIVEN) -> Result:
    looping.used += 1
    left = asyncio.get_running_loop().create_task(asyncio.Event().wait(), name="left behind")
    others = [task.get_name() for task in asyncio.all_tasks() if task.get_name() == "left behind" and task is not left]
    same = looping.loop is asyncio.get_running_loop()
    return Result(value={"pid": os.getpid(), "used": looping.used, "same": same, "left": others})


@job(isolation="process", registry=JOBS, reuse=100)
def speaks_late(ctx: JobContext) -> Result:
    """What a run kept of its context says nothing in the name of a later run."""
    said = ""
    if _ctx:
        _ctx[0].log.info("late line")
        _ctx[0].progress(1, 2)
        for ask in (lambda: _ctx[0].save_checkpoint({"late": True}), lambda: _ctx[0].enqueue_sync(counts)):
            try:
                ask()
            except RunIsOverError as error:
                said += f"{type(error).__name__}: {error}; "
    _ctx.append(ctx)
    return Result(value={"pid": os.getpid(), "said": said})


@job(isolation="process", registry=JOBS, reuse=100)
def tells(ctx: JobContext, password: str = "") -> Result:
    """What one run was given is not told by another."""
    _kept.append(password)
    ctx.log.info(" ".join(["knows", *_kept[:1]]))
    return Result(value=os.getpid())
