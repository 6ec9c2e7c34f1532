"""One field of a cron, in the several grammars that there are."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from .fields import DialectError

MONTH_NAMES: Final = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
WEEKDAY_NAMES: Final = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
_ITEM: Final = re.compile(r"(\*|(\w+)(?:-(\w+))?)(?:/(\d+))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Grammar:
    """What a dialect accepts besides ``*``, ``a``, ``a-b``, ``a-b/n``, ``*/n`` and lists of these.

    Attributes:
        wraps: Whether a range may run backwards, past the end of the field.
        number_step: What ``a/n`` means: ``"end"`` = from ``a`` to the end of the field, ``""`` = it is refused.
        long_names: Whether names count by their first three letters, ``monday`` as ``mon``.
        to_zero: Whether a range of weekdays may end in 0, as Sunday.
    """

    wraps: bool = False
    number_step: str = ""
    long_names: bool = False
    to_zero: bool = False

    def read(
        self, text: str, low: int, high: int, names: Mapping[str, int] | None = None, highest: int | None = None
    ) -> frozenset[int]:
        """The numbers that a field stands for.

        Args:
            text: The field.
            low: The least number.
            high: The greatest number that ``*`` and open ends reach.
            names: Names for numbers, in lower case.
            highest: The greatest number that may be written, where that is another.

        Raises:
            DialectError: the dialect refuses it.
        """
        found: set[int] = set()
        for part in text.split(","):
            found |= self._item(part.strip(), low, high, names or {}, high if highest is None else highest)
        return frozenset(found)

    def _item(self, part: str, low: int, high: int, names: Mapping[str, int], highest: int) -> set[int]:
        match = _ITEM.fullmatch(part)
        if match is None:
            raise DialectError(f"'{part}' is not understood")
        everything, first, last, step = match.groups()
        by = int(step) if step else 1
        if by == 0:
            raise DialectError(f"'{part}' has a step of 0")
        if everything == "*":
            return set(range(low, high + 1, by))
        start = self._number(first, low, highest, names)
        if last is not None:
            return self._range(part, start, self._number(last, low, highest, names), (low, high), by)
        if step and not self.number_step:
            raise DialectError(f"'{part}' is a step without a range: write '{first}-{high}/{step}' if that is meant")
        return set(range(start, high + 1, by)) if step else {start}

    def _range(self, part: str, start: int, end: int, bounds: tuple[int, int], by: int) -> set[int]:
        low, high = bounds
        if start <= end:
            return set(range(start, end + 1, by))
        if self.to_zero and end == 0:
            return set(range(start, 8, by))
        if not self.wraps:
            raise DialectError(f"range '{part}' runs backwards")
        return set([*range(start, high + 1), *range(low, end + 1)][::by])

    def _number(self, text: str, low: int, highest: int, names: Mapping[str, int]) -> int:
        if text.isdecimal():
            number = int(text)
            if not low <= number <= highest:
                raise DialectError(f"{number} is out of range; it must be {low} to {highest}")
            return number
        name = text.lower()[:3] if self.long_names else text.lower()
        if name not in names:
            raise DialectError(f"'{text}' is not understood")
        return names[name]
