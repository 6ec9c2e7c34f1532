"""Jobs by name: named code that a node can run, with typed arguments and perhaps a declared schedule."""

import inspect
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, Union, cast, get_args, get_origin

from ..base.context import JobContext
from ..core.alarms import AlarmSpec
from ..core.arguments.judging import Judge
from ..core.arguments.secrets import references
from ..core.base.errors import ConfigurationError, ErrorCode, InvalidInput
from ..core.base.lazy import LazyModule
from ..core.base.read_back import changed
from ..core.base.resources import NO_RESOURCES, Resources
from ..core.base.signature import VERSION, signature_of
from ..core.defaults import JobInfo
from ..core.flows import with_results
from ..core.model import Isolation, Json, ScheduleSpec
from ..core.outcome import Failure
from .hooks import Hooks, Resource, Scope, name_of
from .names import check_cancel_job, check_expiry_job, check_failure_job, check_named
from .policies import NO_POLICIES, JobPolicies, Reuse
from .queue import RunQueue

if TYPE_CHECKING:
    import pydantic
else:
    pydantic = LazyModule("pydantic")

Handler = Callable[..., Any]

_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
"""Types whose values are JSON as they are."""
RENAMED = "renamed__"
"""Begins the fields of the model whose parameter has a name that a model cannot have."""


