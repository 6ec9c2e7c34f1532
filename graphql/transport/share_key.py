"""Which subscribers may share an execution: documents, variables and rights are equal but for the cursor."""

import json
import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from graphql import (
    ArgumentNode,
    FieldNode,
    NonNullTypeNode,
    NullValueNode,
    OperationDefinitionNode,
    StringValueNode,
    ValueNode,
    VariableNode,
)

from ..guard.document import Prepared


@dataclass(frozen=True, slots=True)
class SharedField:
    """How one field of the subscription type is shared.

    Attributes:
        resume_argument: The argument that takes a cursor to go on from; None = the field cannot resume. An answer's
            cursor (see ``event_id``) must be one that this argument takes.
        private_arguments: Arguments that make a subscription one's own when they are neither null nor false, such as
            one that asks for a snapshot first.
        catch_up: Makes of a context the one under which the field begins with what makes good what was missed, for
            a subscriber that fell behind and cannot resume; None = such a subscriber is refused (``SLOW_READER``).
    """

    resume_argument: str | None = None
    private_arguments: frozenset[str] = frozenset()
    catch_up: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class SharePolicy:
    """What is shared, and between whom.

    Attributes:
        fields: By name, the fields of the subscription type that may be shared. Each must yield the same events to all
            with equal arguments and rights, whenever they came.
        rights: From the context, all that decides what its owner gets to see.
    """

    fields: Mapping[str, SharedField]
    rights: Callable[[Any], Hashable]


@dataclass(frozen=True, slots=True)
class SharePlan:
    """How one subscription is shared.

    Attributes:
        key: Equal for all that share an execution.
        prepared: The operation as asked for.
        resume_variable: The variable that holds the cursor; None when the subscription cannot resume.
        after: The cursor asked for.
        catch_up: See ``SharedField``.
    """

    key: Hashable
    prepared: Prepared
    resume_variable: str | None = None
    after: str | None = None
    catch_up: Callable[[Any], Any] | None = None

    def after_cursor(self, cursor: str | None) -> Prepared:
        """The operation from another place on; None = from now on."""
        if self.resume_variable is None:
            return self.prepared
        return replace(self.prepared, variables={**self.prepared.variables, self.resume_variable: cursor})


def plan_of(policy: SharePolicy, prepared: Prepared, context: Any) -> SharePlan | None:  # noqa: ANN401
    """How a subscription may be shared; None = not at all."""
    root = _only_field(prepared.operation)
    shared = policy.fields.get(root.name.value) if root else None
    if root is None or shared is None:
        return None
    arguments = {argument.name.value: argument for argument in root.arguments or ()}
    if any(_is_set(arguments.get(name), prepared) for name in shared.private_arguments):
        return None
    resume = arguments.get(shared.resume_argument) if shared.resume_argument else None
    variable = resume.value.name.value if resume and isinstance(resume.value, VariableNode) else None
    if variable is None:
        # A cursor in the text cannot be moved on, and null asks for events from now on, as no argument does.
        if _is_set(resume, prepared):
            return None
        return SharePlan(_key(policy, prepared, context, None), prepared, catch_up=shared.catch_up)
    after = _value_of(prepared, variable)
    if not _is_movable(prepared, variable) or not (after is None or isinstance(after, str)):
        return None
    return SharePlan(_key(policy, prepared, context, variable), prepared, variable, after, shared.catch_up)


def _only_field(operation: OperationDefinitionNode) -> FieldNode | None:
    selections = operation.selection_set.selections
    only = selections[0] if len(selections) == 1 else None
    return only if isinstance(only, FieldNode) else None


def _is_set(argument: ArgumentNode | None, prepared: Prepared) -> bool:
    if argument is None:
        return False
    if isinstance(argument.value, VariableNode):
        return _value_of(prepared, argument.value.name.value) not in (None, False)
    return not isinstance(argument.value, NullValueNode) and getattr(argument.value, "value", True) is not False


def _value_of(prepared: Prepared, variable: str) -> object:
    if variable in prepared.variables:
        return prepared.variables[variable]
    for definition in prepared.operation.variable_definitions or ():
        if definition.variable.name.value == variable and definition.default_value is not None:
            return _literal(definition.default_value)
    return None


def _literal(node: ValueNode) -> object:
    """A default as far as it matters here: null, a string, or anything else, which is never shared."""
    if isinstance(node, NullValueNode):
        return None
    return node.value if isinstance(node, StringValueNode) else node


def _is_movable(prepared: Prepared, variable: str) -> bool:
    """Whether the variable may be null and stands in one place only, so that another value changes nothing else."""
    for definition in prepared.operation.variable_definitions or ():
        if definition.variable.name.value == variable and isinstance(definition.type, NonNullTypeNode):
            return False
    return len(re.findall(rf"\$\s*{variable}\b", prepared.document.text)) == 2


def _key(policy: SharePolicy, prepared: Prepared, context: Any, variable: str | None) -> Hashable:  # noqa: ANN401
    variables = {name: value for name, value in prepared.variables.items() if name != variable}
    written = json.dumps(variables, sort_keys=True)
    return (prepared.document.text, prepared.operation_name, written, policy.rights(context))
