"""The rules of docs/decisions/0035-rules-of-the-api.md that a program can check, and their exceptions.

A rule yields the places that break it, written as `Type.field` or `Type.field(argument)`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias, cast

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    NullValueNode,
    get_named_type,
    is_introspection_type,
    is_non_null_type,
    is_specified_scalar_type,
)

Rule: TypeAlias = Callable[[GraphQLSchema], Iterator[str]]

TOO_GENERAL: Final = frozenset({"When", "Nulls", "Rate", "Left", "LEFT", "Data", "Info", "Kind"})
SENTENCE: Final = re.compile(r"[`\[(\"]*[A-Z0-9].*[.!?][)\"`]*", re.DOTALL)


def types_of(schema: GraphQLSchema) -> Iterator[GraphQLNamedType]:
    """Yield the types of this API."""
    for one in schema.type_map.values():
        if not is_introspection_type(one) and not is_specified_scalar_type(one):
            yield one


def described(schema: GraphQLSchema) -> Iterator[tuple[str, str | None]]:
    """Yield each place of the schema with its description."""
    for one in types_of(schema):
        yield one.name, one.description
        if isinstance(one, GraphQLObjectType | GraphQLInterfaceType):
            for name, field in one.fields.items():
                yield f"{one.name}.{name}", field.description
                for argument, each in field.args.items():
                    yield f"{one.name}.{name}({argument})", each.description
        elif isinstance(one, GraphQLInputObjectType):
            for name, value in one.fields.items():
                yield f"{one.name}.{name}", value.description
        elif isinstance(one, GraphQLEnumType):
            for name, member in one.values.items():
                yield f"{one.name}.{name}", member.description


def output_fields(schema: GraphQLSchema) -> Iterator[tuple[str, str, str]]:
    """Yield the place, the name and the type of each field of an object."""
    for one in types_of(schema):
        if isinstance(one, GraphQLObjectType | GraphQLInterfaceType):
            for name, field in one.fields.items():
                yield f"{one.name}.{name}", name, get_named_type(field.type).name


def mutations(schema: GraphQLSchema) -> Iterator[tuple[str, GraphQLInputObjectType | None, GraphQLObjectType]]:
    """Yield the name, the input and the payload of each mutation; without an input None."""
    assert schema.mutation_type is not None
    for name, field in schema.mutation_type.fields.items():
        found = field.args.get("input")
        taken = None if found is None else get_named_type(found.type)
        yield name, cast("GraphQLInputObjectType | None", taken), cast("GraphQLObjectType", get_named_type(field.type))


def nullable_roots(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 1: a root field that fails leaves the others."""
    for root in (schema.query_type, schema.mutation_type):
        assert root is not None
        yield from (f"{root.name}.{name}" for name, field in root.fields.items() if is_non_null_type(field.type))


