"""Secrets in arguments: the meaning of ``{"$secret": "name"}``, the places of such references, and their replacement.

With the secrets that addresses hold, which no message shows.

Only the reference is stored, shown and logged; the value takes its place in the executing process alone, just
before the job starts.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from ..base.errors import ErrorCode, InvalidInput
from ..model import Json
from ..rules import name_faults

REFERENCE: Final = "$secret"
"""The only member of an object that stands for a secret; its value is the secret's name."""


_ADDRESS: Final = re.compile(r"(?<=:)//[^\s'\"]+")
# A password may hold what ends the host of an address. A number after the host is its port, unless a user is missing.
# The bounds keep the time in proportion to a text's length.
_USER: Final = re.compile(
    r"(?<=://)[^\s'\"/?#@:\[]{0,256}(?::(?:(?<=//:)|(?!\d+[/?#]))(?:(?!://)[^\s'\"@]){0,256})?@(?:[^\s'\"@]{0,256}@)*"
)
_VALUE: Final = re.compile(r"([?&;][^=&;]*=)[^&;#]+")


def without_users(text: str) -> str:
    """Return a text with ``***`` for users and passwords of the addresses in it."""
    return _USER.sub("***@", text)


def without_credentials(text: str) -> str:
    """Return a text with ``***`` for users, passwords and parameters of the addresses in it: tokens stand there."""
    return _ADDRESS.sub(lambda found: _VALUE.sub(r"\1***", found[0]), without_users(text))


def is_reference(value: object) -> bool:
    """Return whether a value stands for a secret, or would if it were well formed."""
    return isinstance(value, Mapping) and REFERENCE in value


def references(args: object) -> frozenset[str]:
    """Return the names of all secrets that arguments refer to."""
    return frozenset(cast("str", one[REFERENCE]) for _, one in _found(args) if _is_well_formed(one))


def reference_faults(args: Mapping[str, Json]) -> Iterator[InvalidInput]:
    """Yield the places at which arguments refer to a secret in an unknown form."""
    for place, one in _found(args):
        if not _is_well_formed(one):
            yield InvalidInput(
                f'argument \'{".".join(place)}\': a secret must be named as {{"{REFERENCE}": "name"}} and nothing '
                "else; use one of `cronograph secret list`",
                path=("args", *place),
                code=ErrorCode.INVALID_ARGS,
            )


def resolved(args: Mapping[str, Json], values: Mapping[str, str]) -> dict[str, Json]:
    """Return a copy of arguments with the values of secrets in the place of their references.

    Args:
        args: As they were submitted.
        values: Name to value of every secret in ``references(args)``.
    """
    return {name: _resolved(one, values) for name, one in args.items()}


def _resolved(value: Json, values: Mapping[str, str]) -> Json:
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Json]", value)
        if REFERENCE in members and _is_well_formed(members):
            return values[members[REFERENCE]]
        return {name: _resolved(one, values) for name, one in members.items()}
    if isinstance(value, list):
        return [_resolved(one, values) for one in value]  # pyright: ignore[reportUnknownVariableType]
    return value


_HARMLESS: Final = frozenset({str, int, float, bool, type(None)})
"""Types of values in which nothing can stand."""


def _found(args: object) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Yield every object that has the member ``$secret``, and where it stands."""
    waiting: list[tuple[tuple[str, ...], object]] = [((), args)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, Mapping):
            members = cast("Mapping[str, object]", value)
            # At the top there are the names of parameters, and one may be called like this.
            if place and REFERENCE in members:
                yield place, members
            else:
                waiting += [((*place, name), one) for name, one in members.items() if type(one) not in _HARMLESS]
        elif isinstance(value, list):
            items = cast("list[object]", value)
            inner = ((index, one) for index, one in enumerate(items) if type(one) not in _HARMLESS)
            waiting += [((*place, str(index)), one) for index, one in inner]


def _is_well_formed(reference: Mapping[str, Any]) -> bool:
    name = reference[REFERENCE]
    return len(reference) == 1 and isinstance(name, str) and not any(name_faults(name, "name"))
