"""The limit guard: one memoised pass over a parsed document, before anything else looks at it.

Each fragment is evaluated once, however often it is spread, so that the work is linear in the size of the document even
where twenty fragments that double each other stand for a million fields. Cycles are left to the validation rules.

**Cost** is an estimate of the number of field values in the answer. A field weighs 1. A field with an argument `first`,
`last` or `limit` multiplies the lists directly below it (`edges`, `nodes`, or itself when it is a list) by the value of
that argument, taken from the document, the variables, the schema's default, or `Limits.page_default`. Other lists count
`Limits.unsized_list` rows. **Introspection** is measured apart, with the sizes of the schema at hand, against a
multiple of what the standard introspection query costs.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLCompositeType,
    GraphQLField,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    OperationType,
    SelectionNode,
    SelectionSetNode,
    ValueNode,
    VariableNode,
    get_introspection_query,
    get_named_type,
    is_composite_type,
    is_list_type,
    is_non_null_type,
    parse,
)

from .introspection import introspection_rows
from .limits import SATURATED, LimitExceeded, Limits
from .tally import NOTHING, Tally

PAGE_ARGUMENTS: Final = frozenset({"first", "last", "limit"})
INTROSPECTION_ROOTS: Final = frozenset({"__schema", "__type"})


@dataclass(frozen=True, slots=True)
class Measure:
    """The outcome for one operation that passed.

    Attributes:
        cost: estimated number of field values.
        introspection_cost: the same below `__schema` and `__type`.
        reusable: whether it holds for any variables.
        visits: syntax nodes looked at, for tests of bounded work.
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
        self.introspection_rows = introspection_rows(schema)
        self.introspection_cost = limits.introspection_factor * self._standard_introspection_cost()

    def check(
        self, document: DocumentNode, operation: OperationDefinitionNode, variables: Mapping[str, Any]
    ) -> Measure:
        """Measure `operation`; the other operations of the document are held to the same structural limits.

        Args:
            document: the parsed document.
            operation: the operation of `document` that is to run.
            variables: raw variable values, not yet coerced.

        Raises:
            LimitExceeded: the first limit that was passed.
        """
        walk = Walk(self, document, operation, variables)
        chosen = NOTHING
        for definition in document.definitions:
            if isinstance(definition, OperationDefinitionNode):
                tally = walk.operation(definition)
                self._check_structure(definition, tally)
                if definition is operation:
                    chosen = tally
            elif isinstance(definition, FragmentDefinitionNode):
                self._check_fragment(definition, walk.fragment(definition.name.value, 1))
        cost = min(chosen.cost + self.limits.unsized_list * chosen.row_cost, SATURATED)
        self._check("cost", self.limits.cost, cost, "The estimated cost of this operation is too high", operation)
        return Measure(cost, chosen.introspection_cost, not walk.used_variables, walk.visits)

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
        return Walk(self, document, operation, {}).operation(operation).introspection_cost


