"""What Strawberry says of a field or a type of the graphql-core schema that it has made."""

from collections.abc import Mapping
from typing import Any

from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.base import StrawberryObjectDefinition
from strawberry.types.field import StrawberryField


def field_behind(extensions: Mapping[str, Any]) -> StrawberryField | None:
    """The definition of a field or an input field, from its ``extensions``; None if Strawberry has not made it."""
    found = extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    return found if isinstance(found, StrawberryField) else None


def object_behind(extensions: Mapping[str, Any]) -> StrawberryObjectDefinition | None:
    """The definition of an object or an input type; None if Strawberry has not made it."""
    found = extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    return found if isinstance(found, StrawberryObjectDefinition) else None
