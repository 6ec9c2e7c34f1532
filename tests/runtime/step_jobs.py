"""Jobs of every kind that take steps; child processes import them too."""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from cronograph.jobs import JobContext, Result, job
from cronograph.jobs.registry import Registry

JOBS = Registry()


@dataclass
class Receipt:
    """What a charge returns."""

    order: int
    keys: list[str]


def note(path: str, word: str) -> None:
    """Write down that something was done."""
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(f"{word}\n")


def charge(ctx: JobContext, path: str, order: int) -> Receipt:
    """Charge an order, once."""
    note(path, f"charge {order}")
    ctx.log.info("charging")
    return Receipt(order, [ctx.step_key])


def mail(path: str, attempt: int, fails: int) -> int:
    """Fails in the first attempts."""
    note(path, "mail")
    if attempt <= fails:
        raise ValueError("no luck")
    return attempt


async def _in_loop(ctx: JobContext, path: str, fails: int) -> Result:
    first, second = await asyncio.gather(
        ctx.step("charge", charge, ctx, path, 1, key=1), ctx.step("charge", charge, ctx, path, 2, key=2)
    )
    third = await ctx.step("charge", charge, ctx, path, 3)
    fourth = await ctx.step("charge", charge, ctx, path, 4)
    mailed = await ctx.step("mail", mail, path, ctx.attempt, fails)
    orders = [one.order for one in (first, second, third, fourth)]
    return Result(mailed, [orders, fourth.keys])


def _plain(ctx: JobContext, path: str, fails: int) -> Result:
    first = ctx.step_sync("charge", charge, ctx, path, 1, key=1)
    second = ctx.step_sync("charge", charge, ctx, path, 2, key=2)
    third = ctx.step_sync("charge", charge, ctx, path, 3)
    fourth = ctx.step_sync("charge", charge, ctx, path, 4)
    mailed = ctx.step_sync("mail", mail, path, ctx.attempt, fails)
    orders = [one.order for one in (first, second, third, fourth)]
    return Result(mailed, [orders, fourth.keys])


@job("async", registry=JOBS)
async def coroutine(ctx: JobContext, path: str, fails: int = 0) -> Result:
    return await _in_loop(ctx, path, fails)


@job("thread", registry=JOBS)
def thread(ctx: JobContext, path: str, fails: int = 0) -> Result:
    return _plain(ctx, path, fails)


@job("process", registry=JOBS, isolation="process")
def process(ctx: JobContext, path: str, fails: int = 0) -> Result:
    return _plain(ctx, path, fails)


@job("async in process", registry=JOBS, isolation="process")
async def async_process(ctx: JobContext, path: str, fails: int = 0) -> Result:
    return await _in_loop(ctx, path, fails)


def end_process() -> None:
    """Die as a process that the system kills."""
    os._exit(1)


@job("undo", registry=JOBS)
def undo(path: str, text: str) -> None:
    note(path, f"undo {text}")


@job("dies after its steps", registry=JOBS, isolation="process")
def dies_with_cleanups(ctx: JobContext, path: str) -> None:
    ctx.cleanup_sync("seat", undo.run(path=path, text="seat"))
    ctx.step_sync("charge", note, path, "charge", cleanup=lambda _: undo.run(path=path, text="charge"))
    end_process()


@job("dies between steps", registry=JOBS, isolation="process")
def dies(ctx: JobContext, path: str) -> int:
    ctx.step_sync("note", note, path, "once")
    if ctx.attempt == 1:
        end_process()
    return 1
