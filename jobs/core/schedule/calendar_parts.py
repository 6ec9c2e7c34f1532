"""The parts of a calendar event: chains of numbers, ranges and repetitions, and the sets they stand for.

The grammar and its bounds are those of systemd 252 (systemd.time(7), "Calendar Events").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .days import mask_of, stepped
from .model import ScheduleError
from .wall import FIRST_YEAR, LAST_YEAR, SecondSet, WholeSeconds

SECOND: Final = 1_000_000
"""A second in microseconds, the unit of the part for seconds."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a calendar event: its name in messages, its bounds, and the size of its unit in counted steps."""

    name: str
    low: int
    high: int
    unit: int = 1


YEAR_PART: Final = Part("year", FIRST_YEAR, LAST_YEAR)
MONTH_PART: Final = Part("month", 1, 12)
DAY_PART: Final = Part("day", 1, 31)
DAY_FROM_END_PART: Final = Part("day", 1, 28)
"""Days counted from the end of the month: every month has 28."""
HOURS: Final = 24
HOUR_PART: Final = Part("hour", 0, 23)
MINUTE_PART: Final = Part("minute", 0, 59)
SECOND_PART: Final = Part("second", 0, 60 * SECOND - 1, SECOND)


@dataclass(frozen=True, slots=True)
class Component:
    """One list item at ``position``: ``start``, ``start..stop``, ``start/repeat`` or ``start..stop/repeat``."""

    text: str
    position: int
    start: int
    stop: int | None = None
    repeat: int | None = None

    def error(self, part: Part, message: str, suggestion: str | None = None) -> ScheduleError:
        """Return the error for this item, naming the part and the place."""
        return ScheduleError(
            f"{part.name}: {message}",
            field=part.name,
            position=self.position,
            suggestion=suggestion,
            replaces=(self.position, self.position + len(self.text)),
        )


@dataclass(frozen=True, slots=True)
class Steps:
    """The numbers ``start, start + repeat, …`` up to ``stop``."""

    start: int
    stop: int
    repeat: int


@dataclass(frozen=True, slots=True)
class ChainedSeconds:
    """Moments within a minute that are not all whole seconds, as steps in microseconds."""

    steps: tuple[Steps, ...]

    @property
    def first(self) -> int:
        """The earliest moment."""
        return min(steps.start for steps in self.steps)

    def at_or_after(self, moment: int) -> int | None:
        """Return the earliest moment that is not before ``moment``, or None when there is none in the minute."""
        found: int | None = None
        for steps in self.steps:
            rounds = max(0, -(-(moment - steps.start) // steps.repeat))
            candidate = steps.start + rounds * steps.repeat
            if candidate <= steps.stop and (found is None or candidate < found):
                found = candidate
        return found


Chain = Sequence[Component]
"""A list of items; an empty one stands for ``*``."""


def full_years(chain: Chain) -> Chain:
    """Return the chain with years 0 to 69 moved to 2000 and 70 to 99 to 1900, as systemd reads them."""
    return [
        Component(
            item.text,
            item.position,
            _full_year(item.start),
            None if item.stop is None else _full_year(item.stop),
            item.repeat,
        )
        for item in chain
    ]


def mask(part: Part, chain: Chain) -> int:
    """Return the set of numbers that the chain stands for, as a bit mask; ``*`` is every number of the part."""
    if not chain:
        return stepped(part.low, part.high, 1)
    result = 0
    for item in chain:
        steps = resolve(part, item)
        result |= stepped(steps.start, steps.stop, steps.repeat)
    return result


def mask_from_end(chain: Chain) -> int:
    """Return the days before the last of the month (bit 0 = the last day) that a chain after ``~`` stands for.

    A repetition without an end runs forwards in time: ``~7/2`` is the 7th, 5th, 3rd and 1st day from the end.
    """
    part = DAY_FROM_END_PART
    offsets = 0
    for item in chain:
        if item.repeat is None or item.stop is not None:
            steps = resolve(part, item)
            offsets |= stepped(steps.start, steps.stop, steps.repeat)
            continue
        _check_bounds(part, item, item.start)
        if item.start - item.repeat < part.low:
            raise item.error(part, f"'{item.text}' repeats past the end of the month before its first repetition")
        offsets |= mask_of(range(item.start, 0, -item.repeat))
    return offsets >> 1


def second_set(chain: Chain) -> SecondSet:
    """Return the moments of a minute that a chain stands for; ``*`` is every whole second."""
    steps = tuple(resolve(SECOND_PART, item) for item in chain) or (Steps(0, SECOND_PART.high, SECOND),)
    if any(item.start % SECOND or item.repeat % SECOND for item in steps):
        return ChainedSeconds(steps)
    chosen = 0
    for item in steps:
        chosen |= stepped(item.start // SECOND, item.stop // SECOND, item.repeat // SECOND)
    return WholeSeconds(chosen)


def resolve(part: Part, item: Component) -> Steps:
    """Return the numbers of one item, checked against the bounds of its part. A single number is one step."""
    _check_bounds(part, item, item.start)
    if item.stop is not None:
        _check_bounds(part, item, item.stop)
        if item.stop < item.start:
            raise item.error(part, f"range '{item.text}' runs backwards", _turned(part, item))
        repeat = part.unit if item.repeat is None else item.repeat
        if item.start + repeat > item.stop:
            return Steps(item.start, item.start, part.unit)
        return Steps(item.start, item.stop, repeat)
    if item.repeat is None:
        return Steps(item.start, item.start, part.unit)
    if item.start + item.repeat > part.high:
        message = f"'{item.text}' repeats past the end ({part.high // part.unit}) before its first repetition"
        raise item.error(part, message, item.text.partition("/")[0])
    return Steps(item.start, part.high, item.repeat)


def _full_year(year: int) -> int:
    if year < 70:
        return year + 2000
    return year + 1900 if year < 100 else year


def _check_bounds(part: Part, item: Component, number: int) -> None:
    if item.repeat == 0:
        raise item.error(part, f"'{item.text}' repeats by 0; a repetition must be more than 0")
    if not part.low <= number <= part.high:
        problem = f"'{item.text}' is out of range; it must be {part.low // part.unit} to {part.high // part.unit}"
        # Who counts hours beyond midnight means the small hours.
        beyond = number - HOURS if part.name == "hour" and item.text.isdigit() and number < 2 * HOURS else None
        raise item.error(part, problem, None if beyond is None else str(beyond))


def _turned(part: Part, item: Component) -> str | None:
    if part.unit != 1 or item.repeat is not None or item.stop is None:
        return None
    return f"{item.start}..{part.high},{part.low}..{item.stop}"
