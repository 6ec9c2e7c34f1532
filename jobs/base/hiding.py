"""Hide the values of secrets in the output of jobs, channels and other parties."""

import base64
import json
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, cast
from urllib.parse import quote, quote_plus

from ..core.model import Json

_LEAST: Final = 4
"""Characters of a form that is looked for: a shorter one stands everywhere by chance."""
_LONG: Final = 16
"""Characters of a part of an address that is looked for alone: no word, but a key."""
_DELIMITERS: Final = re.compile(r"[/&=#]")


class Redactor:
    """Knows the values of some secrets.

    A value is found as it is, in base64 wherever it stands in the encoded text, in the forms of URLs, and as JSON and
    Python write it inside quotation marks; of several lines each by itself, too, and of an address the part after its
    host.
    """

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        """Begin to hide.

        Args:
            values: Value by name of each secret; None = there is nothing to hide.
        """
        self._names: dict[str, str] = {}
        for name, value in (values or {}).items():
            self.learn(name, value)

    def also(self, values: Mapping[str, str]) -> "Redactor":
        """Return a redactor that also hides these values; earlier values of the same names stay hidden."""
        if not values:
            return self
        more = Redactor()
        more._names = dict(self._names)
        for name, value in values.items():
            more.learn(name, value)
        return more

    def __bool__(self) -> bool:
        return bool(self._names)

    def learn(self, name: str, value: str) -> None:
        """Hide one more value; a secret may have several."""
        for form in _forms(value):
            self._names.setdefault(form, name)

    def text(self, text: str) -> str:
        """Return ``text`` with ``[secret NAME]`` in place of values; overlapping values share one with all names."""
        return _without(text, _merged(self._places(text)))

    def split(self, text: str) -> tuple[str, str]:
        """Split a text that goes on: into a part to show, without values, and an end that may be part of a value."""
        places = _merged(self._places(text))
        cut = len(text) - self._begun(text)
        # The beginning of the next value may be the end of one that is complete.
        cut = next((start for start, end, _ in places if start < cut < end), cut)
        return _without(text[:cut], [one for one in places if one[1] <= cut]), text[cut:]

    def _begun(self, text: str) -> int:
        """Count the characters at the end of ``text`` that may begin a value which is not complete yet."""
        longest = 0
        for form in self._names:
            start = text.find(form[0], max(0, len(text) - len(form) + 1))
            while start >= 0 and len(text) - start > longest:
                if form.startswith(text[start:]):
                    longest = len(text) - start
                start = text.find(form[0], start + 1)
        return longest

    def _places(self, text: str) -> Iterator[tuple[int, int, str]]:
        for form, name in self._names.items():
            start = end = text.find(form)
            place = start
            while place >= 0:
                if place >= end > start:
                    yield start, end, name
                    start = place
                end = place + len(form)
                place = text.find(form, place + 1)
            if end > start:
                yield start, end, name

    def json(self, value: Json) -> Json:
        """Return a copy of a JSON value without values of secrets: in texts, in keys, and as numbers."""
        if not self._names:
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


NOTHING_HIDDEN: Final = Redactor()
"""For the executions without secrets, which are nearly all."""


_Place: TypeAlias = tuple[int, int, list[str]]
"""The place of overlapping values, from and to, and the names of their secrets."""


def _without(text: str, places: Sequence[_Place]) -> str:
    pieces: list[str] = []
    shown = 0
    for start, end, names in places:
        pieces += text[shown:start], *(f"[secret {name}]" for name in names)
        shown = end
    return "".join((*pieces, text[shown:])) if places else text


def _merged(found: Iterable[tuple[int, int, str]]) -> list[_Place]:
    merged: list[_Place] = []
    for start, end, name in sorted(found, key=lambda one: (one[0], -one[1])):
        if not merged or start >= merged[-1][1]:
            merged.append((start, end, [name]))
        elif end > merged[-1][1]:
            first, _, names = merged[-1]
            merged[-1] = (first, end, names if names[-1] == name else [*names, name])
    return merged


def _forms(value: str) -> set[str]:
    data = value.encode("utf-8", "surrogatepass")
    # Keys in several lines are printed line by line.
    plain = {value.strip() or value, *map(str.strip, value.splitlines()), *_parts_of_url(value.strip())}
    forms = plain | {repr(data)[2:-1]}
    for text in plain:
        for quoted in (repr(text)[1:-1], ascii(text)[1:-1]):
            # Which quotation mark is escaped depends on what else stands in the text.
            forms |= {quoted, quoted.replace("\\'", "'").replace("'", "\\'")}
    # What was quoted for Python is perhaps written as JSON: a traceback in a log of JSON lines.
    forms |= {form for text in forms for form in (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])}
    for escaped in (quote(data, safe=""), quote(data), quote_plus(data)):
        forms |= {escaped, re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), escaped)}
    forms |= set(_base64_forms(data))
    return {form for form in forms if len(form) >= _LEAST}


def _parts_of_url(value: str) -> Iterator[str]:
    """Yield the parts of an address that stand alone: errors name it without its query, answers without its host."""
    _, _, rest = value.partition("://")
    path, mark, query = rest.partition("/")[2].partition("?")
    if rest:
        yield from (f"/{path}", f"/{path}?{query}", query) if mark else (f"/{path}",)
        yield from (word for word in _DELIMITERS.split(f"{path}&{query}") if len(word) >= _LONG)


def _base64_forms(data: bytes) -> Iterator[str]:
    """Yield the data as it appears in the base64 of a longer text, for each of the three places where it can begin."""
    for before in range(3):
        whole = base64.b64encode(bytes(before) + data).decode().rstrip("=")
        # The first and last characters hold bits of the neighbours.
        first = (8 * before + 5) // 6
        last = 8 * (before + len(data)) // 6
        inner = whole[first:last]
        yield inner
        yield inner.replace("+", "-").replace("/", "_")


MOST: Final = 200
"""Values that are remembered, the latest: what is written after a job has ended may still tell of its secrets."""
_LABEL: Final = re.compile(r"[\"\\]")
"""Characters that a name must not have within a line of JSON."""


class SecretsInUse:
    """Remembers values of secrets; safe from any thread."""

    def __init__(self) -> None:
        self._values: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._redactor = Redactor()
        self._lock = threading.Lock()

    def add(self, values: Mapping[str, str]) -> None:
        """Hide these from now on."""
        with self._lock:
            is_new = False
            for one in values.items():
                is_new |= one not in self._values
                self._values[one] = None
                self._values.move_to_end(one)
            while len(self._values) > MOST:
                self._values.popitem(last=False)
            if is_new:
                redactor = Redactor()
                for name, value in self._values:
                    redactor.learn(_LABEL.sub("?", name), value)
                self._redactor = redactor

    def text(self, text: str) -> str:
        """Return ``text`` with ``[secret NAME]`` in place of values."""
        return self._redactor.text(text)


IN_USE: Final = SecretsInUse()
"""The secrets that jobs of this process were given."""
