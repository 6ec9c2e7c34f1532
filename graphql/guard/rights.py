"""Find the roles that an operation needs from the document alone, so that they are known before anything runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    get_named_type,
)

from ...jobs.core.actor import Role
from ..base.errors import UserFacingError


@dataclass(frozen=True, slots=True)
class Requirement:
    """A field that an operation uses, by name, and the role it needs."""

    field: str
    role: Role


def requirements_of(
    schema: GraphQLSchema,
    rules: Mapping[tuple[str, str], Role],
    document: DocumentNode,
    operation: OperationDefinitionNode,
) -> tuple[Requirement, ...]:
    """Return what an operation of a validated document needs, each once.

    Fields behind ``@skip`` and ``@include`` count too: what a document asks for does not depend on its variables.
    """
    walk = _Walk(schema, rules, document)
    root = schema.get_root_type(operation.operation)
    if root is not None:
        walk.selections(root, operation.selection_set)
    return tuple(dict.fromkeys(walk.found))


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


class _Walk:
    """Visits every selection set once for each type, however often a fragment is used."""

    def __init__(self, schema: GraphQLSchema, rules: Mapping[tuple[str, str], Role], document: DocumentNode) -> None:
        self.found: list[Requirement] = []
        self._schema = schema
        self._rules = rules
        self._fragments = {
            node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)
        }
        self._seen: set[tuple[str, str]] = set()

    def selections(self, parent: GraphQLObjectType, selection_set: SelectionSetNode) -> None:
        """Visit what is selected of a type."""
        waiting = [(parent, selection_set)]
        while waiting:
            kind, selected = waiting.pop()
            for field in self._fields(kind, selected):
                name = field.name.value
                rule = self._rules.get((kind.name, name))
                if rule is not None:
                    self.found.append(Requirement(name, rule))
                definition: Any = kind.fields.get(name)
                below = None if definition is None else cast("object", get_named_type(definition.type))
                if field.selection_set is not None and isinstance(below, GraphQLObjectType):
                    waiting.append((below, field.selection_set))

    def _fields(self, kind: GraphQLObjectType, selected: SelectionSetNode) -> Iterator[FieldNode]:
        nodes: list[SelectionNode] = list(selected.selections)
        while nodes:
            node = nodes.pop()
            if isinstance(node, FieldNode):
                yield node
                continue
            if isinstance(node, FragmentSpreadNode):
                key = (kind.name, node.name.value)
                fragment = self._fragments.get(node.name.value)
                if key in self._seen or fragment is None:
                    continue
                self._seen.add(key)
                nodes.extend(fragment.selection_set.selections)
            elif isinstance(node, InlineFragmentNode):
                nodes.extend(node.selection_set.selections)
