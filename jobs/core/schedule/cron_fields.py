"""One field of a cron expression: which text is accepted, and the sets it stands for.

The grammar is that of croner 2.2, curiosities included, because expressions must mean the same here and there:

- names are replaced by their numbers in every field, before anything else (``JAN1`` is 11); empty items are ignored;
- ``*`` alone is every value, but ``*`` inside a list must be written ``*/1``;
- numbers are unsigned bytes: leading zeros and one ``+`` are fine; a step may reach past the end of the field, but the
  first value plus the step must stay below 256;
- ``a/n`` means from ``a`` to the end; the end of the weekday field is 7, which is Sunday;
- a bare ``L`` is the last day in the day field; elsewhere it is accepted and chooses nothing; ``x#…L`` is "the last";
- text after a ``W`` within its list item is ignored.

Beyond the reference: full names of days and months, ``L-n`` and ``LW``, and ``7`` is Sunday before ``#L``, too.
"""

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from .days import span, stepped
from .model import ScheduleError

MONTHS: Final = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
WEEKDAYS: Final = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
"""In cron's own order: Sunday = 0."""

_NUMBER: Final = re.compile(r"\+?[0-9]+", re.ASCII)
_LETTERS: Final = re.compile(r"[^\W\d_]{3,}")
_LAST_DAY_MINUS: Final = re.compile(r"l-([0-9]{1,2})", re.ASCII)
_MAX_BYTE: Final = 255
_EACH: Final = 0
_LAST: Final = -1


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """Describe a field: its name in messages, its bounds, and the special forms it knows."""

    name: str
    low: int
    high: int
    knows_nth: bool = False
    knows_days: bool = False


SECOND: Final = FieldSpec("second", 0, 59)
MINUTE: Final = FieldSpec("minute", 0, 59)
HOUR: Final = FieldSpec("hour", 0, 23)
DAY: Final = FieldSpec("day", 1, 31, knows_days=True)
MONTH: Final = FieldSpec("month", 1, 12)
WEEKDAY: Final = FieldSpec("weekday", 0, 7, knows_nth=True)


@dataclass(slots=True)
class FieldSets:
    """The sets one field stands for, as bit masks over the field's own numbers.

    ``each`` are plain values. The weekday field adds ``nth`` (five sets, first to fifth of the month) and ``last``; the
    day field adds ``from_end`` (bit 0 = the last day), ``nearest`` (the workday nearest to that day) and
    ``last_workday``.
    """

    each: int = 0
    nth: list[int] = field(default_factory=lambda: [0] * 5)
    last: int = 0
    from_end: int = 0
    nearest: int = 0
    last_workday: bool = False


@dataclass(frozen=True, slots=True)
class _Item:
    """One item of a list: the text as written and its place, and the text with names replaced, in lower case."""

    spec: FieldSpec
    raw: str
    position: int
    text: str

    def error(self, message: str, suggestion: str | None = None, advice: str = "") -> ScheduleError:
        return ScheduleError(
            f"{self.spec.name}: {message}",
            field=self.spec.name,
            position=self.position,
            suggestion=suggestion,
            replaces=(self.position, self.position + len(self.raw)),
            advice=advice,
        )


def parse_field(spec: FieldSpec, raw: str, position: int) -> FieldSets:
    """Parse one field, which begins at ``position`` of the expression.

    Raises:
        ScheduleError: with the item at fault.
    """
    sets = FieldSets()
    if raw in ("*", "?"):
        sets.each = span(spec.low, spec.high)
        return sets
    for part in raw.split(","):
        if part:
            _parse_item(_Item(spec, part, position, _canonical(part)), sets)
        position += len(part) + 1
    return sets


def _canonical(raw: str) -> str:
    text = raw.replace("?", "*").lower()
    if _LETTERS.search(text):
        for name, number in _NAMES:
            text = text.replace(name, number)
    return text