@dataclass(frozen=True, slots=True)
class JobDefinition:
    """A registered job.

    Attributes:
        name: Unique in its registry.
        description: For people; the first line of the docstring unless given.
        schedule: Declared in code; None = runs only when asked to.
        args_model: The typed arguments; unknown ones are refused.
        context_parameter: Which parameter gets the ``JobContext``; None = it takes none.
        where: ``module.function`` (file:line), for messages.
        policies: The defaults of its runs and tasks, and the rules of retries.
        declared_args: The arguments of the declared schedule's runs.
        enabled: False: the task of the declared schedule begins paused.
        given: The parameters that get resources, with the annotations of these.
        on_failure: Called on a node once a run has failed for good; the name of a job is among its ``policies``.
        tags: The tags by which nodes may choose it.
        reuse: How long a child process serves its runs; None = each run gets one of its own.
        preload: Whether its module is imported before child processes are forked; None = as the node says.
        version: Distinguishes this code from other code of the job; None = by its arguments alone.
        slots: How many of a node's slots a run takes.
        executor: Which executor hands its runs to an engine; None = they run on a node.
        resources: The resources that they need there.
    """

    name: str
    handler: Handler
    description: str
    schedule: ScheduleSpec | None
    isolation: Isolation
    args_model: "type[pydantic.BaseModel]"
    context_parameter: str | None
    where: str
    policies: JobPolicies = NO_POLICIES
    declared_args: dict[str, Json] = field(default_factory=dict[str, Json])
    enabled: bool = True
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])
    on_failure: Callable[[Failure], object] | None = None
    tags: tuple[str, ...] = ()
    reuse: Reuse | None = None
    preload: bool | None = None
    version: str | None = None
    slots: int = 1
    alarms: tuple[AlarmSpec, ...] = ()
    executor: str | None = None
    resources: Resources = NO_RESOURCES

    @property
    def args_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments, with the version of the job, if it says one."""
        return {**_schema_of(self.args_model, self.version), "title": f"{self.name}_args"}

    @property
    def signature(self) -> str:
        """Distinguishes this version of the job from others that take other arguments, or say another version."""
        return _signature_of_arguments(self.name, self.args_model, self.version)

    @property
    def info(self) -> JobInfo:
        """The job as it is published to other nodes and the API."""
        declared = self.schedule.value if self.schedule else None
        return JobInfo(
            self.name,
            self.description,
            declared,
            self.isolation,
            self.args_schema,
            defaults=self.policies.defaults,
            tags=self.tags,
            slots=self.slots,
        )

    def accept(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> tuple[dict[str, Json], dict[str, Any]]:
        """Return arguments as the function itself would take them, without its context: as JSON, and by parameter.

        Raises:
            TypeError: one is missing, or too many are given.
            InvalidInput: one does not fit its annotation; code ``INVALID_ARGS``.
        """
        given = self._signature.bind(*args, **kwargs).arguments
        outside = names_of(self.args_model)
        model = self._model({outside[name]: value for name, value in given.items()})
        return self._document(model), self._by_parameter(model)

    def accept_partly(
        self, results: Mapping[object, Json], args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> tuple[dict[str, Json], dict[str, Any]]:
        """Accept arguments of which some hold values that are not known yet; those are judged when the run starts.

        Args:
            results: The placeholders in the stored arguments for values that are not known yet.
            args: As the function takes them.
            kwargs: The same by name.

        Raises:
            TypeError: one is missing, or too many are given.
            InvalidInput: a known one does not fit its annotation; code ``INVALID_ARGS``.
        """
        outside = names_of(self.args_model)
        given = {outside[name]: value for name, value in self._signature.bind(*args, **kwargs).arguments.items()}
        stored = {name: with_results(value, results) for name, value in given.items()}
        later = {name: value for name, value in stored.items() if value is not given[name]}
        known = {name: value for name, value in given.items() if name not in later}
        model = self._model(known, _partial(self.args_model))
        return {**self._document(model), **later}, {}

    def _document(self, model: "pydantic.BaseModel") -> dict[str, Json]:
        """Return the arguments that were given, as JSON that is read back as these.

        Raises:
            InvalidInput: one has no form in JSON, or another value is read back; code ``INVALID_ARGS``.
        """
        plain = _written_plainly(model)
        if plain is not None:
            return plain
        document = self._written(model, exclude_unset=True)
        change = self._change(model, document)
        if change is not None:
            # A model in an argument may have a default that is another one each time.
            whole = self._written(model, include=model.model_fields_set)
            if not _holds(whole, document) or self._change(model, whole) is not None:
                raise change
            return whole
        return document

    def _written(
        self, model: "pydantic.BaseModel", *, exclude_unset: bool = False, include: set[str] | None = None
    ) -> dict[str, Json]:
        try:
            return model.model_dump(
                mode="json", by_alias=True, warnings=False, exclude_unset=exclude_unset, include=include
            )
        except (ValueError, RecursionError) as error:
            for name in sorted(model.model_fields_set):
                self._check_by_itself(model, name)
            message = f"arguments of job '{self.name}': cannot be written as JSON: {_why(error)}"
            raise InvalidInput(message, path=("args",), code=ErrorCode.INVALID_ARGS) from None

    def _change(self, model: "pydantic.BaseModel", document: Mapping[str, Json]) -> InvalidInput | None:
        """Return a fault if some argument would arrive in the run changed by its way through JSON."""
        try:
            arrived = read(type(model), document)
        except pydantic.ValidationError as error:
            fault = error.errors(include_url=False)[0]
            place = tuple(map(str, fault["loc"]))
            named = f"argument '{'.'.join(place)}'" if place else "arguments"
            message = f"{named} of job '{self.name}': cannot be read back from its JSON: {fault['msg']}"
            return InvalidInput(message, path=("args", *place), code=ErrorCode.INVALID_ARGS)
        fields = type(model).model_fields
        for name in model.model_fields_set:
            outside = fields[name].alias or name

            def same_json(name: str = name, outside: str = outside) -> bool:
                again = arrived.model_dump(mode="json", by_alias=True, warnings=False, include={name})
                return bool(again[outside] == document[outside])

            found = changed(getattr(model, name), getattr(arrived, name), same_json)
            if found is not None:
                message = f"argument '{'.'.join((outside, *found.place))}' of job '{self.name}': {found.why}"
                return InvalidInput(message, path=("args", outside, *found.place), code=ErrorCode.INVALID_ARGS)
        return None

    def _check_by_itself(self, model: "pydantic.BaseModel", name: str) -> None:
        try:
            model.model_dump(mode="json", warnings=False, include={name})
        except (ValueError, RecursionError) as error:
            place = self.args_model.model_fields[name].alias or name
            message = f"argument '{place}' of job '{self.name}': cannot be written as JSON: {_why(error)}"
            raise InvalidInput(message, path=("args", place), code=ErrorCode.INVALID_ARGS) from None

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the function's parameters that are arguments."""
        return tuple(self._signature.parameters)

    @property
    def _signature(self) -> inspect.Signature:
        return _signature_without(self.handler, (self.context_parameter, *self.given))

    def _by_parameter(self, model: "pydantic.BaseModel") -> dict[str, Any]:
        fields = self.args_model.model_fields
        return {_parameter_of(name, field.alias): getattr(model, name) for name, field in fields.items()}

    def _model(
        self, args: Mapping[str, object], model: "type[pydantic.BaseModel] | None" = None, *, stored: bool = False
    ) -> "pydantic.BaseModel":
        """Return arguments as given in Python, or as they are ``stored``; a model says which may be left out."""
        try:
            return read(self.args_model, args) if stored else (model or self.args_model).model_validate(dict(args))
        except pydantic.ValidationError as error:
            fault = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in fault["loc"])
            message = f"argument '{place}' of job '{self.name}': {fault['msg']}"
            raise InvalidInput(message, path=("args", place), code=ErrorCode.INVALID_ARGS) from error

    def unique_key_of(self, args: Mapping[str, Json]) -> str | None:
        """Return the unique key of a run with these arguments; None if the job makes none.

        Raises:
            InvalidInput: the arguments do not fit.
        """
        if self.policies.defaults.unique_key is None:
            return None
        model = self._model(args, stored=True)
        return self.key_of(self._written(model, exclude_unset=True), self._by_parameter(model))

    def key_of(self, document: Mapping[str, Json], values: Mapping[str, object]) -> str | None:
        """Return the unique key of a run with arguments that ``accept`` has let pass; None if the job makes none."""
        key, function = self.policies.defaults.unique_key, self.policies.unique_key
        if function is not None:
            return function(**values)
        return None if key is None else key.of(self.name, document)

    def bind(self, args: Mapping[str, Json], context: JobContext | None) -> dict[str, Any]:
        """Return the handler's keyword arguments: validated, converted, and with the context if it takes one.

        Raises:
            InvalidInput: the arguments do not fit; they may have been stored for an older version of the job.
        """
        if not args and not self.args_model.__pydantic_fields__:
            return {} if self.context_parameter is None else {self.context_parameter: context}
        bound = self._by_parameter(self._model(args, stored=True))
        if self.context_parameter is not None:
            bound[self.context_parameter] = context
        return bound


