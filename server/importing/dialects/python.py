"""The crons of Celery, Huey, RQ and rq-scheduler."""

import re
from collections.abc import Callable, Collection
from datetime import tzinfo
from typing import Final

from .crontab import NICKNAMES
from .fields import LAST, Clock, DialectError, Fields
from .grammar import MONTH_NAMES, WEEKDAY_NAMES, Grammar

CronValue = str | int | Collection[int]
"""A field as a call gives it."""

_CELERY: Final = Grammar(wraps=True, long_names=True)
_HUEY: Final = Grammar(wraps=True)
_CRONITER: Final = Grammar(wraps=True, number_step="end")
_RQ_SCHEDULER: Final = Grammar(number_step="end", to_zero=True)
_NTH: Final = re.compile(r"(\w+)#([1-5lL])|[lL]([0-7])", re.ASCII)
_CELERY_NAMES: Final = MONTH_NAMES | WEEKDAY_NAMES


def read_celery(
    zone: tzinfo,
    minute: CronValue = "*",
    hour: CronValue = "*",
    day_of_week: CronValue = "*",
    day_of_month: CronValue = "*",
    month_of_year: CronValue = "*",
) -> Fields:
    """``celery.schedules.crontab``: both day fields have to match, and Sunday is 0.

    Raises:
        DialectError: Celery refuses it.
    """

    def read(name: str, value: CronValue, low: int, high: int) -> frozenset[int]:
        if isinstance(value, str):
            return _named(name, lambda: _CELERY.read(value, low, high, _CELERY_NAMES))
        numbers = frozenset({value} if isinstance(value, int) else value)
        if any(not low <= number <= high for number in numbers):
            raise DialectError(f"{name}: must be {low} to {high}, got {sorted(numbers)}")
        return numbers

    return Fields(
        read("minute", minute, 0, 59),
        read("hour", hour, 0, 23),
        read("day_of_month", day_of_month, 1, 31),
        read("month_of_year", month_of_year, 1, 12),
        read("day_of_week", day_of_week, 0, 6),
        clock=Clock.SHIFTED,
        zone=zone,
    )


def read_huey(
    zone: tzinfo,
    minute: str | int = "*",
    hour: str | int = "*",
    day: str | int = "*",
    month: str | int = "*",
    day_of_week: str | int = "*",
) -> Fields:
    """``huey.crontab``: all fields have to match, looked at each minute.

    Raises:
        DialectError: Huey refuses it, or leaves a part of it out.
    """
    if isinstance(day_of_week, str) and "*/" in day_of_week:
        raise DialectError("day_of_week: Huey knows no steps here")
    named = {"minute": minute, "hour": hour, "day": day, "month": month, "day_of_week": day_of_week}
    blank = next((name for name, value in named.items() if " " in str(value)), None)
    if blank is not None:
        raise DialectError(f"{blank}: Huey leaves out what is next to a blank; write it without")
    return Fields(
        _named("minute", lambda: _HUEY.read(str(minute), 0, 59)),
        _named("hour", lambda: _HUEY.read(str(hour), 0, 23)),
        _named("day", lambda: _HUEY.read(str(day), 1, 31)),
        _named("month", lambda: _HUEY.read(str(month), 1, 12)),
        _named("day_of_week", lambda: frozenset(n % 7 for n in _HUEY.read(str(day_of_week), 0, 6, highest=7))),
        clock=Clock.POLLED,
        zone=zone,
    )


def read_rq(zone: tzinfo, text: str) -> Fields:
    """A ``cron`` of RQ 2.4 and later, which croniter reads: either day field is enough, a sixth field is seconds.

    Raises:
        DialectError: croniter refuses it, or it has what is no fixed time.
    """
    fields = NICKNAMES.get(text.lower(), text).split()
    if len(fields) not in (5, 6):
        raise DialectError(f"'{text}' has {len(fields)} fields; five or six are carried")
    minute, hour, day, month, weekday, second = [*fields, "0"][:6]
    days, last_day = _days(day, _CRONITER)
    weekdays, nth = _weekdays(weekday)
    restricted = [one not in ("*", "?", "*/1") for one in (day, weekday)]
    return Fields(
        _named("minute", lambda: _CRONITER.read(minute, 0, 59)),
        _named("hour", lambda: _CRONITER.read(hour, 0, 23)),
        days,
        _named("month", lambda: _CRONITER.read(month, 1, 12, MONTH_NAMES)),
        weekdays,
        _named("second", lambda: _CRONITER.read(second, 0, 59)),
        last_day=last_day,
        nth=nth,
        either=all(restricted),
        clock=Clock.SHIFTED,
        zone=zone,
    )


def read_rq_scheduler(zone: tzinfo, text: str) -> Fields:
    """A ``cron`` of rq-scheduler, which the library crontab reads: all fields have to match.

    Raises:
        DialectError: it is refused, or has fields for seconds and years, or a day that is counted from the end.
    """
    fields = NICKNAMES.get(text.lower(), text).split()
    if len(fields) != 5:
        raise DialectError(f"'{text}' has {len(fields)} fields; only five are carried")
    minute, hour, day, month, weekday = (one.replace("?", "*") for one in fields)
    days, last_day = _days(day, _RQ_SCHEDULER)
    weekdays = _named("weekday", lambda: _RQ_SCHEDULER.read(weekday, 0, 6, WEEKDAY_NAMES, 7))
    return Fields(
        _named("minute", lambda: _RQ_SCHEDULER.read(minute, 0, 59)),
        _named("hour", lambda: _RQ_SCHEDULER.read(hour, 0, 23)),
        days,
        _named("month", lambda: _RQ_SCHEDULER.read(month, 1, 12, MONTH_NAMES)),
        frozenset(number % 7 for number in weekdays),
        last_day=last_day,
        clock=Clock.SHIFTED,
        zone=zone,
    )


def _named(name: str, read: Callable[[], frozenset[int]]) -> frozenset[int]:
    """What a field is read as; what is wrong with it names the field."""
    try:
        return read()
    except DialectError as error:
        raise DialectError(f"{name}: {error}") from None


def _days(text: str, grammar: Grammar) -> tuple[frozenset[int], bool]:
    several = text.replace("?", "*").split(",")
    plain = ",".join(one for one in several if one.lower() != "l")
    days = _named("day", lambda: grammar.read(plain, 1, 31)) if plain else frozenset[int]()
    return days, any(one.lower() == "l" for one in several)


def _weekdays(text: str) -> tuple[frozenset[int], frozenset[tuple[int, int]]]:
    several = text.replace("?", "*").split(",")
    found = [_NTH.fullmatch(one) for one in several]
    plain = ",".join(one for one, match in zip(several, found, strict=True) if match is None)
    weekdays = _named("weekday", lambda: _CRONITER.read(plain, 0, 6, WEEKDAY_NAMES, 7)) if plain else frozenset[int]()
    if plain and len(plain) < len(text):
        raise DialectError(f"weekday: croniter refuses '{text}', with weekdays and weekdays of the month")
    nth = {_nth(*match.groups()) for match in found if match is not None}
    return frozenset(number % 7 for number in weekdays), frozenset(nth)


def _nth(name: str | None, number: str | None, last: str | None) -> tuple[int, int]:
    if last is not None:
        return LAST, int(last) % 7
    (weekday,) = _named("weekday", lambda: _CRONITER.read(name or "", 0, 7, WEEKDAY_NAMES))
    return LAST if number in ("l", "L") else int(number or "0"), weekday % 7
