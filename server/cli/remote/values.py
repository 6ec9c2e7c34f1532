"""Values as people write them on a command line: `k=v` arguments, filters, JSON."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, cast

import typer

from ....jobs.core.base.errors import ConfigurationError
from ....jobs.core.base.times import time_text
from ....jobs.core.schedule import ScheduleError, parse_duration

Label = Annotated[
    list[str] | None, typer.Option("--label", metavar="KEY=VALUE", help="A label, by which runs are found; repeatable.")
]
Resource = Annotated[
    list[str] | None,
    typer.Option(
        "--resource",
        metavar="NAME=VALUE",
        help="What the run needs at the engine of its job, over what the job says: gpus=2, cpus=0.5, memory in bytes, "
        "image, queue, or an option of the executor; repeatable.",
    ),
]
_COMPARED: Final = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
_OPERATORS: Final = {"=": "eq", "!=": "ne", "~": "contains", "^": "startsWith", **_COMPARED}
_TERM: Final = re.compile(r"([A-Za-z][A-Za-z_-]*)\s*(!=|>=|<=|=|~|\^|>|<)\s*(.*)", re.DOTALL)
_INSIDE: Final = re.compile(r"(labels|args)\.([^=!<>~^]+?)\s*(!=|=)\s*(.*)", re.DOTALL | re.IGNORECASE)
_RESOURCES: Final[Mapping[str, Callable[[str], Any]]] = {
    "cpus": float,
    "memory": int,
    "gpus": int,
    "image": str,
    "queue": str,
}
TEXT, NUMBER, FLAG, WORD, TIME = "text", "number", "flag", "word", "time"
INSIDE: Final = "inside"
"""Kinds of fields: words are those of the API, such as states; what has values inside is named with its place."""


def arguments_of(text: str | None, pairs: Sequence[str] = ()) -> dict[str, Any] | None:
    """Return the arguments of a job: a JSON object, and pairs ``name=value`` whose values are JSON or else text.

    Raises:
        ConfigurationError: they are none.
    """
    given = {name: _json_or_text(value) for name, value in pairs_of(pairs, "days=7").items()}
    return (({} if text is None else _object(text)) | given) if pairs or text is not None else None


def pairs_of(
    pairs: Sequence[str], example: str, option: str = "", *, filled: bool = False, key: Callable[[str], str] = str
) -> dict[str, str]:
    """Read pairs ``name=value``.

    Args:
        pairs: As people wrote them.
        example: A pair, for those who wrote none.
        option: The option that has them; empty = they are arguments.
        filled: Whether a value must not be empty.
        key: Returns the name under which a value is kept.

    Raises:
        ConfigurationError: one is no pair, or has the name of another.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        shown = f"{option} {pair[:80]!r}".lstrip()
        if not equals or not name or (filled and not value):
            raise ConfigurationError(f"{shown}: write name=value, e.g. {example}")
        if key(name) in found:
            raise ConfigurationError(f"{shown}: '{name}' is given twice")
        found[key(name)] = value
    return found


def seconds_of(option: str, text: str | None) -> float | None:
    """Return a duration such as ``90s``, ``10m`` or ``1h30m`` in seconds.

    Raises:
        ConfigurationError: it is none.
    """
    if text is None:
        return None
    try:
        return parse_duration(text)
    except ScheduleError as error:
        raise ConfigurationError(
            f"{option}: must be a duration such as 90s, 10m or 1h30m, got {text[:80]!r}"
        ) from error


def instant_of(option: str, text: str | None, *, ago: bool = False) -> str | None:
    """Return a time as the API takes it: an RFC 3339 time is itself, a duration is counted from now on, or back.

    Raises:
        ConfigurationError: it is neither.
    """
    if text is None or _BEGINS_WITH_DATE.match(text):
        return text
    try:
        distance = timedelta(seconds=parse_duration(text))
        return time_text(datetime.now(UTC) + (-distance if ago else distance))
    except (ScheduleError, OverflowError):
        raise ConfigurationError(f"{option}: must be {TIME_OR_DURATION}, got {text[:80]!r}") from None


TIME_OR_DURATION: Final = "a time such as 2030-01-31T09:30:00Z, or a duration such as 90s, 10m or 1h30m"
UNTIL: Final = "A time such as `2030-01-31T09:30:00Z`, or a duration from now on such as `2h`"
_BEGINS_WITH_DATE: Final = re.compile(r"\d{4}-")


def fields_of(pairs: Sequence[str]) -> dict[str, Any]:
    """Read the new fields of a thing from pairs ``field=value``; ``field=null`` asks for the default.

    Raises:
        ConfigurationError: they are none, or a field is named twice.
    """
    return {name: _json_or_text(value) for name, value in pairs_of(pairs, "retries=3", key=camel).items()}


def _object(text: str) -> dict[str, Any]:
    example = "--args: must be a JSON object such as '{\"days\": 7}'"
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"{example}, got {text[:80]!r}: {error}") from None
    if not isinstance(value, dict):
        raise ConfigurationError(f"{example}, got {text[:80]!r}")
    return cast("dict[str, Any]", value)


def _no_number(word: str) -> Any:  # noqa: ANN401 - it never returns
    raise ValueError(f"{word} is no JSON")


