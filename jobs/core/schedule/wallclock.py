"""A schedule by the clock on the wall: what CRON and CALENDAR are once their text is parsed."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from .describe import describe_pattern
from .model import Syntax
from .wall import WallPattern
from .zones import next_match


@dataclass(frozen=True, slots=True)
class WallClockSchedule:
    """A pattern of wall-clock times read on the clock of one zone, or of UTC moved by a fixed ``shift``.

    ``timezone`` is the zone as given with the text; ``zone`` and ``shift`` are the clock that counts, which a
    CALENDAR text can name itself, and ``clock_name`` is its name in descriptions.
    """

    syntax: Syntax
    value: str
    timezone: str
    pattern: WallPattern
    zone: ZoneInfo | None = None
    shift: timedelta = timedelta()
    clock_name: str = ""

    def next_after(self, instant: datetime) -> datetime | None:
        """The first occurrence strictly later than ``instant``; aware, in UTC.

        Raises:
            ValueError: ``instant`` is naive.
        """
        return next_match(self.pattern, self.zone, self.shift, instant)

    def describe(self) -> str:
        """One English sentence saying when it fires."""
        return describe_pattern(self.pattern, self.clock_name or self.timezone)
