"""What looking for rows that no index finds may cost: a lane of its own with one reader, a budget for each caller.

What indexes find goes other ways: one who searches delays others who search, and nobody else. A search counts twice:
before it begins, what it is taken to cost by the number of rows, towards the cost of its operation; and the time that
it took, towards the budget of the caller. Both are said in the values by which the limit guard measures operations.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from ...jobs.store.db.database import Connection, Database, ReadBounds
from ...jobs.store.read.listing.listing import Listing
from ...jobs.store.read.listing.searching import Keys, keys_of
from ..base.errors import UserFacingError
from .limits import LimitExceeded, Limits

P = ParamSpec("P")
T = TypeVar("T")

STEPS: Final = 100
"""So many rows tested or sorted count as one value of an answer: some 20 µs."""
SECOND: Final = 50_000
"""So many values a second of searching counts."""
FRESH: Final = 10.0
"""Seconds for which the length of a list is remembered."""
LEAST: Final = 0.05
"""Seconds that a caller must have left to search again."""
CALLERS: Final = 1_000
"""So many callers are remembered before those who have their whole budget are forgotten."""


@dataclass(slots=True)
class _Balance:
    """What a caller has left: seconds of searching, as of a time."""

    left: float
    at: float


class SearchLane:
    """Lets one search run at a time, of the callers in turn; on one event loop.

    After each it rests for as long as that took, so that others have the processor, too.
    """

    def __init__(self, database: Database, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with nothing under way.

        Args:
            database: The access of searches, see ``bounds``.
            limits: How long a search may take, and what each caller has.
            clock: Seconds, for the budgets.
        """
        self.limits = limits
        self._database = database
        self._clock = clock
        self._balances: dict[str, _Balance] = {}
        # In the order of their turns.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._busy = False
        self._keys: dict[str, tuple[float, Keys]] = {}

    async def keys(self, database: Database, listing: Listing[Any]) -> Keys:
        """The keys of a list as they were some seconds ago at most; read by ``database``."""
        at, known = self._keys.get(listing.name, (-math.inf, Keys(0, 0)))
        if self._clock() - at > FRESH:
            known = (await database.read(keys_of, [listing]))[listing.name]
            self._keys[listing.name] = (self._clock(), known)
        return known

    async def read(
        self, asked: "Searches", function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Search when it is the caller's turn, and note how long that took.

        Raises:
            UserFacingError: ``LIMIT_SEARCH_BUDGET``: the caller has used up the budget; ``LIMIT_QUEUE_SECONDS`` or
                ``LIMIT_QUEUED_OPERATIONS``: too many wait.
            TimeoutError: the search took too long and was ended.
        """
        self._check(asked.client)
        async with self._turn(asked):
            # It may have been used up while this one waited.
            self._check(asked.client)
            return await self._database.read(function, *args, **kwargs)

    def left(self, client: str) -> float:
        """How many seconds of searching a caller has left, below 0 if the last search took more than there was."""
        now, most = self._clock(), self.limits.search_budget
        if len(self._balances) > CALLERS:
            self._balances = {
                one: balance for one, balance in self._balances.items() if self._filled(balance, now) < most
            }
            # Those who came first, if so many have searched of late.
            for one in list(self._balances)[: max(0, len(self._balances) - CALLERS * 3 // 4)]:
                del self._balances[one]
        balance = self._balances.setdefault(client, _Balance(most, now))
        balance.left, balance.at = self._filled(balance, now), now
        return balance.left

    def _filled(self, balance: _Balance, now: float) -> float:
        return min(self.limits.search_budget, balance.left + (now - balance.at) * self.limits.search_share)

    def _check(self, client: str) -> None:
        left = self.left(client)
        if left < LEAST:
            wait = (LEAST - left) / self.limits.search_share
            message = (
                "You have used up what you may search for rows that no index finds: the limit of search_budget is "
                f"{self.limits.search_budget:g} s at once and {self.limits.search_share:g} s a second. Try again in "
                f"{wait:.1f} s, or narrow your filters; see `extensions.cost`."
            )
            raise _refusal("search_budget", self.limits.search_budget, message, status=429, wait=wait)

    @asynccontextmanager
    async def _turn(self, asked: "Searches") -> AsyncGenerator[None, None]:
        if self._busy:
            await self._wait(asked.client)
        self._busy = True
        began = self._clock()
        try:
            yield
        finally:
            took = self._clock() - began
            asked.used += took
            self._balances[asked.client] = _Balance(self.left(asked.client) - took, self._clock())
            asyncio.get_running_loop().call_later(took, self._next)

    async def _wait(self, client: str) -> None:
        limits = self.limits
        most, mine = limits.queued_operations, self._waiting.setdefault(client, deque())
        if sum(map(len, self._waiting.values())) >= most or len(mine) >= max(1, most // 4):
            message = f"Too many searches wait: the limit of queued_operations is {most}."
            raise _refusal("queued_operations", most, message, status=503, wait=1.0)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        mine.append(turn)
        try:
            async with asyncio.timeout(limits.queue_seconds):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                # Its turn had just come.
                self._next()
            else:
                mine.remove(turn)
            if isinstance(error, TimeoutError):
                message = f"This search waited too long for its turn: the limit is {limits.queue_seconds:g} s."
                raise _refusal("queue_seconds", limits.queue_seconds, message, status=503, wait=1.0) from None
            raise

    def _next(self) -> None:
        """Give the turn to the next who waits, one of each caller."""
        self._busy = False
        for client in list(self._waiting):
            waiting = self._waiting.pop(client)
            turn = next((one for one in waiting if not one.done()), None)
            if turn is None:
                continue
            self._busy = True
            waiting.remove(turn)
            turn.set_result(None)
            # Its next one comes after the others' next ones.
            self._waiting[client] = waiting
            return


@dataclass(slots=True)
class Searches:
    """The searches of one operation.

    Attributes:
        lane: Where they run.
        client: Whose budget they use.
        cost: What the limit guard measured of the operation.
        requested: What its searches are taken to cost, in values.
        used: The seconds that they took.
        refusal: Why they are refused, all of them.
    """

    lane: SearchLane
    client: str
    cost: int = 0
    requested: int = 0
    used: float = 0.0
    refusal: LimitExceeded | None = None

    async def keys(self, database: Database, listing: Listing[Any]) -> Keys:
        """See ``SearchLane.keys``."""
        return await self.lane.keys(database, listing)

    def add(self, steps: int, advice: str) -> None:
        """Count a search that is about to begin.

        Args:
            steps: How many rows it tests or sorts.
            advice: What no index serves, for the refusal.

        Raises:
            LimitExceeded: ``LIMIT_COST``: the operation costs too much with it; none of its searches begins then.
        """
        self.requested += -(-steps // STEPS)
        limit, cost = self.lane.limits.cost, self.cost + self.requested
        if cost > limit:
            what = "The estimated cost of this operation is too high with what it searches"
            self.refusal = LimitExceeded("cost", limit, cost, what, advice=advice)
            raise self.refusal

    def check_sorted(self, rows: int, what: str, advice: str) -> None:
        """Refuse to sort so many rows.

        Args:
            rows: How many there are.
            what: What cannot be done, for the refusal.
            advice: What can.

        Raises:
            LimitExceeded: ``LIMIT_SORTED_ROWS``.
        """
        most = self.lane.limits.sorted_rows
        if rows > most:
            raise LimitExceeded("sorted_rows", most, rows, what, advice=advice)

    @contextmanager
    def in_time(self, why: Callable[[], str]) -> Generator[None]:
        """Say why a search took too long that the block makes.

        Raises:
            UserFacingError: ``LIMIT_SEARCH_SECONDS``.
        """
        try:
            yield
        except TimeoutError:
            seconds = self.lane.limits.search_seconds
            message = f"The search took too long and was stopped: the limit of search_seconds is {seconds:g} s. {why()}"
            extensions = {"limit": "search_seconds", "maximum": seconds}
            raise UserFacingError(message, code="LIMIT_SEARCH_SECONDS", extensions=extensions) from None

    async def read(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Search; see ``SearchLane.read``."""
        if self.refusal is not None:
            raise self.refusal
        return await self.lane.read(self, function, *args, **kwargs)

    def report(self) -> dict[str, int]:
        """What is said of them in ``extensions.cost``; nothing if there were none."""
        if not self.requested:
            return {}
        actual = self.cost + round(self.used * SECOND)
        return {"actual": actual, "remaining": max(0, round(self.lane.left(self.client) * SECOND))}


def bounds_of(limits: Limits) -> ReadBounds:
    """The bounds of the access by which searches read."""
    return ReadBounds(connections=1, seconds=limits.search_seconds)


def _refusal(limit: str, maximum: float, message: str, *, status: int, wait: float) -> UserFacingError:
    extensions = {"limit": limit, "maximum": maximum, "retryAfter": round(wait, 1)}
    return UserFacingError(message, code=f"LIMIT_{limit.upper()}", http_status=status, extensions=extensions)
