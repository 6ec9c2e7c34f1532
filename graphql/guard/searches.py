"""Searches: the lane of reads that look for rows which no index finds, and the searches of one operation.

Reads by index go other ways: a search delays other searches, and nothing else. A search counts twice. Before it begins,
its estimate by the number of rows counts towards the cost of its operation; afterwards, the time it took counts towards
the budget of its caller. Both are given in the values by which the limit guard measures operations.
"""

import math
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from ...jobs.store.db.database import Connection, Database, ReadBounds
from ...jobs.store.statements.listing.listing import Listing
from ...jobs.store.statements.listing.searching import Keys, keys_of
from ..base.errors import UserFacingError
from .admission import Lane, Rules
from .limits import LimitExceeded, Limits

P = ParamSpec("P")
T = TypeVar("T")

STEPS: Final = 100
"""Rows tested or sorted that count as one value of an answer: some 20 µs."""
SECOND: Final = 50_000
"""Values that a second of searching counts as."""
FRESH: Final = 10.0
"""Seconds for which the length of a list is remembered."""
LEAST: Final = 0.05
"""Seconds of its budget that a caller needs to search again."""


class SearchLane(Lane):
    """Lets one search run at a time; after each it rests for as long as that took, so that others can compute, too."""

    def __init__(self, database: Database, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with nothing under way.

        Args:
            database: The access of searches, see ``bounds_of``.
            limits: How long a search may take, and each caller's budget.
            clock: Seconds, for the budgets.
        """
        rules = Rules(
            room=1, share=1, limit="queued_operations", most=limits.queued_operations, part=4,
            seconds=limits.queue_seconds, busy="Others search for rows that no index finds, and this search",
            fade=lambda used, seconds: max(0.0, used - seconds * limits.search_share) if used else 0.0, retry_after=1.0,
        )  # fmt: skip
        super().__init__(rules, clock)
        self.limits = limits
        self._database = database
        self._keys: dict[str, tuple[float, Keys]] = {}

    async def keys(self, database: Database, listing: Listing[Any]) -> Keys:
        """Return the keys of a list as they were some seconds ago at most, read by ``database``."""
        at, known = self._keys.get(listing.name, (-math.inf, Keys(0, 0)))
        if self.clock() - at > FRESH:
            known = (await database.read(keys_of, [listing]))[listing.name]
            self._keys[listing.name] = (self.clock(), known)
        return known

    async def read(
        self, asked: "Searches", function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Search when it is the caller's turn, and charge the time that it took.

        Raises:
            UserFacingError: ``LIMIT_SEARCH_BUDGET``: the caller has used up the budget; ``LIMIT_QUEUE_SECONDS`` or
                ``LIMIT_QUEUED_OPERATIONS``: too many wait.
            TimeoutError: the search took too long and was ended.
        """
        self._check_budget(asked.client)
        caller = self.caller(asked.client)
        await self.enter(caller)
        began = self.clock()
        try:
            # The budget may have been used up while this one waited.
            self._check_budget(asked.client)
            return await self._database.read(function, *args, **kwargs)
        finally:
            ended = self.clock()
            asked.used += ended - began
            caller.add(ended - began, ended)
            self.leave(caller, rest=ended - began)

    def left(self, client: str) -> float:
        """Return the caller's seconds of searching, below 0 if the last search took more than there was."""
        return self.limits.search_budget - self.used(client)

    def _check_budget(self, client: str) -> None:
        limits, left = self.limits, self.left(client)
        if left < LEAST:
            # Rounded up, to the tenth that is shown: one who comes back a moment too early would be refused again.
            wait = math.ceil(round((LEAST - left) / limits.search_share * 10, 6)) / 10
            message = (
                "You have used up what you may search for rows that no index finds: the limit of search_budget is "
                f"{limits.search_budget:g} s at once and {limits.search_share:g} s a second. Try again in "
                f"{wait:.1f} s, or narrow your filters; see `extensions.cost`."
            )
            extensions = {"limit": "search_budget", "maximum": limits.search_budget, "retryAfter": wait}
            raise UserFacingError(message, code="LIMIT_SEARCH_BUDGET", http_status=429, extensions=extensions)


@dataclass(slots=True)
class Searches:
    """The searches of one operation.

    Attributes:
        client: The caller, whose budget they use.
        cost: The cost of the operation without them, as the limit guard measured it.
        requested: The estimated cost of its searches, in values.
        used: The seconds that they took.
        refusal: The reason why all of them are refused.
    """

    lane: SearchLane
    client: str
    cost: int = 0
    requested: int = 0
    used: float = 0.0
    refusal: LimitExceeded | None = None

    async def keys(self, database: Database, listing: Listing[Any]) -> Keys:
        """Return the keys of a list, see ``SearchLane.keys``."""
        return await self.lane.keys(database, listing)

    def add(self, steps: int, advice: str) -> None:
        """Count a search that is about to begin.

        Args:
            steps: How many rows it tests or sorts.
            advice: The reason why no index serves it, for the refusal.

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
            what: The thing that cannot be done, for the refusal.
            advice: The thing to do instead.

        Raises:
            LimitExceeded: ``LIMIT_SORTED_ROWS``.
        """
        most = self.lane.limits.sorted_rows
        if rows > most:
            raise LimitExceeded("sorted_rows", most, rows, what, advice=advice)

    @contextmanager
    def in_time(self, why: Callable[[], str]) -> Generator[None]:
        """Say why the search within the block took too long.

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
        """Return their part of ``extensions.cost``; nothing if there were none."""
        if not self.requested:
            return {}
        actual = self.cost + round(self.used * SECOND)
        return {"actual": actual, "remaining": max(0, round(self.lane.left(self.client) * SECOND))}


def bounds_of(limits: Limits) -> ReadBounds:
    """Return the bounds of the access by which searches read."""
    return ReadBounds(connections=1, seconds=limits.search_seconds)
