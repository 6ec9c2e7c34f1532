"""How much the answer of a field can amount to: declared where the field is, read by the limit guard."""

from dataclasses import dataclass
from typing import Final

from graphql import GraphQLField, GraphQLInputField

from .definitions import field_behind

KEY: Final = "size"
"""Under this key of Strawberry's ``metadata`` a field or an input field has its size."""


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a list, of the lists directly below a field, or of the work that a field makes.

    Attributes:
        arguments: Which arguments say how many rows there are; the largest that is given counts. ``input.runs`` stands
            for the number of elements of the list ``runs`` in the argument ``input``.
        default: Rows if none is given and the schema has no default.
        most: Rows at most, no matter what is asked for; of an input list: the most elements it may have.
        each: Values that a row costs on top of those selected of it: it is computed, say.
        own: Values that the field costs on top of those selected of it: it needs a statement that reads much, say.
    """

    arguments: tuple[str, ...] = ()
    default: int = 0
    most: int = 0
    each: int = 0
    own: int = 0

    @property
    def has_rows(self) -> bool:
        """Whether it says how many rows there are."""
        return self.most > 0


PAGE: Final = Size(("first", "last"), default=50, most=200)
"""A page of a connection."""

FEW: Final = Size(default=5, most=5)
"""A list that seldom has a row at all: the errors of a payload."""

SHOWN: Final = Size(default=200, most=200)
"""What a mutation of many shows of them."""


def size_of(field: GraphQLField | GraphQLInputField) -> Size | None:
    """The declared size of a field."""
    definition = field_behind(field.extensions)
    found = None if definition is None else definition.metadata.get(KEY)
    return found if isinstance(found, Size) else None
