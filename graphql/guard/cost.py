"""The limit guard: one memoised pass over a parsed document, before anything else looks at it.

Each fragment is evaluated once, however often it is spread, so that the work is linear in the size of the document even
where twenty fragments that double each other stand for a million fields. Cycles are left to the validation rules.

**Cost** is an estimate of the number of field values in the answer. A field weighs 1. A field that declares a size
(``Size``) multiplies the lists directly below it (``edges``, ``nodes``, or itself when it is a list) by its rows: the
value of an argument, taken from the document, the variables, the schema's default or the declaration. Other lists count
``Limits.unsized_list`` rows. Fields that compute or read much declare the cost, and large variables weigh
something wherever they are used (``weigh``). **Introspection** is measured apart, with the sizes of the schema at
hand, against a multiple of the cost of the standard introspection query.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from graphql import (
    DocumentNode,
    FragmentDefinitionNode,
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    GraphQLUnionType,
    ListTypeNode,
    NonNullTypeNode,
    OperationDefinitionNode,
    OperationType,
    TypeNode,
    VariableDefinitionNode,
    get_introspection_query,
    get_named_type,
    parse,
)

from ..base.fields import size_of
from .limits import SATURATED, LimitExceeded, Limits
from .walk import NOTHING, SchemaSizes, Tally, Walk

OBJECT: Final = 20
"""Weight of an input object, in values of an answer: as many take as long to make."""

ELEMENT: Final = 5
"""Weight of a value in a list, such as an id of `notIn`: it is converted several times, and becomes a parameter."""

FREE: Final = 500
"""Variables that weigh no more than this count nothing, so that what a document costs need not be counted again."""


def bulk_types(schema: GraphQLSchema) -> dict[str, int]:
    """Return the input objects of which a list may have many, by name: how many, as declared where the list is."""
    found: dict[str, int] = {}
    for kind in schema.type_map.values():
        if isinstance(kind, GraphQLInputObjectType):
            fields: Mapping[str, Any] = kind.fields
            for field in fields.values():
                size, element = size_of(field), _named(field.type)
                if size is not None and isinstance(element, GraphQLInputObjectType):
                    found[element.name] = size.most
    return found


def weigh(
    schema: GraphQLSchema,
    bulk: Mapping[str, int],
    operation: OperationDefinitionNode,
    variables: Mapping[str, Any],
    most: int,
) -> dict[str, int]:
    """Return the weights of those variables that weigh more than nothing, in values of an answer.

    A list whose size is declared at its input field weighs nothing up to that size, and lists within rows of another
    list weigh nothing up to it together. The content of a scalar, such as ``JSON``, weighs nothing.

    Args:
        schema: Knows the input types.
        bulk: See ``bulk_types``.
        operation: Declares the variables.
        variables: As they came.
        most: Counting stops beyond it.
    """
    found = {
        node.variable.name.value: _Weighing(schema, bulk, most).of(node, variables[node.variable.name.value])
        for node in operation.variable_definitions or ()
        if isinstance(variables.get(node.variable.name.value), dict | list)
    }
    return {name: weight for name, weight in found.items() if weight > FREE}


class _Weighing:
    """The weight of one variable."""

    def __init__(self, schema: GraphQLSchema, bulk: Mapping[str, int], most: int) -> None:
        self._schema = schema
        self._bulk = bulk
        self._most = most
        self._pending: list[tuple[object, object]] = []
        self._seen = Counter[str]()

    def of(self, node: VariableDefinitionNode, value: object) -> int:
        """Return the weight of a value, counted no further than a little beyond the most."""
        weight = 0
        kind = self._kind(node.type)
        if (
            isinstance(kind, GraphQLList)
            and isinstance(value, list)
            and not isinstance(_named(cast("object", kind)), GraphQLInputObjectType)
        ):
            # Such as the ids of a bulk action, which are judged and counted there.
            return len(cast("list[object]", value))
        self._pending = [(kind, value)]
        while self._pending and weight <= self._most:
            weight += self._take(*self._pending.pop())
        return weight

    def _kind(self, node: TypeNode) -> object:
        """Return the type of a variable, non-null left away; None if there is no such input type."""
        if isinstance(node, NonNullTypeNode):
            return self._kind(node.type)
        if isinstance(node, ListTypeNode):
            inner: Any = self._kind(node.type)
            return None if inner is None else GraphQLList(inner)
        return self._schema.get_type(cast("Any", node).name.value)

    def _take(self, kind: object, value: object) -> int:
        if isinstance(kind, GraphQLNonNull):
            return self._take(cast("Any", kind).of_type, value)
        if isinstance(kind, GraphQLList):
            inner: object = cast("Any", kind).of_type
            rows = cast("list[object]", value) if isinstance(value, list) else [value]
            most = self._bulk.get(_named(inner).name, 0)
            if len(rows) <= most:
                return self._listed(_named(inner), rows, most)
            if isinstance(_named(inner), GraphQLScalarType | GraphQLEnumType):
                return ELEMENT * len(rows)
            self._pending += [(inner, row) for row in rows[: self._most + 1]]
            return len(rows)
        if isinstance(kind, GraphQLInputObjectType) and isinstance(value, dict):
            return OBJECT + self._fields(kind, cast("dict[str, object]", value))
        return 0

    def _fields(self, kind: GraphQLInputObjectType, value: dict[str, object]) -> int:
        weight = 0
        fields: Mapping[str, Any] = kind.fields
        for name, field in fields.items():
            given = value.get(name)
            if not isinstance(given, dict | list):
                continue
            inner = cast("dict[str, object] | list[object]", given)
            size = size_of(field)
            if size is None:
                self._pending.append((field.type, inner))
            else:
                # A list may be written as its only row.
                weight += self._listed(_named(field.type), inner if isinstance(inner, list) else [inner], size.most)
        return weight

    def _listed(self, element: GraphQLNamedType, rows: list[object], most: int) -> int:
        """Return the weight of a list whose size is declared, and of the lists in its rows whose sizes are."""
        if not isinstance(element, GraphQLInputObjectType):
            return OBJECT * len(rows) if len(rows) > most else 0
        self._seen[element.name] += len(rows)
        if self._seen[element.name] > most:
            return OBJECT * len(rows)
        fields: Mapping[str, Any] = element.fields
        if not any(size_of(one) and isinstance(_named(one.type), GraphQLInputObjectType) for one in fields.values()):
            return 0
        return sum(self._fields(element, cast("dict[str, object]", row)) for row in rows if isinstance(row, dict))


def _named(kind: object) -> GraphQLNamedType:
    return cast("GraphQLNamedType", get_named_type(cast("Any", kind)))


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
        """Return the weights of those raw variables that weigh something, see ``weigh``."""
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
            weights: Their weights by ``weigh``.

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
