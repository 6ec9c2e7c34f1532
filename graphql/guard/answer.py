"""Count the size of an answer while it is made, so that one that is too large is not made to its end."""

from types import NoneType
from typing import Any, Final, cast

_NUMBER = 8
"""Bytes that a value counts that is neither text nor a container; few JSON numbers are longer."""
_SHORT: Final = frozenset({int, float, bool, NoneType})
_PLAIN: Final = _SHORT | {str}


class AnswerSize:
    """The size of one answer so far, in characters of its texts and a little for each other value."""

    def __init__(self, most: int) -> None:
        self._left = most
        self.exceeded = False

    def add(self, value: Any) -> bool:  # noqa: ANN401 - any JSON value
        """Count a value; whether it still fits."""
        if isinstance(value, str):
            self._left -= len(value)
        elif isinstance(value, dict | list):
            self._add_nested(cast("dict[str, object] | list[object]", value))
        else:
            self._left -= _NUMBER
        if self._left < 0:
            self.exceeded = True
        return not self.exceeded

    def _add_nested(self, value: object) -> None:
        pending = [value]
        while pending and self._left >= 0:
            one = pending.pop()
            if isinstance(one, dict):
                found = cast("dict[str, object]", one)
                self._left -= sum(map(len, found))
                pending += found.values()
            elif isinstance(one, list):
                self._add_list(cast("list[object]", one), pending)
            else:
                self._left -= len(one) if isinstance(one, str) else _NUMBER

    def _add_list(self, values: list[object], pending: list[object]) -> None:
        """Columns of thousands of texts or numbers are counted at once."""
        kinds = set(map(type, values))
        if kinds == {str}:
            self._left -= len("".join(cast("list[str]", values)))
        elif kinds <= _SHORT:
            self._left -= _NUMBER * len(values)
        elif kinds <= _PLAIN:
            self._left -= sum(len(one) if isinstance(one, str) else _NUMBER for one in values)
        else:
            pending += values
