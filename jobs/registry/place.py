"""Where a function of the user's stands, for messages."""

import inspect
from collections.abc import Callable
from typing import Any


def place_of(function: Callable[..., Any]) -> str:
    """``module.function (file:line)``."""
    inner: Any = getattr(function, "__func__", getattr(function, "func", function))
    code = getattr(inner, "__code__", None)
    place = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else _of_class(inner)
    name = getattr(inner, "__qualname__", None)
    return f"{function!r:.60}" if name is None else f"{getattr(inner, '__module__', '?')}.{name}{place}"


def _of_class(given: object) -> str:
    """Where a class is written, as far as its source is there."""
    if not inspect.isclass(given):
        return ""
    try:
        return f" ({inspect.getsourcefile(given)}:{inspect.getsourcelines(given)[1]})"
    except (OSError, TypeError):
        return ""
