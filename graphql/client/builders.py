"""Writes the documents of the ready-made operations from records and arguments."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from .base.errors import Refusal, RefusedError
from .base.shapes import Record, camel, read, read_all, selection, written
from .enums import ScheduleSyntax
from .inputs import ScheduleInput
from .operation import Operation
from .results import Page

T = TypeVar("T")
Shape = TypeVar("Shape", bound=Record)

ERRORS = "errors { code message path }"


@dataclass(frozen=True, slots=True)
class Argument:
    """A value for an argument; None = not given.

    Attributes:
        type: Its GraphQL type, e.g. ``Int``.
        value: The value to pass.
    """

    type: str
    value: object


Arguments = Mapping[str, Argument]


def document(kind: str, field: str, arguments: Arguments, fields: str) -> str:
    """Write ``query Tasks($first: Int) { tasks(first: $first) { … } }``; no braces when ``fields`` is empty."""
    declared = ", ".join(f"${key}: {argument.type}" for key, argument in arguments.items())
    passed = ", ".join(f"{key}: ${key}" for key in arguments)
    name = f"{kind} {_title(field)}"
    head = f"{name}({declared})" if arguments else name
    root = f"{field}({passed})" if arguments else field
    return f"{head} {{ {root} {{ {fields} }} }}" if fields else f"{head} {{ {root} }}"


def _title(field: str) -> str:
    return field[0].upper() + field[1:]


def variables(arguments: Arguments) -> dict[str, Any]:
    """Return the values of those arguments that are given."""
    return {key: written(argument.value) for key, argument in arguments.items() if argument.value is not None}


def query(field: str, arguments: Arguments, fields: str, convert: Callable[[Any], T]) -> Operation[T]:
    """Return a query of one root field."""
    return Operation(
        document=document("query", field, arguments, fields),
        variables=variables(arguments),
        read=lambda data: convert(data.get(field)),
    )


def one(field: str, arguments: Arguments, shape: type[Shape]) -> Operation[Shape | None]:
    """Return a query that answers one record or null."""

    def convert(value: object) -> Shape | None:
        return None if value is None else read(shape, value, field)

    return query(field, arguments, selection(shape), convert)


def listed(field: str, arguments: Arguments, shape: type[Shape]) -> Operation[tuple[Shape, ...]]:
    """Return a query that answers a plain list."""
    return query(field, arguments, selection(shape), lambda value: read_all(shape, value, field))


def page(field: str, arguments: Arguments, shape: type[Shape]) -> Operation[Page[Shape]]:
    """Return a query that answers a page of a connection."""
    fields = f"nodes {{ {selection(shape)} }} pageInfo {{ hasNextPage endCursor }}"
    return query(field, arguments, fields, lambda value: page_of(field, shape, value))


def page_of(field: str, shape: type[Shape], value: object) -> Page[Shape]:
    """Return the page behind the value of a connection."""
    connection = read(dict[str, Any], value, field)
    info = read(dict[str, Any], connection.get("pageInfo"), f"{field}.pageInfo")
    return Page(
        items=read_all(shape, connection.get("nodes"), f"{field}.nodes"),
        end_cursor=info.get("endCursor"),
        has_next_page=read(bool, info.get("hasNextPage"), f"{field}.pageInfo.hasNextPage"),
    )


def mutation(field: str, given: Mapping[str, object], fields: str, convert: Callable[[Any], T]) -> Operation[T]:
    """Return a mutation with one ``input``, whose type is called after it.

    Args:
        field: Its name.
        given: The fields of the input; the caller leaves out fields that must not be sent (None is sent as null).
        fields: The fields to ask of the payload besides ``errors``.
        convert: Turns the payload into the result, once it has no errors.
    """

    def answer(data: Mapping[str, Any]) -> T:
        payload = read(dict[str, Any], data.get(field), field)
        refuse(read_all(Refusal, payload.get("errors", ()), f"{field}.errors"))
        return convert(payload)

    arguments = {"input": Argument(f"{_title(field)}Input!", dict(given))}
    text = document("mutation", field, arguments, f"{fields} {ERRORS}")
    return Operation(document=text, variables=variables(arguments), read=answer)


def changed(field: str, given: Mapping[str, object], shape: type[Shape], key: str = "") -> Operation[Shape]:
    """Return a mutation whose payload holds the changed thing as ``key``, by default its type's name in lower case."""
    key = key or shape.__name__.lower()
    fields = f"{key} {{ {selection(shape)} }}"
    return mutation(field, given, fields, lambda payload: read(shape, payload.get(key), f"{field}.{key}"))


def whole(field: str, given: Mapping[str, object], shape: type[Shape]) -> Operation[Shape]:
    """Return a mutation whose payload is the result, as far as the record has its fields."""
    return mutation(field, given, selection(shape), lambda payload: read(shape, payload, field))


def refuse(refusals: Sequence[Refusal]) -> None:
    """Raise ``RefusedError`` unless there is nothing to refuse for."""
    if refusals:
        raise RefusedError(refusals)


def present(**given: object) -> dict[str, object]:
    """Return the fields that are given, those that are not None, by the names of the API."""
    return {camel(name): value for name, value in given.items() if value is not None}


def cron(value: str, timezone: str = "UTC") -> ScheduleInput:
    """Six fields: second minute hour day-of-month month day-of-week, e.g. ``0 30 9 * * MON-FRI``."""
    return ScheduleInput(ScheduleSyntax.CRON, value, timezone)


def calendar(value: str, timezone: str = "UTC") -> ScheduleInput:
    """Return a systemd calendar event, e.g. ``Mon..Fri *-*-* 09:30``."""
    return ScheduleInput(ScheduleSyntax.CALENDAR, value, timezone)


def interval(value: str | float | timedelta) -> ScheduleInput:
    """Return a fixed grid: seconds, a ``timedelta``, ``1h30m`` or ISO 8601 ``PT1H30M``; at least one second."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    text = seconds if isinstance(seconds, str) else f"{seconds:f}".rstrip("0").rstrip(".")
    return ScheduleInput(ScheduleSyntax.INTERVAL, text)


def once(at: datetime) -> ScheduleInput:
    """Return a schedule of one time.

    Raises:
        ValueError: ``at`` has no zone.
    """
    if at.tzinfo is None:
        raise ValueError(f"at: must have a zone, got {at.isoformat()} without one; try datetime.now(UTC)")
    return ScheduleInput(ScheduleSyntax.TIMESTAMP, at.astimezone(UTC).isoformat().replace("+00:00", "Z"))
