"""A function becomes a job: its arguments and options are judged at the import."""

import inspect
import re
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, Unpack, cast

from ..base.outcomes import Result
from ..core.admission.labels import MAX_LABELS, LabelRule, key_faults, label_faults
from ..core.arguments.judging import names_hint
from ..core.base.errors import ConfigurationError, InvalidInput, in_python, refuse
from ..core.base.lazy import LazyModule
from ..core.base.resources import EXECUTOR_NAME, Resources
from ..core.base.unwritable import unstorable, unwritable
from ..core.model import Isolation, Json, ScheduleSpec
from ..core.outcome import Failure
from ..core.rules import check_name, check_text, number_faults, text_faults
from ..core.schedule import ScheduleError, Syntax, parse
from .definition import Handler, JobDefinition, names_of, read
from .functions import check_job_function, check_takes, place_of
from .limits import LIMITS, key_of, known_argument, limits_of
from .options import JobOptions, unknown_option
from .policies import JobPolicies, alarms_of, policies_of, reuse_of
from .queue import holding

if TYPE_CHECKING:
    import pydantic
    from pydantic_core import ErrorDetails

    from . import batches, parameters
else:
    pydantic = LazyModule("pydantic")
    # It makes models, which `import cronograph.jobs` does without; the first job loads it.
    parameters = LazyModule(f"{__package__}.parameters")
    batches = LazyModule(f"{__package__}.batches")

# Declared schedules are only judged here; where an INTERVAL begins is decided when its task is made.
_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)
_RESULTS: Final = frozenset({Any, object, None, type(None), int, Result, typing.NoReturn, typing.Never})
"""Parts of a result's annotation that say nothing of its form."""
MAX_VERSION: Final = 100
MAX_SLOTS: Final = 10_000
_TAG: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_BUILT_IN: Final[Mapping[Any, Isolation]] = {
    one.value: one for one in (Isolation.ASYNC, Isolation.THREAD, Isolation.PROCESS)
}
"""The kinds of jobs that run on a node."""
_POLICIES: Final = (
    "retries", "retry_delay", "backoff", "retry_on", "give_up_on", "timeout", "group", "priority", "overlap", "misfire",
    "ttl", "max_duration", "keep",
)  # fmt: skip


def define(
    name: str | None, handler: Handler, known: Collection[Any] = (), **options: Unpack[JobOptions]
) -> JobDefinition:
    """Return the definition that ``@job`` registers, without registering it.

    Args:
        name: 1 to 200 characters; None = the function's name.
        known: The annotations of the resources that its registry has.
        options: See ``JobOptions``.

    Raises:
        ConfigurationError: something that cannot work, naming the place.
    """
    chosen = getattr(handler, "__name__", "") if name is None else name
    where = place_of(handler)
    try:
        return _defined(chosen, handler, where, known, options)
    except (ValueError, TypeError) as error:
        why = in_python(error) if isinstance(error, InvalidInput) else error
        # Half of a surrogate pair could not be printed.
        message = f"job '{chosen}' at {where}: {why}".encode(errors="backslashreplace").decode()
        raise ConfigurationError(message) from error


def _defined(name: str, handler: Handler, where: str, known: Collection[Any], options: JobOptions) -> JobDefinition:
    wrong = unknown_option({**options})
    if wrong is not None:
        raise ValueError(wrong)
    check_job_function(handler)
    check_name(name)
    if name == "<lambda>":
        raise ValueError("a lambda has no name of its own: give the job one, job('name')(…), or write a function")
    hints = parameters.hints_of(handler)
    batch = options.get("batch")
    if batch is not None:
        if options.get("isolation") is not None:
            raise ValueError(
                "batch: its calls are made in the node, so it takes no isolation; leave one of the two out"
            )
        handler = batches.batched(handler, batch, hints)
        hints = parameters.hints_of(handler)
    model, context_parameter, given = parameters.arguments_of(name, handler, hints, known)
    _check_result(hints.get("return", Any))
    description = _description(options.get("description"))
    isolation, executor = _isolation(handler, options.get("isolation"))
    definition = JobDefinition(
        name=name,
        handler=handler,
        description=_first_line(handler) if description is None else description,
        schedule=_declared(options),
        isolation=isolation,
        executor=executor,
        resources=_resources(options.get("resources")),
        args_model=model,
        context_parameter=context_parameter,
        where=where,
        policies=_policies(options, model),
        declared_args=_args(options.get("args", {})),
        enabled=_flag(options.get("enabled", True)),
        given=given,
        on_failure=_on_failure(options.get("on_failure")),
        tags=_tags(options.get("tags", ())),
        reuse=reuse_of(options.get("reuse")),
        preload=_preload(options.get("preload")),
        version=_version(options.get("version")),
        slots=_slots(options),
        alarms=alarms_of(name, options.get("alarms", ()), is_scheduled=options.get("schedule") is not None),
    )
    check_text(definition.description, "description")
    _check_texts(definition.policies)
    _check_options_of_kinds(definition, options)
    _check_declared_args(definition, options)
    return definition


