"""English for the days of a pattern: weekdays, days of the month, months and years."""

from .bits import members
from .days import EVERY_DAY, EVERY_MONTH, EVERY_WEEKDAY, DayRule
from .wall import FIRST_YEAR, LAST_YEAR, WallPattern
from .words import DAY_NAMES, MONTH_NAMES, is_range, joined, listed, only, ordinal, runs, step_of


def describe_days(pattern: WallPattern) -> str:
    """When by the calendar, e.g. ``on Friday the 13th of May``; empty when every day is meant."""
    rule, months, years = pattern.days, _months(pattern.months), _years(pattern.years)
    by_day, day, weekday = _days_of_month(rule), only(rule.days), only(rule.weekdays)
    of_months = f"of {months or 'every month'}"
    if by_day and only(pattern.months) is not None and years.isdigit():
        of_months, years = f"of {months} {years}", ""
    in_years = _within(pattern.years or 0, years)
    if day is not None and weekday is not None and _is_plain(rule):
        words = [f"on {DAY_NAMES[weekday]} the {ordinal(day)}", of_months if months or not years else "", in_years]
        return _spaced(*words).removesuffix(" of every month")
    if by_day:
        return _spaced(f"on {by_day}", of_months, in_years, _condition(rule))
    if rule.weekdays != EVERY_WEEKDAY and (rule.last_weekdays or any(rule.nth_weekdays)):
        return _spaced(f"on {joined([*_plain_weekdays(rule, 'every'), *_placed_weekdays(rule)])}", of_months, in_years)
    if rule.weekdays != EVERY_WEEKDAY:
        return _spaced(_on_weekdays(rule.weekdays), _within(pattern.months, months), in_years)
    return _spaced(_within(pattern.months, months), in_years)


def _spaced(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _within(mask: int, text: str) -> str:
    """``in 2027``, or ``from 2027 to 2030`` for a range; empty when nothing is restricted."""
    if not text:
        return ""
    return f"{'from' if is_range(mask) and ' to ' in text else 'in'} {text}"


def _is_plain(rule: DayRule) -> bool:
    return not (rule.from_end or rule.nearest or rule.last_workday or rule.last_weekdays or any(rule.nth_weekdays))


def _months(months: int) -> str:
    return "" if months == EVERY_MONTH else listed(months, lambda month: MONTH_NAMES[month - 1])


def _years(years: int | None) -> str:
    """Years with bit 0 for ``FIRST_YEAR``."""
    last = LAST_YEAR - FIRST_YEAR
    if years is None or years == (1 << (last + 1)) - 1:
        return ""
    if step := step_of(years, last):
        return f"every {ordinal(step[1])} year from {FIRST_YEAR + step[0]}"
    if is_range(years) and years >> last and only(years) is None:
        return f"every year from {FIRST_YEAR + runs(years)[0][0]}"
    return listed(years, lambda year: str(FIRST_YEAR + year))


def _days_of_month(rule: DayRule) -> str:
    """The days by number, e.g. ``the 1st and the workday nearest the 15th``; empty when every day is meant."""
    if rule.days == EVERY_DAY:
        return ""
    words: list[str] = []
    if rule.days:
        words.append(f"the {listed(rule.days, ordinal)}")
    if rule.from_end:
        words.extend(_days_from_end(rule.from_end))
    if rule.nearest:
        words.append(f"the workday nearest the {listed(rule.nearest, ordinal)}")
    if rule.last_workday:
        words.append("the last workday")
    return joined(words)


def _days_from_end(offsets: int) -> list[str]:
    first_run = runs(offsets)[0]
    if first_run[0] == 0 and first_run[1] >= 1:
        head = f"the last {first_run[1] + 1} days"
        rest = offsets & ~((1 << (first_run[1] + 1)) - 1)
    else:
        head, rest = "", offsets
    tail = ["the last day" if offset == 0 else f"the {ordinal(offset + 1)} last day" for offset in members(rest)]
    return [head, *tail] if head else tail


def _condition(rule: DayRule) -> str:
    """What the weekday must be, e.g. ``if it is a Monday or the 2nd Friday``; empty when any will do."""
    if rule.weekdays == EVERY_WEEKDAY:
        return ""
    words = [*_plain_weekdays(rule, "a"), *_placed_weekdays(rule)]
    return f"if it is {joined(words, 'or')}"


def _plain_weekdays(rule: DayRule, article: str) -> list[str]:
    return [f"{article} {DAY_NAMES[weekday]}" for weekday in members(rule.weekdays)]


def _placed_weekdays(rule: DayRule) -> list[str]:
    """Weekdays by their place in the month, e.g. ``the 2nd Monday``, ``the last Friday``."""
    by_place = [(ordinal(number), mask) for number, mask in enumerate(rule.nth_weekdays, start=1)]
    by_place.append(("last", rule.last_weekdays))
    return [f"the {place} {joined([DAY_NAMES[day] for day in members(mask)])}" for place, mask in by_place if mask]


def _on_weekdays(weekdays: int) -> str:
    if is_range(weekdays) and weekdays.bit_count() > 2:
        return f"from {listed(weekdays, lambda weekday: DAY_NAMES[weekday])}"
    return f"on {listed(weekdays, lambda weekday: DAY_NAMES[weekday])}"
