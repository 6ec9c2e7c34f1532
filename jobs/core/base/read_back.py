"""Compare a value with the one that is read back from its stored JSON."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, time
from typing import Any, Final, NamedTuple, cast

_MISSING: Final = object()
_IDENTITY: Final[Any] = object.__eq__


class Changed(NamedTuple):
    """A part of a value that does not arrive as it was sent.

    Attributes:
        place: Where it is, outermost first; empty: the value itself.
        read: The value that is read back.
    """

    place: tuple[str, ...]
    sent: object
    read: object

    @property
    def why(self) -> str:
        """Return the changed form and a remedy, as the end of a sentence."""
        if hasattr(self.sent, "get_secret_value"):
            return (
                "is a secret, whose JSON is a mask, and only that would arrive; keep the value with "
                '`cronograph secret set`, and enqueue {"$secret": "NAME"} by the name of the job'
            )
        sent, read = _shown(self.sent), _shown(self.read)
        kinds = f" ({type(self.sent).__name__})", f" ({type(self.read).__name__})"
        of_kind = kinds if sent == read else ("", "")
        return (
            f"is {sent}{of_kind[0]}, but reads back from its JSON as {read}{of_kind[1]}; make its type read what it "
            "writes, or give plain values"
        )


def changed(sent: object, read: object, same_json: Callable[[], bool]) -> Changed | None:
    """Return the first part of a value that does not arrive as it was sent; None: the value arrives.

    Values are equal by ``==``, with these exceptions: a list stands for a tuple, NaN equals NaN, and times with a zone
    are equal if they are the same instant. The ``fold`` and the zone of a wall time count, and the bound of a deque.
    Fields of models are compared one by one, excluded ones too. A class that defines no equality, or one that fails, is
    judged by its JSON: the value that was read back has to be written alike.

    Args:
        read: The value that was read back from its JSON.
        same_json: Whether the value that was read back is written as the same JSON again.
    """
    by_json = False
    waiting: list[tuple[tuple[str, ...], object, object]] = [((), sent, read)]
    while waiting:
        place, one, other = waiting.pop()
        if one is other:
            continue
        parts = _parts(one, other)
        if parts is not None:
            waiting += [((*place, name) if name else place, first, second) for name, first, second in reversed(parts)]
            continue
        equal = _equal(one, other)
        if equal is None and type(one) is type(other):
            by_json = True
        elif not equal:
            return Changed(place, one, other)
    return Changed((), sent, read) if by_json and not same_json() else None


def _parts(one: Any, other: Any) -> list[tuple[str, object, object]] | None:  # noqa: ANN401 - any value
    """Pair the parts of both by name; None: they are compared as they are."""
    if type(one) in (list, tuple) and type(other) in (list, tuple):
        return _listed(one, other)
    if type(one) is not type(other):
        return None
    if isinstance(one, deque):
        first, second = cast("deque[object]", one), cast("deque[object]", other)
        return _listed(first, second) if first.maxlen == second.maxlen else None
    if isinstance(one, dict):
        return _named(cast("Mapping[Any, object]", one), cast("Mapping[Any, object]", other))
    kind = cast("Any", type(one))
    if hasattr(kind, "__pydantic_validator__") and hasattr(one, "__pydantic_fields_set__"):
        declared = cast("Mapping[str, object]", kind.__pydantic_fields__)
        parts = [(name, getattr(one, name, _MISSING), getattr(other, name, _MISSING)) for name in declared]
        further = ("__pydantic_extra__", "__pydantic_private__")
        return parts + [("", getattr(one, name, None), getattr(other, name, None)) for name in further]
    if is_dataclass(one):
        names = [each.name for each in fields(one) if each.compare]
        return [(name, getattr(one, name, _MISSING), getattr(other, name, _MISSING)) for name in names]
    return None


def _listed(one: Sequence[object], other: Sequence[object]) -> list[tuple[str, object, object]] | None:
    if len(one) != len(other):
        return None
    return [(str(place), first, second) for place, (first, second) in enumerate(zip(one, other, strict=True))]


def _named(one: Mapping[Any, object], other: Mapping[Any, object]) -> list[tuple[str, object, object]] | None:
    if one.keys() != other.keys():
        return None
    return [(str(key), value, other[key]) for key, value in one.items()]


def _equal(one: Any, other: Any) -> bool | None:  # noqa: ANN401 - any value
    """Return whether two values are equal; None: their class does not say."""
    if isinstance(one, bool) is not isinstance(other, bool) or (type(one) is type(other) and _loses(one, other)):
        return False
    try:
        if bool(one == other) or (one != one and other != other and type(one) is type(other)):  # noqa: PLR0124 - NaN
            return True
        if isinstance(one, datetime) and isinstance(other, datetime) and one.tzinfo and other.tzinfo:
            # In the hour that a clock shows twice, times of two zones are never equal to Python.
            return one.astimezone(UTC) == other.astimezone(UTC)
    except Exception:  # noqa: BLE001 - the class is the user's
        return None
    defines_equality = type(one).__eq__ is not _IDENTITY
    return False if defines_equality else None


def _loses(one: Any, other: Any) -> bool:  # noqa: ANN401 - any value
    """Return whether values differ although they are equal to Python: in the zone of a time, say."""
    if isinstance(one, deque):
        return bool(one.maxlen != other.maxlen)
    if not isinstance(one, datetime | time) or one.utcoffset() is not None:
        return False
    return one.fold != other.fold or (one.tzinfo is None) is not (other.tzinfo is None)


def _shown(value: object) -> str:
    try:
        return f"{value!r:.60}"
    except Exception:  # noqa: BLE001 - the class is the user's
        return type(value).__name__
