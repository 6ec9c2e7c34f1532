"""Claims of the common case, one after the other, each going on where the last one ended."""

import time
from collections.abc import Callable
from typing import Final

from ...actions.queue.claim import Claimant
from ...actions.queue.lane import LaneClaim, claim_lane
from ...core.fairness import FairnessState
from ...core.held import Place
from ...store.db.database import Database, Line

WHOLE_LOOK: Final = 1.0
"""Seconds after which a lane is looked at from its beginning again, however much of it waits."""


class LaneClaims:
    """Takes runs where all that is due is one lane, and knows how far it has taken it.

    A look from the beginning of a lane walks through all that has been taken since the last VACUUM. What comes before
    the place meanwhile (a run that was due earlier and is stored later, one of an exclusive task that was passed over)
    is taken when the lane ends, or ``WHOLE_LOOK`` seconds later.

    Args:
        database: The database of the line.
        line: Used by these claims alone.
        clock: Seconds that only grow.
    """

    def __init__(self, database: Database, line: Line, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._line = line
        self._clock = clock
        self._place: Place | None = None
        self._jobs: tuple[str, ...] = ()
        self._looked_at = 0.0

    @property
    def is_behind(self) -> bool:
        """Whether the last claim brought as many as it wanted, so that more may wait."""
        return self._place is not None

    async def claim(self, claimant: Claimant, fairness: FairnessState, slots: int) -> LaneClaim:
        """See ``claim_lane``; one at a time."""
        now = self._clock()
        behind = self._place
        if claimant.jobs != self._jobs or now - self._looked_at >= WHOLE_LOOK:
            behind = None
        if behind is None:
            self._looked_at = now
        claim = await self._database.on_line(claim_lane, self._line, claimant, fairness, slots=slots, behind=behind)
        self._place, self._jobs = claim.place, claimant.jobs
        return claim

    async def close(self) -> None:
        """Close the line."""
        await self._line.close()
