"""Writes the modules of the typed client that follow from something else, so that nobody repeats it by hand.

`enums.py`, `records.py` and `inputs.py` follow from the schema's text, `blocking.py` from `awaiting.py`.
`python -m tests.generation.typed_client` writes them, `make schema` does; a test compares. What is in a
record is decided here: every field of its type that needs no argument and is not a thing of its own, those named in
`things`, and none of those in `without`.
"""
# graphql-core does not say what its lists and what may not be null hold.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    build_schema,
    print_ast,
)
from tests.support.sources import ROOT

FOLDER: Final = ROOT / "graphql" / "client"
SDL: Final = ROOT / "graphql" / "schema.graphql"
WIDTH: Final = 120

SCALARS: Final = {
    "BigInt": "int",
    "Boolean": "bool",
    "DateTime": "datetime",
    "Duration": "float",
    "Float": "float",
    "ID": "int",
    "Int": "int",
    "JSON": "Any",
    "Labels": "dict[str, str]",
    "String": "str",
}
"""What a scalar is in Python."""

MAPPINGS: Final = frozenset({"args", "variables"})
"""Fields of type JSON that always hold an object."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A record of the client.

    Attributes:
        name: its class.
        type: the type of the schema behind it.
        things: fields that are things of their own, and the record for each.
        without: fields that are left out.
        only: the fields to take, if not all.
        details: further such fields, which are asked for only on demand; they have the default None.
        base: the record that it extends; it has the fields of that too.
        about: what it is, where it is not the whole type.
    """

    name: str
    type: str
    things: dict[str, str] = field(default_factory=dict[str, str])
    without: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    details: dict[str, str] = field(default_factory=dict[str, str])
    base: str = "Record"
    about: str = ""


OF_A_LOG: Final = frozenset(
    {
        *("id", "jobName", "startedAt", "completedAt", "success", "errorMessage", "recordsProcessed"),
        *("outcome", "taskName", "attempt", "node", "trigger"),
    }
)
"""What `jobLogs` is asked for: little enough for a thousand at once."""

OF_AN_EVENT: Final = frozenset({"cursor", "at", "kind"})
"""The fields of every event."""

RECORDS: Final = (
    Recorded("UniqueKey", "UniqueKey"),
    Recorded("Rate", "RateLimit"),
    Recorded("Resources", "Resources"),
    Recorded("Cap", "Cap"),
    Recorded(
        "JobLimits",
        "JobLimits",
        {"rate": "Rate", "rateKey": "UniqueKey", "concurrencyKey": "UniqueKey", "cap": "Cap", "capKey": "UniqueKey"},
    ),
    Recorded("Job", "Job", {"uniqueKey": "UniqueKey", "limits": "JobLimits", "declaredRate": "Rate"}),
    Recorded("Schedule", "Schedule"),
    Recorded("ScheduleFault", "ScheduleError"),
    Recorded("ScheduleValidation", "ScheduleValidation", {"error": "ScheduleFault"}),
    Recorded("Progress", "Progress"),
    Recorded("RunKey", "Run", only=frozenset({"id"}), about="A run by its key."),
    Recorded("JobLog", "JobExecution", only=OF_A_LOG, about="What is asked of an execution in `jobLogs`."),
    # A traceback can be long, and a page has 200 of them: ask for it with `execute`.
    Recorded(
        "Execution",
        "JobExecution",
        {"run": "RunKey", "progress": "Progress"},
        without=OF_A_LOG | {"traceback"},
        base="JobLog",
    ),
    Recorded(
        "Task", "Task", {"schedule": "Schedule", "lastStatus": "Execution", "resources": "Resources", "rate": "Rate"}
    ),
    Recorded("Run", "Run", {"progress": "Progress", "resources": "Resources"}),
    Recorded("FlowProgress", "FlowProgress"),
    Recorded("Flow", "Flow", {"progress": "FlowProgress"}),
    Recorded("Explanation", "Explanation"),
    Recorded("RunPreview", "RunPreview", {"explanation": "Explanation"}),
    Recorded("Preview", "Preview", {"runs": "RunPreview"}),
    Recorded("TriggeredJob", "TriggerJobPayload", {"run": "Run", "preview": "Preview"}),
    Recorded("SkippedOccurrence", "SkippedOccurrence"),
    Recorded("Group", "Group", {"rate": "Rate", "cap": "Cap"}),
    Recorded("Node", "Node"),
    Recorded("LogLine", "LogLine"),
    Recorded("LogPart", "LogPart", {"lines": "LogLine"}),
    Recorded("Event", "Event"),
    Recorded("TaskEvent", "TaskEvent", base="Event", without=OF_AN_EVENT, details={"task": "Task"}),
    Recorded("RunEvent", "RunEvent", base="Event", without=OF_AN_EVENT, details={"task": "Task", "run": "Run"}),
    Recorded(
        "ExecutionEvent",
        "ExecutionEvent",
        base="Event",
        without=OF_AN_EVENT,
        details={"task": "Task", "run": "Run", "execution": "Execution"},
    ),
    Recorded("StepEvent", "StepEvent", base="Event", without=OF_AN_EVENT, details={"run": "Run"}),
    Recorded("SkippedEvent", "SkippedEvent", base="Event", without=OF_AN_EVENT, details={"task": "Task"}),
    Recorded("NodeEvent", "NodeEvent", base="Event", without=OF_AN_EVENT, details={"changedNode": "Node"}),
    Recorded("GroupEvent", "GroupEvent", base="Event", without=OF_AN_EVENT, details={"changedGroup": "Group"}),
    Recorded("AlarmEvent", "AlarmEvent", base="Event", without=OF_AN_EVENT),
    Recorded("WebhookEvent", "WebhookEvent", base="Event", without=OF_AN_EVENT),
    Recorded("FlowEvent", "FlowEvent", base="Event", without=OF_AN_EVENT, details={"flow": "Flow"}),
    Recorded("ResyncEvent", "ResyncEvent", base="Event", without=OF_AN_EVENT),
    Recorded("Viewer", "Viewer"),
    Recorded("SavedView", "SavedView"),
    Recorded("Webhook", "Webhook"),
)

