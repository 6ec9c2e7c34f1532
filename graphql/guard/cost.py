"""The limit guard: one memoised pass over a parsed document, before anything else looks at it.

Each fragment is evaluated once, however often it is spread, so that the work is linear in the size of the document even
where twenty fragments that double each other stand for a million fields. Cycles are left to the validation rules.

**Cost** is an estimate of the number of field values in the answer. A field weighs 1. A field that declares a size
(``Size``) multiplies the lists directly below it (``edges``, ``nodes``, or itself when it is a list) by its rows: the
value of an argument, taken from the document, the variables, the schema's default or the declaration. Other lists count
``Limits.unsized_list`` rows. Fields that compute or read much declare what that costs, and large variables weigh
something wherever they are used (``inputs``). **Introspection** is measured apart, with the sizes of the schema at
hand, against a multiple of what the standard introspection query costs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from graphql import (
    DocumentNode,
    FragmentDefinitionNode,
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    OperationDefinitionNode,
    OperationType,
    get_introspection_query,
    parse,
)

from .inputs import bulk_types, weigh
from .limits import SATURATED, LimitExceeded, Limits
from .walk import NOTHING, SchemaSizes, Tally, Walk


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


ADVISED_SIZES: Final = (25, 10, 5, 2, 1)
"""Page sizes that a refusal for cost tries out, so that it can name one that fits."""

ADVISED_FIELDS: Final = 5
"""So many fields are named at most by a refusal for cost."""


@dataclass(frozen=True, slots=True)
class Measure:
    """The outcome for one operation that passed.

    Attributes:
        cost: Estimated number of field values.
        introspection_cost: The same below ``__schema`` and ``__type``.
        reusable: Whether it holds for any variables.
        visits: Syntax nodes looked at, for tests of bounded work.
    """

    cost: int
    introspection_cost: int
    reusable: bool
    visits: int


class Guard:
    """Measures documents against the limits, for one schema."""

    def __init__(self, schema: GraphQLSchema, limits: Limits) -> None:
        self.schema = schema
        self.limits = limits
        self._bulk = bulk_types(schema)
        self._sizes = SchemaSizes(schema, introspection_rows(schema))
        self.introspection_cost = limits.introspection_factor * self._standard_introspection_cost()

    def weigh(self, operation: OperationDefinitionNode, variables: Mapping[str, Any]) -> Mapping[str, int]:
        """Return the weights of those raw variables that weigh something, see ``inputs``."""
        return weigh(self.schema, self._bulk, operation, variables, self.limits.cost)

    def check(
        self,
        document: DocumentNode,
        operation: OperationDefinitionNode,
        variables: Mapping[str, Any],
        weights: Mapping[str, int] | None = None,
    ) -> Measure:
        """Measure ``operation``; the other operations of the document are held to the same structural limits.

        Args:
            document: The parsed document.
            operation: The operation of ``document`` that is to run.
            variables: Raw variable values, not yet coerced.
            weights: What ``weigh`` says of them.

        Raises:
            LimitExceeded: the first limit that was passed.
        """
        walk = self.walk(document, operation, variables, weights=weights)
        chosen = NOTHING
        for definition in document.definitions:
            if isinstance(definition, OperationDefinitionNode):
                tally = walk.operation(definition)
                self._check_structure(definition, tally)
                if definition is operation:
                    chosen = tally
            elif isinstance(definition, FragmentDefinitionNode):
                self._check_fragment(definition, walk.fragment(definition.name.value, 1))
        cost = self._cost(chosen)
        if cost > self.limits.cost:
            advice = self._advice(walk, document, operation, variables, weights)
            what = "The estimated cost of this operation is too high"
            raise LimitExceeded("cost", self.limits.cost, cost, what, [operation], advice=advice)
        return Measure(cost, chosen.introspection_cost, not walk.used_variables, walk.visits)

    def walk(
        self,
        document: DocumentNode,
        operation: OperationDefinitionNode,
        variables: Mapping[str, Any],
        *,
        weights: Mapping[str, int] | None = None,
        assumed: int = SATURATED,
    ) -> Walk:
        """Return a pass over ``document`` under these limits, not yet begun; see ``Walk`` for the arguments."""
        return Walk(self._sizes, self.limits, document, operation, variables, weights=weights, assumed=assumed)

    def _cost(self, tally: Tally) -> int:
        return min(tally.cost + self.limits.unsized_list * tally.row_cost, SATURATED)

    def _advice(
        self,
        refused: Walk,
        document: DocumentNode,
        operation: OperationDefinitionNode,
        variables: Mapping[str, Any],
        weights: Mapping[str, int] | None,
    ) -> str:
        """Return the ``first`` that would make a costly operation fit; empty if its pages are not its cost."""
        for size in ADVISED_SIZES if refused.open_pages else ():
            again = self.walk(document, operation, variables, weights=weights, assumed=size)
            if self._cost(again.operation(operation)) <= self.limits.cost:
                return f"With `first: {size}` for {_listed(again.open_pages)} it fits."
        largest = sorted(refused.given_pages, key=lambda place: -refused.given_pages[place])
        return f"Ask for fewer rows of {_listed(largest)}." if largest else ""

    def _check_structure(self, node: OperationDefinitionNode, tally: Tally) -> None:
        limits = self.limits
        if node.operation is OperationType.MUTATION:
            what = "This mutation has too many fields at its root"
            self._check("mutation_root_fields", limits.mutation_root_fields, tally.width, what, node)
        self._check("root_fields", limits.root_fields, tally.width, "This operation has too many root fields", node)
        self._check("aliases", limits.aliases, tally.aliases, "This operation has too many aliases", node)
        self._check("fields", limits.fields, tally.fields, "This operation has too many fields", node)
        self._check("depth", limits.depth, tally.depth, "The fields of this operation are nested too deeply", node)
        what = "The introspection fields of this operation are nested too deeply"
        self._check("introspection_depth", limits.introspection_depth, tally.introspection_depth, what, node)
        what = "The introspection of this operation costs too much"
        self._check("introspection_cost", self.introspection_cost, tally.introspection_cost, what, node)

    def _check_fragment(self, node: FragmentDefinitionNode, tally: Tally) -> None:
        # Unused fragments are refused by validation, but only after other rules have walked them.
        self._check(
            "fields", self.limits.fields, tally.fields, f"Fragment '{node.name.value}' has too many fields", node
        )
        self._check(
            "aliases", self.limits.aliases, tally.aliases, f"Fragment '{node.name.value}' has too many aliases", node
        )

    def _check(
        self,
        limit: str,
        maximum: int,
        requested: int,
        what: str,
        node: OperationDefinitionNode | FragmentDefinitionNode,
    ) -> None:
        if requested > maximum:
            raise LimitExceeded(limit, maximum, requested, what, [node])

    def _standard_introspection_cost(self) -> int:
        text = get_introspection_query(
            specified_by_url=True, directive_is_repeatable=True, schema_description=True, input_value_deprecation=True
        )
        document = parse(text)
        operation = next(node for node in document.definitions if isinstance(node, OperationDefinitionNode))
        # Our own query, measured no matter what the limits are.
        walk = Walk(self._sizes, Limits(), document, operation, {})
        return walk.operation(operation).introspection_cost


def _listed(places: Iterable[str]) -> str:
    *others, last = [f"`{place}`" for place in places][:ADVISED_FIELDS]
    return f"{', '.join(others)} and {last}" if others else last
