"""Jobs that combine one feature of each kind: how they run, what holds them back, what they do, what follows them.

Nodes of the scenario "joints" load a copy of this file. There is one job for each kind of isolation and each way to be
held back; its arguments say what an attempt does.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import product
from typing import Any

from cronograph.jobs import (
    Cap,
    Debounce,
    Expired,
    Failure,
    JobContext,
    Rate,
    Result,
    Snooze,
    Throttle,
    UserError,
    WaitTimedOut,
    job,
)

WITNESS = os.open("witness.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
PAUSE = 0.02
ACTING = 0.1
"""Seconds for which an act lasts."""
OVERRUN = 30.0
"""An attempt that acts for so long is ended by its time box."""


def testify(what: str, ctx: JobContext) -> None:
    """Leave a trace outside the database."""
    os.write(WITNESS, f"{what} {ctx.run_id} {ctx.attempt} {time.time()}\n".encode())


async def act(ctx: JobContext, seconds: float = ACTING) -> None:
    """Leave one trace after the other."""
    over = time.monotonic() + seconds
    while time.monotonic() < over:
        testify("act", ctx)
        await asyncio.sleep(PAUSE)


def act_sync(ctx: JobContext, seconds: float = ACTING) -> None:
    """Do the same without an event loop, until it is asked to stop."""
    over = time.monotonic() + seconds
    while time.monotonic() < over and not ctx.should_stop:
        testify("act", ctx)
        time.sleep(PAUSE)


async def done_once(ctx: JobContext) -> int:
    """Act as a step; the last trace says that the step is over."""
    label = ctx.step_key.rpartition(":")[2]
    await act(ctx, PAUSE)
    testify(f"step:{label}", ctx)
    return ctx.attempt


def done_once_sync(ctx: JobContext) -> int:
    """Act as a step of a plain function."""
    label = ctx.step_key.rpartition(":")[2]
    act_sync(ctx, PAUSE)
    testify(f"step:{label}", ctx)
    return ctx.attempt


@job("joint_child", retries=50, retry_delay=0.2)
async def joint_child(ctx: JobContext, value: int) -> Result:
    """Return what it is given."""
    testify("begin", ctx)
    return Result(value=value)


@job("joint_keyed_child", unique_key="joint-child-{value}", retries=50, retry_delay=0.2)
async def joint_keyed_child(ctx: JobContext, value: int) -> Result:
    """Return what it is given; several parents may ask for it at the same time."""
    testify("begin", ctx)
    await act(ctx)
    return Result(value=value)


@job("joint_told", retries=50, retry_delay=0.2)
async def joint_told(ctx: JobContext, failure: Failure | None = None, expired: Expired | None = None) -> None:
    """Hear of a failure or an expiry."""
    del failure, expired
    testify("begin", ctx)


@job("joint_full", cap=Cap(1, when_full="refuse"), rate=Rate(1, per=2, burst=1), retries=50, retry_delay=0.2)
async def joint_full(ctx: JobContext, failure: Failure | None = None, expired: Expired | None = None) -> None:
    """Be refused mostly: only one run of it may wait."""
    del failure, expired
    testify("begin", ctx)


async def _child(ctx: JobContext) -> None:
    assert await ctx.run(joint_child, 7) == 7


async def _keyed_child(ctx: JobContext) -> None:
    assert await ctx.run(joint_keyed_child, 3) == 3


async def _children(ctx: JobContext) -> None:
    assert await ctx.run_all([joint_child.run(one) for one in (1, 2, 3)]) == [1, 2, 3]


async def _branches(ctx: JobContext) -> None:
    await asyncio.gather(_branch(ctx, "left"), ctx.sleep("short", 0.2), _branch(ctx, "right"))


async def _snooze(ctx: JobContext) -> None:
    if await ctx.step("first", _attempt_of, ctx) == ctx.attempt:
        raise Snooze(0.2)


def _refused_at_end(ctx: JobContext) -> None:
    """Enqueue at the end what is refused, by a cap, a label, the key of another job, an argument; and one good run."""
    debounced = joint_told.options(unique_key="joint-debounced-async-a", debounce=Debounce(0.3))
    for runnable in (joint_told.options(labels={"key": "x" * 201}), debounced):
        # What is judged at the call is refused to the job.
        with suppress(UserError):
            ctx.enqueue_at_end(runnable)
    with suppress(UserError):
        ctx.enqueue_at_end("joint_child", value="no number")
    ctx.enqueue_at_end("joint_full")
    ctx.enqueue_at_end("joint_child", value=1)


def _told_at_end(ctx: JobContext) -> None:
    ctx.enqueue_at_end("joint_told")


async def _refused_at_end_async(ctx: JobContext) -> None:
    _refused_at_end(ctx)


async def _told_at_end_async(ctx: JobContext) -> None:
    _told_at_end(ctx)


async def _timed_out(ctx: JobContext) -> None:
    try:
        await ctx.wait_for("never", str, timeout=0.3)
    except WaitTimedOut:
        testify("act", ctx)


async def _branch(ctx: JobContext, name: str) -> None:
    for _ in range(3):
        await ctx.step(name, done_once, ctx)
        await act(ctx, PAUSE)


async def _attempt_of(ctx: JobContext) -> int:
    return ctx.attempt


ACTS: dict[str, Callable[[JobContext], Awaitable[object]]] = {
    "act": act,
    "step": lambda ctx: ctx.step("do", done_once, ctx),
    "sleep": lambda ctx: ctx.sleep("nap", 0.3),
    "signal": lambda ctx: ctx.wait_for("go", str),
    "timed wait": _timed_out,
    "child": _child,
    "keyed child": _keyed_child,
    "children": _children,
    "branches": _branches,
    "overrun": lambda ctx: act(ctx, OVERRUN),
    "snooze": _snooze,
    "refused at end": _refused_at_end_async,
    "told at end": _told_at_end_async,
}
"""What an attempt of a coroutine does."""


def _child_sync(ctx: JobContext) -> None:
    assert ctx.run_sync(joint_child, 7) == 7


def _keyed_child_sync(ctx: JobContext) -> None:
    assert ctx.run_sync(joint_keyed_child, 3) == 3


def _children_sync(ctx: JobContext) -> None:
    assert ctx.run_all_sync([joint_child.run(one) for one in (1, 2, 3)]) == [1, 2, 3]


def _snooze_sync(ctx: JobContext) -> None:
    if ctx.step_sync("first", _attempt_of_sync, ctx) == ctx.attempt:
        raise Snooze(0.2)


def _timed_out_sync(ctx: JobContext) -> None:
    try:
        ctx.wait_for_sync("never", str, timeout=0.3)
    except WaitTimedOut:
        testify("act", ctx)


def _attempt_of_sync(ctx: JobContext) -> int:
    return ctx.attempt


ACTS_SYNC: dict[str, Callable[[JobContext], object]] = {
    "act": act_sync,
    "step": lambda ctx: ctx.step_sync("do", done_once_sync, ctx),
    "sleep": lambda ctx: ctx.sleep_sync("nap", 0.3),
    "signal": lambda ctx: ctx.wait_for_sync("go", str),
    "timed wait": _timed_out_sync,
    "child": _child_sync,
    "keyed child": _keyed_child_sync,
    "children": _children_sync,
    # A plain function has no branches.
    "branches": lambda ctx: ctx.step_sync("left", done_once_sync, ctx),
    "overrun": lambda ctx: act_sync(ctx, OVERRUN),
    "snooze": _snooze_sync,
    "refused at end": _refused_at_end,
    "told at end": _told_at_end,
}
"""What an attempt of a plain function does."""


def _end(ctx: JobContext, fails: int) -> Result:
    if ctx.attempt <= fails:
        raise ValueError("as asked")
    testify("end", ctx)
    return Result(value=len(ctx.args))


async def joint_async(ctx: JobContext, acts: list[str], lane: str = "a", fails: int = 0) -> Result:
    """Do what the arguments say, as a coroutine."""
    del lane
    testify("begin", ctx)
    for kind in acts:
        await ACTS[kind](ctx)
    return _end(ctx, fails)


def joint_thread(ctx: JobContext, acts: list[str], lane: str = "a", fails: int = 0) -> Result:
    """Do what the arguments say, in a thread."""
    del lane
    testify("begin", ctx)
    for kind in acts:
        ACTS_SYNC[kind](ctx)
    return _end(ctx, fails)


def joint_process(ctx: JobContext, acts: list[str], lane: str = "a", fails: int = 0) -> Result:
    """Do what the arguments say, in a child process."""
    del lane
    testify("begin", ctx)
    for kind in acts:
        ACTS_SYNC[kind](ctx)
    return _end(ctx, fails)


FUNCTIONS: dict[str, Any] = {"async": joint_async, "thread": joint_thread, "process": joint_process}
"""The functions, by how they run."""
HOLDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "rate": {"rate": Rate(8, per=1, burst=2), "rate_key": "{lane}"},
    "concurrency": {"max_concurrent": 1, "concurrency_key": "joint-{lane}"},
    "cap": {"cap": Cap(3, when_full="drop_oldest"), "cap_key": "{lane}"},
    "unique": {"unique_key": "joint-unique-{lane}"},
    "unique_for": {"unique_key": "joint-for-{lane}", "unique_for": 1.0},
    "debounce": {"unique_key": "joint-debounced-KIND-{lane}", "debounce": Debounce(0.3, max_wait=1.0)},
    "throttle": {"unique_key": "joint-throttled-KIND-{lane}", "throttle": Throttle(1.0)},
    "expiry": {"ttl": 0.5, "on_expired": "joint_told"},
    "refused expiry": {"ttl": 0.5, "on_expired": "joint_full"},
}
"""The ways to be held back; ``KIND`` is how the job runs, since what is debounced is enqueued by one job alone."""
FOLLOWERS = ("joint_told", "joint_full")
"""The jobs that follow a final failure: one is put into the queue, the other one mostly refused."""

for _place, (_kind, _hold) in enumerate(product(FUNCTIONS, HOLDS)):
    # The ways to be held back are even in number: each of them has either follower.
    _follower = FOLLOWERS[(_place + _place // len(HOLDS)) % len(FOLLOWERS)]
    _options: dict[str, Any] = {
        name: value.replace("KIND", _kind) if isinstance(value, str) else value for name, value in HOLDS[_hold].items()
    }
    job(f"joint {_kind}, {_hold}", isolation=_kind, on_failure=_follower, **_options)(FUNCTIONS[_kind])
