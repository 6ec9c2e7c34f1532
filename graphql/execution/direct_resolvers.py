"""Resolvers that ask for nothing but their object and the context are called without Strawberry's ceremony.

Strawberry converts arguments, chains extensions and looks for handlers of exceptions at each call, also where a field
can have none of them: of a list, once for each row.
"""

from collections.abc import Callable
from typing import Any, cast

from strawberry.schema.config import StrawberryConfig
from strawberry.types.field import StrawberryField
from strawberry.types.fields.resolver import StrawberryResolver

from graphql import GraphQLObjectType, GraphQLResolveInfo, GraphQLSchema

from ..base.fields import field_behind


def resolve_directly(schema: GraphQLSchema, config: StrawberryConfig) -> None:
    """Have the synchronous resolvers of a schema that take no arguments called directly.

    Args:
        schema: Its fields are changed.
        config: The configuration that ``info`` of a resolver is made with.
    """
    for kind in schema.type_map.values():
        if not isinstance(kind, GraphQLObjectType):
            continue
        for field in kind.fields.values():
            known = field_behind(field.extensions)
            if known is not None and field.subscribe is None and not field.args:
                resolver = _plain_resolver(known)
                if resolver is not None:
                    field.resolve = _direct(known, resolver, config)


def _plain_resolver(field: StrawberryField) -> "StrawberryResolver[Any] | None":
    """Return a field's resolver if it takes only its object and perhaps the context, and is synchronous."""
    resolver: StrawberryResolver[Any] | None = cast("Any", field).base_resolver
    if resolver is None or resolver.is_async or field.extensions or field.permission_classes:
        return None
    other = resolver.parent_parameter or resolver.root_parameter
    return resolver if resolver.self_parameter and not other else None


def _direct(field: StrawberryField, resolver: StrawberryResolver[Any], config: StrawberryConfig) -> Callable[..., Any]:
    function = cast("Callable[..., Any]", cast("Any", resolver).wrapped_func)
    if resolver.info_parameter is None:

        def without_info(source: object, _info: object) -> object:
            return function(source)

        return without_info
    name, make = resolver.info_parameter.name, config.info_class

    def resolve(source: object, info: "GraphQLResolveInfo[Any]") -> object:
        return function(source, **{name: make(_raw_info=info, _field=field)})

    return resolve