def _parse_item(item: _Item, sets: FieldSets) -> None:
    text, spec = item.text, item.spec
    if spec.knows_days and text == "lw":
        sets.last_workday = True
    elif spec.knows_days and (found := _LAST_DAY_MINUS.fullmatch(text)):
        sets.from_end |= 1 << _last_day_minus(item, int(found[1]))
    elif "/" in text:
        body, which = _split_nth(item)
        _add(item, sets, _steps(item, body), which)
    elif "-" in text:
        body, which = _split_nth(item)
        low, dash, high = body.partition("-")
        if not dash:
            raise item.error(f"'{item.raw}' is not understood; the number after '#' must be 1 to 5, or L for the last")
        _add(item, sets, span(*_range(item, low, high)), which)
    elif "w" in text:
        _nearest_workday(item, sets)
    elif text == "l":
        # The last day of the month; in other fields the reference accepts it and it chooses nothing.
        sets.from_end |= int(spec.knows_days)
    else:
        _single(item, sets)


def _single(item: _Item, sets: FieldSets) -> None:
    if item.text.endswith("l") and "#" not in item.text:
        item = _Item(item.spec, item.raw, item.position, item.text.replace("l", "#l"))
    if not item.spec.knows_nth and ("#" in item.text or "l" in item.text):
        raise item.error(f"'{item.raw}' is not understood; only the weekday field knows '#' and a last weekday")
    body, which = _split_nth(item)
    number = _number(item, body)
    _check_bounds(item, number)
    _add(item, sets, 1 << number, which)


def _split_nth(item: _Item) -> tuple[str, int]:
    """Return the part before the first ``#``, and the occurrence in the month: ``_EACH``, 1 to 5, or ``_LAST``."""
    body, hash_sign, nth = item.text.partition("#")
    if item.text.endswith("l"):
        return body, _LAST
    if not hash_sign:
        return body, _EACH
    if not _NUMBER.fullmatch(nth) or not 1 <= _byte(nth) <= 5:
        raise item.error(f"'{item.raw}' asks for occurrence '{nth}' in the month; it must be 1 to 5, or L for the last")
    return body, _byte(nth)


def _add(item: _Item, sets: FieldSets, numbers: int, which: int) -> None:
    if which == _EACH:
        sets.each |= numbers
    elif which == _LAST:
        # In fields other than the weekday the reference accepts `1-5#L` and it chooses nothing.
        sets.last |= numbers if item.spec.knows_nth else 0
    elif item.spec.knows_nth:
        sets.nth[which - 1] |= numbers
    else:
        raise item.error(f"'{item.raw}' is not understood; only the weekday field knows '#'")


def _steps(item: _Item, body: str) -> int:
    start, *steps = body.split("/")
    if len(steps) != 1:
        raise item.error(f"'{item.raw}' has more than one '/'; write start/step, e.g. 0/15")
    if not start:
        raise item.error(f"step '{item.raw}' has no start", f"*{item.raw}", "; write '{}'")
    if not _NUMBER.fullmatch(steps[0]) or not 1 <= _byte(steps[0]) <= _MAX_BYTE:
        hint = f"{item.raw.partition('/')[0]}/1"
        raise item.error(f"step '{steps[0]}' in '{item.raw}' must be a whole number from 1 to {_MAX_BYTE}", hint)
    low, dash, high = start.partition("-")
    if start == "*":
        first, last = item.spec.low, item.spec.high
    elif dash:
        first, last = _range(item, low, high)
    else:
        first, last = _number(item, start), item.spec.high
        _check_bounds(item, first)
    step = _byte(steps[0])
    if first + step > _MAX_BYTE:
        most = _MAX_BYTE - first
        raise item.error(f"step {step} in '{item.raw}' is too large; from {first} it can be {most} at most")
    return stepped(first, last, step)


