"""``@job``: named code that a node can run, with typed arguments and perhaps a declared schedule."""

import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from .context import JobContext
from .core.errors import ConfigurationError, InvalidInput
from .core.model import Isolation, JobInfo, Json, ScheduleSpec
from .core.rules import check_name
from .core.schedule import ScheduleError, Syntax, parse

Handler = Callable[..., Any]
H = TypeVar("H", bound=Handler)
# Declared schedules are only judged here; where an INTERVAL begins is decided when its task is made.
_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)

_RENAMED = "renamed__"
"""Begins the fields of the model whose parameter has a name that a model cannot have."""


@dataclass(frozen=True, slots=True)
class JobDefinition:
    """A registered job.

    Attributes:
        name: Unique in its registry.
        handler: The function.
        description: For people; the first line of the docstring unless given.
        schedule: Declared in code; None = runs only when asked to.
        isolation: Where it runs.
        args_model: The typed arguments; unknown ones are refused.
        context_parameter: Which parameter gets the ``JobContext``; None = it takes none.
        where: ``module.function`` (file:line), for messages.
    """

    name: str
    handler: Handler
    description: str
    schedule: ScheduleSpec | None
    isolation: Isolation
    args_model: type[BaseModel]
    context_parameter: str | None
    where: str

    @property
    def args_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return self.args_model.model_json_schema()

    @property
    def info(self) -> JobInfo:
        """The job as it is published to other nodes and the API."""
        declared = self.schedule.value if self.schedule else None
        return JobInfo(self.name, self.description, declared, self.isolation, self.args_schema)

    def bind(self, args: Mapping[str, Json], context: JobContext | None) -> dict[str, Any]:
        """The keyword arguments of the handler: validated, converted, and with the context injected if it takes one.

        Raises:
            InvalidInput: the arguments do not fit; they may have been stored for an older version of the job.
        """
        if not args and not self.args_model.__pydantic_fields__:
            return {} if self.context_parameter is None else {self.context_parameter: context}
        try:
            model = self.args_model.model_validate(dict(args))
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in fault["loc"])
            raise InvalidInput(
                f"argument '{place}' of job '{self.name}': {fault['msg']}", path=("args", place)
            ) from error
        fields = self.args_model.model_fields
        bound = {_parameter_of(name, field.alias): getattr(model, name) for name, field in fields.items()}
        if self.context_parameter is not None:
            bound[self.context_parameter] = context
        return bound


class Registry:
    """The jobs that a node can run, by name. Tests make their own; ``@job`` uses ``default_registry()``."""

    def __init__(self) -> None:
        self._jobs: dict[str, JobDefinition] = {}

    def add(self, definition: JobDefinition) -> None:
        """Register a job.

        Raises:
            ConfigurationError: the name is taken; names both places.
        """
        existing = self._jobs.get(definition.name)
        if existing is not None:
            raise ConfigurationError(
                f"job '{definition.name}': names must be unique, but it is defined at {existing.where} "
                f"and again at {definition.where}; rename one of them"
            )
        self._jobs[definition.name] = definition

    def get(self, name: str) -> JobDefinition | None:
        """The job of this name, or None."""
        return self._jobs.get(name)

    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        return tuple(sorted(self._jobs))

    def __iter__(self) -> Iterator[JobDefinition]:
        return iter([self._jobs[name] for name in self.names()])

    def __len__(self) -> int:
        return len(self._jobs)


_default = Registry()


def default_registry() -> Registry:
    """The registry that ``@job`` uses unless it is given another."""
    return _default


def job(
    name: str,
    *,
    schedule: str | ScheduleSpec | None = None,
    description: str | None = None,
    isolation: Isolation | str | None = None,
    registry: Registry | None = None,
) -> Callable[[H], H]:
    """Register a function as a job; the function itself stays as it is.

    Args:
        name: 1 to 200 characters, unique.
        schedule: A six-field cron string in UTC, or a ``ScheduleSpec`` of any syntax; becomes a task of the same name.
        description: For people; unless given, the first line of the docstring.
        isolation: ``"process"`` to run in a child process; unless given, ``async def`` runs on the event loop and
            ``def`` in a thread.
        registry: Where to register; the default registry unless given.

    Raises:
        ConfigurationError: a name, schedule, isolation or parameter that cannot work, naming the place.
    """
    if callable(name):  # "@job" without its parentheses would register nothing, silently
        example = f"@job({getattr(name, '__name__', 'name')!r})"
        raise ConfigurationError(
            f"job at {_where(name)}: @job must be given the job's name, e.g. {example}, got the function itself"
        )

    def register(handler: H) -> H:
        definition = define(name, handler, schedule=schedule, description=description, isolation=isolation)
        (registry if registry is not None else _default).add(definition)
        return handler

    return register


