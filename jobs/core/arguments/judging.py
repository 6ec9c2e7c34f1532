"""Judging a job's arguments by its JSON Schema, when a run is submitted and not when it starts."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from ..base.errors import ErrorCode, InvalidInput, refuse
from ..base.lazy import LazyModule
from ..model import Json
from .secrets import REFERENCE, reference_faults, without_credentials

if TYPE_CHECKING:
    from jsonschema import ValidationError

    from . import json_schema
else:
    json_schema = LazyModule(f"{__package__}.json_schema")

Judge: TypeAlias = Callable[[Mapping[str, Json]], Sequence[InvalidInput]]
"""Returns the faults that the code of a job finds in arguments, beyond those that its JSON Schema can find."""
KnownCode: TypeAlias = Callable[[str, str], Judge | None]
"""(name, signature) -> the judge of that version of a job; None = this process does not have its code."""

_SAYING_LITTLE: Final = frozenset({"type", "title", "description", "default"})
_OF_OBJECTS: Final = _SAYING_LITTLE | {"properties", "required", "additionalProperties"}
_OF_CHOICES: Final = (_SAYING_LITTLE | {"anyOf"}) - {"type"}
_PLAIN: Final[Mapping[str, frozenset[type]]] = {
    "string": frozenset({str}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "boolean": frozenset({bool}),
    "null": frozenset({type(None)}),
}
"""Types of a JSON Schema whose values are recognized by their type in Python."""
_SCALARS: Final = frozenset[type]().union(*_PLAIN.values())


def no_code(_name: str, _signature: str) -> None:
    """Return nothing: no job's code is known."""


def check_args(job_name: str, schema: Mapping[str, Any], args: Mapping[str, Json]) -> None:
    """Check that arguments fit the job's schema.

    Raises:
        UserError: code ``INVALID_ARGS``; names the argument, the expected value and the given one.
    """
    refuse(argument_faults(job_name, schema, args))


def argument_faults(job_name: str, schema: Mapping[str, Any], args: Mapping[str, Json]) -> list[InvalidInput]:
    """Return where the arguments do not fit the job's schema, in the order of their places; code ``INVALID_ARGS``."""
    if fits_plainly(schema, args):
        return []
    wrong_references = list(reference_faults(args))
    if wrong_references:
        return wrong_references
    found = json_schema.faults_in(schema, *_suspects(schema, args))
    # A wrong name is both too much and missing: what may be meant is said once.
    of_all = [one for one in found if not one.absolute_path]
    hinted = next((one for one in of_all if one.validator == "additionalProperties"), of_all[0] if of_all else None)
    return [
        _fault(job_name, one, names_hint(schema.get("properties", {}), args) if one is hinted else "") for one in found
    ]


def value_faults(what: str, schema: Mapping[str, Any], value: Json, field: str) -> list[InvalidInput]:
    """Return where any value does not fit a schema.

    Args:
        what: The whole that it belongs to, for the message.
        schema: The JSON Schema.
        value: The value.
        field: Where it stands in the input.
    """
    faults: list[InvalidInput] = []
    for one in json_schema.faults_of_value(schema, value):
        place = ".".join([field, *(str(part) for part in one.absolute_path)])
        path = (field, *(str(part) for part in one.absolute_path))
        faults.append(InvalidInput(f"{place} of {what}: {_message(one)}", path=path))
    return faults


def fits_plainly(schema: Mapping[str, Any], args: Mapping[str, Json]) -> bool:
    """Return whether arguments are texts, numbers, truth values and lists and objects of these, and no more is asked.

    Most are; to find that out takes a fiftieth of the library's time. False = the library has to judge.
    """
    if not schema.keys() <= _OF_OBJECTS or schema.get("type") != "object":
        return False
    rules: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    are_plain = all(name in rules and _is_plain(rules[name], value) for name, value in args.items())
    return are_plain and all(name in args for name in schema.get("required", ()))


def _suspects(
    schema: Mapping[str, Any], args: Mapping[str, Json]
) -> tuple[dict[str, Json], Mapping[str, Sequence[int]]]:
    """Return arguments without the items of lists that surely fit, and the given places of the other items.

    The library takes seconds for a million items, most of which are fine where one is wrong.
    """
    asked, places = dict(args), dict[str, list[int]]()
    rules: Mapping[str, object] = schema.get("properties", {}) if schema.keys() <= {*_OF_OBJECTS, "$defs"} else {}
    for name, value in args.items():
        rule = _rule_of_items(rules.get(name))
        if rule is not None and isinstance(value, list):
            items = cast("list[object]", value)
            places[name] = list(_doubtful(rule, items))
            asked[name] = [items[at] for at in places[name]]
    return asked, places


