"""Random calendar events together with what they mean."""

from calendar import monthrange
from datetime import date
from random import Random

from tests.core.schedule.oracle import Meaning

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
LONG_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
SECOND = 1_000_000


def random_calendar(random: Random, *, daily: bool) -> tuple[str, Meaning]:
    """An event that the parser must accept, unless no day of its years can match it, and its meaning.

    `daily` asks for every day and most hours, so that a change of the clock is likely to matter.
    """
    weekday_text, weekdays = _weekdays(random) if random.random() < 0.35 else ("", set(range(7)))
    date_text, years, months, days, from_end = _date(random)
    time_text, hours, minutes, moments = _time(random)
    if daily:
        weekday_text, weekdays = "", set(range(7))
        date_text, years, months, days, from_end = "", set(range(1970, 2200)), set(range(13)), set(range(32)), False
        if random.random() < 0.5:
            first = random.randint(0, 1)
            hours, time_text = set(range(first, first + 23)), f"{first}..{first + 22}:{time_text.partition(':')[2]}"
    text = " ".join(part for part in (weekday_text, date_text, time_text) if part)

    def matches_day(day: date) -> bool:
        if day.month not in months or day.year not in years or day.weekday() not in weekdays:
            return False
        return (monthrange(day.year, day.month)[1] - day.day + 1 if from_end else day.day) in days

    return text, Meaning(matches_day, sorted(hours), sorted(minutes), sorted(moments))


def _weekdays(random: Random) -> tuple[str, set[int]]:
    chosen: set[int] = set()
    texts: list[str] = []
    for _ in range(random.choice((1, 1, 2, 3))):
        names = random.choice((WEEKDAYS, LONG_WEEKDAYS))
        change = random.choice((str.upper, str.lower, str.title))
        first = random.randint(0, 6)
        last = random.choice((first, random.randint(first, 6)))
        chosen.update(range(first, last + 1))
        text = change(names[first])
        if last != first or random.random() < 0.1:
            text += random.choice(("..", "-")) + change(names[last])
        texts.append(text)
    return ",".join(texts), chosen


def _date(random: Random) -> tuple[str, set[int], set[int], set[int], bool]:
    years = set(range(1970, 2200))
    if random.random() < 0.25:
        return random.choice(("", "*-*-*")), years, set(range(1, 13)), set(range(1, 32)), False
    year_text = ""
    if random.random() < 0.6:
        year_text, years = random.choice((("*", years), ("*", years), _chain(random, 2024, 2050)))
        year_text += "-"
    month_text, months = _chain_or_star(random, 1, 12, 0.5)
    if random.random() < 0.25:
        text, days = _from_end(random)
        return f"{year_text}{month_text}~{text}", years, months, days, True
    text, days = _chain_or_star(random, 1, 31, 0.2)
    return f"{year_text}{month_text}-{text}", years, months, days, False


def _from_end(random: Random) -> tuple[str, set[int]]:
    first = random.randint(1, 28)
    last = random.randint(first, 28)
    step = random.randint(1, 9)
    if random.random() < 0.3 and first > step:
        # Runs forwards in time, towards the last day of the month.
        return f"{first}/{step}", set(range(first, 0, -step))
    if random.random() < 0.5:
        return f"{first}..{last}/{step}", set(range(first, last + 1, step))
    return str(first), {first}


def _time(random: Random) -> tuple[str, set[int], set[int], set[int]]:
    if random.random() < 0.15:
        return "0:00", {0}, {0}, {0}
    hour_text, hours = _chain_or_star(random, 0, 23, 0.4)
    minute_text, minutes = _chain_or_star(random, 0, 59, 0.3)
    if random.random() < 0.4:
        return f"{hour_text}:{minute_text}", hours, minutes, {0}
    if random.random() < 0.15:
        return f"{hour_text}:{minute_text}:*", hours, minutes, {second * SECOND for second in range(60)}
    text, moments = _moments(random)
    return f"{hour_text}:{minute_text}:{text}", hours, minutes, moments


def _moments(random: Random) -> tuple[str, set[int]]:
    if random.random() < 0.6:
        text, seconds = _chain(random, 0, 59)
        return text, {second * SECOND for second in seconds}
    start, step = random.randint(0, 29_999), random.randint(250, 29_999)
    last = random.randint(start, 59_999)
    shown, size, end = (f"{n // 1000}.{n % 1000:03}" for n in (start, step, last))
    numbers = {
        shown: range(start, start + 1),
        f"{shown}/{size}": range(start, 60_000, step),
        f"{shown}..{end}/{size}": range(start, last + 1, step),
    }
    text = random.choice(list(numbers))
    return text, {number * 1000 for number in numbers[text]}


def _chain_or_star(random: Random, low: int, high: int, stars: float) -> tuple[str, set[int]]:
    return ("*", set(range(low, high + 1))) if random.random() < stars else _chain(random, low, high)


def _chain(random: Random, low: int, high: int) -> tuple[str, set[int]]:
    chosen: set[int] = set()
    texts: list[str] = []
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        first = random.randint(low, high)
        last = random.randint(first, high)
        step = random.randint(1, max(1, (high - low) // 2))
        kinds = {
            str(first): range(first, first + 1),
            f"{first:02}..{last}": range(first, last + 1),
            f"{first}..{last}/{step}": range(first, last + 1, step),
        }
        if first + step <= high < 2000:
            kinds[f"{first}/{step}"] = range(first, high + 1, step)
        text = random.choice(list(kinds))
        chosen.update(kinds[text])
        texts.append(text)
    return ",".join(texts), chosen
