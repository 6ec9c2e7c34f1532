"""Check the functions of jobs, hooks and resources."""

import inspect
from collections.abc import Callable
from typing import Any


def place_of(function: Callable[..., Any]) -> str:
    """Return ``module.function (file:line)``."""
    inner: Any = getattr(function, "__func__", getattr(function, "func", function))
    code = getattr(inner, "__code__", None)
    place = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else _of_class(inner)
    name = getattr(inner, "__qualname__", None)
    return f"{function!r:.60}" if name is None else f"{getattr(inner, '__module__', '?')}.{name}{place}"


def _of_class(given: object) -> str:
    """Return where a class is written, as far as its source is there."""
    if not inspect.isclass(given):
        return ""
    try:
        return f" ({inspect.getsourcefile(given)}:{inspect.getsourcelines(given)[1]})"
    except (OSError, TypeError):
        return ""


def check_job_function(handler: object) -> None:
    """Check that a node can call a function with arguments alone, and that its result is there when it returns.

    Raises:
        ValueError: it is no such function.
    """
    if isinstance(handler, classmethod | staticmethod):
        raise ValueError("@job must be on a function, got a method; put it on a function of the module")  # noqa: TRY004 - one fault among others
    if inspect.isclass(handler):
        raise ValueError(
            f"@job must be on a function, got the class {handler.__name__}; write a function that makes one and uses it"
        )
    if inspect.isgeneratorfunction(handler) or inspect.isasyncgenfunction(handler):
        kind = "an async generator" if inspect.isasyncgenfunction(handler) else "a generator"
        raise ValueError(
            f"@job must be on a function that returns, but this is {kind} function: nobody would take what it yields. "
            "Report progress by ctx.progress(…), or collect the values and return Result(value=…)"
        )
    if not inspect.isroutine(handler):
        raise ValueError(f"@job must be on a function ('def' or 'async def'), got {handler!r:.60}")
    owner = getattr(handler, "__qualname__", "").rpartition(".")[0]
    first = next(iter(_parameters(handler)), "")
    if owner and not owner.endswith("<locals>") and first in {"self", "cls"}:
        raise ValueError(
            f"@job must be on a function, but this is a method of class {owner.rpartition('.')[2]}, and nobody would "
            f"give it its '{first}'; write a function that calls it"
        )


def check_takes(function: Callable[..., Any], option: str, *given: str) -> None:
    """Check that a function can be called with so many values.

    Args:
        function: The written value.
        given: Its arguments, in words.

    Raises:
        ValueError: it takes more or fewer, or Python does not know its parameters.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:
        raise ValueError(unreadable(option, function)) from None
    try:
        signature.bind(*given)
    except TypeError as error:
        wanted = " and ".join(given) or "nothing"
        raise ValueError(f"{option}: the function is called with {wanted}, but takes {signature}: {error}") from None


def unreadable(option: str, function: object) -> str:
    """Return the fault of a built-in function that does not tell its parameters."""
    return (
        f"{option}: Python does not say which parameters {function!r:.60} has, so it cannot be checked; write a "
        "function or a lambda that calls it"
    )


def _parameters(handler: Any) -> tuple[str, ...]:  # noqa: ANN401 - anything may be written
    try:
        return tuple(inspect.signature(handler).parameters)
    except ValueError:
        return ()
