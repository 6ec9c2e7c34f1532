"""How many rows the lists of the introspection schema have, for the cost of introspection queries."""

from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
)


def introspection_rows(schema: GraphQLSchema) -> dict[str, int]:
    """Average number of rows, rounded up and at least 1, of each list field of ``__Schema``, ``__Type`` and their kin.

    ``types`` and ``directives`` are exact; ``fields``, ``args``, ``inputFields``, ``enumValues``, ``interfaces`` and
    ``possibleTypes`` are averages over the types that have such a list.
    """
    types = list(schema.type_map.values())
    composites = [one for one in types if isinstance(one, GraphQLObjectType | GraphQLInterfaceType)]
    abstracts = [one for one in types if isinstance(one, GraphQLInterfaceType | GraphQLUnionType)]
    argument_counts = [len(field.args) for one in composites for field in one.fields.values()]
    return {
        "types": len(types),
        "directives": len(schema.directives),
        "fields": _mean([len(one.fields) for one in composites]),
        "args": _mean([count for count in argument_counts if count]),
        "inputFields": _mean([len(one.fields) for one in types if isinstance(one, GraphQLInputObjectType)]),
        "enumValues": _mean([len(one.values) for one in types if isinstance(one, GraphQLEnumType)]),
        "interfaces": _mean([len(one.interfaces) for one in composites if one.interfaces]),
        "possibleTypes": _mean([len(schema.get_possible_types(one)) for one in abstracts]),
    }


def _mean(counts: list[int]) -> int:
    return max(1, -(-sum(counts) // len(counts))) if counts else 1