def _description(value: object) -> str | None:
    if value is not None:
        check_text(value, "description")
    return cast("str | None", value)


def _first_line(handler: Handler) -> str:
    return (inspect.getdoc(handler) or "").partition("\n")[0]


def _policies(options: JobOptions, model: "type[pydantic.BaseModel]") -> JobPolicies:
    given: dict[str, Any] = {**options}
    chosen: dict[str, Any] = {name: given[name] for name in _POLICIES if name in given}
    wanted = given.get("on_failure")
    if isinstance(getattr(wanted, "name", wanted), str):
        chosen["on_failure"] = getattr(wanted, "name", wanted)
    chosen["hold"] = holding(given)
    for option in ("on_expired", "on_cancel"):
        follower = given.get(option)
        if follower is not None:
            chosen[option] = getattr(follower, "name", follower)
    names, schema = names_of(model), model.model_json_schema()
    key = given.get("unique_key")
    if key is not None:
        published, function = key_of(key, names, schema)
        chosen |= {"unique_key": published, "unique_key_function": function}
    chosen["labels"] = labels_of(given.get("labels"), given.get("labels_from"), names, schema)
    limits: dict[str, Any] = {name: given[name] for name in LIMITS if name in given}
    if limits:
        chosen["limits"] = limits_of(limits, names, schema)
    return policies_of(chosen)


def _on_failure(wanted: object) -> Callable[[Failure], object] | None:
    """Return the function that is called on a final failure; a job by name is a policy of its own."""
    if wanted is None or isinstance(getattr(wanted, "name", wanted), str):
        return None
    if not callable(wanted):
        raise ValueError(  # noqa: TRY004 - one fault among others
            f"on_failure: must be a job, its name, or a function of the Failure, got {wanted!r:.60}"
        )
    check_takes(wanted, "on_failure", "the Failure")
    return wanted


def _tags(value: object) -> tuple[str, ...]:
    several = cast("Sequence[Any]", value) if isinstance(value, list | tuple) else (value,)
    tags: set[str] = set()
    for one in several:
        if not isinstance(one, str) or not _TAG.fullmatch(one):
            raise ValueError(
                f"tags: must be words of letters, digits, '.', '_' and '-', e.g. ('gpu',), got {one!r:.60}"
            )
        tags.add(one)
    return tuple(sorted(tags))


def _args(value: object) -> dict[str, Json]:
    if not isinstance(value, Mapping):
        raise ValueError(f"args: must be a mapping of names to values, e.g. {{'days': 7}}, got {value!r:.60}")  # noqa: TRY004 - one fault among others
    return dict(cast("Mapping[str, Json]", value))


def _slots(options: JobOptions) -> int:
    slots = options.get("slots")
    if slots is None:
        return 1
    refuse(number_faults(slots, "slots", 1, MAX_SLOTS, whole=True))
    if slots > 1 and options.get("batch") is not None:
        raise ValueError("batch: one call carries out many runs, of which each takes a slot; leave slots out")
    return slots


def _version(value: object) -> str | None:
    if value is not None:
        refuse(text_faults(value, "version", least=1, most=MAX_VERSION))
    return cast("str | None", value)


def _preload(value: object) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise ValueError(f"preload: must be True, False or None, got {value!r:.60}")
    return value


def _check_texts(policies: JobPolicies) -> None:
    found = unstorable(asdict(policies.defaults))
    if found is not None:
        raise ValueError(f"{found.where} {found.why}")


def _check_options_of_kinds(definition: JobDefinition, options: JobOptions) -> None:
    if definition.isolation is Isolation.REMOTE:
        if definition.slots > 1:
            raise ValueError("slots: are for jobs on a node; say resources=Resources(cpus=…, memory=…) instead")
    elif options.get("resources") is not None:
        raise ValueError("resources: are for jobs at an engine; add isolation='…' with the name of its executor")
    if definition.isolation is Isolation.PROCESS:
        return
    for name, value in (("reuse", definition.reuse), ("preload", definition.preload)):
        if value is not None:
            raise ValueError(f"{name}: is for jobs in child processes; add isolation='process' or leave {name} out")


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"enabled: must be True or False, got {value!r:.60}")  # noqa: TRY004 - one fault among others
    return value