def null_defaults(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 3: no explicit default `null`."""
    for one in types_of(schema):
        if isinstance(one, GraphQLInputObjectType):
            yield from (f"{one.name}.{name}" for name, each in one.fields.items() if _is_null(each))
        elif isinstance(one, GraphQLObjectType | GraphQLInterfaceType):
            for name, field in one.fields.items():
                yield from (f"{one.name}.{name}({argument})" for argument, each in field.args.items() if _is_null(each))


def _is_null(value: GraphQLArgument | GraphQLInputField) -> bool:
    return value.default is not None and isinstance(value.default.literal, NullValueNode)


def choices(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 3: an input of which exactly one field is given has `@oneOf`, and says so."""
    for one in types_of(schema):
        if isinstance(one, GraphQLInputObjectType):
            if (one.description or "").startswith("Exactly one") != one.is_one_of:
                yield one.name
            for name, field in one.fields.items():
                if re.search(r"; or else `|or else `\w+`\.", field.description or ""):
                    yield f"{one.name}.{name}"


def single_inputs(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 4: one required `input` and a payload of the mutation's own, with something besides `errors`."""
    assert schema.mutation_type is not None
    for name, field in schema.mutation_type.fields.items():
        kind = f"{name[0].upper()}{name[1:]}"
        payload = cast("GraphQLObjectType", get_named_type(field.type))
        fits = (
            {one: str(each.type) for one, each in field.args.items()} == {"input": f"{kind}Input!"}
            and str(field.type) == f"{kind}Payload"
            and [one.name for one in payload.interfaces] == ["MutationPayload"]
            and len(payload.fields) > 1
        )
        if not fits:
            yield name


def keys(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 4: every mutation takes `idempotencyKey`."""
    yield from (
        name for name, taken, _ in mutations(schema) if taken is not None and "idempotencyKey" not in taken.fields
    )


def dry_runs(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 4: every mutation takes `dryRun`."""
    for name, taken, _ in mutations(schema):
        if taken is not None and "dryRun" not in taken.fields:
            yield name


def versions(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 4: a change of an object with a `version` takes `expectedVersion`; every version is an `Int`."""
    for name, taken, payload in mutations(schema):
        changed = [get_named_type(field.type) for field in payload.fields.values()]
        has_version = any(isinstance(one, GraphQLObjectType) and one.name == "Task" for one in changed)
        makes = name.startswith(("create", "trigger")) or name.endswith("s")
        if has_version and not makes and taken is not None and "expectedVersion" not in taken.fields:
            yield name
    for place, name, kind in output_fields(schema):
        if name == "version" and kind != "Int" and not place.startswith("Node."):
            yield place


def previews(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 4: `preview` only where there is `dryRun`."""
    for name, taken, payload in mutations(schema):
        if taken is not None and "preview" in payload.fields and "dryRun" not in taken.fields:
            yield name


def plurals(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 4: a mutation that takes a filter has a plural name."""
    for name, taken, _ in mutations(schema):
        if taken is not None and "filter" in taken.fields and not name.endswith("s"):
            yield name


def error_types(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 5: `UserError` is an interface, and the names of its types end in `Error`."""
    interface = schema.type_map.get("UserError")
    if not isinstance(interface, GraphQLInterfaceType):
        yield "UserError"
        return
    yield from (one.name for one in schema.get_implementations(interface).objects if not one.name.endswith("Error"))


def times(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 10: a time ends in `At`."""
    for place, name, kind in output_fields(schema):
        if kind == "DateTime" and not (name.endswith("At") or name == "at"):
            yield place


def booleans(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 10: a boolean of an object begins with `is` or `has`."""
    for place, name, kind in output_fields(schema):
        if kind == "Boolean" and not re.match("(is|has)[A-Z]", name):
            yield place


def general_names(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 10: no type has a name that is too general, and no directive one of Federation's."""
    yield from (one.name for one in types_of(schema) if one.name in TOO_GENERAL)
    yield from (f"@{one.name}" for one in schema.directives if one.name in {"requires", "key", "shareable"})


def sentences(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 11: descriptions begin with a capital letter and end with a full stop."""
    for place, text in described(schema):
        if text is not None and not SENTENCE.fullmatch(text.strip()):
            yield place


def empty_descriptions(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 11: a description says more than "What is wanted."."""
    yield from (
        place for place, text in described(schema) if text in {"What is wanted.", "All of them.", "One of them."}
    )


def deprecations(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 12: a deprecated field names the day of its removal."""
    for one in types_of(schema):
        if isinstance(one, GraphQLObjectType | GraphQLInterfaceType):
            for name, field in one.fields.items():
                if field.deprecation_reason is not None and not re.search(
                    r"20\d\d-\d\d-\d\d", field.deprecation_reason
                ):
                    yield f"{one.name}.{name}"


RULES: Final[tuple[Rule, ...]] = (
    nullable_roots,
    null_defaults,
    choices,
    single_inputs,
    keys,
    dry_runs,
    versions,
    previews,
    plurals,
    error_types,
    times,
    booleans,
    general_names,
    sentences,
    empty_descriptions,
    deprecations,
)

EXCEPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "single_inputs": {
        "triggerJob": "Its arguments are fixed by the documents that existed before this API.",
    },
    "keys": {
        "createAccount": "The answer shows a secret link once, and such an answer is never stored.",
        "updateAccount": "The answer can show a secret link once, and such an answer is never stored.",
        "createApiToken": "The answer shows a secret once, and such an answer is never stored.",
        "setSecret": "It can be repeated as it is, and no digest of the value is stored.",
    },
    "booleans": {
        "JobExecution.success": "The columns of the execution log have fixed names.",
        "TriggerJobPayload.success": "The answer of `triggerJob` is fixed.",
    },
}
"""By rule: the places that break it for good, each with a reason."""

OPEN: Final[Mapping[str, frozenset[str]]] = {
    "choices": frozenset(
        {
            "CancelRunsInput.ids",
            "CancelRunsInput.filter",
            "DeleteTasksInput.names",
            "DeleteTasksInput.filter",
            "PauseTasksInput.names",
            "PauseTasksInput.filter",
            "ResumeTasksInput.names",
            "ResumeTasksInput.filter",
            "RetryNowInput.ids",
            "RetryNowInput.filter",
            "RetryNowInput.id",
            "RetryRunsInput.ids",
            "RetryRunsInput.filter",
            "SetRunPriorityInput.ids",
            "SetRunPriorityInput.filter",
        }
    ),
    "plurals": frozenset(
        {
            "retryNow",
            "setRunPriority",
        }
    ),
    "times": frozenset(
        {
            "Blockage.since",
            "Explanation.until",
            "FailureGroup.first",
            "FailureGroup.last",
            "JobExecution.scheduledFor",
            "PlannedOccurrence.scheduledFor",
            "Query.serverTime",
            "Run.scheduledFor",
            "Schedule.nextExecutions",
            "ScheduleValidation.nextExecutions",
            "SkippedOccurrence.firstScheduledFor",
            "SkippedOccurrence.lastScheduledFor",
            "Statistics.from",
            "Statistics.to",
            "Task.nextExecution",
            "Task.nextNominal",
            "Timeline.since",
            "TimelineBars.begins",
            "TimelineBars.ends",
            "TimelineSkips.first",
            "TimelineSkips.last",
        }
    ),
    "booleans": frozenset(
        {
            "Group.paused",
            "Job.known",
            "LabelValue.more",
            "LogEvent.ended",
            "LogPage.ended",
            "LogSearch.bounded",
            "Run.deduplicated",
            "RunStep.used",
            "RunStep.latest",
            "SavedView.shared",
            "ScheduleValidation.valid",
            "Session.current",
            "Statistics.estimated",
            "Task.enabled",
            "Task.finished",
            "Task.overridden",
            "Task.jobKnown",
            "Task.deletable",
            "Task.stalled",
            "TimelineRow.failing",
            "TimelineRow.late",
            "UniqueKey.inCode",
        }
    ),
    "sentences": frozenset(
        {
            "Trigger.MANUAL",
            "Trigger.API",
            "Trigger.RETRY",
        }
    ),
}
"""By rule: the places that break it and are to be mended. This table only shrinks."""