def json_of(text: str, option: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of an option that is JSON.

    Raises:
        ConfigurationError: it is none.
    """
    try:
        return json.loads(text, parse_constant=_no_number)
    except ValueError as error:
        raise ConfigurationError(
            f'{option}: must be JSON such as \'{{"by": "ada"}}\', got {text[:80]!r}: {error}'
        ) from None


def _json_or_text(value: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(value)
    except ValueError:
        return value


def filter_of(terms: Sequence[str], fields: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the filter of a list: terms such as ``job_name=report`` or ``attempt>2``, all of which must hold.

    Args:
        terms: As people wrote them; ``a=x,y`` means one of them, ``a=null`` no value.
        fields: The kind of each field that can be asked for, by its name in the API.

    Raises:
        ConfigurationError: a term cannot be read.
    """
    conditions = [_condition(term, fields) for term in terms]
    if not conditions:
        return None
    return conditions[0] if len(conditions) == 1 else {"and": conditions}


def _condition(term: str, fields: Mapping[str, str]) -> dict[str, Any]:
    inside = _INSIDE.fullmatch(term.strip())
    if inside is not None and inside[1].lower() in fields:
        return _inside(inside[1].lower(), inside[2], inside[3], inside[4])
    match = _TERM.fullmatch(term.strip())
    if match is None:
        raise ConfigurationError(f"--filter {term[:80]!r}: write field=value, with one of {' '.join(_OPERATORS)}")
    name, operator, value = camel(match[1]), _OPERATORS[match[2]], match[3]
    if fields.get(name) == INSIDE:
        example = "labels.customer=42" if name == "labels" else "args.customer.id=42"
        raise ConfigurationError(f"--filter {term[:80]!r}: say which, e.g. {example}, with = or !=")
    if name not in fields:
        raise ConfigurationError(f"--filter: there is no field '{match[1]}'; there are {', '.join(sorted(fields))}")
    if value == "null" and operator in {"eq", "ne"}:
        return {name: {"isNull": operator == "eq"}}
    parts = value.split(",")
    if len(parts) > 1 and operator in {"eq", "ne"}:
        return {name: {"in" if operator == "eq" else "notIn": [_typed(one, fields[name], name) for one in parts]}}
    return {name: {operator: _typed(value, fields[name], name)}}


def _inside(name: str, place: str, operator: str, value: str) -> dict[str, Any]:
    """Return a condition on a label or an argument: `labels.customer=42`, `labels.customer=null`, `args.order.id=7`."""
    if name == "args":
        condition: dict[str, Any] = {name: {"path": place, "eq": _json_or_text(value)}}
    elif value == "null":
        condition = {name: {"key": place, "exists": False}}
    else:
        several = value.split(",")
        condition = {name: {"key": place, **({"in": several} if len(several) > 1 else {"eq": value})}}
    return condition if operator == "=" else {"not": condition}


def given_of(**values: object) -> dict[str, Any]:
    """Return the options that were given, by their names in the API."""
    return {name: value for name, value in values.items() if value not in (None, [])}


def labels_of(pairs: Sequence[str] | None) -> dict[str, str] | None:
    """Return labels that were written as ``key=value``.

    Raises:
        ConfigurationError: they are none.
    """
    return pairs_of(pairs or (), "customer=42", "--label", filled=True) or None


def resources_of(pairs: Sequence[str] | None) -> dict[str, Any] | None:
    """Return resources written as ``name=value``; other names are options of the executor.

    Raises:
        ConfigurationError: they are none.
    """
    found: dict[str, Any] = {}
    for name, value in pairs_of(pairs or (), "gpus=2", "--resource", filled=True).items():
        place = found if name in _RESOURCES else found.setdefault("options", {})
        number = _RESOURCES.get(name, str)
        try:
            place[name] = number(value)
        except ValueError:
            kind, pair = "a number" if number is float else "a whole number", f"{name}={value}"
            raise ConfigurationError(f"--resource {pair[:80]!r}: {name} must be {kind}, e.g. {name}=2") from None
    return found or None


def _typed(value: str, kind: str, name: str) -> Any:  # noqa: ANN401 - any JSON value
    if kind == WORD:
        return value.upper()
    if kind in {NUMBER, FLAG}:
        found = _json_or_text(value)
        if isinstance(found, bool) is (kind == FLAG) and isinstance(found, int | float):
            return found
        wanted = "true or false" if kind == FLAG else "a number"
        raise ConfigurationError(f"--filter: {name} must be {wanted}, got {value[:80]!r}")
    return value


def order_of(sort: Sequence[str], orders: Sequence[str]) -> list[dict[str, str]] | None:
    """Return the order of a list: names of fields, with a dash in front the other way round.

    Raises:
        ConfigurationError: the list cannot be ordered by a field.
    """
    found: list[dict[str, str]] = []
    for one in sort:
        word = one.removeprefix("-")
        field = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", word).replace("-", "_").upper()
        if field not in orders:
            known = ", ".join(order.lower() for order in orders) or "nothing"
            raise ConfigurationError(f"--sort: cannot sort by '{word}'; there is {known}")
        found.append({"field": field, "direction": "DESC" if one.startswith("-") else "ASC"})
    return found or None


def camel(name: str) -> str:
    """Return the name of a field in the API: `job_name`, `job-name` and `jobName` are one."""
    first, *others = re.split(r"[_-]", name)
    return first + "".join(word[:1].upper() + word[1:] for word in others)


def rate_of(text: str) -> dict[str, float]:
    """Return a rate as it is written, ``100/1m``.

    Raises:
        ConfigurationError: it is none.
    """
    limit, _, per = text.partition("/")
    try:
        return {"limit": int(limit), "per": parse_duration(per if per[:1].isdigit() or not per else f"1{per}")}
    except ValueError as error:
        raise ConfigurationError(
            f"the rate must be written as a number of runs and a time, e.g. `100/1m` or `5/s`, or `none`, got "
            f"{text[:80]!r}"
        ) from error
