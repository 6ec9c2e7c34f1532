"""Decorators of resolvers: Strawberry's own, with types that keep the signature of what they decorate.

What clients read about a field is its resolver's docstring. `description` is for those that do not begin with a
sentence of one line; their docstrings are for us.
"""

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

import strawberry

from .arguments import camel
from .enums import Role
from .raised import RAISED
from .rights import Requires
from .sizes import KEY, Size

F = TypeVar("F", bound=Callable[..., Any])


def resolved(
    *,
    description: str | None = None,
    size: Size | None = None,
    requires: Role | None = None,
) -> Callable[[F], F]:
    """Make a method a field.

    Args:
        description: What clients read about it; its docstring unless given.
        size: How many rows it or the lists directly below it have, and what they cost; None = a single value.
        requires: The role it needs. Every field of a root type has one; below, a field needs what led to it, and what
            it says besides.
    """

    def decorate(resolver: F) -> F:
        field: Any = strawberry.field(
            description=description or _description(resolver),
            metadata=sized(size),
            directives=_rules(requires),
        )
        return cast("F", field(resolver))

    return decorate


def mutates(*, description: str | None = None, requires: Role, size: Size | None = None) -> Callable[[F], F]:
    """Make a method a mutation that needs a role; ``size`` is that of the lists directly below it.

    Its description ends with the codes of its errors, see ``raised``.

    It answers a type of its own with the fields of the one that it returns: ``createTask`` a ``CreateTaskPayload``.
    """

    def decorate(resolver: F) -> F:
        payload = _payload(resolver.__name__, resolver.__annotations__["return"])
        codes = ", ".join(f"`{code}`" for code in RAISED.get(camel(resolver.__name__), ()))
        about = description or _description(resolver)
        full_description = f"{about} Errors: {codes}." if codes else about
        field: Any = strawberry.mutation(
            description=full_description, graphql_type=payload, metadata=sized(size), directives=_rules(requires)
        )
        return cast("F", field(resolver))

    return decorate


def _payload(mutation: str, answer: type) -> type:
    """What a mutation answers in the schema; the objects are those of ``answer``."""
    name = f"{''.join(word.capitalize() for word in mutation.split('_'))}Payload"

    def is_type_of(one: object, _info: object) -> bool:
        return isinstance(one, answer)

    made = type(name, (answer,), {"__doc__": answer.__doc__, "is_type_of": staticmethod(is_type_of)})
    return strawberry.type(made, description=f"The answer of `{camel(mutation)}`.")


def sized(size: Size | None) -> dict[object, object]:
    """The metadata of a field or an input field of this size."""
    return {} if size is None else {KEY: size}


def streams(*, description: str | None = None, requires: Role) -> Callable[[F], F]:
    """Make a method that is an asynchronous generator a subscription that needs a role."""

    def decorate(resolver: F) -> F:
        field: Any = strawberry.subscription(
            description=description or _description(resolver),
            directives=_rules(requires),
        )
        return cast("F", field(resolver))

    return decorate


def _description(resolver: Callable[..., Any]) -> str:
    """The docstring of a resolver on one line, up to what it says for Python alone."""
    text, *_ = re.split(r"\n\n(?:Args|Raises):\n", inspect.getdoc(resolver) or "")
    return " ".join(text.split())


def _rules(requires: Role | None) -> list[object]:
    return [] if requires is None else [Requires(role=requires)]