class Registry:
    """The jobs that a node can run, by name. Tests make their own; ``@job`` uses ``default_registry()``.

    Attributes:
        queue: Where its jobs put their runs when they are given no session; None = nobody has said so (``connect``).
        hooks: The hooks and resources.
        code_version: The version of those jobs that are registered from now on and do not say one themselves.
    """

    def __init__(self, code_version: str | None = None) -> None:
        self._jobs: dict[str, JobDefinition] = {}
        self.queue: RunQueue | None = None
        self.code_version = code_version
        self.hooks: Hooks = Hooks()

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
        """Return the job of this name, or None."""
        return self._jobs.get(name)

    def names(self) -> tuple[str, ...]:
        """Return all names, sorted."""
        return tuple(sorted(self._jobs))

    def check(self) -> None:
        """Check that this registry has the resources and the jobs that its jobs and hooks name.

        Raises:
            ConfigurationError: names the job, the hook or the resource, and the place.
        """
        self.hooks.of_node()
        check_named(self.hooks.around, self.names())
        for one in self:
            check_failure_job(one.name, one.where, one.policies.defaults.on_failure, self)
            check_expiry_job(one.name, one.where, one.policies.defaults.on_expired, self)
            check_cancel_job(one.name, one.where, one.policies.defaults.on_cancel, self)
            try:
                needed = self.hooks.needed(one.given.values())
            except ConfigurationError as error:
                raise ConfigurationError(f"job '{one.name}' at {one.where}: {error}") from error
            wrong = next((each for each in needed if not _can_have(one, each)), None)
            if wrong is not None:
                raise ConfigurationError(
                    f"job '{one.name}' at {one.where}: {name_of(wrong.kind)} is given by an 'async def' "
                    f"({wrong.where}), which a plain 'def' in a {one.isolation.value} cannot open; make one of the two "
                    "like the other"
                )

    def __iter__(self) -> Iterator[JobDefinition]:
        return iter([self._jobs[name] for name in self.names()])

    def __len__(self) -> int:
        return len(self._jobs)


