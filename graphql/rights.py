"""Which role a field needs: said where the field is declared, shown in the SDL, and checked before anything runs."""

from collections.abc import Mapping
from typing import Any

import strawberry
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.schema_directive import Location
from strawberry.types.field import StrawberryField

from graphql import GraphQLObjectType, GraphQLSchema

from .enums import Role
from .errors import UserFacingError
from .guard.rights import Requirement


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


def check_role(role: Role, requirements: tuple[Requirement, ...]) -> None:
    """Refuse an operation that asks for more than a role may do; nothing of it runs then.

    Raises:
        UserFacingError: ``FORBIDDEN``, naming the field and the role it needs.
    """
    for requirement in requirements:
        if not role.includes(requirement.role):
            needed = requirement.role.name
            raise UserFacingError(
                f"'{requirement.field}' needs the role {needed}, and you have the role {role.name} here.",
                code="FORBIDDEN",
                http_status=403,
                extensions={"field": requirement.field, "requiredRole": needed, "role": role.name},
            )


def _directives(extensions: Mapping[str, Any]) -> list[object]:
    field = extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    return list(field.directives) if isinstance(field, StrawberryField) else []
