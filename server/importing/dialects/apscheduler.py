"""The cron trigger of APScheduler 3."""

import re
from collections.abc import Mapping
from datetime import tzinfo
from typing import Final

from .fields import LAST, WEEKDAYS, Clock, DialectError, Fields
from .grammar import MONTH_NAMES, Grammar

FIELDS: Final = ("year", "month", "day", "week", "day_of_week", "hour", "minute", "second")
_DEFAULTS: Final = {"month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0}
_BOUNDS: Final = {
    "month": (1, 12),
    "day": (1, 31),
    "day_of_week": (0, 6),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
}
_FROM_MONDAY: Final = {name: number for number, name in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))}
_GRAMMAR: Final = Grammar(number_step="end")
_NTH: Final = re.compile(r"(1st|2nd|3rd|4th|5th|last) +(\w+)", re.IGNORECASE)
_NUMBERS: Final = {"1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5, "last": LAST}


def read_apscheduler(zone: tzinfo, given: Mapping[str, object]) -> Fields:
    """What the arguments of a ``CronTrigger`` mean: ``day_of_week=0`` is Monday, and all fields have to match.

    A field below the last one that is given is at its least; one above it is ``*``.

    Raises:
        DialectError: APScheduler refuses it, or it asks for years or weeks of the year.
    """
    for name in ("year", "week"):
        if str(given.get(name) or "*").strip() != "*":
            raise DialectError(
                f"{name}: there is no such field here; make it a `start_at` and `end_at`, or test it in the job"
            )
    named = [name for name in FIELDS if given.get(name) is not None]
    if not named:
        raise DialectError("no field is given")
    last = FIELDS.index(named[-1])
    texts = {
        name: str(given[name]).strip() if name in named else str(_DEFAULTS.get(name, "*")) if at > last else "*"
        for at, name in enumerate(FIELDS)
    }
    days, last_day, nth = _days(texts["day"])
    weekdays = _read("day_of_week", texts["day_of_week"])
    if nth and texts["day_of_week"] != "*":
        raise DialectError("day and day_of_week: the one chooses a weekday of the month, the other weekdays")
    if nth and (days or last_day):
        raise DialectError(f"day: '{texts['day']}' has weekdays and days of the month")
    return Fields(
        _read("minute", texts["minute"]),
        _read("hour", texts["hour"]),
        frozenset(range(1, 32)) if nth else days,
        _read("month", texts["month"]),
        # Here Monday is 0, elsewhere Sunday is.
        frozenset() if nth else frozenset((number + 1) % 7 for number in weekdays) or WEEKDAYS,
        _read("second", texts["second"]),
        last_day=last_day,
        nth=frozenset(nth),
        clock=Clock.SHIFTED_TWICE,
        zone=zone,
    )


def _days(text: str) -> tuple[frozenset[int], bool, set[tuple[int, int]]]:
    several = [one.strip() for one in text.split(",")]
    found = [_NTH.fullmatch(one) for one in several]
    nth = {(_NUMBERS[match[1].lower()], (_weekday(match[2]) + 1) % 7) for match in found if match is not None}
    plain = [one for one, match in zip(several, found, strict=True) if match is None and one.lower() != "last"]
    days = _read("day", ",".join(plain)) if plain else frozenset[int]()
    return days, any(one.lower() == "last" for one in several), nth


def _weekday(name: str) -> int:
    if name.lower() not in _FROM_MONDAY:
        raise DialectError(f"day: '{name}' is no weekday")
    return _FROM_MONDAY[name.lower()]


def _read(name: str, text: str) -> frozenset[int]:
    names = {"month": MONTH_NAMES, "day_of_week": _FROM_MONDAY}.get(name)
    try:
        return _GRAMMAR.read(text, *_BOUNDS[name], names)
    except DialectError as error:
        raise DialectError(f"{name}: {error}") from None
