"""Where a function of the user's stands, for messages."""

from collections.abc import Callable
from typing import Any


def place_of(function: Callable[..., Any]) -> str:
    """``module.function (file:line)``."""
    code = getattr(function, "__code__", None)
    place = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', repr(function))}{place}"