CODE_VERSION: Final = "CRONOGRAPH_CODE_VERSION"
"""The variable that names the version of the code: jobs are imported by processes that read no other setting."""

_default = Registry(os.environ.get(CODE_VERSION) or None)


def default_registry() -> Registry:
    """Return the registry that ``@job`` uses unless it is given another."""
    return _default


def registry_or_default(registry: Registry | None) -> Registry:
    """Return the registry that was given, or else the default one.

    Raises:
        TypeError: the given object is none.
    """
    if registry is None:
        return _default
    if not isinstance(registry, Registry):  # pyright: ignore[reportUnnecessaryIsInstance] - of the user's, unchecked
        raise TypeError(f"registry: must be a Registry or None, got {registry!r:.60}")
    return registry


@lru_cache(maxsize=1024)
def _signature_without(handler: Handler, left_out: tuple[str | None, ...]) -> inspect.Signature:
    """Return a handler's signature without the given parameters; finding it takes longer than to validate arguments."""
    signature = inspect.signature(handler)
    return signature.replace(parameters=[one for name, one in signature.parameters.items() if name not in left_out])


@lru_cache(maxsize=1024)
def _signature_of_arguments(name: str, model: "type[pydantic.BaseModel]", version: str | None) -> str:
    """Return the signature of a job; making a JSON Schema takes a hundred times as long as enqueueing a run."""
    return signature_of(name, _schema_of(model, version))


def _schema_of(model: "type[pydantic.BaseModel]", version: str | None) -> dict[str, Any]:
    schema = model.model_json_schema()
    return schema if version is None else {**schema, VERSION: version}


def _can_have(job: JobDefinition, resource: Resource) -> bool:
    """Return whether a resource can be opened where the job runs; a child process opens all that it needs itself."""
    elsewhere = job.isolation not in (Isolation.PROCESS, Isolation.REMOTE) and resource.scope is Scope.NODE
    return elsewhere or not resource.is_async or inspect.iscoroutinefunction(job.handler)


def _why(error: Exception) -> str:
    """Return why a value has no form in JSON, in words of the field."""
    if isinstance(error, UnicodeDecodeError):
        return "bytes must be UTF-8; pass other bytes as text, e.g. by base64"
    if isinstance(error, RecursionError) or "Circular reference" in str(error):
        return "it contains itself"
    return str(error)


def read(model: "type[pydantic.BaseModel]", args: Mapping[str, Json]) -> "pydantic.BaseModel":
    """Return arguments as a run reads them from the stored JSON.

    Raises:
        pydantic.ValidationError: they do not fit.
    """
    if len(_plain_fields(model)) == len(model.__pydantic_fields__):
        # Texts, numbers and truth values are the same from JSON as from Python.
        return model.model_validate(dict(args))
    try:
        return model.model_validate_json(json.dumps(args))
    except pydantic.ValidationError as error:
        if error.errors(include_url=False, include_input=False)[0]["type"] != "json_invalid":
            raise
        # It is nested more deeply than that reader goes, or has a character that is refused by name elsewhere.
        return model.model_validate(dict(args))


