"""Documents that are refused with any variables: the next one that is the same gets the same errors at no cost."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from graphql import GraphQLError

DOCUMENTS: Final = 500
"""So many are remembered."""
CHARACTERS: Final = 1_000_000
"""So many characters they have together, messages included."""


class Refusals:
    """The errors of the documents refused last."""

    def __init__(self) -> None:
        """Start with none."""
        self._known: OrderedDict[str, tuple[list[GraphQLError], int]] = OrderedDict()
        self._characters = 0

    def __contains__(self, text: str) -> bool:
        """Return whether a document is known to be refused."""
        return text in self._known

    def find(self, text: str) -> list[GraphQLError]:
        """Return the reasons for which a document is refused; empty if they are not known."""
        known = self._known.get(text)
        if known is None:
            return []
        self._known.move_to_end(text)
        return known[0]

    def remember(self, text: str, errors: Sequence[GraphQLError]) -> None:
        """Note why a document is refused, without its syntax tree."""
        if text in self._known:
            return
        kept = [_bare(error) for error in errors]
        characters = len(text) + sum(len(error.message) for error in kept)
        self._known[text] = (kept, characters)
        self._characters += characters
        while len(self._known) > DOCUMENTS or (self._characters > CHARACTERS and len(self._known) > 1):
            _, (_, forgotten) = self._known.popitem(last=False)
            self._characters -= forgotten


def _bare(error: GraphQLError) -> GraphQLError:
    bare = GraphQLError(error.message, extensions=error.extensions)
    bare.locations = error.locations
    return bare
