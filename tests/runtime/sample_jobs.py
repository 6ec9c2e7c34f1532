"""Jobs that end in every way there is, as a plain function and as a coroutine; child processes import them too."""

import asyncio
import enum
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from cronograph.jobs import Cancel, JobContext, PermanentFailure, Result, Snooze
from cronograph.jobs.base.outcomes import Suspend
from cronograph.jobs.core.waits import AwaitedKind, Awaits
from cronograph.jobs.registry import JobDefinition, Registry, define

KINDS = ("async", "thread", "process", "async in process")
"""The four ways to carry a job."""


class UnreadableError(Exception):
    """An exception whose message cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError("no message")


class _NamelessType(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise RuntimeError("no name")


class NamelessError(Exception, metaclass=_NamelessType):
    """An exception whose class does not say its name."""


class Size(enum.IntEnum):
    LARGE = 12


RETURNED: dict[str, Any] = {
    "nothing": None,
    "a number": 7,
    "zero": 0,
    "an enum": Size.LARGE,
    "a result": Result(records_processed=3, value={"a": [1, (2, 3)], "5": None}),
    "a value only": Result(value="done"),
    "a NUL": Result(value={"a": "b\x00c"}),
    "half a character": Result(value="\ud800"),
    "an escape": Result(value="\\u0000"),
    "a bool": True,
    "a negative number": -1,
    "too many": 2**63,
    "an enormous number": 10**5000,
    "text": "text",
    "not a number": Result(value=float("nan")),
    "a set": Result(value={1, 2}),
    "a key that is no text": Result(value={"a": {5: None}}),
    "too large a value": Result(value="x" * 1_000_001),
    "a bool of records": Result(records_processed=True),
}
"""What the job `ends` returns, by the word it is given."""

RAISED: dict[str, Callable[[], BaseException]] = {
    "an error": lambda: ValueError("no\x00 luck"),
    "an error without words": KeyError,
    "an unreadable error": UnreadableError,
    "a nameless error": lambda: NamelessError("no luck"),
    "a permanent failure": lambda: PermanentFailure("never"),
    "a snooze": lambda: Snooze(3600),
    "a suspension": lambda: Suspend(Awaits(AwaitedKind.SIGNAL, "go"), seconds=3600),
    "a cancel": lambda: Cancel("not needed"),
    "an exit": lambda: SystemExit(3),
    "an interrupt": KeyboardInterrupt,
    "a long message": lambda: RuntimeError("x" * 10_000),
    "a cancelled coroutine": asyncio.CancelledError,
    "a closed generator": GeneratorExit,
}
"""What the job `ends` raises, by the word it is given."""


def ends(how: str) -> Any:
    """Return or raise."""
    if how in RAISED:
        error = RAISED[how]()
        raise error
    return RETURNED[how]


async def ends_async(how: str) -> Any:
    await asyncio.sleep(0)
    return ends(how)


def leaves(ctx: JobContext, error: str | None = None) -> int:
    """Work until asked to stop; then save a checkpoint and leave."""
    ctx.log.info("begun")
    while not ctx.should_stop:
        time.sleep(0.005)
    ctx.save_checkpoint({"reason": ctx.stop_reason, "remaining": ctx.remaining})
    ctx.log.info("left", reason=ctx.stop_reason)
    if error is not None:
        raise RuntimeError(error)
    return 1


async def leaves_async(ctx: JobContext, error: str | None = None) -> int:
    ctx.log.info("begun")
    while not ctx.should_stop:  # noqa: ASYNC110 - polling is what jobs do
        await asyncio.sleep(0.005)
    await ctx.save_checkpoint({"reason": ctx.stop_reason, "remaining": ctx.remaining})
    ctx.log.info("left", reason=ctx.stop_reason)
    if error is not None:
        raise RuntimeError(error)
    return 1


def ignores(ctx: JobContext, until: str) -> int:
    """Never ask; go on until a file exists, through every exception."""
    ctx.log.info("begun")
    while not exists(until):
        try:
            time.sleep(0.005)
        except SystemExit:
            ctx.log.info("will not leave")
    return 1


async def ignores_async(ctx: JobContext, until: str) -> int:
    ctx.log.info("begun")
    while not exists(until):
        try:
            await asyncio.sleep(0.005)
        except asyncio.CancelledError:
            ctx.log.info("will not leave")
    return 1


def counts(ctx: JobContext) -> Result:
    """Save the numbers of the attempts so far; fail until the third."""
    before: list[int] = ctx.checkpoint or []
    attempts = [*before, ctx.attempt]
    ctx.save_checkpoint(attempts)
    if len(attempts) < 3:
        raise RuntimeError("again")
    return Result(value=attempts)


async def counts_async(ctx: JobContext) -> Result:
    before: list[int] = ctx.checkpoint or []
    attempts = [*before, ctx.attempt]
    await ctx.save_checkpoint(attempts)
    if len(attempts) < 3:
        raise RuntimeError("again")
    return Result(value=attempts)


def cleans_up(ctx: JobContext) -> None:
    """Leave by the exception that a hard stop raises, and say so."""
    ctx.log.info("begun")
    try:
        time.sleep(60)
    finally:
        ctx.log.info("cleaned up")


async def cleans_up_async(ctx: JobContext) -> None:
    ctx.log.info("begun")
    try:
        await asyncio.sleep(60)
    finally:
        ctx.log.info("cleaned up")


def exists(path: str) -> bool:
    return Path(path).exists()


def of_kind(kind: str, plain: Callable[..., Any], coroutine: Callable[..., Awaitable[Any]]) -> JobDefinition:
    """A job of one kind, under the name of the plain function."""
    handler = coroutine if kind.startswith("async") else plain
    return define(plain.__name__, handler, isolation="process" if "process" in kind else None)


def registry_of(kind: str) -> Registry:
    """All of these jobs, carried in one way."""
    registry = Registry()
    for plain, coroutine in (
        (ends, ends_async),
        (leaves, leaves_async),
        (ignores, ignores_async),
        (cleans_up, cleans_up_async),
        (counts, counts_async),
    ):
        registry.add(of_kind(kind, plain, coroutine))
    return registry
