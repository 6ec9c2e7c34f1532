"""A handler's parameters as a model of its arguments."""

import inspect
import typing
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Hashable, Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, PydanticUndefined, SchemaError

from ..base.context import JobContext
from ..core.base.unwritable import unstorable, unwritable
from .definition import RENAMED, Handler
from .hooks import GIVEN, name_of

# A number that JSON does not have stays what it is, to be refused by name, and becomes no null.
_CONFIG: Final = ConfigDict(extra="forbid", strict=False, ser_json_inf_nan="constants")
_CONTEXT: Final = "ctx"
"""The usual name of the parameter that gets the context; without its annotation it would be an argument."""
_NO_VALUES: Final = frozenset({type, Callable, Generator, AsyncGenerator})
"""Types of which JSON has no values, with any parameters."""
_NO_SCHEMA: Final = (
    *(PydanticSchemaGenerationError, PydanticUserError, SchemaError, NameError),
    *(PydanticSerializationError, UnicodeDecodeError),
)
"""Raised for an annotation without a JSON Schema; the last two for values of an enum that are not JSON."""
_NOT_JSON: Final = frozenset({None, "schema-for-unknown-type", "invalid-for-json-schema"})
"""Codes of pydantic's errors that say no more than that."""

NO_ARGUMENTS: Final = create_model("no_args", __config__=ConfigDict(extra="forbid", strict=False))
"""The model of every job without arguments: to make one of its own takes 4 ms, also in each new child process."""


def hints_of(handler: Handler) -> Mapping[str, Any]:
    """Return the annotations of a handler.

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
    """Return a model of the handler's parameters, the one that gets the context, and those that get resources.

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
        if parameter.name == _CONTEXT and parameter.annotation is parameter.empty:
            raise ValueError(f"parameter '{_CONTEXT}': has no annotation; write {_CONTEXT}: JobContext")
        _check_values(parameter.name, annotation)
        default = ... if parameter.default is parameter.empty else parameter.default
        if any(getattr(one, "default_factory", None) for one in (default, *getattr(annotation, "__metadata__", ()))):
            # A factory is first called when a run needs its value, which is judged then.
            annotation = Annotated[annotation, Field(validate_default=True)]
        if parameter.name.startswith(("_", "model_", RENAMED)) or hasattr(BaseModel, parameter.name):
            # A model has a use of its own for such a name; to the outside it stays the parameter's.
            annotation = Annotated[annotation, Field(alias=parameter.name)]
            fields[f"{RENAMED}{len(fields)}"] = (annotation, default)
        else:
            fields[parameter.name] = (annotation, default)
    if not fields:
        return NO_ARGUMENTS, context_parameter, given
    return _model(name, fields), context_parameter, given


def _model(name: str, fields: Mapping[str, Any]) -> type[BaseModel]:
    try:
        model: type[BaseModel] = create_model(f"{name}_args", __config__=_CONFIG, **fields)
        schema = model.model_json_schema(schema_generator=_Schema)
    except (*_NO_SCHEMA, _UnwritableDefaultError) as error:
        if len(fields) > 1:
            # One of them by itself says whose fault it is.
            for field, definition in fields.items():
                _model(name, {field: definition})
        parameter, annotation = _as_written(*next(iter(fields.items())))
        if isinstance(error, _UnwritableDefaultError):
            raise ValueError(f"parameter '{parameter}': {error}") from error  # noqa: TRY004 - one fault among others
        if isinstance(error, SchemaError):
            reason = " ".join(str(error).rpartition("SchemaError: ")[2].split())
            raise ValueError(f"parameter '{parameter}': its annotation cannot be used: {reason}") from error  # noqa: TRY004
        if isinstance(error, PydanticUserError) and error.code not in _NOT_JSON:
            # Such as a typing.TypedDict before Python 3.12.
            reason = " ".join(error.message.split())
            raise ValueError(f"parameter '{parameter}': its annotation cannot be used: {reason}") from error
        raise ValueError(not_json(parameter, annotation)) from error
    _check_schema(schema)
    for field, one in model.model_fields.items():
        _check_default(model, field, one.alias or field, one.get_default())
    return model


class _Schema(GenerateJsonSchema):
    """Refuses a default that is no JSON; pydantic would warn and leave it out."""

    def encode_default(self, dft: Any) -> Any:  # noqa: ANN401 - any default
        try:
            return super().encode_default(dft)
        except PydanticSerializationError as error:
            raise _UnwritableDefaultError(
                f"its default {dft!r:.60} cannot be written as JSON; give a plain value, such as None"
            ) from error


class _UnwritableDefaultError(Exception):
    """A parameter's default, or one of a model that a parameter has, is no JSON."""


def _check_schema(schema: Mapping[str, Any]) -> None:
    """Check that a JSON Schema can be published: all of it is JSON that every database stores."""
    found = unwritable(schema) or unstorable(schema)
    if found is None:
        return
    match found.place:
        case ("properties", parameter, *rest):
            place = f"parameter '{parameter}': its {'.'.join(rest) or 'schema'}"
        case ("$defs", model, *rest):
            place = f"{model}, of which a parameter is made: its {'.'.join(rest) or 'schema'}"
        case rest:
            place = f"the schema of the parameters: {'.'.join(rest)}"
    raise ValueError(f"{place[:200]} {found.why}; nodes publish it as JSON")


def _check_default(model: type[BaseModel], field: str, parameter: str, default: object) -> None:
    """Check that a parameter's default would be accepted as its argument."""
    if default is PydanticUndefined:
        return
    try:
        model.__pydantic_validator__.validate_assignment(model.model_construct(), field, default)
    except ValidationError as error:
        why = error.errors(include_url=False)[0]["msg"]
        hint = "; annotate it as '… | None'" if default is None else ""
        raise ValueError(f"parameter '{parameter}': its default {default!r:.60} does not fit: {why}{hint}") from error
    except (Exception, SystemExit) as error:
        # A validator of the annotation, which has to raise ValueError or AssertionError.
        raised = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise ValueError(f"parameter '{parameter}': its default {default!r:.60} does not fit: {raised}") from error


def _as_written(field: str, definition: tuple[Any, Any]) -> tuple[str, Any]:
    """Return a parameter and its annotation as they were written."""
    annotation = definition[0]
    if field.startswith(RENAMED):
        return annotation.__metadata__[0].alias, typing.get_args(annotation)[0]
    return field, annotation


def not_json(parameter: str, annotation: object) -> str:
    """Return why a parameter cannot be an argument."""
    kind = name_of(annotation)
    return (
        f"parameter '{parameter}': {kind} cannot be written as JSON, so no run can have it as an argument. If the node "
        "gives it, declare a @resource that yields it before this job, or give the parameter the default GIVEN; else "
        "take plain values, such as an id or a path"
    )


def _check_values(parameter: str, annotation: object) -> None:
    """Check that pydantic has a schema and JSON has values for an annotation."""
    parts = [annotation, *typing.get_args(annotation)]
    if any((typing.get_origin(one) or one) in _NO_VALUES for one in parts if isinstance(one, Hashable)):
        raise ValueError(not_json(parameter, annotation))


def _is_context(annotation: object) -> bool:
    """Return whether it is ``JobContext``, or that or None, as of a handler that can also be called without one."""
    alternatives = [one for one in typing.get_args(annotation) if one is not type(None)]
    return annotation is JobContext or alternatives == [JobContext]
