"""Find the parts of a value that are no JSON, and suggest a replacement for each."""

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

MAX_DEPTH: Final = 500
"""Lists and objects around a value; Python writes and reads at least so many as JSON."""
_NONE: Final = object()
_MAX_BITS: Final = 10_000
"""Python writes whole numbers of so many bits as text."""
_SHOWN: Final = 60
"""Characters of a place that a message has."""


class Unwritable(NamedTuple):
    """A part of a value that cannot be written as JSON.

    Attributes:
        place: Where it is, outermost first; empty: the value itself.
        why: The rule, the given value, and a remedy.
    """

    place: tuple[str, ...]
    why: str

    @property
    def where(self) -> str:
        """The place as a text, ``items.0.price``; deep ones are cut."""
        text = ".".join(self.place)
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def unwritable(value: object) -> Unwritable | None:
    """Return the first part of a value that cannot be written as JSON; None: it can."""
    waiting: list[tuple[tuple[str, ...], object, tuple[object, ...]]] = [((), value, ())]
    while waiting:
        place, one, around = waiting.pop()
        why = _why_not(one)
        if why is None and any(one is outer for outer in around):
            why = "must be JSON: it contains itself"
        if why is None and len(around) > MAX_DEPTH:
            why = "must be JSON: it is nested too deeply; keep it flatter"
        if why is not None:
            return Unwritable(place, why)
        waiting += [((*place, name), part, (*around, one)) for name, part in reversed(_parts(one))]
    return None


def unstorable(value: object) -> Unwritable | None:
    """Return the first text in a value, member names included, that no database stores as JSON; None: each is fine."""
    waiting: list[tuple[tuple[str, ...], object]] = [((), value)]
    while waiting:
        place, one = waiting.pop()
        if isinstance(one, str):
            if "\0" in one:
                return Unwritable(place, "must not hold the character U+0000")
            if any("\ud800" <= character <= "\udfff" for character in one):
                return Unwritable(place, "must not hold half of a surrogate pair")
        names = _names(one)
        waiting += [((*place, name), part) for name, part in reversed(_parts(one))]
        waiting += [(place, name) for name in reversed(names)]
    return None


def storable_text(text: str) -> str:
    """Return a text that every database stores: a NUL and halves of surrogate pairs are replaced."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def storable_json(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return JSON in whose texts and member names NULs and halves of surrogate pairs are replaced."""
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, list):
        return [storable_json(one) for one in cast("list[object]", value)]
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return {storable_text(name): storable_json(one) for name, one in members.items()}
    return value


def _names(value: object) -> list[object]:
    return list(cast("dict[object, object]", value)) if isinstance(value, dict) else []


def _parts(value: object) -> list[tuple[str, object]]:
    """Return the parts of a list or an object, with the name or the number of each."""
    if isinstance(value, dict):
        return [(str(key), part) for key, part in cast("dict[object, object]", value).items()]
    if isinstance(value, list | tuple):
        return [(str(index), part) for index, part in enumerate(cast("list[object]", value))]
    return []


def _why_not(value: object) -> str | None:
    """Return the fault of a value itself, apart from its parts."""
    if isinstance(value, dict):
        keys = cast("dict[object, object]", value)
        # Python would make texts of numbers, and what was given would not be what arrives.
        wrong = next((key for key in keys if not isinstance(key, str)), _NONE)
        if wrong is _NONE:
            return None
        return f"must be JSON, got a key that is {type(wrong).__name__}; keys are texts, so write them by str(…)"
    if value is None or isinstance(value, str | bool | list | tuple):
        return None
    if isinstance(value, int):
        if value.bit_length() <= _MAX_BITS:
            return None
        return f"must be JSON, got int of {value.bit_length()} bits; write it as a text"
    if isinstance(value, float) and math.isfinite(value):
        return None
    return f"must be JSON, got {_shown(value)}; {_instead_of(value)}"


def _instead_of(value: object) -> str:
    if isinstance(value, float):
        return "use None or a text"
    if isinstance(value, set | frozenset):
        return "make it a list"
    if isinstance(value, Mapping):
        return "make it a dict"
    if hasattr(value, "model_dump"):
        return "give its model_dump(mode='json')"
    if hasattr(value, "isoformat"):
        return "write it as a text, by isoformat()"
    if isinstance(value, bytes | bytearray):
        return "write it as a text"
    return "use None, booleans, numbers, texts, and lists and dicts of these"


def _shown(value: object) -> str:
    return f"{type(value).__name__} {value}" if isinstance(value, float) else type(value).__name__
