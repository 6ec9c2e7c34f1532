"""A handler's parameters as a model of its arguments."""

import inspect
import typing
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from ..base.context import JobContext
from .definition import RENAMED, Handler
from .hooks import GIVEN

NO_ARGUMENTS: Final = create_model("no_args", __config__=ConfigDict(extra="forbid", strict=False))
"""The model of every job without arguments: to make one of its own takes 4 ms, also in each new child process."""


def hints_of(handler: Handler) -> Mapping[str, Any]:
    """The annotations of a handler.

    Raises:
        ValueError: one of them names nothing.
    """
    try:
        return typing.get_type_hints(handler, include_extras=True)
    except (NameError, TypeError) as error:
        raise ValueError(f"an annotation cannot be read: {error}") from error


def arguments_of(
    name: str, handler: Handler, hints: Mapping[str, Any], resources: Collection[Any]
) -> tuple[type[BaseModel], str | None, dict[str, Any]]:
    """A model of the handler's parameters, the one that gets the context, and those that get resources.

    Raises:
        ValueError: a parameter that nobody could give an argument for.
    """
    fields: dict[str, Any] = {}
    context_parameter: str | None = None
    given: dict[str, Any] = {}
    for parameter in inspect.signature(handler).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ValueError(f"parameter '{parameter.name}' must be an ordinary named one, got {parameter}")
        annotation = hints.get(parameter.name, Any)
        if _is_context(annotation):
            context_parameter = parameter.name
            continue
        if parameter.default is GIVEN or any(annotation == one for one in resources):
            given[parameter.name] = annotation
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        if parameter.name.startswith(("_", "model_", RENAMED)) or hasattr(BaseModel, parameter.name):
            # A model has a use of its own for such a name; to the outside it stays the parameter's.
            annotation = Annotated[annotation, Field(alias=parameter.name)]
            fields[f"{RENAMED}{len(fields)}"] = (annotation, default)
        else:
            fields[parameter.name] = (annotation, default)
    if not fields:
        return NO_ARGUMENTS, context_parameter, given
    try:
        model = create_model(f"{name}_args", __config__=ConfigDict(extra="forbid", strict=False), **fields)
        model.model_json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError, NameError) as error:
        hint = "what a node gives (a @resource) has the default GIVEN, or is declared before the job"
        raise ValueError(f"its parameters cannot be described: {error}; {hint}") from error
    return model, context_parameter, given


def _is_context(annotation: object) -> bool:
    """Whether it is ``JobContext``, or that or None, as of a handler that can also be called without one."""
    alternatives = set(typing.get_args(annotation)) - {type(None)}
    return annotation is JobContext or alternatives == {JobContext}