BASES: Final = {"RunState": "StateOfRun"}
"""Enums whose members can say more than their name."""

INPUTS: Final = {
    "ScheduleInput": "ScheduleInput",
    "RateInput": "RateInput",
    "ResourcesInput": "ResourcesInput",
    "DebounceInput": "DebounceInput",
    "ThrottleInput": "ThrottleInput",
    "RunSettings": "EnqueueRunInput",
    "NewRun": "EnqueueRunInput",
    "NewFlowRun": "FlowRunInput",
    "EventFilter": "EventFilter",
}
"""Classes of what is sent, and the input types behind them."""
EXTENDED: Final = {"NewRun": "RunSettings", "NewFlowRun": "RunSettings"}
"""Those that have the fields of another."""

OF_A_NEW_TASK: Final = frozenset({"name", "jobName", "schedule", "idempotencyKey"})
"""What `create_task` takes by itself."""

TWIN_NOTE: Final = """# Made from awaiting.py by `make schema`; do not edit it.
# ruff: noqa: UP028 - the other has no `yield from`
"""

TWIN: Final = (
    (
        '"""The client for code on an event loop: the same as `Client`, to be awaited."""',
        '"""The client for plain code."""',
    ),
    ("an ``async with`` block. It belongs to one event loop.", "a ``with`` block. It can be shared by threads."),
    ("wrap them in `contextlib.aclosing` to leave them early", "wrap them in `contextlib.closing` to leave them early"),
    ("import asyncio\n", "import time\n"),
    ("asyncio.sleep", "time.sleep"),
    ("AsyncGenerator", "Generator"),
    ("AsyncBaseTransport", "BaseTransport"),
    ("AsyncClient", "Client"),
    ("anext(", "next("),
    ("__aenter__", "__enter__"),
    ("__aexit__", "__exit__"),
    ("aclosing", "closing"),
    ("aclose()", "close()"),
    ("aread()", "read()"),
    ("aiter_bytes()", "iter_bytes()"),
    ("an async generator", "a generator"),
    ("async ", ""),
    ("await ", ""),
)
"""What has to be replaced to wait for answers instead of awaiting them; in this order."""


def modules(sdl: str) -> dict[str, str]:
    """The text of each generated module, by its file name within `client`."""
    schema = build_schema(sdl)
    bodies = {
        "enums.py": _enums(schema),
        "records.py": _records(schema),
        "inputs.py": _inputs(schema),
    }
    twin = (FOLDER / "awaiting.py").read_text(encoding="utf-8")
    for awaited, plain in TWIN:
        twin = twin.replace(awaited, plain)
    return {**{name: "\n".join(lines) + "\n" for name, lines in bodies.items()}, "blocking.py": TWIN_NOTE + twin}


