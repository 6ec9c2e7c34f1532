"""Claims of the common case, one after the other, each going on where the last one ended."""

import time
from collections.abc import Callable
from typing import Final

from ...queue.claim import Claimant
from ...queue.fairness import FairnessState
from ...queue.lane import LaneClaim, claim_lane
from ...queue.shapes import LanePosition
from ...store.db.database import AutocommitConnection, Database

WHOLE_LOOK: Final = 1.0
"""Seconds after which a lane is looked at from its beginning again, however much of it waits."""


class LaneClaims:
    """Takes runs where all that is due is one lane, and knows how far it has taken it.

    A look from the beginning of a lane walks through all that has been taken since the last VACUUM. What comes before
    the place meanwhile (a run that was due earlier and is stored later, one of an exclusive task that was passed over)
    is taken when the lane ends, or ``WHOLE_LOOK`` seconds later.

    Args:
        database: The database of the connection.
        connection: Used by these claims alone.
        clock: Seconds that only grow.
    """

    def __init__(
        self, database: Database, connection: AutocommitConnection, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._database = database
        self._connection = connection
        self._clock = clock
        # By the jobs that are claimed: when their lane was looked at as a whole, and how far it was taken since.
        self._places: dict[tuple[str, ...], tuple[float, LanePosition | None]] = {}

    def is_behind(self, jobs: tuple[str, ...]) -> bool:
        """Whether the last claim for these jobs brought as many as it wanted, so that more may wait."""
        return self._places.get(jobs, (0.0, None))[1] is not None

    async def claim(self, claimant: Claimant, fairness: FairnessState, slots: int) -> LaneClaim:
        """See ``claim_lane``; one at a time."""
        now = self._clock()
        looked_at, behind = self._places.get(claimant.jobs, (0.0, None))
        if now - looked_at >= WHOLE_LOOK:
            behind = None
        if behind is None:
            looked_at = now
        claim = await self._database.on_connection(
            claim_lane, self._connection, claimant, fairness, slots=slots, behind=behind
        )
        self._places[claimant.jobs] = looked_at, claim.place
        return claim

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.close()
