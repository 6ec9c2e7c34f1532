"""The rules of docs/decisions/0035-rules-of-the-api.md that a program can check, and their exceptions.

A rule yields the places that break it, written as `Type.field` or `Type.field(argument)`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias, cast

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    NullValueNode,
    get_named_type,
    get_nullable_type,
    is_introspection_type,
    is_leaf_type,
    is_list_type,
    is_non_null_type,
    is_specified_scalar_type,
)

Rule: TypeAlias = Callable[[GraphQLSchema], Iterator[str]]

TOO_GENERAL: Final = frozenset({"When", "Nulls", "Rate", "Left", "LEFT", "Data", "Info", "Kind"})
NO_SUBJECT: Final = re.compile(
    "(It|Its|Their|They|That|Those|These|What|When|Who|Whom|Whose|Where|How|Which|Why|Since|By whom|Of|As|In which)\\b"
)
"""Beginnings of descriptions that make no sense without the name of the type."""
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
    """Rule 4: a mutation that takes a selection of many has a plural name."""
    for name, taken, _ in mutations(schema):
        kinds = [] if taken is None else [get_named_type(one.type).name for one in taken.fields.values()]
        words = re.findall("[A-Z]?[a-z]+", name)
        if any(one.endswith("Selection") for one in kinds) and not any(word.endswith("s") for word in words[1:]):
            yield name


def error_types(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 5: `UserError` is an interface, and the names of its types end in `Error`."""
    interface = schema.type_map.get("UserError")
    if not isinstance(interface, GraphQLInterfaceType):
        yield "UserError"
        return
    yield from (one.name for one in schema.get_implementations(interface).objects if not one.name.endswith("Error"))


def places(schema: GraphQLSchema) -> Iterator[tuple[str, str, str, str]]:
    """Yield the place, the name, the type and the description of each field, argument and field of an input."""
    for one in types_of(schema):
        if isinstance(one, GraphQLObjectType | GraphQLInterfaceType):
            for name, field in one.fields.items():
                yield f"{one.name}.{name}", name, get_named_type(field.type).name, field.description or ""
                for argument, each in field.args.items():
                    kind = get_named_type(each.type).name
                    yield f"{one.name}.{name}({argument})", argument, kind, each.description or ""
        elif isinstance(one, GraphQLInputObjectType):
            for name, value in one.fields.items():
                yield f"{one.name}.{name}", name, get_named_type(value.type).name, value.description or ""


