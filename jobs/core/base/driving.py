"""One generator that names the work, step by step, for threads and for event loops alike."""

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeAlias, TypeVar

S = TypeVar("S")
T = TypeVar("T")
Steps: TypeAlias = Generator[S, Any, T]
"""It yields each piece of work, and gets its result or exception."""


def drive(steps: Steps[S, T], run: Callable[[S], Any]) -> T:
    """Return the final result of the steps; ``run`` does each."""
    try:
        step = next(steps)
        while True:
            try:
                found = run(step)
            except Exception as error:  # noqa: BLE001 - the steps judge it
                step = steps.throw(error)
            else:
                step = steps.send(found)
    except StopIteration as end:
        result: T = end.value
        return result


async def drive_in_loop(steps: Steps[S, T], run: Callable[[S], Awaitable[Any]]) -> T:
    """``drive`` where each step is awaited."""
    try:
        step = next(steps)
        while True:
            try:
                found = await run(step)
            except Exception as error:  # noqa: BLE001 - the steps judge it
                step = steps.throw(error)
            else:
                step = steps.send(found)
    except StopIteration as end:
        result: T = end.value
        return result