def _doubtful(rule: Mapping[str, Any], items: Sequence[object]) -> Iterator[int]:
    """Yield the places of items that may not fit the rule of each."""
    types = _types(rule)
    return (at for at, one in enumerate(items) if type(one) not in types and not _is_plain(rule, one))


def _rule_of_items(rule: object) -> Mapping[str, Any] | None:
    """Return the rule of a list's items, each of which is judged by itself; None: there is more to a list, or none."""
    if not isinstance(rule, dict):
        return None
    one = cast("Mapping[str, Any]", rule)
    if "anyOf" in one and one.keys() <= _OF_CHOICES:
        # A value may be the list, or a text or a number.
        one, *others = [each for each in one["anyOf"] if not _types(each)] or [one]
        return None if others else _rule_of_each(one, "array", "items")
    return _rule_of_each(one, "array", "items")


def _is_plain(rule: Mapping[str, Any], value: object) -> bool:
    """Return whether a value surely fits a rule, and refers to no secret."""
    if type(value) in _types(rule):
        return True
    if isinstance(value, list):
        items = cast("list[object]", value)
        of_each = _rule_of_each(rule, "array", "items")
        if of_each is None:
            return _is_any(rule, items)
        return set(map(type, items)) <= _types(of_each) or next(_doubtful(of_each, items), None) is None
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        of_each = _rule_of_each(rule, "object", "additionalProperties")
        if of_each is None or REFERENCE in members:
            return REFERENCE not in members and (fits_plainly(rule, members) or _is_any(rule, members))
        return all(_is_plain(of_each, one) for one in members.values())
    return False


def _is_any(rule: Mapping[str, Any], value: object) -> bool:
    return rule.keys() <= _OF_CHOICES and any(_is_plain(one, value) for one in rule.get("anyOf", ()))


def _rule_of_each(rule: Mapping[str, Any], kind: str, member: str) -> Mapping[str, Any] | None:
    """Return the rule of what is in a list or an object, if it is all that is asked of it."""
    found = rule.get(member) if rule.get("type") == kind and rule.keys() <= {*_SAYING_LITTLE, member} else None
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else None


def _types(rule: Mapping[str, Any]) -> frozenset[type]:
    """Return types of Python whose values a rule surely takes."""
    if "anyOf" in rule and rule.keys() <= _OF_CHOICES:
        return frozenset[type]().union(*map(_types, rule["anyOf"]))
    if not rule.keys() <= _SAYING_LITTLE:
        return frozenset()
    kind = rule.get("type")
    return _SCALARS if kind is None else _PLAIN.get(kind, frozenset()) if isinstance(kind, str) else frozenset()


def _fault(job_name: str, error: "ValidationError", hint: str) -> InvalidInput:
    place = ".".join(str(part) for part in error.absolute_path)
    named = f"argument '{place}' of job '{job_name}'" if place else f"arguments of job '{job_name}'"
    message = f"{named}: {_message(error)}{hint}"
    return InvalidInput(
        message, path=("args", *(str(part) for part in error.absolute_path)), code=ErrorCode.INVALID_ARGS
    )


def _message(error: "ValidationError", limit: int = 300) -> str:
    """Return the message of a fault, with the value as it was given unless it may be secret.

    Secret may be the value of a secret parameter, and any value in addresses, lists and objects.
    """
    value: Any = error.instance
    written = repr(value)
    shown = without_credentials(written)
    if _is_secret(error.schema):
        shown = "the value"
    elif value and isinstance(value, dict | list):
        shown = "the object" if isinstance(value, dict) else "the list"
    text: str = error.message.replace(written, shown)
    return text if len(text) <= limit else f"{text[:limit]}…"


def _is_secret(schema: Any) -> bool:  # noqa: ANN401 - any schema
    return isinstance(schema, dict) and (
        cast("Any", schema).get("writeOnly") is True or any(map(_is_secret, cast("Any", schema).get("anyOf", ())))
    )


def names_hint(names: Iterable[str], args: Mapping[str, Json]) -> str:
    """Return the end of a sentence that says which of a job's ``names`` a wrong one among ``args`` may mean."""
    known = list(names)
    for name in args:
        if name not in known:
            near = get_close_matches(name, known, 1)
            if near:
                return f"; did you mean '{near[0]}'?"
            return f"; it takes {', '.join(known)}" if known else "; it takes no arguments"
    return ""
