"""What a selection set amounts to: the figures that the limit guard adds up."""

from dataclasses import dataclass, replace
from typing import Final

from .limits import SATURATED


@dataclass(frozen=True, slots=True)
class Tally:
    """What a selection set amounts to, its fragments written out.

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
        """Both selections in one selection set."""
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
        """The same, seen from the selection set around it."""
        return replace(self, levels=self.levels + 1)


NOTHING: Final = Tally()
"""The tally of an empty selection."""
