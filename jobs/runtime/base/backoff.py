"""How long to wait before something that failed is tried again."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Collection
from typing import Final, TypeVar

from ...core.base.backoff import exponential
from ...store.db.faults import ErrorKind, kind_of

T = TypeVar("T")

PASSING: Final = frozenset(kind for kind in ErrorKind if kind.passes)


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
    note: Callable[[float, Exception], None],
    first: float,
    during: Collection[ErrorKind] = PASSING,
    give_up_at: float = math.inf,
) -> T:
    """Return what ``action`` returns, once it does not fail any more; to do it twice must change nothing.

    Args:
        action: What is tried.
        note: Called before each wait with its length and the reason.
        first: Seconds of the first wait; see ``Backoff``.
        during: After errors of these kinds it is tried again; any other is raised.
        give_up_at: From then on, by the event loop's clock, every error is raised.
    """
    backoff = Backoff(first)
    while True:
        try:
            return await action()
        except Exception as error:
            if kind_of(error) not in during or asyncio.get_running_loop().time() >= give_up_at:
                raise
            pause = backoff.fail()
            note(pause, error)
        await asyncio.sleep(pause)
