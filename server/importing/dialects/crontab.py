"""Crontabs as Vixie's cron and its heirs read them: Debian's cron and cronie."""

from datetime import tzinfo
from typing import Final

from .fields import Clock, DialectError, Fields
from .grammar import MONTH_NAMES, WEEKDAY_NAMES, Grammar

NICKNAMES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
REBOOT: Final = "@reboot"
"""The nickname of no time: once, when cron is started with the machine."""
_GRAMMAR: Final = Grammar(to_zero=True)


def read_crontab(text: str, zone: tzinfo) -> Fields:
    """The five fields of a line, or its nickname.

    A day field that *begins* with ``*`` is no restriction to cron: with one of them both fields have to match, else
    one is enough. Jobs whose minute or hour begins with ``*`` follow the clock; others run once, also where it changes.

    Raises:
        DialectError: cron refuses it, or the crons disagree about it.
    """
    fields = NICKNAMES.get(text, text).split()
    if len(fields) != 5:
        known = text.lower() if text.lower() in {*NICKNAMES, REBOOT} else ""
        hint = f", which wants small letters: '{known}'" if known else ""
        raise DialectError(f"'{text}' is neither five fields nor a nickname that cron knows{hint}")
    if "~" in text:
        raise DialectError("'~' is a number that cron chooses at random each time it reads the file")
    minute, hour, day, month, weekday = fields
    return Fields(
        minutes=_field("minute", minute, 0, 59),
        hours=_field("hour", hour, 0, 23),
        days=_field("day", day, 1, 31),
        months=_field("month", month, 1, 12),
        weekdays=frozenset(number % 7 for number in _field("weekday", weekday, 0, 7)),
        either=not day.startswith("*") and not weekday.startswith("*"),
        clock=Clock.POLLED if minute.startswith("*") or hour.startswith("*") else Clock.FIRST,
        zone=zone,
    )


def _field(name: str, text: str, low: int, high: int) -> frozenset[int]:
    names = {"month": MONTH_NAMES, "weekday": WEEKDAY_NAMES}.get(name)
    try:
        return _GRAMMAR.read(text, low, high, names)
    except DialectError as error:
        raise DialectError(f"{name}: {error}") from None
