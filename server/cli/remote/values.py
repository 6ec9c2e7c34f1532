"""What people write on a command line as values: `k=v` arguments, filters, JSON."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ....jobs.core.base.errors import ConfigurationError

_COMPARED: Final = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
_OPERATORS: Final = {"=": "eq", "!=": "ne", "~": "contains", "^": "startsWith", **_COMPARED}
_TERM: Final = re.compile(r"([A-Za-z][A-Za-z_-]*)\s*(!=|>=|<=|=|~|\^|>|<)\s*(.*)", re.DOTALL)
TEXT, NUMBER, FLAG, WORD, TIME = "text", "number", "flag", "word", "time"
"""Kinds of fields: words are those of the API, such as states."""


def arguments_of(text: str | None, pairs: Sequence[str] = ()) -> dict[str, Any] | None:
    """The arguments of a job: a JSON object, and pairs ``name=value`` whose values are JSON or else text.

    Raises:
        ConfigurationError: they are none.
    """
    found: dict[str, Any] = {} if text is None else _object(text)
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise ConfigurationError(f"{pair[:80]!r}: arguments are written name=value, e.g. days=7")
        found[name] = _json_or_text(value)
    return found if pairs or text is not None else None


def _object(text: str) -> dict[str, Any]:
    example = "--args: must be a JSON object such as '{\"days\": 7}'"
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"{example}, got {text[:80]!r}: {error}") from None
    if not isinstance(value, dict):
        raise ConfigurationError(f"{example}, got {text[:80]!r}")
    return cast("dict[str, Any]", value)


def json_of(text: str, option: str) -> Any:  # noqa: ANN401 - any JSON value
    """The value of an option that is JSON.

    Raises:
        ConfigurationError: it is none.
    """
    try:
        return json.loads(text)
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
    """The filter of a list: terms such as ``job_name=report`` or ``attempt>2``, all of which must hold.

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
    match = _TERM.fullmatch(term.strip())
    if match is None:
        raise ConfigurationError(f"--filter {term[:80]!r}: write field=value, with one of {' '.join(_OPERATORS)}")
    name, operator, value = camel(match[1]), _OPERATORS[match[2]], match[3]
    if name not in fields:
        raise ConfigurationError(f"--filter: there is no field '{match[1]}'; there are {', '.join(sorted(fields))}")
    if value == "null" and operator in {"eq", "ne"}:
        return {name: {"isNull": operator == "eq"}}
    parts = value.split(",")
    if len(parts) > 1 and operator in {"eq", "ne"}:
        return {name: {"in" if operator == "eq" else "notIn": [_typed(one, fields[name], name) for one in parts]}}
    return {name: {operator: _typed(value, fields[name], name)}}


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
    """The order of a list: names of fields, with a dash in front the other way round.

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
    """The name of a field in the API: `job_name`, `job-name` and `jobName` are one."""
    first, *others = re.split(r"[_-]", name)
    return first + "".join(word[:1].upper() + word[1:] for word in others)
