"""How much work it is to check that fields of one response name can be merged.

The validation rule compares every pair of fields that end up at the same place of the answer: a few kilobytes of
repeated fields are a million pairs. They are counted here, in time linear to the fields written out, before the rule
runs.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
)

from .limits import LimitExceeded, Limits

STEPS_PER_FIELD: Final = 8
"""Selections looked at, in all operations of a document together, for each field that one operation may have."""


def check_merging(document: DocumentNode, limits: Limits) -> "Merging":
    """Count the pairs of all operations, and of the fragments that none of them reaches.

    Args:
        document: a document without cycles of fragments.
        limits: `field_pairs`, and `fields` for the work this itself may take.

    Raises:
        LimitExceeded: too many pairs, or too many selections altogether.
    """
    fragments = {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}
    merging = Merging(fragments, limits)
    for node in document.definitions:
        if isinstance(node, OperationDefinitionNode):
            merging.add(node.selection_set)
    for name, fragment in fragments.items():
        if name not in merging.reached:
            merging.add(fragment.selection_set)
    return merging


class Merging:
    """Counts the pairs of one document; fragments must have no cycles.

    Attributes:
        pairs: pairs of fields that have to be compared so far.
        steps: selections looked at so far.
        reached: names of the fragments that have been written out.
    """

    def __init__(self, fragments: Mapping[str, FragmentDefinitionNode], limits: Limits) -> None:
        self.pairs = 0
        self.steps = 0
        self.reached: set[str] = set()
        self._fragments = fragments
        self._limits = limits

    def add(self, root: SelectionSetNode) -> None:
        """Count the pairs of an operation or of a fragment.

        Raises:
            LimitExceeded: too many pairs, or too many selections altogether.
        """
        groups = [[root]]
        while groups:
            for fields in self._by_name(groups.pop()).values():
                self.pairs += len(fields) * (len(fields) - 1) // 2
                below = [field.selection_set for field in fields if field.selection_set]
                if below:
                    groups.append(below)
            maximum = self._limits.field_pairs
            if self.pairs > maximum:
                what = "Fields of the same name are repeated too often at one place, counted in pairs to be compared"
                raise LimitExceeded("field_pairs", maximum, self.pairs, what)

    def _by_name(self, group: list[SelectionSetNode]) -> Mapping[str, list[FieldNode]]:
        """The fields of selection sets that are merged, fragments written out once, by response name."""
        fields: defaultdict[str, list[FieldNode]] = defaultdict(list)
        seen: set[str] = set()
        pending = list(group)
        while pending:
            for selection in pending.pop().selections:
                self._step()
                if isinstance(selection, FieldNode):
                    fields[(selection.alias or selection.name).value].append(selection)
                elif isinstance(selection, InlineFragmentNode):
                    pending.append(selection.selection_set)
                elif isinstance(selection, FragmentSpreadNode) and selection.name.value not in seen:
                    seen.add(selection.name.value)
                    self.reached.add(selection.name.value)
                    fragment = self._fragments.get(selection.name.value)
                    if fragment is not None:
                        pending.append(fragment.selection_set)
        return fields

    def _step(self) -> None:
        self.steps += 1
        maximum = STEPS_PER_FIELD * self._limits.fields
        if self.steps > maximum:
            raise LimitExceeded(
                "fields", maximum, self.steps, "The operations of this document have too many selections"
            )
