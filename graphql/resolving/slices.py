"""Long computing in the event loop, a slice at a time: between two slices others get the loop, and the interpreter."""

import asyncio
import time
from collections import deque
from typing import Final

SLICE_SECONDS: Final = 0.005
"""Processor time of the event loop's thread after which those who compute make a pause."""

PAUSE_SECONDS: Final = 0.005
"""Least length of a pause."""


class Slices:
    """Let the computing resolvers of one operation take turns.

    Hundreds of them are often ready at once, since one statement answered them all: without a pause the loop would do
    all their work before it looks at anything else.
    """

    def __init__(self) -> None:
        self._began = time.thread_time()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._admitting = False

    async def turn(self) -> None:
        """Come back when it is time to compute for some milliseconds at most: at once unless the slice is over."""
        if not self._waiting and not self._over():
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        if not self._admitting:
            self._admitting = True
            self._pause()
        await place

    def _over(self) -> bool:
        return time.thread_time() - self._began >= SLICE_SECONDS

    def _pause(self) -> None:
        asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._begin)

    def _begin(self) -> None:
        self._began = time.thread_time()
        self._admit()

    def _admit(self) -> None:
        """Let the next one compute, and look again when it has."""
        while self._waiting and self._waiting[0].done():
            # Cancelled with its operation.
            self._waiting.popleft()
        if not self._waiting:
            self._admitting = False
        elif self._over():
            self._pause()
        else:
            self._waiting.popleft().set_result(None)
            # Behind the one that was just called.
            asyncio.get_running_loop().call_soon(self._admit)
