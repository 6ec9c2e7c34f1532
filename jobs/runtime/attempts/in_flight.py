"""Counts what is under way, and waits until nothing is."""

import asyncio


class InFlight:
    """A number of things that begin and end in one event loop."""

    def __init__(self) -> None:
        self._count = 0
        self._none = asyncio.Event()
        self._none.set()

    def begin(self) -> None:
        """One more is under way."""
        self._count += 1
        self._none.clear()

    def end(self) -> None:
        """One of them is over."""
        self._count -= 1
        if not self._count:
            self._none.set()

    async def wait_none(self, timeout: float | None) -> bool:
        """Wait until nothing is under way; False if something still is after ``timeout`` seconds, None = no limit."""
        try:
            async with asyncio.timeout(timeout):
                await self._none.wait()
        except TimeoutError:
            return False
        return True