def _enums(schema: GraphQLSchema) -> Iterator[str]:
    yield _note('"""The enums of the API. A value that this version does not know yet becomes a member of its own."""')
    yield f"\nfrom .base.shapes import {', '.join(sorted({'OpenEnum', *BASES.values()}))}"
    for name in sorted(_enum_names(schema)):
        kind = schema.type_map[name]
        assert isinstance(kind, GraphQLEnumType)
        yield f"\n\nclass {name}({BASES.get(name, 'OpenEnum')}):"
        yield from _docstring(kind.description)
        yield ""
        yield from (f'    {value} = "{value}"' for value in kind.values)


def _enum_names(schema: GraphQLSchema) -> set[str]:
    """The enums that records and inputs speak of."""
    records = [_named(one.type) for record in RECORDS for _, one in _fields(schema, record)]
    sent = [_named(one.type) for name in INPUTS.values() for one in _input(schema, name).fields.values()]
    settings = [_named(one.type) for one in _input(schema, "UpdateTaskInput").fields.values()]
    return {name for name in (*records, *sent, *settings) if isinstance(schema.type_map[name], GraphQLEnumType)}


def _records(schema: GraphQLSchema) -> Iterator[str]:
    yield _note(
        '"""What the API answers, as frozen dataclasses. Times are aware, in UTC; durations are seconds.\n\n'
        "The fields of a record are the fields that its operations ask for; the API's schema describes them.\n"
        '"""'
    )
    used = {_named(one.type) for record in RECORDS for _, one in _fields(schema, record)}
    yield "\nfrom dataclasses import dataclass\nfrom datetime import datetime\nfrom typing import Any\n"
    yield "from .base.shapes import Record"
    yield from _imported("enums", used & _enum_names(schema))
    for record in RECORDS:
        kind = _object(schema, record.type)
        yield "\n\n@dataclass(frozen=True, slots=True, kw_only=True)"
        yield f"class {record.name}({record.base}):"
        yield from _docstring(record.about or kind.description)
        own = list(_fields(schema, record))
        yield from [""] if own else []
        known = {**record.things, **record.details}
        yield from (
            f"    {snake(name)}: {_answered(name, one.type, known)}{' = None' if name in record.details else ''}"
            for name, one in own
        )


def _fields(schema: GraphQLSchema, record: Recorded) -> Iterator[tuple[str, GraphQLField]]:
    """The fields of the record's own, in the order of the schema."""
    for name, one in _object(schema, record.type).fields.items():
        wanted = name in record.only if record.only else name not in record.without
        is_thing = isinstance(schema.type_map[_named(one.type)], GraphQLObjectType | GraphQLInterfaceType)
        named = name in record.things or name in record.details
        if wanted and (named or (not is_thing and not one.args)):
            yield name, one


def _inputs(schema: GraphQLSchema) -> Iterator[str]:
    yield _note('"""Schedules, runs, conditions, settings of a task. Durations: seconds or a ``timedelta``."""')
    yield "\nfrom collections.abc import Mapping, Sequence\nfrom dataclasses import dataclass"
    yield "from datetime import datetime\nfrom typing import Any, TypedDict\n"
    shown = [*INPUTS.values(), "UpdateTaskInput"]
    used = {_named(one.type) for name in shown for one in _input(schema, name).fields.values()}
    yield "from .base.shapes import Seconds"
    yield from _imported("enums", used & _enum_names(schema))
    for name, type_name in INPUTS.items():
        kind, base = _input(schema, type_name), EXTENDED.get(name)
        inherited = {} if base is None else _input(schema, INPUTS[base]).fields
        own = {one: value for one, value in kind.fields.items() if one not in inherited}
        yield f"\n\n@dataclass(frozen=True, slots=True{', kw_only=True' if name != 'ScheduleInput' else ''})"
        yield f"class {name}:" if base is None else f"class {name}({base}):"
        yield from _docstring(kind.description, _described(own))
        yield from ([""] if own else [])
        yield from (f"    {snake(one)}: {_given(one, value)}" for one, value in own.items())
    new, changed = _input(schema, "CreateTaskInput"), _input(schema, "UpdateTaskInput")
    yield "\n\nclass TaskSettings(TypedDict, total=False):"
    yield '    """What can be set on a task: what is absent is left alone, None sets the default."""\n'
    yield from (_setting(name, new) for name in new.fields if name not in OF_A_NEW_TASK)
    yield "\n\nclass TaskChanges(TaskSettings, total=False):"
    yield '    """What can be changed on a task."""\n'
    yield from (f"    {snake(name)}: {_python(changed.fields[name].type)}" for name in ("jobName", "schedule"))


