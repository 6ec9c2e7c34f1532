"""The one place where a test waits: poll a condition until it holds, or fail saying what was awaited.

No other module under `tests/` may sleep (`tests/architecture/test_budgets.py` sees to it).
"""

import inspect
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar, overload

import anyio

DEFAULT_WAIT = 50.0
"""Seconds: long enough for a busy machine, and shorter than a test may take, so that what fails says what was awaited.
A test that passes never waits this long."""

POLL_INTERVAL = 0.01
"""Seconds between the first looks at the condition."""

LONGEST_INTERVAL, GROWTH = 0.05, 1.1
"""Seconds between two looks once they have been many, and by what the pauses grow until then: to ask a server or a
database a hundred times a second takes the processor from what is awaited."""

Answer = TypeVar("Answer")


def pauses_of(interval: float | None) -> Iterator[float]:
    """The seconds between two looks, without an end."""
    pause = POLL_INTERVAL if interval is None else interval
    while True:
        yield pause
        pause = pause if interval is not None else min(pause * GROWTH, LONGEST_INTERVAL)


class NeverHeldError(AssertionError):
    """The awaited condition did not hold in time; names the condition and its last answer."""

    def __init__(self, condition: Callable[[], object], within: float, last: object, message: str) -> None:
        awaited = message or getattr(condition, "__qualname__", repr(condition))
        super().__init__(f"waited {within:g} s for: {awaited}; the last answer was {last!r}")


@overload
async def eventually(
    condition: Callable[[], Awaitable[Answer]], within: float = ..., message: str = ..., interval: float | None = ...
) -> Answer: ...
@overload
async def eventually(
    condition: Callable[[], Answer], within: float = ..., message: str = ..., interval: float | None = ...
) -> Answer: ...
async def eventually(
    condition: Callable[[], object],
    within: float = DEFAULT_WAIT,
    message: str = "",
    interval: float | None = None,
) -> object:
    """Wait in an async test until `condition` (plain or async) answers something truthy; return that answer.

    `within` and `interval` are seconds; the looks come less and less often unless `interval` is given. `message` says
    in words what is awaited.
    """
    give_up_at, pauses = time.monotonic() + within, pauses_of(interval)
    while True:
        answer = condition()
        last: object = await answer if inspect.isawaitable(answer) else answer
        if last:
            return last
        if time.monotonic() >= give_up_at:
            raise NeverHeldError(condition, within, last, message)
        await anyio.sleep(next(pauses))


def wait_until(
    condition: Callable[[], Answer],
    within: float = DEFAULT_WAIT,
    message: str = "",
    interval: float | None = None,
) -> Answer:
    """The same as `eventually`, for a plain test: block this thread until `condition` answers something truthy."""
    give_up_at, pauses = time.monotonic() + within, pauses_of(interval)
    while True:
        last = condition()
        if last:
            return last
        if time.monotonic() >= give_up_at:
            raise NeverHeldError(condition, within, last, message)
        time.sleep(next(pauses))


def let_pass(seconds: float) -> None:
    """Let real time go by, where it is the time itself that acts: a node stays paused, an occurrence is missed."""
    time.sleep(seconds)
