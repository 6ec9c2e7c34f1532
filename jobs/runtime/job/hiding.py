"""Cuts the secrets of an execution out of all that it says: lines, progress, checkpoints, results and errors."""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Final, cast
from urllib.parse import quote, quote_plus

from ...core.model import Json

_LEAST: Final = 4
"""Characters of a form that is looked for: a shorter one stands everywhere by chance."""


_LEAST_LINE: Final = 12


class Hiding:
    """Knows the values of the secrets that one execution was given.

    A value is found as it is, in base64 wherever it stands in what was encoded, in the forms of URLs, and as JSON and
    Python write it inside quotation marks.
    """

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        """Begin to hide.

        Args:
            values: Value by name of each secret; None = there is nothing to hide.
        """
        self._names: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        self._add(values or {})

    def _add(self, values: Mapping[str, str]) -> None:
        for name, value in values.items():
            for form in _forms(value):
                self._names.setdefault(form, name)
        # The longest first: a secret that contains another one is hidden whole.
        ordered = sorted(self._names, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def also(self, values: Mapping[str, str]) -> "Hiding":
        """One that hides these values, too; those of another moment by the same names stay hidden."""
        if not values:
            return self
        more = Hiding()
        more._names = dict(self._names)
        more._add(values)
        return more

    def __bool__(self) -> bool:
        return self._pattern is not None

    def text(self, text: str) -> str:
        """``text`` with ``[secret NAME]`` in the place of values."""
        return text if self._pattern is None else self._pattern.sub(self._replacement, text)

    def json(self, value: Json) -> Json:
        """A copy of a JSON value without values of secrets: in texts, in keys, and as numbers."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            members = cast("Mapping[str, Json]", value)
            return {self.text(key): self.json(one) for key, one in members.items()}
        if isinstance(value, list):
            return [self.json(one) for one in value]  # pyright: ignore[reportUnknownVariableType]
        name = self._names.get(str(value)) if isinstance(value, int | float) else None
        return value if name is None else f"[secret {name}]"

    def _replacement(self, match: re.Match[str]) -> str:
        return f"[secret {self._names[match[0]]}]"


NOTHING_HIDDEN: Final = Hiding()
"""For the executions without secrets, which are nearly all."""


def _forms(value: str) -> set[str]:
    data = value.encode("utf-8", "surrogatepass")
    forms = {value, value.strip(), json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    forms |= {repr(value)[1:-1], repr(data)[2:-1]}
    # Keys in several lines are printed line by line.
    forms |= {line for line in map(str.strip, value.splitlines()) if len(line) >= _LEAST_LINE}
    for escaped in (quote(data, safe=""), quote(data), quote_plus(data)):
        forms |= {escaped, re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), escaped)}
    forms |= set(_base64_forms(data))
    return {form for form in forms if len(form) >= _LEAST}


def _base64_forms(data: bytes) -> Iterator[str]:
    """What is left of the data in the base64 of a longer text, at each of the three places where it can begin there."""
    for before in range(3):
        whole = base64.b64encode(bytes(before) + data).decode().rstrip("=")
        # The first and last characters hold bits of the neighbours.
        first = (8 * before + 5) // 6
        last = 8 * (before + len(data)) // 6
        inner = whole[first:last]
        yield inner
        yield inner.replace("+", "-").replace("/", "_")
