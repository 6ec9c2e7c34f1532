"""Keys that ``@job`` says: arguments by name, a text with their names in braces, or a function of them."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias, cast

from ..core.limits import UniqueKey, pieces
from .functions import unreadable


def known_argument(option: str, name: str, names: Mapping[str, str]) -> str:
    """Return the name in JSON of an argument that an option names.

    Args:
        option: The option, for the message.
        names: The arguments by the names of their parameters, with those that they have in JSON.

    Raises:
        ValueError: the job has no such argument.
    """
    if name in names:
        return names[name]
    near = get_close_matches(name, names, 1)
    hint = f"did you mean '{near[0]}'?" if near else f"it takes {', '.join(names) or 'none'}"
    raise ValueError(f"{option}: the job has no argument '{name[:60]}'; {hint}")


KeyFunction: TypeAlias = Callable[..., str | None]
"""Makes a key of a run's arguments, which it gets by name: all of them, or those that it takes; None = no key."""

_EXAMPLE = "('order_id',) or 'orders-{order_id}'"


def key_of(option: object, names: Mapping[str, str], schema: Mapping[str, Any]) -> tuple[UniqueKey, KeyFunction | None]:
    """Return the published form of the key, and the function that makes it, if only a function can.

    Args:
        option: The value given to ``@job``.
        names: The arguments by the names of their parameters, with those that they have in JSON.
        schema: The JSON Schema of the arguments.

    Raises:
        ValueError: it can make no key of these arguments.
    """
    if callable(option):
        return UniqueKey(in_code=True), _function(cast("KeyFunction", option), names)
    try:
        return published_key("unique_key", option, names, schema), None
    except TypeError:
        raise ValueError(
            f"unique_key: must be names of arguments, a text or a function, e.g. unique_key={_EXAMPLE}, got "
            f"{option!r:.60}"
        ) from None


def published_key(field: str, option: object, names: Mapping[str, str], schema: Mapping[str, Any]) -> UniqueKey:
    """Return the key that the nodes and the API can make as well.

    Raises:
        ValueError: it can make no key of these arguments.
        TypeError: it is neither names nor a text.
    """
    if isinstance(option, str):
        return _template(field, option, names, schema)
    if isinstance(option, list | tuple):
        several = cast("Sequence[object]", option)
        if all(isinstance(one, str) for one in several):
            return UniqueKey.declared([_known(field, str(one), names) for one in several], None, schema)
    raise TypeError(
        f"{field}: must be names of arguments or a text with them in braces, e.g. {field}={_EXAMPLE}, "
        f"got {option!r:.60}"
    )


def _template(field: str, text: str, names: Mapping[str, str], schema: Mapping[str, Any]) -> UniqueKey:
    try:
        found = pieces(text)
    except ValueError as error:
        raise ValueError(
            f"{field}: the braces in {text!r:.60} must each hold the name of an argument ({error})"
            f"{'; use a function for anything else' if field == 'unique_key' else ''}"
        ) from None
    if text in names:
        raise ValueError(f"{field}: {text!r} is the same text for every run; write ({text!r},) to use the argument")
    if not text:
        raise ValueError(f"{field}: must not be empty; write e.g. {field}={_EXAMPLE}")
    inside = dict.fromkeys(name for _, name in found if name)
    outside = {name: _known(field, name, names) for name in inside}
    escaped = [(before.replace("{", "{{").replace("}", "}}"), name) for before, name in found]
    template = "".join(before + (f"{{{outside[name]}}}" if name else "") for before, name in escaped)
    return UniqueKey.declared(tuple(outside.values()), template, schema)


def _known(field: str, name: str, names: Mapping[str, str]) -> str:
    return known_argument(field, name, names)


def _function(function: KeyFunction, names: Mapping[str, str]) -> KeyFunction:
    """Return ``function`` in a form that takes all arguments of the job by name."""
    if inspect.iscoroutinefunction(function):
        raise ValueError("unique_key: must be a plain function, got an 'async def'")
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        raise ValueError(unreadable("unique_key", function)) from None
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return function
    for one in parameters:
        by_name = one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) and one.name in names
        if not by_name and one.default is one.empty and one.kind is not one.VAR_POSITIONAL:
            takes = ", ".join(names) or "none"
            raise ValueError(
                f"unique_key: the function gets the job's arguments by name ({takes}), but its parameter '{one.name}' "
                "is none of them"
            )
    taken = [one.name for one in parameters if one.name in names]

    def called(**values: object) -> str | None:
        return function(**{name: values[name] for name in taken})

    return called
