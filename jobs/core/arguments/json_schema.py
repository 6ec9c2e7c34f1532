"""The library that judges values by a JSON Schema, extended for pydantic's additions and for references to secrets."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from ipaddress import IPv4Address, IPv6Address
from itertools import islice
from typing import Any, Final, cast
from uuid import UUID

from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.validators import extend  # pyright: ignore[reportUnknownVariableType]
from pydantic import AnyUrl, TypeAdapter

from ..model import Json
from .secrets import is_reference, references

MOST_FAULTS: Final = 100
"""Faults that are looked for: nobody reads more, and a long list may have one in each item."""

Keyword = Callable[..., Iterator[ValidationError] | None]
"""Judges a value by one keyword of a JSON Schema: (validator, the keyword's value, the value, the schema)."""

_FORMATS: Final[Mapping[str, type[Any]]] = {
    "date-time": datetime,
    "date": date,
    "time": time,
    "duration": timedelta,
    "uuid": UUID,
    "uri": AnyUrl,
    "ipv4": IPv4Address,
    "ipv6": IPv6Address,
}
"""Of the formats that pydantic writes into a schema, those that say more than the type, and what a job then gets."""


def _format_checker() -> FormatChecker:
    """Return a checker that judges text as pydantic will when the job starts: it refuses values that do not convert."""
    checker = FormatChecker(formats=())
    for name, kind in _FORMATS.items():
        adapter: TypeAdapter[Any] = TypeAdapter(kind)

        def fits(value: object, adapter: TypeAdapter[Any] = adapter) -> bool:
            return not isinstance(value, str) or adapter.validate_python(value) is not None

        # pydantic's ValidationError is a ValueError.
        checker.checks(name, raises=ValueError)(fits)
    return checker


_FORMAT_CHECKER: Final = _format_checker()
_OF_PLACES: Final = ("$ref", "$dynamicRef", "allOf", "anyOf")
"""Keywords that only say which schemas count at a place."""


def _aware_of_secrets(name: str, keyword: Keyword) -> Keyword:
    """Return a keyword that judges a reference to a secret by the facts known before the job starts: it is a text."""

    def judge(validator: object, wanted: object, value: object, schema: object) -> Iterator[ValidationError]:
        if not is_reference(value) or name in _OF_PLACES:
            yield from keyword(validator, wanted, value, schema) or ()
        elif name == "type" and "string" not in (kinds := _kinds(wanted)):
            yield ValidationError(f"must be {' or '.join(kinds)}, and a secret is a text")

    return judge


def _kinds(wanted: object) -> list[str]:
    return [wanted] if isinstance(wanted, str) else cast("list[str]", wanted)


# The library's own annotations leave these two open.
_KEYWORDS: Final = cast("Mapping[str, Keyword]", Draft202012Validator.VALIDATORS)
_Validator: Final = cast("Callable[..., Any]", extend)(
    Draft202012Validator, {name: _aware_of_secrets(name, keyword) for name, keyword in _KEYWORDS.items()}
)


def faults_of_value(schema: Mapping[str, Any], value: Json) -> list[ValidationError]:
    """Return where any value does not fit a schema, the first 100 found, by place; a secret is none."""
    judge: Any = Draft202012Validator
    faults: Iterable[ValidationError] = judge(dict(schema), format_checker=_FORMAT_CHECKER).iter_errors(value)
    return sorted(islice(faults, MOST_FAULTS), key=lambda one: [str(part) for part in one.absolute_path])


def faults_in(
    schema: Mapping[str, Any], args: Mapping[str, Json], places: Mapping[str, Sequence[int]]
) -> list[ValidationError]:
    """Return where values do not fit a schema of an object: the first 100 faults that are found, by place.

    Args:
        schema: The JSON Schema.
        args: The values; lists of them may lack items that fit.
        places: For these lists the place of each item in the list that was given.
    """
    # Without secrets the library's own validator: it is a little faster.
    kind: Any = _Validator if references(args) else Draft202012Validator
    judge = kind(dict(schema), format_checker=_FORMAT_CHECKER)
    faults: list[ValidationError] = list(islice(judge.iter_errors(dict(args)), MOST_FAULTS))
    for one in faults:
        path = one.relative_path
        if len(path) > 1 and (given := places.get(str(path[0]))) is not None:
            path[1] = given[int(path[1])]
    return sorted(faults, key=lambda one: [str(part) for part in one.absolute_path])
