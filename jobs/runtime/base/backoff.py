"""How long to wait before something that failed is tried again."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ...core.base.backoff import exponential

T = TypeVar("T")


class Backoff:
    """Seconds to wait: doubled after each failure, up to a limit."""

    def __init__(self, first: float, longest: float = 5.0) -> None:
        self._first = first
        self._longest = longest
        self._failures = 0

    def fail(self) -> float:
        """The seconds to wait now; the next wait is twice as long."""
        seconds = exponential(self._first, self._longest, self._failures)
        self._failures += 1
        return seconds

    def succeed(self) -> None:
        """Begin with the first wait again."""
        self._failures = 0


async def repeated(
    action: Callable[[], Awaitable[T]],
    passes: Callable[[Exception], bool],
    note: Callable[[float, Exception], None],
    first: float,
) -> T:
    """What ``action`` returns, once it does not fail any more; to do it twice must change nothing.

    Args:
        action: What is tried.
        passes: Whether an error will pass; any other is raised.
        note: Called before each wait with its length and the reason.
        first: Seconds of the first wait; see ``Backoff``.
    """
    backoff = Backoff(first)
    while True:
        try:
            return await action()
        except Exception as error:
            if not passes(error):
                raise
            pause = backoff.fail()
            note(pause, error)
        await asyncio.sleep(pause)
