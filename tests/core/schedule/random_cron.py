"""Random cron expressions together with what they mean."""

from calendar import monthrange
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from random import Random

from tests.core.schedule.oracle import Meaning

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
LONG_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

DayTest = Callable[[date], bool]


@dataclass
class RandomField:
    """A field as text, the numbers it lists, and tests for days that no number expresses."""

    text: str
    numbers: set[int] = field(default_factory=set[int])
    tests: list[DayTest] = field(default_factory=list[DayTest])


def random_cron(random: Random, *, daily: bool) -> tuple[str, Meaning]:
    """An expression that the parser must accept, unless no day can ever match it, and its meaning.

    `daily` asks for every day and most hours, so that a change of the clock is likely to matter.
    """
    second, minute = _plain(random, 0, 59), _plain(random, 0, 59)
    hour = RandomField("*", set(range(24))) if random.random() < 0.4 else _plain(random, 0, 23)
    day, month, weekday = _day(random), _plain(random, 1, 12, MONTHS), _weekday(random)
    if daily:
        missing = random.randint(0, 1) * 23
        hour = random.choice(
            (hour, RandomField(f"{1 - missing // 23}-{23 - missing // 23}", set(range(24)) - {missing}))
        )
        day, month, weekday = (RandomField("*", set(range(32))) for _ in range(3))
    weekdays = {number % 7 for number in weekday.numbers}

    def matches_day(candidate: date) -> bool:
        return (
            candidate.month in month.numbers
            and (candidate.day in day.numbers or any(test(candidate) for test in day.tests))
            and (candidate.isoweekday() % 7 in weekdays or any(test(candidate) for test in weekday.tests))
        )

    text = " ".join(part.text for part in (second, minute, hour, day, month, weekday))
    moments = [number * 1_000_000 for number in sorted(second.numbers)]
    return text, Meaning(matches_day, sorted(hour.numbers), sorted(minute.numbers), moments)


def _plain(random: Random, low: int, high: int, names: Sequence[str] = ()) -> RandomField:
    if random.random() < 0.3:
        return RandomField(random.choice("*?"), set(range(low, high + 1)))
    result = RandomField("")
    texts = [_numbers(random, low, high, names, result) for _ in range(random.choice((1, 1, 1, 2, 3)))]
    result.text = ",".join(texts)
    return result


def _numbers(random: Random, low: int, high: int, names: Sequence[str], result: RandomField) -> str:
    """Adds one list item of plain numbers to the field and returns its text."""

    def shown(number: int) -> str:
        if number - low < len(names) and random.random() < 0.3:
            return random.choice((str.upper, str.lower, str.title))(names[number - low])
        return random.choice((str(number), f"{number:02}"))

    first = random.randint(low, high)
    last = random.randint(first, high)
    end = shown(last) if last else "0"  # As the end of a range the name of Sunday would be 7.
    step = random.randint(1, max(1, (high - low) // 2))
    kind = random.choice(("one", "one", "range", "every", "from", "steps"))
    chosen = {
        "one": (shown(first), range(first, first + 1)),
        "range": (f"{shown(first)}-{end}", range(first, last + 1)),
        "every": (f"*/{step}", range(low, high + 1, step)),
        "from": (f"{shown(first)}/{step}", range(first, high + 1, step)),
        "steps": (f"{shown(first)}-{end}/{step}", range(first, last + 1, step)),
    }
    text, numbers = chosen[kind]
    result.numbers.update(numbers)
    return text


def _day(random: Random) -> RandomField:
    if random.random() < 0.4:
        return RandomField("*", set(range(1, 32)))
    if random.random() < 0.5:
        return _plain(random, 1, 31)
    number = random.randint(1, 31)
    forms: list[tuple[str, DayTest]] = [
        ("L", lambda day: day.day == _length(day)),
        (f"L-{number - 1}", lambda day: day.day == _length(day) - number + 1),
        (f"{number}W", lambda day: number <= _length(day) and day.day == _workday(day, number)),
        ("LW", lambda day: day.day > 25 and day.day == _workday(day, _length(day))),
    ]
    text, test = random.choice(forms)
    result = RandomField(text, tests=[test])
    if random.random() < 0.3:
        result.text += "," + _numbers(random, 1, 31, (), result)
    return result


def _weekday(random: Random) -> RandomField:
    if random.random() < 0.5:
        return RandomField(random.choice("*?"), set(range(7)))
    if random.random() < 0.5:
        return _plain(random, 0, 7, random.choice((WEEKDAYS, LONG_WEEKDAYS)))
    inner = RandomField("")
    text = _numbers(random, 0, 7, WEEKDAYS, inner)
    weekdays, nth = {number % 7 for number in inner.numbers}, random.randint(1, 5)
    if random.random() < 0.4:
        return RandomField(f"{text}#L", tests=[lambda day: _in(day, weekdays) and day.day > _length(day) - 7])
    return RandomField(f"{text}#{nth}", tests=[lambda day: _in(day, weekdays) and (day.day + 6) // 7 == nth])


def _in(day: date, weekdays: set[int]) -> bool:
    return day.isoweekday() % 7 in weekdays


def _length(day: date) -> int:
    return monthrange(day.year, day.month)[1]


def _workday(day: date, number: int) -> int:
    """The day of the month from Monday to Friday that is nearest to `number`, which the month has."""
    near = range(max(1, number - 2), min(_length(day), number + 2) + 1)
    return min((n for n in near if day.replace(day=n).isoweekday() < 6), key=lambda n: abs(n - number))
