"""The grammar of calendar events: ``[weekdays] [[year-]month-day] [hour:minute[:second]]``, as systemd 252 parses it.

The parser walks the text once, from left to right, without going back by more than one chain.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from .days import mask_of, span, stepped
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


WEEKDAY_NAMES: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_WEEKDAY: Final = re.compile("|".join(f"{name}|{name[:3]}" for name in WEEKDAY_NAMES), re.IGNORECASE)
_NUMBERS: Final = {name[:3].lower(): number for number, name in enumerate(WEEKDAY_NAMES)}
_DIGITS: Final = re.compile(r"[0-9]+", re.ASCII)
_FRACTION: Final = re.compile(r"\.([0-9]+)", re.ASCII)
_LETTERS: Final = re.compile(r"[A-Za-z]+", re.ASCII)
_WORD: Final = re.compile(r"[^ ,]*")
_EPOCH: Final = re.compile(r"@\s*\+?([0-9]+)$", re.ASCII)
_ZONE: Final = re.compile(r"[Zz]|[+-][0-9]{2}:[0-9]{2}", re.ASCII)
_AFTER_ITEM: Final = frozenset(" ,-~:")
_TOO_LARGE: Final = 10**10


@dataclass(slots=True)
class CalendarText:
    """A calendar event taken apart.

    Empty chains stand for ``*``; ``weekdays`` is a mask from Monday = 0, or 0 if there are none.
    ``from_end`` says that the days are counted from the end of the month. ``epoch`` is set for ``@seconds`` instead of
    a date and a time.
    """

    weekdays: int = 0
    year: Chain = ()
    month: Chain = ()
    day: Chain = ()
    from_end: bool = False
    hour: Chain = ()
    minute: Chain = ()
    second: Chain = ()
    epoch: int | None = None


def parse_calendar_text(text: str) -> CalendarText:
    """Parse a calendar event without its zone.

    Raises:
        ScheduleError: with the place of the fault.
    """
    return _Parser(text).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.result = CalendarText()

    def parse(self) -> CalendarText:
        self._weekdays()
        if self._peek() == "@":
            self._epoch()
            return self.result
        if not self._date():
            self.result.from_end = False
        self._time()
        return self.result

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _skip_spaces(self) -> None:
        while self._peek() == " ":
            self.at += 1

    def _error(
        self,
        field: str,
        message: str,
        position: int,
        suggestion: str | None = None,
        *,
        replaces: tuple[int, int] | None = None,
        advice: str = "",
    ) -> ScheduleError:
        return ScheduleError(
            f"{field}: {message}",
            field=field,
            position=position,
            suggestion=suggestion,
            replaces=replaces or (0, len(self.text)),
            advice=advice,
        )

    def _weekdays(self) -> None:
        """Read a list of weekdays and ranges of them, up to the next space. A trailing comma is allowed."""
        range_from: int | None = None
        range_at = first_at = self.at
        while match := _WEEKDAY.match(self.text, self.at):
            number = _NUMBERS[match.group()[:3].lower()]
            begin, self.at = self.at, match.end()
            if self._peek() not in ("", "-", ".", ",", " "):
                raise self._unknown_weekday(begin)
            if range_from is None:
                range_at = begin
            elif range_from > number:
                raise self._backwards(range_from, number, range_at)
            self.result.weekdays |= span(number if range_from is None else range_from, number)
            mark = self._peek()
            if mark in ("", " "):
                self._skip_spaces()
                return
            range_from = self._after_weekday(mark, number, range_from is not None, range_at)
            if self._peek() in ("", " "):
                if range_from is not None:
                    raise self._error("weekday", "the range has no end; write e.g. Mon..Fri", range_at)
                self._skip_spaces()
                return
        if self.at != first_at:
            raise self._unknown_weekday(self.at)

    def _after_weekday(self, mark: str, number: int, in_range: bool, range_at: int) -> int | None:
        """Step over ``,``, ``..`` or ``-``, and return the number if it begins a range."""
        if mark == ",":
            self.at += 1
            return None
        if in_range:
            raise self._error("weekday", "a range has one beginning and one end, e.g. Mon..Fri", range_at)
        if mark == "." and not self.text.startswith("..", self.at):
            raise self._error("weekday", "a range is written with two dots, e.g. Mon..Fri", self.at)
        self.at += 2 if mark == "." else 1
        return number

    def _unknown_weekday(self, position: int) -> ScheduleError:
        word = self._word(position)
        near = self._near_weekday(position)
        if near is not None:
            return near
        message = f"'{word}' is no weekday; it must be one of Mon, Tue, Wed, Thu, Fri, Sat, Sun or a full name"
        return self._error("weekday", message, position)

    def _near_weekday(self, position: int) -> ScheduleError | None:
        """Return the error for a misspelt weekday; None if the word resembles none."""
        letters = _LETTERS.match(self.text, position)
        if letters is None:
            return None
        names = [name.lower() for full in WEEKDAY_NAMES for name in (full, full[:3])]
        near = get_close_matches(letters[0][:9].lower(), names, n=1)
        if not near:
            return None
        return self._error(
            "weekday",
            f"'{letters[0]}' is no weekday",
            position,
            near[0][:3].capitalize(),
            replaces=letters.span(),
            advice="; did you mean {}?",
        )

    def _word(self, position: int) -> str:
        match = _WORD.match(self.text, position)
        return match[0] if match else ""

    def _backwards(self, first: int, last: int, position: int) -> ScheduleError:
        names = [name[:3] for name in WEEKDAY_NAMES]
        head = names[first] if first == 6 else f"{names[first]}..Sun"
        tail = names[last] if last == 0 else f"Mon..{names[last]}"
        return self._error(
            "weekday",
            f"range '{self.text[position : self.at]}' runs backwards; the week begins on Monday",
            position,
            f"{tail},{head}",
            replaces=(position, self.at),
            advice=", so write {}",
        )

    def _epoch(self) -> None:
        match = _EPOCH.match(self.text, self.at)
        if match is None:
            raise self._error("value", "'@' must be followed by whole seconds since 1970 and nothing else", self.at)
        self.result.epoch = _integer(match[1])

    def _date(self) -> bool:
        """Year, month and day, or month and day. Whether there was a date: a time is left for ``_time``."""
        begin = self.at
        if begin == len(self.text):
            return False
        chains = [self._chain("date")]
        if self._peek() in ("", ":"):
            self.at = begin
            return False
        while len(chains) < 3 and self._peek() in ("-", "~"):
            if self.result.from_end:
                raise self._error("day", "only the day can be counted from the end of the month with '~'", self.at)
            self.result.from_end = self._peek() == "~"
            self.at += 1
            chains.append(self._chain("date"))
        if len(chains) < 2 or self._peek() not in ("", " "):
            raise self._bad_date(begin)
        self.result.month, self.result.day = chains[-2:]
        self.result.year = chains[0] if len(chains) == 3 else ()
        self._skip_spaces()
        return True

    def _bad_date(self, begin: int) -> ScheduleError:
        rest = self.text[self.at :]
        if rest[:1] == ":":
            return self._error(
                "hour",
                "an hour must follow a space, and ranges are written with two dots",
                begin,
                self.text[begin:].replace("-", ".."),
                replaces=(begin, len(self.text)),
                advice=", e.g. '{}'",
            )
        return self._error("value", f"'{rest or self.text[begin:]}' is not understood after the date", self.at)

    def _time(self) -> None:
        """Hour and minute, perhaps seconds; midnight when the text is over."""
        result, zero = self.result, (Component("0", self.at, 0),)
        result.hour = result.minute = result.second = zero
        if self.at == len(self.text):
            return
        result.hour = self._chain("hour")
        self._colon("minute")
        result.minute = self._chain("minute")
        if self.at == len(self.text):
            return
        self._colon("second")
        result.second = self._chain("second", fractions=True)
        if self.at != len(self.text):
            raise self._unexpected_end()

    def _colon(self, following: str) -> None:
        if self._peek() == ":":
            self.at += 1
            return
        if self._peek() == "" and following == "minute":
            raise self._error("minute", "is missing; a time is written hour:minute or hour:minute:second", self.at)
        raise self._unexpected_end()

    def _unexpected_end(self) -> ScheduleError:
        rest = self.text[self.at :]
        if not rest.strip():
            message = "nothing may follow the time, not even spaces"
            return self._error("value", message, self.at, self.text.rstrip(), advice="; write '{}'")
        return self._error("value", f"'{rest}' is not understood after the time", self.at)

    def _chain(self, field: str, *, fractions: bool = False) -> Chain:
        """Read ``*`` (an empty chain) or a list of items."""
        if self._peek() == "*":
            self.at += 1
            if self._peek() == "/":
                raise self._star_repeated(field)
            return ()
        items = [self._item(field, fractions=fractions)]
        while self._peek() == ",":
            self.at += 1
            items.append(self._item(field, fractions=fractions))
        return items

    def _star_repeated(self, field: str) -> ScheduleError:
        match = _WORD.match(re.sub(r"[-~:]", " ", self.text), self.at)
        tail = match.group() if match else "/"
        return self._error(
            "value" if field == "date" else field,
            f"'*{tail}' is not understood; '*' cannot be repeated",
            self.at - 1,
            f"{1 if field == 'date' else 0}{tail}",
            replaces=(self.at - 1, self.at + len(tail)),
            advice=", write a start instead, e.g. {}",
        )

    def _item(self, field: str, *, fractions: bool) -> Component:
        begin = self.at
        start = self._number(field, fractions=fractions)
        stop = repeat = None
        if self.text.startswith("..", self.at):
            self.at += 2
            stop = self._number(field, fractions=fractions)
        if self._peek() == "/":
            self.at += 1
            repeat = self._number(field, fractions=fractions)
        item = Component(self.text[begin : self.at], begin, start, stop, repeat)
        name = "value" if field == "date" else field
        if self._peek() and self._peek() not in _AFTER_ITEM:
            raise self._bad_end(name, item)
        return item

    def _bad_end(self, field: str, item: Component) -> ScheduleError:
        """Return the error for text after an item's end, with a better text if only a space is missing."""
        rest = self.text[self.at :]
        if rest[0] in "Tt":
            better = f"{self.text[: self.at]} {rest[1:]}"
            message = "date and time are separated by a space"
            return self._error("value", message, self.at, better, advice="; write '{}'")
        if _ZONE.fullmatch(rest):
            better = f"{self.text[: self.at]} {rest}"
            return self._error("value", "a zone follows a space", self.at, better, advice="; write '{}'")
        return self._error(field, f"'{rest}' is not understood after '{item.text}'", self.at)

    def _number(self, field: str, *, fractions: bool) -> int:
        match = _DIGITS.match(self.text, self.at)
        if match is None:
            raise self._no_number(field)
        self.at = match.end()
        number = _integer(match.group())
        if not fractions:
            return number
        number *= SECOND
        if self._peek() != "." or self.text.startswith("..", self.at):
            return number
        match = _FRACTION.match(self.text, self.at)
        if match is None:
            raise self._error(field, "digits must follow the decimal point", self.at)
        self.at = match.end()
        return number + _microseconds(match[1])

    def _no_number(self, field: str) -> ScheduleError:
        rest = self.text[self.at :]
        name = "value" if field == "date" else field
        if not rest:
            return self._error(name, "a number is missing at the end", self.at)
        near = None if self.result.weekdays else self._near_weekday(self.at)
        if near is not None:
            return near
        word = self._word(self.at) or rest[0]
        return self._error(name, f"'{word}' is not understood; a number or '*' must stand there", self.at)


def _integer(digits: str) -> int:
    """Return the number, or one too large for any part: long digit strings are never converted."""
    significant = digits.lstrip("0")
    return int(significant or "0") if len(significant) <= 12 else _TOO_LARGE * SECOND


def _microseconds(fraction: str) -> int:
    """Return the fraction of a second in microseconds, rounded at the seventh digit as systemd does."""
    return int(fraction[:6].ljust(6, "0")) + (fraction[6:7] >= "5")
