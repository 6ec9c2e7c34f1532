"""Which role a field needs: said where the field is declared, shown in the SDL, see `guard.rights` for the check."""

from collections.abc import Mapping
from typing import Any

import strawberry
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.schema_directive import Location
from strawberry.types.field import StrawberryField

from graphql import GraphQLObjectType, GraphQLSchema

from .enums import Role


@strawberry.schema_directive(
    locations=[Location.FIELD_DEFINITION],
    description="The field may be used by people and programs of this role, and of the roles that include it.",
)
class Requires:
    """The rule of one field."""

    role: Role = strawberry.directive_field(name="role")


def rules_of(schema: GraphQLSchema) -> dict[tuple[str, str], Role]:
    """The rules of all fields that have one, by the names of type and field."""
    return {
        (kind.name, name): directive.role
        for kind in schema.type_map.values()
        if isinstance(kind, GraphQLObjectType)
        for name, field in kind.fields.items()
        for directive in _directives(field.extensions)
        if isinstance(directive, Requires)
    }


def _directives(extensions: Mapping[str, Any]) -> list[object]:
    field = extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    return list(field.directives) if isinstance(field, StrawberryField) else []
