"""Judging a job's arguments by its JSON Schema, when a run is submitted and not when it starts."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from difflib import get_close_matches
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final, cast
from uuid import UUID

from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.validators import extend  # pyright: ignore[reportUnknownVariableType]
from pydantic import AnyUrl, TypeAdapter

from .auth.secrets import is_reference, reference_faults, references
from .codes import ErrorCode
from .errors import InvalidInput, refuse
from .model import Json

Keyword = Callable[..., Iterator[ValidationError] | None]
"""What judges a value by one keyword of a JSON Schema: (validator, the keyword's value, the value, the schema)."""

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
    """Judges a text as pydantic will when the job starts: what it cannot convert is no argument."""
    checker = FormatChecker(formats=())
    for name, kind in _FORMATS.items():
        adapter: TypeAdapter[Any] = TypeAdapter(kind)

        def fits(value: object, adapter: TypeAdapter[Any] = adapter) -> bool:
            return not isinstance(value, str) or adapter.validate_python(value) is not None

        # pydantic's ValidationError is a ValueError.
        checker.checks(name, raises=ValueError)(fits)
    return checker


_FORMAT_CHECKER: Final = _format_checker()


_SAYING_LITTLE: Final = frozenset({"type", "title", "description", "default"})
_OF_OBJECTS: Final = _SAYING_LITTLE | {"properties", "required", "additionalProperties"}
_PLAIN: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
"""Types of a JSON Schema whose values are told by their type in Python."""
_OF_PLACES: Final = ("$ref", "$dynamicRef", "allOf", "anyOf")
"""Keywords that only say which schemas count at a place."""


def _aware_of_secrets(name: str, keyword: Keyword) -> Keyword:
    """A keyword that judges a reference to a secret by what is known of it before the job starts: it is a text."""

    def judge(validator: object, wanted: object, value: object, schema: object) -> Iterator[ValidationError]:
        if not is_reference(value) or name in _OF_PLACES:
            yield from keyword(validator, wanted, value, schema) or ()
        elif name == "type" and "string" not in (kinds := _kinds(wanted)):
            yield ValidationError(f"must be {' or '.join(kinds)}, and a secret is a text")

    return judge


def _kinds(wanted: object) -> list[str]:
    """The types that the keyword ``type`` names."""
    return [wanted] if isinstance(wanted, str) else cast("list[str]", wanted)


# The library's own annotations leave these two open.
_KEYWORDS: Final = cast("Mapping[str, Keyword]", Draft202012Validator.VALIDATORS)
_Validator: Final = cast("Callable[..., Any]", extend)(
    Draft202012Validator, {name: _aware_of_secrets(name, keyword) for name, keyword in _KEYWORDS.items()}
)


def check_args(job_name: str, schema: Mapping[str, Any], args: Mapping[str, Json]) -> None:
    """Let arguments pass that fit the job's schema.

    Raises:
        UserError: code ``INVALID_ARGS``; names the argument, what it must be and what it got.
    """
    refuse(argument_faults(job_name, schema, args))


def argument_faults(job_name: str, schema: Mapping[str, Any], args: Mapping[str, Json]) -> list[InvalidInput]:
    """Where the arguments do not fit the job's schema, in the order of their places; code ``INVALID_ARGS``."""
    if fits_plainly(schema, args):
        return []
    wrong_references = list(reference_faults(args))
    if wrong_references:
        return wrong_references
    # Without secrets the library's own validator: it is a little faster.
    kind: Any = _Validator if references(args) else Draft202012Validator
    faults: Iterable[ValidationError] = kind(dict(schema), format_checker=_FORMAT_CHECKER).iter_errors(dict(args))
    ordered = sorted(faults, key=lambda one: [str(part) for part in one.absolute_path])
    return [_fault(job_name, schema, args, one) for one in ordered]


def fits_plainly(schema: Mapping[str, Any], args: Mapping[str, Json]) -> bool:
    """Whether arguments are texts, numbers and truth values of a schema that asks for nothing but their types.

    Most are; to find that out takes a fiftieth of what the library takes. False = the library has to judge.
    """
    if not schema.keys() <= _OF_OBJECTS or schema.get("type") != "object":
        return False
    rules: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    for name, value in args.items():
        rule = rules.get(name)
        kind = None if rule is None or not rule.keys() <= _SAYING_LITTLE else rule.get("type")
        if not isinstance(kind, str) or type(value) not in _PLAIN.get(kind, ()):
            return False
    return all(name in args for name in schema.get("required", ()))


def _fault(job_name: str, schema: Mapping[str, Any], args: Mapping[str, Json], error: ValidationError) -> InvalidInput:
    place = ".".join(str(part) for part in error.absolute_path)
    named = f"argument '{place}' of job '{job_name}'" if place else f"arguments of job '{job_name}'"
    hint = "" if place else _hint(schema, args)
    message = f"{named}: {_short(error.message)}{hint}"
    return InvalidInput(
        message, path=("args", *(str(part) for part in error.absolute_path)), code=ErrorCode.INVALID_ARGS
    )


def _short(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


def _hint(schema: Mapping[str, Any], args: Mapping[str, Json]) -> str:
    known = list(schema.get("properties", {}))
    for name in args:
        if name not in known:
            near = get_close_matches(name, known, 1)
            if near:
                return f"; did you mean '{near[0]}'?"
            return f"; it takes {', '.join(known)}" if known else "; it takes no arguments"
    return ""
