"""Decides when what waits for a place should wait no longer."""

from typing import Final

LOOK_EVERY: Final = 0.25
"""Seconds between two looks."""
LONGEST: Final = 1.0
"""Seconds after which nothing waits any longer, however well things go on."""


class WaitLimit:
    """Between two looks something ends, as a rule. If nothing does, those who wait may go elsewhere.

    A machine that stands still for a moment stops the looks as well, so that it is no reason to give up.
    """

    def __init__(self) -> None:
        self._ends = 0
        self._ends_seen = -1

    def ended(self) -> None:
        """A place was left."""
        self._ends += 1

    def begin(self) -> None:
        """Somebody begins to wait where nobody did."""
        self._ends_seen = -1

    def is_over(self) -> bool:
        """A look: whether nothing has ended since the last one."""
        is_over, self._ends_seen = self._ends_seen == self._ends, self._ends
        return is_over