def define(
    name: str,
    handler: Handler,
    *,
    schedule: str | ScheduleSpec | None = None,
    description: str | None = None,
    isolation: Isolation | str | None = None,
) -> JobDefinition:
    """What ``job`` registers, without registering it."""
    where = _where(handler)
    try:
        check_name(name, "name")
    except InvalidInput as error:
        raise ConfigurationError(f"job '{name}' at {where}: {error.message}") from error
    model, context_parameter = _arguments(name, handler, where)
    text = description if description is not None else (inspect.getdoc(handler) or "").partition("\n")[0]
    return JobDefinition(
        name=name,
        handler=handler,
        description=text,
        schedule=_declared(name, schedule, where),
        isolation=_isolation(name, handler, isolation, where),
        args_model=model,
        context_parameter=context_parameter,
        where=where,
    )


def _where(handler: Handler) -> str:
    code = getattr(handler, "__code__", None)
    place = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
    return f"{getattr(handler, '__module__', '?')}.{getattr(handler, '__qualname__', repr(handler))}{place}"


def _declared(name: str, schedule: str | ScheduleSpec | None, where: str) -> ScheduleSpec | None:
    if schedule is None:
        return None
    spec = ScheduleSpec(Syntax.CRON, schedule) if isinstance(schedule, str) else schedule
    try:
        parse(spec.syntax, spec.value, spec.timezone, anchor=_ANY_TIME)
    except ScheduleError as error:
        raise ConfigurationError(f"job '{name}' at {where}: schedule {spec.value!r}: {error}") from error
    return spec


def _isolation(name: str, handler: Handler, wanted: Isolation | str | None, where: str) -> Isolation:
    is_async = inspect.iscoroutinefunction(handler)
    if wanted is None:
        return Isolation.ASYNC if is_async else Isolation.THREAD
    try:
        isolation = Isolation(wanted)
    except ValueError as error:
        allowed = ", ".join(f"'{one.value}'" for one in Isolation)
        raise ConfigurationError(
            f"job '{name}' at {where}: isolation must be one of {allowed}, got {wanted!r}"
        ) from error
    if isolation is Isolation.PROCESS:
        _check_importable(name, handler, where)
    elif is_async != (isolation is Isolation.ASYNC):
        kind = "an 'async def'" if is_async else "a plain 'def'"
        raise ConfigurationError(
            f"job '{name}' at {where}: isolation '{isolation.value}' does not fit {kind}; leave it out or use 'process'"
        )
    return isolation


def _check_importable(name: str, handler: Handler, where: str) -> None:
    """A child process imports the handler's module anew and looks it up by its name."""
    module, qualname = getattr(handler, "__module__", None), getattr(handler, "__qualname__", "")
    fault = None
    if module in (None, "__main__"):
        fault = "it is defined in the script that was started"
    elif "<" in qualname or not qualname:
        fault = "it is defined inside a function, or has no name"
    if fault is not None:
        raise ConfigurationError(
            f"job '{name}' at {where}: isolation 'process' needs a function that a new process can import, but "
            f"{fault}; define it at the top level of a module of its own"
        )


def _parameter_of(field: str, alias: str | None) -> str:
    """The handler's parameter behind a field of its model; an alias of the job's own is for the outside only."""
    return alias if alias is not None and field.startswith(_RENAMED) else field


def _is_context(annotation: object) -> bool:
    """Whether it is ``JobContext``, or that or None, as of a handler that can also be called without one."""
    alternatives = set(typing.get_args(annotation)) - {type(None)}
    return annotation is JobContext or alternatives == {JobContext}


def _arguments(name: str, handler: Handler, where: str) -> tuple[type[BaseModel], str | None]:
    """A model of the handler's parameters, and the one that gets the context."""
    try:
        hints = typing.get_type_hints(handler, include_extras=True)
    except (NameError, TypeError) as error:
        raise ConfigurationError(f"job '{name}' at {where}: an annotation cannot be read: {error}") from error
    fields: dict[str, Any] = {}
    context_parameter: str | None = None
    for parameter in inspect.signature(handler).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ConfigurationError(
                f"job '{name}' at {where}: parameter '{parameter.name}' must be an ordinary named one, got {parameter}"
            )
        annotation = hints.get(parameter.name, Any)
        if _is_context(annotation):
            context_parameter = parameter.name
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        if parameter.name.startswith(("_", "model_", _RENAMED)) or hasattr(BaseModel, parameter.name):
            # A model has a use of its own for such a name; to the outside it stays the parameter's.
            annotation = Annotated[annotation, Field(alias=parameter.name)]
            fields[f"{_RENAMED}{len(fields)}"] = (annotation, default)
        else:
            fields[parameter.name] = (annotation, default)
    try:
        model = create_model(f"{name}_args", __config__=ConfigDict(extra="forbid", strict=False), **fields)
        model.model_json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError, NameError) as error:
        raise ConfigurationError(f"job '{name}' at {where}: its parameters cannot be described: {error}") from error
    return model, context_parameter