def durations(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 6: a length of time is a `Duration`."""
    for place, _, kind, description in places(schema):
        if kind == "Float" and re.search(r"\bseconds?\b", description, re.IGNORECASE):
            yield place


def labels(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 6: labels are `Labels`, apart from conditions on them."""
    for place, name, kind, _ in places(schema):
        if name in {"labels", "labelsFrom"} and kind not in {"Labels", "LabelFilter"}:
            yield place


def lists(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 7: what is read in pages is a connection; it can be read in both directions, filtered and ordered."""
    for one in types_of(schema):
        if not isinstance(one, GraphQLObjectType):
            continue
        for name, field in one.fields.items():
            place, kind = f"{one.name}.{name}", get_named_type(field.type).name
            if not kind.endswith("Connection"):
                if one is not schema.subscription_type and {"first", "last", "limit", "skip"} & set(field.args):
                    yield place
                continue
            wanted = ("first", "after", "last", "before", "filter", "orderBy")
            yield from (f"{place}({argument})" for argument in wanted if argument not in field.args)


def connections(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 7: a connection has Relay's fields, and `totalCount` with how exact it is."""
    for one in types_of(schema):
        if isinstance(one, GraphQLObjectType) and one.name.endswith("Connection"):
            wanted = {"edges", "nodes", "pageInfo", "totalCount", "isTotalCountExact"}
            yield from (f"{one.name}.{name}" for name in sorted(wanted - set(one.fields)))


def event_types(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 8: `Event` is an interface, and every type called an event is one of its types."""
    interface = schema.type_map.get("Event")
    if not isinstance(interface, GraphQLInterfaceType):
        yield "Event"
        return
    known = {one.name for one in schema.get_implementations(interface).objects}
    for one in types_of(schema):
        if isinstance(one, GraphQLObjectType) and (one.name in known) != one.name.endswith("Event"):
            yield one.name


def one_shape(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 8: fields of one name have one type in all types of an interface or union; no document needs an alias."""
    for one in types_of(schema):
        if not isinstance(one, GraphQLInterfaceType) or one.name == "MutationPayload":
            continue
        shapes: dict[str, str] = {}
        for kind in schema.get_possible_types(one):
            for name, field in kind.fields.items():
                if shapes.setdefault(name, str(field.type)) != str(field.type):
                    yield f"{kind.name}.{name}"


def pictures(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 9: what exists for one picture is marked: parallel arrays, and every field that leads to such a type."""
    for one in types_of(schema):
        if not isinstance(one, GraphQLObjectType):
            continue
        marked = _is_unstable(one)
        if not marked and len(one.fields) > 1 and all(map(_is_column, one.fields.values())):
            yield one.name
        for name, field in one.fields.items():
            if _is_unstable(get_named_type(field.type)) and not (marked or _is_unstable(field)):
                yield f"{one.name}.{name}"


def _is_unstable(one: GraphQLNamedType | GraphQLField) -> bool:
    return one.ast_node is not None and any(each.name.value == "unstable" for each in one.ast_node.directives or ())


def _is_column(field: GraphQLField) -> bool:
    kind = get_nullable_type(field.type)
    return is_list_type(kind) and is_leaf_type(get_nullable_type(kind.of_type))


def times(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 10: a time ends in `At`, or in `For` if something is planned for it."""
    for one in types_of(schema):
        if isinstance(one, GraphQLObjectType | GraphQLInterfaceType):
            for name, field in one.fields.items():
                is_time = str(get_nullable_type(field.type)) == "DateTime"
                if is_time and not re.search(r"(^at|At|For)$", name):
                    yield f"{one.name}.{name}"


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


def subjects(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 11: the description of a type that is read begins with its subject, so that it makes sense in a tooltip."""
    for one in types_of(schema):
        if not isinstance(one, GraphQLObjectType | GraphQLInterfaceType) or one.name.endswith("Payload"):
            continue
        if one is schema.mutation_type:
            continue
        texts = {
            one.name: one.description,
            **{f"{one.name}.{name}": each.description for name, each in one.fields.items()},
        }
        for name, field in one.fields.items():
            texts |= {f"{one.name}.{name}({argument})": each.description for argument, each in field.args.items()}
        yield from (place for place, text in texts.items() if NO_SUBJECT.match(text or "It"))


def named_subjects(schema: GraphQLSchema) -> Iterator[str]:
    """Rule 11: the description of what a mutation takes names its subject and stands alone."""
    for place, text in described(schema):
        kind = place.partition(".")[0]
        if kind in inputs_of_mutations(schema) and (
            text is None or (NO_SUBJECT.match(text) or text.startswith("Whether")) or len(text.split()) < 4
        ):
            yield place


def inputs_of_mutations(schema: GraphQLSchema) -> frozenset[str]:
    """Return the names of the input types that mutations take, but for filters."""
    found: set[str] = set()
    root = schema.mutation_type
    assert root is not None
    pending = [get_named_type(one.type) for field in root.fields.values() for one in field.args.values()]
    while pending:
        kind = pending.pop()
        if isinstance(kind, GraphQLInputObjectType) and kind.name not in found and not kind.name.endswith("Filter"):
            found.add(kind.name)
            pending += [get_named_type(one.type) for one in kind.fields.values()]
    return frozenset(found)


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
    durations,
    labels,
    lists,
    connections,
    event_types,
    one_shape,
    pictures,
    times,
    booleans,
    general_names,
    sentences,
    subjects,
    empty_descriptions,
    named_subjects,
    deprecations,
)

COMPUTED: Final = "The rows are computed forwards, one after the other: there is no last page, and one order."
ONE_ORDER: Final = "The list has one meaningful order."
PARTS: Final = "The list is a part of its object and is read as a whole."
BY_NUMBER: Final = "Lines have numbers, by which the subscription `executionLog` goes on as well."

EXCEPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "lists": {
        **dict.fromkeys(("Flow.jobs(filter)", "Flow.jobs(orderBy)", "Run.steps(filter)", "Run.steps(orderBy)"), PARTS),
        **dict.fromkeys(("Query.upcoming(last)", "Query.upcoming(before)", "Query.upcoming(orderBy)"), COMPUTED),
        **{f"Query.labelValues({one})": COMPUTED for one in ("last", "before", "filter", "orderBy")},
        **{f"Query.logSearch({one})": COMPUTED for one in ("last", "before", "filter", "orderBy")},
        **dict.fromkeys(("Task.occurrences(filter)", "Task.occurrences(orderBy)", "Query.events(orderBy)"), ONE_ORDER),
        "JobExecution.logLines": BY_NUMBER,
        "Query.jobLogs": "Its form is fixed by the documents that existed before this API.",
        **dict.fromkeys(("FailureHistory.executions(filter)", "FailureHistory.executions(orderBy)"), ONE_ORDER),
        "Query.failureGroups": "It answers the most frequent failures, and nobody pages through the others.",
        "Query.timeline": "It exists for one picture and is marked as unstable.",
        "Task.strip": "It exists for one picture and is marked as unstable.",
    },
    "durations": {
        "Mutation.triggerJob(uniqueFor)": "Its arguments are fixed by the documents that existed before this API.",
        "Mutation.triggerJob(ttl)": "Its arguments are fixed by the documents that existed before this API.",
    },
    "labels": {
        "Mutation.triggerJob(labels)": "Its arguments are fixed by the documents that existed before this API.",
    },
    "single_inputs": {
        "triggerJob": "Its arguments are fixed by the documents that existed before this API.",
    },
    "keys": {
        "createAccount": "The answer shows a secret link once, and such an answer is never stored.",
        "updateAccount": "The answer can show a secret link once, and such an answer is never stored.",
        "createAddress": "The answer shows a secret once, and such an answer is never stored.",
        "createApiToken": "The answer shows a secret once, and such an answer is never stored.",
        "setSecret": "It can be repeated as it is, and no digest of the value is stored.",
    },
    "times": {
        "Query.serverTime": "It is the clock of the server, not the time at which something happens.",
    },
    "booleans": {
        "JobExecution.success": "The columns of the execution log have fixed names.",
        "TriggerJobPayload.success": "The answer of `triggerJob` is fixed.",
    },
}
"""By rule: the places that break it for good, each with a reason."""