def _setting(name: str, kind: GraphQLInputObjectType) -> str:
    return f"    {snake(name)}: {_sent(name, kind.fields[name].type)} | None"


def _given(name: str, one: GraphQLInputField) -> str:
    """Annotation and default of a field of a dataclass that is sent."""
    default = one.ast_node.default_value if one.ast_node is not None else None
    if isinstance(one.type, GraphQLNonNull):
        return _sent(name, one.type) + ("" if default is None else f" = {print_ast(default)}")
    return f"{_sent(name, one.type)} | None = None"


def _described(fields: Mapping[str, GraphQLInputField]) -> list[str]:
    """The `Attributes:` of a docstring."""
    lines = ["", "Attributes:"] if fields else []
    for name, one in fields.items():
        text = _sentence(one.description)
        lines += _wrapped(f"{snake(name)}: {text[0].lower()}{text[1:]}", "    ", "        ")
    return lines


def _answered(name: str, kind: GraphQLOutputType, things: dict[str, str]) -> str:
    """The annotation of a field of a record."""
    if isinstance(kind, GraphQLNonNull):
        inner = kind.of_type
        if isinstance(inner, GraphQLList):
            return f"tuple[{_answered(name, inner.of_type, things)}, ...]"
        if name in MAPPINGS:
            return "dict[str, Any]"
        return things.get(name) or _python(inner)
    present = _answered(name, GraphQLNonNull(kind), things)
    return present if present == "Any" else f"{present} | None"


def _sent(name: str, kind: GraphQLInputType) -> str:
    """The annotation of something that is sent, without `| None`."""
    inner = kind.of_type if isinstance(kind, GraphQLNonNull) else kind
    if isinstance(inner, GraphQLList):
        return f"Sequence[{_python(inner.of_type)}]"
    if _named(inner) in {"Duration", "Float"}:
        return "Seconds"
    if _named(inner) == "Labels":
        return "Mapping[str, str]"
    return "Mapping[str, Any]" if name in MAPPINGS else _python(inner)


def snake(name: str) -> str:
    """The Python spelling of a GraphQL name: ``jobName`` is ``job_name``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z0-9])", "_", name).lower()


def _python(kind: GraphQLInputType | GraphQLOutputType) -> str:
    name = _named(kind)
    return SCALARS.get(name, name)


def _named(kind: GraphQLInputType | GraphQLOutputType) -> str:
    """The name of a type without its list and its exclamation marks."""
    return str(kind).strip("[]!")


def _object(schema: GraphQLSchema, name: str) -> GraphQLObjectType | GraphQLInterfaceType:
    kind = schema.type_map[name]
    assert isinstance(kind, GraphQLObjectType | GraphQLInterfaceType), name
    return kind


def _input(schema: GraphQLSchema, name: str) -> GraphQLInputObjectType:
    kind = schema.type_map[name]
    assert isinstance(kind, GraphQLInputObjectType), name
    return kind


def _note(docstring: str) -> str:
    return f"# Made from graphql/schema.graphql by `make schema`; do not edit it.\n{docstring}"


def _imported(module: str, names: Iterable[str]) -> Iterator[str]:
    """An import in the form of the house."""
    ordered = sorted(names)
    line = f"from .{module} import {', '.join(ordered)}"
    if len(line) <= WIDTH:
        yield line
        return
    yield f"from .{module} import ("
    yield from (f"    {name}," for name in ordered)
    yield ")"


def _docstring(description: str | None, more: list[str] | None = None) -> Iterator[str]:
    text = _sentence(description)
    if not more and len(text) <= WIDTH - 10:
        yield f'    """{text}"""'
        return
    # The first line has to be a sentence; what follows it stands below.
    first, _, rest = text.partition(". ") if len(text) > WIDTH - 7 else (text, "", "")
    yield f'    """{first}{"." if rest else ""}'
    if rest:
        yield ""
        yield from _wrapped(rest, "    ", "    ")
    yield from (f"    {line}".rstrip() for line in more or [])
    yield '    """'


def _wrapped(text: str, first: str, others: str) -> list[str]:
    return textwrap.wrap(text, WIDTH - 4, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)


def _sentence(description: str | None) -> str:
    """A description of the schema on one line; code is marked as in docstrings of the client."""
    return re.sub(r"`([^`]+)`", r"``\1``", " ".join((description or "").split())).replace("\\", "\\\\")


def write() -> None:
    """Write all generated modules."""
    for name, text in modules(SDL.read_text(encoding="utf-8")).items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