class Walk:
    """One pass over one document. Recursion is bounded by `Limits.nesting` and checked on the way down."""

    def __init__(
        self, guard: Guard, document: DocumentNode, operation: OperationDefinitionNode, variables: Mapping[str, Any]
    ) -> None:
        self.visits = 0
        self.used_variables = False
        self._guard = guard
        self._limits = guard.limits
        self._schema = guard.schema
        self._fragments = {
            node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)
        }
        self._variables = variables
        self._variable_defaults: dict[str, ValueNode | None] = {
            node.variable.name.value: node.default_value for node in operation.variable_definitions or ()
        }
        self._tallies: dict[str, Tally] = {}
        self._open: set[str] = set()

    def operation(self, node: OperationDefinitionNode) -> Tally:
        """The tally of an operation."""
        return self._selection_set(node.selection_set, self._schema.get_root_type(node.operation), 1)

    def fragment(self, name: str, level: int) -> Tally:
        """The tally of a fragment, computed once; unknown ones and cycles count nothing (validation refuses them)."""
        known = self._tallies.get(name)
        if known is not None:
            self._check_level(level + known.levels)
            return known
        node = self._fragments.get(name)
        if node is None or name in self._open:
            return NOTHING
        self._open.add(name)
        condition = self._schema.get_type(node.type_condition.name.value)
        tally = self._selection_set(node.selection_set, condition if is_composite_type(condition) else None, level)
        self._open.discard(name)
        self._tallies[name] = tally
        return tally

    def _selection_set(self, node: SelectionSetNode, parent: GraphQLCompositeType | None, level: int) -> Tally:
        self._check_level(level)
        self._check_repeats(node)
        total = NOTHING
        for selection in node.selections:
            self.visits += 1
            total = total.beside(self._selection(selection, parent, level))
        return total.one_level_up()

    def _selection(self, node: SelectionNode, parent: GraphQLCompositeType | None, level: int) -> Tally:
        if isinstance(node, FieldNode):
            return self._field(node, parent, level)
        if isinstance(node, FragmentSpreadNode):
            return self.fragment(node.name.value, level + 1)
        assert isinstance(node, InlineFragmentNode)
        condition = parent
        if node.type_condition:
            named = self._schema.get_type(node.type_condition.name.value)
            condition = named if is_composite_type(named) else None
        return self._selection_set(node.selection_set, condition, level + 1)

    def _field(self, node: FieldNode, parent: GraphQLCompositeType | None, level: int) -> Tally:
        name = node.name.value
        definition = self._schema.get_field(parent, name) if parent else None
        below = NOTHING
        if node.selection_set:
            named = get_named_type(definition.type) if definition else None
            below = self._selection_set(node.selection_set, named if is_composite_type(named) else None, level + 1)
        alias = 1 if node.alias else 0
        if name in INTROSPECTION_ROOTS:
            return Tally(
                fields=below.fields + 1,
                width=1,
                aliases=below.aliases + alias,
                depth=1,
                levels=below.levels,
                introspection_depth=below.depth + 1,
                introspection_cost=below.cost + 1,
            )
        cost, row_cost = self._cost(node, parent, definition, below)
        return Tally(
            fields=min(below.fields + 1, SATURATED),
            width=1,
            aliases=min(below.aliases + alias, SATURATED),
            depth=below.depth + 1,
            levels=below.levels,
            cost=min(cost, SATURATED),
            row_cost=min(row_cost, SATURATED),
            introspection_depth=below.introspection_depth,
            introspection_cost=below.introspection_cost,
        )

    def _cost(
        self, node: FieldNode, parent: GraphQLCompositeType | None, definition: GraphQLField | None, below: Tally
    ) -> tuple[int, int]:
        """Cost of a field, and what it adds per row of the page it stands in."""
        if definition is None or not node.selection_set:
            return 1, 0
        unsized = self._limits.unsized_list
        if parent is not None and parent.name.startswith("__"):
            return 1 + self._guard.introspection_rows.get(node.name.value, 1) * below.cost, 0
        page = self._page_size(node, definition)
        result = definition.type
        if is_list_type(result.of_type if is_non_null_type(result) else result):
            row = below.cost + unsized * below.row_cost
            return (1, row) if page is None else (1 + page * row, 0)
        if page is None:
            return 1 + below.cost, below.row_cost
        return 1 + below.cost + page * below.row_cost, 0

    def _page_size(self, node: FieldNode, definition: GraphQLField) -> int | None:
        names = PAGE_ARGUMENTS & definition.args.keys()
        if not names:
            return None
        given: list[int] = []
        for argument in node.arguments or ():
            self.visits += 1
            name = argument.name.value
            if name in names:
                size = self._integer(argument.value)
                if size is not None:
                    given.append(self._capped(name, size))
        if given:
            return max(given)
        defaults = [
            self._capped(name, size) for name in names if (size := _schema_default(definition, name)) is not None
        ]
        return max(defaults) if defaults else self._limits.page_default

    def _capped(self, argument: str, size: int) -> int:
        return max(0, min(size, self._limits.limit_cap if argument == "limit" else self._limits.page_cap))

    def _integer(self, node: ValueNode | None) -> int | None:
        """Value of a size argument; None when absent, null or no integer, which validation and coercion judge."""
        if isinstance(node, VariableNode):
            self.used_variables = True
            name = node.name.value
            if name not in self._variables:
                default = self._variable_defaults.get(name)
                return None if isinstance(default, VariableNode) else self._integer(default)
            value = self._variables[name]
            return value if isinstance(value, int) and not isinstance(value, bool) else None
        if isinstance(node, IntValueNode):
            # Longer literals are no 32-bit integers; converting 64 kB of digits would be slow.
            return int(node.value) if len(node.value) <= 10 else SATURATED
        return None

    def _check_repeats(self, node: SelectionSetNode) -> None:
        maximum = self._limits.repeats
        if len(node.selections) <= maximum:
            return
        names = Counter((one.alias or one.name).value for one in node.selections if isinstance(one, FieldNode))
        for name, count in names.most_common(1):
            if count > maximum:
                raise LimitExceeded(
                    "repeats", maximum, count, f"The field '{name[:100]}' is repeated too often", [node]
                )

    def _check_level(self, level: int) -> None:
        if level > self._limits.nesting:
            what = "The selections of this document are nested too deeply"
            raise LimitExceeded("nesting", self._limits.nesting, level, what)


def _schema_default(definition: GraphQLField, argument: str) -> int | None:
    default = definition.args[argument].default_value
    return default if isinstance(default, int) and not isinstance(default, bool) else None