def _range(item: _Item, low: str, high: str) -> tuple[int, int]:
    spec = item.spec
    if not low or not high:
        missing = "beginning" if not low else "end"
        raise item.error(f"range '{item.raw}' has no {missing}; both must be {_allowed(spec)}")
    first, last = _number(item, low), _number(item, high)
    _check_bounds(item, first)
    _check_bounds(item, last)
    if first > last:
        top = 6 if spec.knows_nth else spec.high
        ranges = ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ((first, max(first, top)), (spec.low, last)))
        raise item.error(f"range '{item.raw}' runs backwards", ranges, "; write it as two ranges, e.g. {}")
    return first, last


def _nearest_workday(item: _Item, sets: FieldSets) -> None:
    if not item.spec.knows_days:
        raise item.error(f"'{item.raw}' is not understood; only the day field knows W (the nearest workday)")
    day = _number(item, item.text.partition("w")[0])
    _check_bounds(item, day)
    sets.nearest |= 1 << day


def _last_day_minus(item: _Item, offset: int) -> int:
    if offset >= item.spec.high:
        raise item.error(f"'{item.raw}' counts back {offset} days; it can be {item.spec.high - 1} at most")
    return offset


def _number(item: _Item, text: str) -> int:
    if _NUMBER.fullmatch(text):
        return _byte(text)
    if not text:
        raise item.error(f"'{item.raw}' lacks a number; it must be {_allowed(item.spec)}")
    if text == "*":
        hint = "*/1" if item.text == "*" else None
        message = f"'{item.raw}' is not understood; '*' must stand alone or before '/'"
        raise item.error(message, hint, "; within a list write '{}'")
    near = _with_near_name(item)
    if near is None:
        raise item.error(f"'{item.raw}' is not understood; it must be {_allowed(item.spec)}")
    raise item.error(f"'{item.raw}' is not understood", near, "; did you mean {}?")


def _check_bounds(item: _Item, number: int) -> None:
    spec = item.spec
    if spec.low <= number <= spec.high:
        return
    shown = str(number) if number <= _MAX_BYTE else f"'{item.raw}'"
    if item.raw.isalnum() and not item.raw.isdecimal():
        shown = f"'{item.raw}' reads as {item.text}, which"
    wraps = number == spec.high + 1 and spec.low == 0 and not spec.knows_nth
    # Of a range or a step the number is only a part, and what was meant is unclear.
    suggestion = str(spec.low) if wraps and item.text == str(number) else None
    raise item.error(f"{shown} is out of range; it must be {_allowed(spec)}", suggestion)


def _allowed(spec: FieldSpec) -> str:
    names = {MONTH.name: " or a name such as JAN", WEEKDAY.name: " or a name such as MON"}
    return f"{spec.low} to {spec.high}{names.get(spec.name, '')}"


def _byte(digits: str) -> int:
    """Return the number, or one too large for any field. Long digit strings are never converted."""
    significant = digits.removeprefix("+").lstrip("0")
    return int(significant or "0") if len(significant) <= 3 else 1000


def _with_near_name(item: _Item) -> str | None:
    """Return the item with the month or weekday that was probably meant in place of the word that is none."""
    names = {MONTH.name: MONTHS, WEEKDAY.name: WEEKDAYS}.get(item.spec.name, ())
    known = [*names, *(name[:3] for name in names)]
    word = next((found for found in _LETTERS.finditer(item.raw) if found[0].lower() not in known), None)
    if not names or word is None:
        return None
    near = get_close_matches(word[0][:9].lower(), known, n=1, cutoff=0.6)
    return f"{item.raw[: word.start()]}{near[0][:3].upper()}{item.raw[word.end() :]}" if near else None


def _replacements() -> tuple[tuple[str, str], ...]:
    """Return names and their numbers in the order of replacement: long before short, weekdays before months."""
    days = [(name, str(number)) for number, name in enumerate(WEEKDAYS)]
    months = [(name, str(number)) for number, name in enumerate(MONTHS, start=1)]
    # Sunday ends a range as 7 (`SAT-SUN`) and begins one as 0.
    pairs = [("-sunday", "-7"), *days, *months, ("-sun", "-7")]
    return (*pairs, *((name[:3], number) for name, number in (*days, *months)))


_NAMES: Final = _replacements()
