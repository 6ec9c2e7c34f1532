"""Which role a field needs: said where the field is declared, shown in the SDL, see `guard.rights` for the check."""

import strawberry
from strawberry.schema_directive import Location

from graphql import GraphQLObjectType, GraphQLSchema

from .definitions import field_behind
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
        if (definition := field_behind(field.extensions)) is not None
        for directive in definition.directives
        if isinstance(directive, Requires)
    }
