"""Operations and subscriptions from documents that the caller wrote."""

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from .operation import Operation
from .shapes import read, written
from .subscription import Subscription

T = TypeVar("T")


def custom(
    document: str, variables: Mapping[str, object] | None, operation_name: str | None, result: type[T]
) -> Operation[T]:
    """An operation whose whole ``data`` is read as ``result``."""
    return Operation(
        document=document,
        variables=written(variables or {}),
        name=operation_name,
        read=lambda data: read(result, data, "data"),
    )


def custom_subscription(
    document: str,
    variables: Mapping[str, object] | None,
    operation_name: str | None,
    resume: tuple[str, str] | None,
) -> Subscription[dict[str, Any]]:
    """A subscription that yields ``data``; see ``Client.subscribe``."""
    operation = custom(document, variables, operation_name, dict[str, Any])
    if resume is None:
        return Subscription(operation=operation)
    variable, path = resume
    return Subscription(operation=operation, resume_variable=variable, place_of=lambda data: _at(data, path))


def _at(data: object, path: str) -> object:
    """The value at a dotted path; None where there is none."""
    for name in path.split("."):
        data = cast("Mapping[str, object]", data).get(name) if isinstance(data, Mapping) else None
    return data