def _check_result(annotation: object) -> None:
    """Check that the annotated result can be kept."""
    parts = typing.get_args(annotation) or (annotation,)
    wrong = next((one for one in parts if one not in _RESULTS), None)
    if wrong is not None:
        raise ValueError(
            "a job returns None, an int (records processed) or a Result, whose value may be any JSON, but its "
            f"annotation says {getattr(wrong, '__name__', wrong)}; return Result(value=…) or leave the result out"
        )


def _declared(options: JobOptions) -> ScheduleSpec | None:
    schedule, timezone = options.get("schedule"), options.get("timezone")
    if schedule is None:
        _refuse_without_schedule(options)
        return None
    schedule = schedule_from(schedule, timezone)
    try:
        parse(schedule.syntax, schedule.value, schedule.timezone, anchor=_ANY_TIME)
    except ScheduleError as error:
        raise ValueError(f"schedule {schedule.value!r}: {error}") from error
    return schedule


def schedule_from(schedule: object, timezone: object) -> ScheduleSpec:
    """Return the schedule that an author wrote: a six-field cron string, by default in UTC, or a ``ScheduleSpec``.

    Raises:
        ValueError: it is whole, and so has a time zone of its own.
    """
    if timezone is not None and not isinstance(timezone, str):
        raise ValueError(f"timezone: must be an IANA name such as 'Europe/Berlin', got {timezone!r:.60}")
    if isinstance(schedule, str):
        return ScheduleSpec(Syntax.CRON, schedule, timezone or "UTC")
    if timezone is not None:
        raise ValueError("timezone: a ScheduleSpec has a time zone of its own; write it there")
    if not isinstance(schedule, ScheduleSpec):
        raise ValueError(  # noqa: TRY004 - one fault among others
            "schedule: must be a six-field cron string such as '0 0 * * * *', or a schedule such as every('15m'), got "
            f"{schedule!r:.60}"
        )
    for field, value in (("value", schedule.value), ("timezone", schedule.timezone)):
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"schedule: {field} must be a text, got {value!r:.60}")  # noqa: TRY004 - one fault among others
    return schedule


def _refuse_without_schedule(options: JobOptions) -> None:
    idle = next((name for name in ("timezone", "args", "enabled") if name in options), None)
    if idle is not None:
        raise ValueError(f"{idle}: is for the job's schedule, and it has none; add schedule=… or leave {idle} out")


def _check_declared_args(definition: JobDefinition, options: JobOptions) -> None:
    """Check that a declared schedule's runs have arguments that fit, for nobody else gives any."""
    if definition.schedule is None:
        return
    wrong = unwritable(definition.declared_args) or unstorable(definition.declared_args)
    if wrong is not None:
        raise ValueError(f"args{'.' * bool(wrong.place)}{wrong.where}: {wrong.why}")
    try:
        read(definition.args_model, definition.declared_args)
    except pydantic.ValidationError as error:
        raise ValueError(_args_fault(definition, error.errors(include_url=False), "args" in options)) from error


def _args_fault(definition: JobDefinition, faults: "Sequence[ErrorDetails]", is_given: bool) -> str:
    """Return why a declared schedule's runs cannot have their arguments."""
    # A wrong name is both too much and missing: what may be meant is said.
    unknown = next((one for one in faults if one["type"] == "extra_forbidden" and len(one["loc"]) == 1), None)
    if unknown is not None:
        hint = names_hint(names_of(definition.args_model).values(), definition.declared_args)
        return f"args: the job has no argument '{unknown['loc'][0]}'{hint}"
    fault = faults[0]
    place = ".".join(str(part) for part in fault["loc"])
    missing = fault["type"] == "missing"
    remedy = "nobody gives it, and it has no default; add" if missing else f"{fault['msg']}; correct"
    example = f"args={{'{place}': …}}" if missing or not is_given else "args"
    return f"the schedule's runs need argument '{place}': {remedy} {example} to @job"


