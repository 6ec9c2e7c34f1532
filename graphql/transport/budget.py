"""Who may execute now: costly operations share a budget, per client and for all, and wait their turn; others pass.

Threads that compute share one interpreter, so two operations that are executed at once are not faster than one after
the other, but everything else the process does is slower all the while. An operation therefore keeps its share for a
while after its end, in proportion to the processor time that it took: its answer does not wait, only the next one does.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from ..base.errors import UserFacingError
from ..guard.limits import Limits

SHORTEST_REST: Final = 0.005
"""Seconds: what would rest for less gets no timer."""

_Place = tuple[int, asyncio.Future[None]]


@dataclass(slots=True)
class _Client:
    """One client's costly operations: the cost under way, and those that wait, first come first."""

    cost: int = 0
    waiting: deque[_Place] = field(default_factory=deque[_Place])


class Budget:
    """Admits operations by their cost; on one event loop.

    The clients that wait take turns, so that one with a hundred documents delays another by one of them.
    """

    def __init__(self, limits: Limits, used: Callable[[], float] = time.process_time) -> None:
        """Start with nothing under way.

        Args:
            limits: What is cheap, how much there is, how long somebody waits, and how long is rested.
            used: The processor time of this process so far, in seconds.
        """
        self._limits = limits
        self._used = used
        self._cost = 0
        self._waiting = 0
        # In the order of their turns.
        self._clients: dict[str, _Client] = {}

    @asynccontextmanager
    async def admitted(self, client: str, cost: int) -> AsyncGenerator[None, None]:
        """Wait for the turn of an operation, and count it as under way while the block runs and rests.

        Raises:
            UserFacingError: ``LIMIT_QUEUED_OPERATIONS`` or ``LIMIT_QUEUE_SECONDS``, HTTP 503: try again later.
        """
        if cost <= self._limits.cheap_cost:
            yield
            return
        # One that costs more than all may use together passes when it is alone.
        share = min(cost, self._limits.budget, self._limits.client_budget)
        await self._enter(client, share)
        began = self._used()
        try:
            yield
        finally:
            self._leave_rested(client, share, self._used() - began)

    async def _enter(self, name: str, share: int) -> None:
        client = self._clients.setdefault(name, _Client())
        if not client.waiting and self._fits(client, share):
            self._take(client, share)
            return
        self._check_queue(name, client)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place = (share, turn)
        client.waiting.append(place)
        self._waiting += 1
        try:
            async with asyncio.timeout(self._limits.queue_seconds):
                await turn
        except BaseException as error:
            self._give_up(name, client, place)
            if isinstance(error, TimeoutError):
                raise self._refusal("queue_seconds", self._limits.queue_seconds, "waited for its turn") from None
            raise

    def _give_up(self, name: str, client: _Client, place: _Place) -> None:
        share, turn = place
        if turn.done() and not turn.cancelled():
            # Its turn had just come.
            self._leave(name, share)
            return
        client.waiting.remove(place)
        self._waiting -= 1
        self._forget_idle(name, client)

    def _check_queue(self, name: str, client: _Client) -> None:
        most = self._limits.queued_operations
        if self._waiting >= most or len(client.waiting) >= max(1, most // 4):
            self._forget_idle(name, client)
            raise self._refusal("queued_operations", most, "would have to wait behind too many others")

    def _refusal(self, limit: str, maximum: float, what: str) -> UserFacingError:
        message = (
            f"The server is busy with costly operations, and this one {what}: the limit of {limit} is {maximum:g}. "
            "Try again in a moment, or ask for less at a time."
        )
        extensions = {"limit": limit, "maximum": maximum}
        return UserFacingError(message, code=f"LIMIT_{limit.upper()}", http_status=503, extensions=extensions)

    def _fits(self, client: _Client, share: int) -> bool:
        return self._cost + share <= self._limits.budget and client.cost + share <= self._limits.client_budget

    def _take(self, client: _Client, share: int) -> None:
        client.cost += share
        self._cost += share

    def _leave_rested(self, name: str, share: int, used: float) -> None:
        rest = min(self._limits.rest * used, self._limits.rest_seconds)
        if rest < SHORTEST_REST:
            self._leave(name, share)
        else:
            asyncio.get_running_loop().call_later(rest, self._leave, name, share)

    def _leave(self, name: str, share: int) -> None:
        client = self._clients[name]
        client.cost -= share
        self._cost -= share
        self._forget_idle(name, client)
        self._admit()

    def _forget_idle(self, name: str, client: _Client) -> None:
        if not client.cost and not client.waiting:
            self._clients.pop(name, None)

    def _admit(self) -> None:
        """Let in what fits now, one of each client in turn."""
        while (found := self._next()) is not None:
            name, place = found
            # Its next one comes after the others' next ones.
            client = self._clients[name] = self._clients.pop(name)
            client.waiting.remove(place)
            self._waiting -= 1
            share, turn = place
            self._take(client, share)
            turn.set_result(None)

    def _next(self) -> tuple[str, _Place] | None:
        for name, client in self._clients.items():
            # One that was cancelled just now removes itself.
            place = next((one for one in client.waiting if not one[1].done()), None)
            if place is not None and self._fits(client, place[0]):
                return name, place
        return None
