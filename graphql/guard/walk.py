"""The pass of the limit guard over one document, see ``cost``."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast

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
    ListValueNode,
    ObjectValueNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    ValueNode,
    VariableNode,
    get_named_type,
    is_composite_type,
)

from ..base.fields import Size, size_of
from .limits import SATURATED, LimitExceeded, Limits


@dataclass(frozen=True, slots=True)
class Tally:
    """Add up a selection set, its fragments written out.

    Attributes:
        fields: Number of fields, introspection included.
        width: Number of fields at its own level.
        aliases: Number of aliased fields.
        depth: Nesting of fields.
        levels: Nesting of selection sets of any kind, inline fragments and spreads included.
        cost: Values that do not depend on the size of an enclosing page.
        row_cost: Values per row of the enclosing page.
        introspection_depth: Nesting of fields below ``__schema`` or ``__type``.
        introspection_cost: Values below ``__schema`` or ``__type``.
    """

    fields: int = 0
    width: int = 0
    aliases: int = 0
    depth: int = 0
    levels: int = 0
    cost: int = 0
    row_cost: int = 0
    introspection_depth: int = 0
    introspection_cost: int = 0

    def combined_with(self, other: "Tally") -> "Tally":
        """Return both selections in one selection set."""
        return Tally(
            fields=min(self.fields + other.fields, SATURATED),
            width=min(self.width + other.width, SATURATED),
            aliases=min(self.aliases + other.aliases, SATURATED),
            depth=max(self.depth, other.depth),
            levels=max(self.levels, other.levels),
            cost=min(self.cost + other.cost, SATURATED),
            row_cost=min(self.row_cost + other.row_cost, SATURATED),
            introspection_depth=max(self.introspection_depth, other.introspection_depth),
            introspection_cost=min(self.introspection_cost + other.introspection_cost, SATURATED),
        )

    def one_level_up(self) -> "Tally":
        """Return the same, seen from the selection set around it."""
        return replace(self, levels=self.levels + 1)


NOTHING: Final = Tally()
"""The tally of an empty selection."""


INTROSPECTION_ROOTS: Final = frozenset({"__schema", "__type"})


@dataclass(frozen=True, slots=True)
class SchemaSizes:
    """Hold the facts about the schema that a pass needs.

    Attributes:
        schema: To look up types and fields.
        introspection_rows: Rows of the lists of the introspection schema, by field name.
    """

    schema: GraphQLSchema
    introspection_rows: Mapping[str, int]


class Walk:
    """One pass over one document. Recursion is bounded by ``Limits.nesting`` and checked on the way down."""

    def __init__(
        self,
        sizes: SchemaSizes,
        limits: Limits,
        document: DocumentNode,
        operation: OperationDefinitionNode,
        variables: Mapping[str, Any],
        *,
        weights: Mapping[str, int] | None = None,
        assumed: int = SATURATED,
    ) -> None:
        """Set out.

        Args:
            sizes: The schema, and how many rows its introspection lists have.
            limits: For the nesting and repetitions that end the pass, and for the rows that pages count.
            document: The document to walk.
            operation: The operation that is to run, for the defaults of its variables.
            variables: Raw variable values.
            weights: Of those variables that weigh something, see ``inputs``.
            assumed: Pages whose size the document leaves open count at most so many rows.
        """
        self.visits = 0
        self.open_pages: dict[str, None] = {}
        """The paged fields whose size the document leaves open, as ``Type.field``, innermost first."""
        self.given_pages: dict[str, int] = {}
        """The paged fields whose size the document gives, as ``Type.field``, with the largest of their sizes."""
        self._assumed = assumed
        self.used_variables = False
        self._sizes = sizes
        self._limits = limits
        self._schema = sizes.schema
        self._fragments = {
            node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)
        }
        self._variables = variables
        self._weights = weights or {}
        self._variable_defaults: dict[str, ValueNode | None] = {
            node.variable.name.value: node.default_value for node in operation.variable_definitions or ()
        }
        self._tallies: dict[str, Tally] = {}
        self._open: set[str] = set()

    def operation(self, node: OperationDefinitionNode) -> Tally:
        """Return the tally of an operation."""
        return self._selection_set(node.selection_set, self._schema.get_root_type(node.operation), 1)

    def fragment(self, name: str, level: int) -> Tally:
        """Return a fragment's tally, computed once; unknown ones and cycles count nothing (validation refuses them)."""
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
        total = NOTHING
        for selection in node.selections:
            self.visits += 1
            total = total.combined_with(self._selection(selection, parent, level))
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
            kind = _composite_type_of(definition) if definition else None
            below = self._selection_set(node.selection_set, kind, level + 1)
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
        """Return the cost of a field, and its cost per row of the page it stands in."""
        if definition is None:
            return 1, 0
        if parent is not None and parent.name.startswith("__"):
            return 1 + self._sizes.introspection_rows.get(node.name.value, 1) * below.cost, 0
        size = size_of(definition)
        own = 1 + self._weight_of_arguments(node)
        rows = None
        if size is not None:
            place = f"{parent.name}.{node.name.value}" if parent else node.name.value
            rows = self._rows(node, definition, size, place) if size.has_rows else None
            own += size.own + size.each * (rows or 0)
        return self._with_rows(own, rows, definition, node, below)

    def _with_rows(
        self, own: int, rows: int | None, definition: GraphQLField, node: FieldNode, below: Tally
    ) -> tuple[int, int]:
        if not node.selection_set:
            return own, 0
        if _is_list(definition):
            row = below.cost + self._limits.unsized_list * below.row_cost
            return (own, row) if rows is None else (own + rows * row, 0)
        if rows is None:
            return own + below.cost, below.row_cost
        return own + below.cost + rows * below.row_cost, 0

    def _weight_of_arguments(self, node: FieldNode) -> int:
        if not self._weights:
            return 0
        weight = sum(self._weight(argument.value) for argument in node.arguments or ())
        self.used_variables |= weight > 0
        return weight

    def _weight(self, node: ValueNode) -> int:
        """Return the weight of the variables in a value. Recursion is bounded by the nesting of the document."""
        if isinstance(node, VariableNode):
            return self._weights.get(node.name.value, 0)
        if isinstance(node, ListValueNode):
            return sum(self._weight(one) for one in node.values)
        if isinstance(node, ObjectValueNode):
            return sum(self._weight(field.value) for field in node.fields)
        return 0

    def _rows(self, node: FieldNode, definition: GraphQLField, size: Size, place: str) -> int:
        if not size.arguments:
            return size.default
        given = [number for path in size.arguments if (number := self._asked_for(node, path)) is not None]
        if given:
            self.given_pages[place] = max(*given, self.given_pages.get(place, 0))
            return max(0, min(max(given), size.most))
        self.open_pages[place] = None
        defaults = [number for path in size.arguments if (number := _schema_default(definition, path)) is not None]
        return min(self._assumed, max(defaults) if defaults else size.default)

    def _asked_for(self, node: FieldNode, path: str) -> int | None:
        """Return the value of a size argument, or the length of a list in an argument."""
        name, _, inner = path.partition(".")
        argument = next((one for one in node.arguments or () if one.name.value == name), None)
        if argument is None:
            return None
        self.visits += 1
        return self._length(argument.value, inner) if inner else self._integer(argument.value)

    def _length(self, node: ValueNode | None, field: str) -> int | None:
        """Return how many elements the list ``field`` of an input object has; None if that is no list."""
        if isinstance(node, VariableNode):
            self.used_variables = True
            value = self._variables.get(node.name.value)
            rows: object = cast("dict[str, object]", value).get(field) if isinstance(value, dict) else None
            return len(cast("list[object]", rows)) if isinstance(rows, list) else None
        if not isinstance(node, ObjectValueNode):
            return None
        rows_node = next((one.value for one in node.fields if one.name.value == field), None)
        if isinstance(rows_node, VariableNode):
            self.used_variables = True
            rows = self._variables.get(rows_node.name.value)
            return len(cast("list[object]", rows)) if isinstance(rows, list) else None
        return len(rows_node.values) if isinstance(rows_node, ListValueNode) else None

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

    def _check_level(self, level: int) -> None:
        if level > self._limits.nesting:
            what = "The selections of this document are nested too deeply"
            raise LimitExceeded("nesting", self._limits.nesting, level, what)


def _type_of(definition: GraphQLField) -> Any:  # noqa: ANN401 - graphql-core leaves open what a list or non-null wraps
    return definition.type  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _composite_type_of(definition: GraphQLField) -> GraphQLCompositeType | None:
    named = cast("object", get_named_type(_type_of(definition)))
    return named if is_composite_type(named) else None


def _is_list(definition: GraphQLField) -> bool:
    return str(_type_of(definition)).startswith("[")


def _schema_default(definition: GraphQLField, argument: str) -> int | None:
    known = definition.args.get(argument)
    default = None if known is None else known.default_value
    return default if isinstance(default, int) and not isinstance(default, bool) else None
