"""Between Python and GraphQL: a dataclass says which fields are asked for, and how the answer is read."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar, Self, TypeAlias, TypeVar, cast, get_args, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from .errors import InvalidAnswerError, UnwritableError

T = TypeVar("T")

Seconds: TypeAlias = float | timedelta
"""A duration that is sent: seconds, or a ``timedelta``."""
DEEPEST = 100
"""So deep may variables be nested: no server takes deeper ones."""
FINAL_STATES = frozenset({"SUCCESS", "FAILED", "CANCELLED", "SKIPPED"})


def camel(name: str) -> str:
    """Return the GraphQL spelling of a Python name: ``failed_last_24h`` is ``failedLast24h``."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


class Record:
    """Base of the dataclasses that answers are read into: field ``job_name`` is ``jobName`` of the answer."""

    __slots__ = ()
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        alias_generator=camel, validate_by_name=True, validate_by_alias=True
    )


class OpenEnum(StrEnum):
    """An enum whose further values, of a newer server, become members as they come instead of errors."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, str):
            return None
        member = str.__new__(cls, value)
        member._name_ = value
        member._value_ = value
        return member


class StateOfRun(OpenEnum):
    """The enum of the states of runs."""

    @property
    def final(self) -> bool:
        """Return whether the run will not change any more."""
        return self.value in FINAL_STATES


def selection(shape: type[Record]) -> str:
    """Return the fields of a record, and of the records in it, as a GraphQL selection without the outer braces."""
    # To mypy no class is hashable, which the cache asks for.
    return _selection(cast("Any", shape), frozenset[type[Record]](), detailed=True)


def selection_of_kinds(base: type[Record], kinds: Iterable[type[Record]], *, detailed: bool) -> str:
    """Return the selection of a field whose type is an interface, without the outer braces.

    Args:
        base: The record of the interface; its fields are asked for of every kind.
        kinds: The records of the types, each called like its type.
        detailed: Ask for the fields that have a default, too.
    """
    common = frozenset(field.name for field in fields(cast("Any", base)))
    parts = [f"__typename {selection(base)}"]
    for kind in kinds:
        own = _selection(cast("Any", kind), common, detailed=detailed)
        parts += [f"... on {kind.__name__} {{ {own} }}"] if own else []
    return " ".join(parts)


@cache
def _selection(shape: type[Record], without: frozenset[str], *, detailed: bool) -> str:
    hints = get_type_hints(shape)
    parts: list[str] = []
    for field in fields(cast("Any", shape)):
        if field.name in without or not (detailed or field.default is MISSING):
            continue
        inner = _record_in(hints[field.name])
        parts.append(camel(field.name) if inner is None else f"{camel(field.name)} {{ {selection(inner)} }}")
    return " ".join(parts)


def _record_in(hint: object) -> type[Record] | None:
    """Return the record behind ``X``, ``X | None`` or ``tuple[X, ...]``."""
    if isinstance(hint, type) and issubclass(hint, Record):
        return hint
    inner = (_record_in(argument) for argument in get_args(hint))
    return next((record for record in inner if record is not None), None)


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:  # noqa: ANN401 - anything pydantic understands
    return TypeAdapter(shape)


def read(shape: type[T], value: object, where: str) -> T:
    """Return a part of an answer as ``shape``: a record, or any other type that pydantic can check.

    Args:
        shape: The type to read into.
        value: The decoded JSON.
        where: Its place in the answer, for the message.

    Raises:
        InvalidAnswerError: it has another form; the message names the first field that does.
    """
    result: T = _checked(shape, value, where)
    return result


def read_kind(base: type[T], kinds: Mapping[str, type[T]], value: object, where: str) -> T:
    """Return a part of an answer whose type is an interface, as the record of its type; of an unknown type as ``base``.

    Raises:
        InvalidAnswerError: see ``read``.
    """
    given: object = value
    name = cast("Mapping[str, object]", value).get("__typename") if isinstance(value, Mapping) else None
    return read(kinds.get(str(name), base), given, where)


def read_all(shape: type[T], value: object, where: str) -> tuple[T, ...]:
    """Return a list in an answer, each of its members read as ``shape``.

    Raises:
        InvalidAnswerError: see ``read``.
    """
    result: tuple[T, ...] = _checked(tuple[shape, ...], value, where)  # type: ignore[valid-type]
    return result


def _checked(shape: Any, value: object, where: str) -> Any:  # noqa: ANN401 - of the type `shape`
    try:
        return _adapter(shape).validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join([where, *map(str, first["loc"])])
        raise InvalidAnswerError(
            f"{place}: cannot be read as {_name(shape)}: {first['msg']}; do client and server have the same version?"
        ) from None


def _name(shape: object) -> str:
    return shape.__name__ if type(shape) is type else str(shape)


def written(value: object, place: tuple[str | int, ...] = ()) -> Any:  # noqa: ANN401 - JSON
    """Return a value as JSON for variables: times as RFC 3339, durations in seconds, dataclasses without None.

    Mappings keep their keys and their None: in ``args`` and filters, both mean something.

    Raises:
        UnwritableError: a time has no zone, or a value is no JSON; names its place.
    """
    if len(place) > DEEPEST:
        raise UnwritableError(
            f"{_named(place[:3])}: must not be nested deeper than {DEEPEST} levels; does it hold itself?"
        )
    if isinstance(value, datetime):
        return _time(value)
    if isinstance(value, timedelta) and "args" not in place:  # how a job reads one, only its code knows
        return value.total_seconds()
    if is_dataclass(value) and not isinstance(value, type):
        present = ((camel(field.name), getattr(value, field.name)) for field in fields(value))
        return {name: written(part, (*place, name)) for name, part in present if part is not None}
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return {key: written(part, (*place, key)) for key, part in items}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        parts = enumerate(cast("Iterable[object]", value))
        return [written(part, (*place, number)) for number, part in parts]
    return _plain(value, place)


def _plain(value: object, place: tuple[str | int, ...]) -> str | int | float | None:
    """Return a value of which JSON has one."""
    if isinstance(value, float) and not math.isfinite(value):
        raise UnwritableError(f"{_named(place)}: must be a finite number, got {value}, for which JSON has no form")
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            found = f"{value[:60]!r}, which has half of a surrogate pair"
            raise UnwritableError(f"{_named(place)}: must be a text that UTF-8 can write, got {found}") from None
    if value is None or isinstance(value, str | int | float):
        return value
    raise UnwritableError(
        f"{_named(place)}: must be JSON, got {value!r:.60} ({type(value).__name__}); convert it to a text or a number"
    )


def _named(place: tuple[str | int, ...]) -> str:
    return ".".join(map(str, place)) or "the value"


def _time(value: datetime) -> str:
    if value.tzinfo is None:
        raise UnwritableError(f"a time must have a zone, got {value.isoformat()} without one; try datetime.now(UTC)")
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