def _holds(whole: Json, part: Json) -> bool:
    """Return whether a document has all that another one has, and perhaps more members."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            name in whole and _holds(whole[name], value)  # pyright: ignore[reportUnknownArgumentType]
            for name, value in cast("dict[str, Json]", part).items()
        )
    if isinstance(part, list):
        items = cast("list[object]", part)
        return isinstance(whole, list) and len(whole) == len(items) and all(map(_holds, whole, items))  # pyright: ignore[reportUnknownArgumentType]
    return bool(whole == part)


def _written_plainly(model: "pydantic.BaseModel") -> dict[str, Json] | None:
    """Return arguments that are JSON as they are and are read back unchanged, as most are; None if some may not be."""
    names, document = _plain_fields(type(model)), dict[str, Json]()
    given = model.model_fields_set
    for name, outside in names.items():
        if name in given:
            document[outside] = value = getattr(model, name)
            if type(value) not in _PLAIN:
                return None
    return document if len(document) == len(given) else None


@lru_cache(maxsize=1024)
def _plain_fields(model: "type[pydantic.BaseModel]") -> Mapping[str, str]:
    """Return the arguments that are texts, numbers or truth values, or one of these, and their names in JSON."""
    return {
        name: one.alias or name
        for name, one in model.__pydantic_fields__.items()
        if not one.metadata and _PLAIN.issuperset(_alternatives(one.annotation))
    }


def _alternatives(annotation: Any) -> tuple[object, ...]:  # noqa: ANN401 - all that an annotation can be
    return get_args(annotation) if get_origin(annotation) in (UnionType, Union) else (annotation,)


@lru_cache(maxsize=1024)
def _partial(model: "type[pydantic.BaseModel]") -> "type[pydantic.BaseModel]":
    """Return the arguments of a job, none of which has to be given: some are the results of other runs."""
    fields = {
        name: (one.annotation, one.merge_field_infos(one, default=None))  # pyright: ignore[reportDeprecated] - nothing else copies all of it
        for name, one in model.model_fields.items()
    }
    config: pydantic.ConfigDict = {**model.model_config, "validate_default": False}
    made: type[pydantic.BaseModel] = pydantic.create_model(model.__name__, __config__=config, **cast("Any", fields))
    return made


def names_of(model: "type[pydantic.BaseModel]") -> dict[str, str]:
    """Return the arguments of a job by the names of their parameters, with those that they have in JSON."""
    return {_parameter_of(name, one.alias): one.alias or name for name, one in model.model_fields.items()}


def _parameter_of(field: str, alias: str | None) -> str:
    """Return the handler's parameter behind a field of its model; an alias of the job's own is for the outside only."""
    return alias if alias is not None and field.startswith(RENAMED) else field


class CodeOfRegistry:
    """The jobs of a registry as judges of their arguments: custom validators, decimals and patterns included.

    Args:
        registry: Whose jobs; those that come later count, too.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def __call__(self, name: str, signature: str) -> Judge | None:
        """Return the judge of a job, if this is the version with that signature."""
        definition = self._registry.get(name)
        if definition is None:
            return None
        return _judge(definition) if definition.signature == signature else None


def _judge(definition: JobDefinition) -> Judge:
    def judge(args: Mapping[str, Json]) -> Sequence[InvalidInput]:
        # What stands in the place of a secret is known only when the run starts.
        return () if references(args) else _faults(definition, args)

    return judge


def _faults(definition: JobDefinition, args: Mapping[str, Json]) -> Sequence[InvalidInput]:
    try:
        read(definition.args_model, args)
    except pydantic.ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        return [_fault(definition.name, tuple(map(str, one["loc"])), one["msg"]) for one in faults]
    except Exception as error:  # noqa: BLE001 - a validator is foreign code: its run would fail by this, too
        return [_fault(definition.name, (), f"the job's own check failed: {type(error).__name__}: {error}"[:300])]
    return ()


def _fault(job_name: str, place: Sequence[str], problem: str) -> InvalidInput:
    named = f"argument '{'.'.join(place)}'" if place else "arguments"
    message = f"{named} of job '{job_name}': {problem}"
    return InvalidInput(message, path=("args", *place), code=ErrorCode.INVALID_ARGS)