def _isolation(handler: Handler, wanted: Isolation | str | None) -> tuple[Isolation, str | None]:
    """Return where a job runs, and the name of its executor if that is at an engine."""
    is_async = inspect.iscoroutinefunction(handler)
    if wanted is None:
        return (Isolation.ASYNC if is_async else Isolation.THREAD), None
    isolation = _BUILT_IN.get(wanted)
    if isolation is None:
        executor = _executor(wanted)
        _check_importable(handler, executor)
        return Isolation.REMOTE, executor
    if isolation is Isolation.PROCESS:
        _check_importable(handler, isolation.value)
    elif is_async != (isolation is Isolation.ASYNC):
        kind = "an 'async def'" if is_async else "a plain 'def'"
        raise ValueError(f"isolation '{isolation.value}' does not fit {kind}; leave it out or use 'process'")
    return isolation, None


def _executor(wanted: object) -> str:
    """Return the name of an executor; nodes say whether they have it."""
    near = get_close_matches(wanted, _BUILT_IN, 1, 0.7) if isinstance(wanted, str) else []
    if isinstance(wanted, str) and EXECUTOR_NAME.fullmatch(wanted) and wanted != Isolation.REMOTE and not near:
        return wanted
    allowed = ", ".join(f"'{name}'" for name in _BUILT_IN)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    raise ValueError(f"isolation must be {allowed} or the name of an executor, got {wanted!r:.60}{hint}")


def _resources(value: object) -> Resources:
    if value is None:
        return Resources()
    if not isinstance(value, Resources):
        raise ValueError(f"resources: must be Resources(cpus=…, memory=…, gpus=…), got {value!r:.60}")  # noqa: TRY004 - one fault among others
    value.check()
    return value


def _check_importable(handler: Handler, isolation: str) -> None:
    """Check that another process can import the handler's module and find it there by its name."""
    module, qualname = getattr(handler, "__module__", None), getattr(handler, "__qualname__", "")
    fault = None
    if module is None:
        fault = "it is in no module"
    elif "<" in qualname or not qualname:
        fault = "it is defined inside a function, or has no name"
    if fault is not None:
        raise ValueError(
            f"isolation '{isolation}' needs a function that a new process can import, but {fault}; define it at the "
            "top level of a module of its own"
        )


_EXAMPLE = "labels_from=('customer_id',) or {'customer': 'customer_id'}"


def labels_of(fixed: object, taken: object, names: Mapping[str, str], schema: Mapping[str, Any]) -> LabelRule | None:
    """Return the labels that a job gives its runs; None = it gives none.

    Args:
        fixed: The value of ``labels=``.
        taken: The value of ``labels_from=``.
        names: The arguments by the names of their parameters, with those that they have in JSON.
        schema: The JSON Schema of the arguments.

    Raises:
        InvalidInput: these can be no labels.
        ValueError: they name no arguments of the job.
    """
    if fixed is None and taken is None:
        return None
    for fault in label_faults({} if fixed is None else fixed):
        raise fault
    constant = dict(cast("Mapping[str, str]", fixed or {}))
    pairs = _pairs(taken)
    for key in pairs:
        for fault in key_faults(key, "labels_from"):
            raise fault
    arguments = {key: known_argument("labels_from", name, names) for key, name in pairs.items()}
    twice = next((key for key in arguments if key in constant), None)
    if twice is not None:
        raise ValueError(f"labels_from: '{twice}' is among labels, too; give one of them another key")
    if len(constant) + len(arguments) > MAX_LABELS:
        got = len(constant) + len(arguments)
        raise InvalidInput(f"labels: must be at most {MAX_LABELS} labels, those of labels_from included, got {got}")
    rules: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    defaults = {name: rules[name]["default"] for name in arguments.values() if "default" in rules.get(name, {})}
    return LabelRule(constant, arguments, defaults)


def _pairs(taken: object) -> dict[str, str]:
    """Return the arguments from which labels are taken, by the keys of the labels, as they were given."""
    if taken is None:
        return {}
    given: dict[Any, Any]
    several: Any = taken
    if isinstance(taken, Mapping):
        given = {**several}
    elif isinstance(taken, list | tuple):
        names: tuple[Any, ...] = tuple(several)
        given = {one: one for one in names if isinstance(one, str)}
        if len(given) != len(names):
            raise ValueError(f"labels_from: must be names of arguments, each once, e.g. {_EXAMPLE}, got {taken!r:.60}")
    else:
        raise ValueError(f"labels_from: must be names of arguments, e.g. {_EXAMPLE}, got {taken!r:.60}")  # noqa: TRY004 - one fault among others
    wrong = next((value for value in given.values() if not isinstance(value, str)), None)
    if wrong is not None:
        raise ValueError(f"labels_from: must be names of arguments, e.g. {_EXAMPLE}, got {wrong!r:.60}")
    return given
