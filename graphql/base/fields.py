"""Decorators of resolvers: Strawberry's own, with types that keep the signature of the resolver.

The description of a field is its resolver's docstring. `description` is for those that do not begin with a
sentence of one line; their docstrings are for us.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

import strawberry
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.schema_directive import Location
from strawberry.types.base import StrawberryObjectDefinition
from strawberry.types.field import StrawberryField

from graphql import GraphQLField, GraphQLInputField, GraphQLObjectType, GraphQLSchema

from .enums import Role
from .raised import RAISED
from .scalars import camel


def field_behind(extensions: Mapping[str, Any]) -> StrawberryField | None:
    """Return the definition of a field or an input field by its ``extensions``; None if Strawberry did not make it."""
    found = extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    return found if isinstance(found, StrawberryField) else None


def object_behind(extensions: Mapping[str, Any]) -> StrawberryObjectDefinition | None:
    """Return the definition of an object or an input type; None if Strawberry has not made it."""
    found = extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    return found if isinstance(found, StrawberryObjectDefinition) else None


KEY: Final = "size"
"""Under this key of Strawberry's ``metadata`` a field or an input field has its size."""


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a list, of the lists directly below a field, or of the work that a field makes.

    Attributes:
        arguments: Which arguments say how many rows there are; the largest that is given counts. ``input.runs`` stands
            for the number of elements of the list ``runs`` in the argument ``input``.
        default: Rows if none is given and the schema has no default.
        most: Rows at most, however many are asked for; of an input list: the most elements it may have.
        each: Values that a row costs on top of those selected of it: it is computed, say.
        own: Values that the field costs on top of those selected of it: it needs a statement that reads much, say.
    """

    arguments: tuple[str, ...] = ()
    default: int = 0
    most: int = 0
    each: int = 0
    own: int = 0

    @property
    def has_rows(self) -> bool:
        """Return whether it says how many rows there are."""
        return self.most > 0


PAGE: Final = Size(("first", "last"), default=50, most=200)
"""A page of a connection."""

FEW: Final = Size(default=5, most=5)
"""A list that seldom has a row at all: the errors of a payload."""

SHOWN: Final = Size(default=200, most=200)
"""Number of rows that a mutation of many shows."""


def size_of(field: GraphQLField | GraphQLInputField) -> Size | None:
    """Return the declared size of a field."""
    definition = field_behind(field.extensions)
    found = None if definition is None else definition.metadata.get(KEY)
    return found if isinstance(found, Size) else None


@strawberry.schema_directive(
    locations=[Location.FIELD_DEFINITION],
    description="The field may be used by people and programs of this role, and of the roles that include it.",
)
class NeedsRole:
    """The rule of one field."""

    role: Role = strawberry.directive_field(name="role")


@strawberry.schema_directive(
    locations=[Location.FIELD_DEFINITION, Location.OBJECT],
    description="The field or type exists for one picture of the dashboard. It can change in any version, unannounced.",
)
class Unstable:
    """The mark of fields and types that are no promise."""


UNSTABLE: Final = (Unstable(),)
"""The directives of a type that exists for one picture."""


def rules_of(schema: GraphQLSchema) -> dict[tuple[str, str], Role]:
    """Return the rules of all fields that have one, by the names of type and field."""
    return {
        (kind.name, name): directive.role
        for kind in schema.type_map.values()
        if isinstance(kind, GraphQLObjectType)
        for name, field in kind.fields.items()
        if (definition := field_behind(field.extensions)) is not None
        for directive in definition.directives
        if isinstance(directive, NeedsRole)
    }


F = TypeVar("F", bound=Callable[..., Any])


def resolved(
    *,
    description: str | None = None,
    size: Size | None = None,
    requires: Role | None = None,
    unstable: bool = False,
) -> Callable[[F], F]:
    """Make a method a field.

    Args:
        description: The text that clients read about it; its docstring unless given.
        size: How many rows it or the lists directly below it have, and their cost; None = a single value.
        requires: The role it needs. Every field of a root type has one, and is nullable, so that one that fails leaves
            the others; below, a field needs the role of its parent, and its own besides.
        unstable: Whether it exists for one picture, and can change in any version.
    """

    def decorate(resolver: F) -> F:
        field: Any = strawberry.field(
            description=description or _description(resolver),
            metadata=sized(size),
            directives=[*_rules(requires), *(UNSTABLE if unstable else ())],
        )
        return cast("F", field(resolver))

    return decorate


def mutates(*, description: str | None = None, requires: Role, size: Size | None = None) -> Callable[[F], F]:
    """Make a method a mutation that needs a role; ``size`` is that of the lists directly below it.

    Its description ends with the codes of its errors, see ``raised``.

    It answers a type of its own with the fields of the one that it returns: ``createTask`` a ``CreateTaskPayload``.
    The answer is nullable: a mutation that fails leaves the answers of the others.
    """

    def decorate(resolver: F) -> F:
        payload = _payload(resolver.__name__, resolver.__annotations__["return"])
        codes = ", ".join(f"`{code}`" for code in RAISED.get(camel(resolver.__name__), ()))
        about = description or _description(resolver)
        full_description = f"{about} Errors: {codes}." if codes else about
        field: Any = strawberry.mutation(
            description=full_description, graphql_type=payload | None, metadata=sized(size), directives=_rules(requires)
        )
        return cast("F", field(resolver))

    return decorate


def _payload(mutation: str, answer: type) -> type:
    """Return the payload of a mutation as a type of the schema; the objects are those of ``answer``."""
    name = f"{''.join(word.capitalize() for word in mutation.split('_'))}Payload"

    def is_type_of(one: object, _info: object) -> bool:
        return isinstance(one, answer)

    made = type(name, (answer,), {"__doc__": answer.__doc__, "is_type_of": staticmethod(is_type_of)})
    return strawberry.type(made, description=f"The answer of `{camel(mutation)}`.")


def sized(size: Size | None) -> dict[object, object]:
    """Return the metadata of a field or an input field of this size."""
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
    text, *_ = re.split(r"\n\n(?:Args|Raises):\n", inspect.getdoc(resolver) or "")
    return " ".join(text.split())


def _rules(requires: Role | None) -> list[object]:
    return [] if requires is None else [NeedsRole(role=requires)]
