"""The form of what each command answers with `--json`; `make schema` writes it to `docs/cli-answers.schema.json`.

Forms of answers about a running server follow the documents that the commands send, and the schema of the API.
"""

import json
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, TypeAlias

from cronograph.graphql.client import command_line as documents
from cronograph.graphql.client.subscriptions import EVENTS
from cronograph.jobs.core.actor import Role
from cronograph.server.cli.schema import KEPT
from cronograph.server.database.doctor import Level
from cronograph.server.process.ending import ExitCode
from graphql import (
    FieldNode,
    GraphQLEnumType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    OperationDefinitionNode,
    SelectionSetNode,
    build_schema,
    get_named_type,
    get_nullable_type,
    is_composite_type,
    is_list_type,
    is_non_null_type,
    parse,
)

Shape: TypeAlias = dict[str, Any]

TEXT: Final[Shape] = {"type": "string"}
TIME: Final[Shape] = {"type": "string", "format": "date-time"}
INTEGER: Final[Shape] = {"type": "integer"}
NUMBER: Final[Shape] = {"type": "number"}
FLAG: Final[Shape] = {"type": "boolean"}
ANY: Final[Shape] = {"description": "Any value."}


def maybe(shape: Shape) -> Shape:
    """The shape, or null."""
    kind = shape.get("type")
    if isinstance(kind, str) and "enum" not in shape:
        return {**shape, "type": [kind, "null"]}
    return {"anyOf": [shape, {"type": "null"}]} if shape != ANY else shape


def many(shape: Shape) -> Shape:
    """A list of it."""
    return {"type": "array", "items": shape}


def one_of(*values: str) -> Shape:
    """One of these words."""
    return {"type": "string", "enum": list(values)}


def thing(fields: Mapping[str, Shape], name: str | None = None, optional: frozenset[str] = frozenset()) -> Shape:
    """An object with these fields, all of them unless ``optional``, and no other.

    Args:
        fields: Each with its shape.
        name: What it is called.
        optional: Those that may be left out.
    """
    return {
        **({"title": name} if name else {}),
        "type": "object",
        "properties": dict(fields),
        "required": [one for one in fields if one not in optional],
        "additionalProperties": False,
    }


def done(**fields: Shape) -> Shape:
    """The answer of a command that did what it was asked for."""
    return thing({"ok": {"const": True}, **fields})


def either(*shapes: Shape) -> Shape:
    """One or the other."""
    return {"anyOf": list(shapes)}


_SCALARS: Final[dict[str, Shape]] = {
    "ID": TEXT,
    "String": TEXT,
    "Int": INTEGER,
    # One that JavaScript could not read without losing digits is a text.
    "BigInt": {"type": ["integer", "string"], "pattern": "^-?[0-9]+$"},
    "Duration": NUMBER,
    "Labels": {"type": "object", "additionalProperties": TEXT},
    "Float": NUMBER,
    "Boolean": FLAG,
    "DateTime": TIME,
    "JSON": ANY,
}


def answered(document: str, path: str) -> Shape:
    """The shape of what a document answers at a path, without null.

    Args:
        document: With one operation.
        path: The fields that lead there, with dots, e.g. ``runs.nodes``; those of a list are those of its members.
    """
    (operation,) = parse(document).definitions
    assert isinstance(operation, OperationDefinitionNode)
    parent: GraphQLNamedType | None = committed_schema().get_root_type(operation.operation)
    selections: SelectionSetNode | None = operation.selection_set
    kind: Any = None
    for name in path.split("."):
        assert isinstance(parent, GraphQLObjectType)
        assert selections is not None
        node = _selected(selections, name)
        kind = parent.fields[node.name.value].type
        parent, selections = get_named_type(kind), node.selection_set
    return _shape(get_nullable_type(kind), selections, nullable=False)


def scalars_of(name: str, left_out: frozenset[str]) -> dict[str, Shape]:
    """The fields of a type that have no fields of their own, with their shapes."""
    kind = committed_schema().type_map[name]
    assert isinstance(kind, GraphQLObjectType)
    return {
        field_name: _shape(field.type, None)
        for field_name, field in kind.fields.items()
        if not is_composite_type(get_named_type(field.type)) and field_name not in left_out
    }


@cache
def committed_schema() -> GraphQLSchema:
    """The API's schema as its file has it, parsed once in a process; nobody changes it."""
    return build_schema(KEPT.read_text(encoding="utf-8"))


def _selected(selections: SelectionSetNode, name: str) -> FieldNode:
    return next(one for one in _fields(selections) if _answer_name(one) == name)


def _fields(selections: SelectionSetNode) -> list[FieldNode]:
    return [one for one in selections.selections if isinstance(one, FieldNode)]


def _answer_name(node: FieldNode) -> str:
    return node.alias.value if node.alias else node.name.value


def _shape(
    kind: Any,
    selections: SelectionSetNode | None,
    *,
    nullable: bool = True,
) -> Shape:
    if is_non_null_type(kind):
        return _shape(kind.of_type, selections, nullable=False)
    if is_list_type(kind):
        found = many(_shape(kind.of_type, selections))
    elif isinstance(kind, GraphQLEnumType):
        found = one_of(*kind.values)
    elif isinstance(kind, GraphQLObjectType):
        assert selections is not None
        fields = {
            _answer_name(node): _shape(kind.fields[node.name.value].type, node.selection_set)
            for node in _fields(selections)
        }
        found = thing(fields, kind.name)
    else:
        found = _SCALARS[get_named_type(kind).name]
    return maybe(found) if nullable else found


FAILED: Final = thing(
    {
        "ok": {"const": False},
        "code": one_of(*(code.name for code in ExitCode)),
        "errors": many(TEXT),
        "warnings": many(TEXT),
    },
    "Error",
)
"""What every command answers that could not do what it was asked for."""

_RUN = answered(documents.ONE_RUN, "run")
_EXPLAINED = thing({"code": TEXT, "sentence": TEXT, "details": many(TEXT)})
_WAITED = thing({"ok": FLAG, "run": _RUN})
"""Of a run that was waited for; not ok = it did not succeed."""
_GROUP = done(group=answered(documents.PAUSE_GROUP, "pauseGroup.group"))
_TASK = done(task=answered(documents.PAUSE_TASK, "pauseTask.task"))
_NODE = done(node=answered(documents.DRAIN_NODE, "drainNode.node"))
_PREVIEW = answered(documents.TRY_ENQUEUE, "enqueueRuns.preview")
_TRIED = done(preview=_PREVIEW)
"""Of a dry run."""
_PLANNED = many(answered(documents.APPLY_TASKS, "applyTasks.planned")["items"])
_DEFINED = many(answered(documents.APPLY_TASKS, "applyTasks.definitions")["items"])
_LIMITED = many(answered(documents.APPLY_TASKS, "applyTasks.groups")["items"])
_SENT = thing({"id": INTEGER, "state": TEXT})
_MADE = thing({"id": INTEGER, "state": TEXT, "jobName": TEXT})
_VIEWER = done(url=TEXT, name=TEXT, role=one_of("VIEWER", "OPERATOR", "ADMIN"))
_ROLE = one_of(*(role.value for role in Role))
_ACCOUNT = thing({"name": TEXT, "role": _ROLE, "hasPassword": FLAG, "disabledAt": maybe(TIME), "createdAt": TIME})
_ONE_ACCOUNT = done(account=_ACCOUNT)
_EXPORTED = many(answered(documents.EXPORTED_TASKS, "tasks.nodes")["items"])
_EXPORTED_ALARMS = many(answered(documents.EXPORTED_ALARMS, "alarms.nodes")["items"])
_EXPORTED_CHANNELS = many(answered(documents.EXPORTED_CHANNELS, "channels.nodes")["items"])
_EXPORTED_WEBHOOKS = many(answered(documents.EXPORTED_WEBHOOKS, "webhooks.nodes")["items"])
_EXPORTED_HOOKS = many(answered(documents.EXPORTED_HOOKS, "hooks.nodes")["items"])
_EXPORTED_GROUPS = many(answered(documents.EXPORTED_GROUPS, "groups.nodes")["items"])
_CARRIED = thing(
    {
        "place": TEXT,
        "text": TEXT,
        "tasks": many(TEXT),
        "notes": many(TEXT),
        "equal": maybe(FLAG),
        "theirs": many(TIME),
        "here": many(TIME),
    }
)
_LEFT_OUT = thing({"place": TEXT, "text": TEXT, "why": TEXT})
_READY = done(event={"const": "ready"}, url=TEXT, node=TEXT)


def _listed(document: str, name: str, field: str | None = None) -> Shape:
    return done(**{name: answered(document, f"{field or name}.nodes")})


REMOTE: Final[dict[str, Shape]] = {
    "apply": done(tasks=_PLANNED, groups=_LIMITED, definitions=_DEFINED),
    "enqueue": either(done(run=answered(documents.ENQUEUE, "enqueueRuns.runs")["items"]), _WAITED, _TRIED),
    "exec": thing({"ok": FLAG, "task": TEXT, "status": INTEGER, "isReported": FLAG}),
    "export": thing(
        {
            "ok": {"const": True},
            "tasks": _EXPORTED,
            "groups": _EXPORTED_GROUPS,
            "channels": _EXPORTED_CHANNELS,
            "webhooks": _EXPORTED_WEBHOOKS,
            "hooks": _EXPORTED_HOOKS,
            "alarms": _EXPORTED_ALARMS,
            "file": TEXT,
        },
        optional=frozenset({"file", "channels", "webhooks", "hooks"}),
    ),
    "flows cancel": done(flow=answered(documents.CANCEL_FLOW, "cancelFlow.flow")),
    "flows list": _listed(documents.FLOWS, "flows"),
    "flows retry": done(flow=answered(documents.RETRY_FLOW, "retryFlow.flow")),
    "flows show": done(
        flow=thing(
            {
                **answered(documents.FLOWS, "flows.nodes")["items"]["properties"],
                "runs": answered(documents.ONE_FLOW, "flow.runs.nodes"),
            }
        )
    ),
    "addresses create": done(
        address=answered(documents.CREATE_ADDRESS, "createAddress.address"),
        path=answered(documents.CREATE_ADDRESS, "createAddress.path"),
    ),
    "addresses delete": done(address=answered(documents.DELETE_ADDRESS, "deleteAddress.address")),
    "addresses list": _listed(documents.ADDRESSES, "addresses"),
    "alarms acknowledge": done(
        count=INTEGER, firings=answered(documents.ACKNOWLEDGE_ALARMS, "acknowledgeAlarms.firings")
    ),
    **dict.fromkeys(
        ("alarms create", "alarms delete", "alarms disable", "alarms enable", "alarms silence"),
        done(alarm=answered(documents.CREATE_ALARM, "createAlarm.alarm")),
    ),
    "alarms deliveries": done(deliveries=answered(documents.FIRING_DELIVERIES, "alarmFirings.nodes.deliveries.nodes")),
    "alarms firings": _listed(documents.ALARM_FIRINGS, "firings", "alarmFirings"),
    "alarms list": _listed(documents.ALARMS, "alarms"),
    **dict.fromkeys(
        ("channels delete", "channels set"),
        done(channel=answered(documents.SET_CHANNEL, "setChannel.channel")),
    ),
    "channels deliveries": _listed(documents.ALARM_DELIVERIES, "deliveries", "alarmDeliveries"),
    "channels list": _listed(documents.CHANNELS, "channels"),
    **dict.fromkeys(
        ("channels redeliver", "channels test"), done(delivery=answered(documents.TEST_CHANNEL, "testChannel.delivery"))
    ),
    "failures list": done(failures=answered(documents.FAILURE_GROUPS, "failureGroups")),
    **dict.fromkeys(
        ("failures reopen", "failures silence", "failures solve"),
        done(mark=answered(documents.SILENCE_FAILURES, "silenceFailures.mark")),
    ),
    **dict.fromkeys(
        ("groups ageing", "groups cap", "groups keep", "groups limit", "groups pause", "groups rate", "groups resume"),
        _GROUP,
    ),
    "groups list": _listed(documents.GROUPS, "groups"),
    **dict.fromkeys(
        ("hooks create", "hooks delete", "hooks update"),
        done(hook=answered(documents.CREATE_HOOK, "createHook.hook")),
    ),
    "hooks list": _listed(documents.HOOKS, "hooks"),
    **dict.fromkeys(
        ("webhooks create", "webhooks update"),
        done(
            webhook=answered(documents.CREATE_WEBHOOK, "createWebhook.webhook"),
            preview=maybe(answered(documents.CREATE_WEBHOOK, "createWebhook.preview")),
        ),
    ),
    **dict.fromkeys(
        ("webhooks delete", "webhooks resume"),
        done(webhook=answered(documents.DELETE_WEBHOOK, "deleteWebhook.webhook")),
    ),
    "webhooks deliveries": _listed(documents.ALARM_DELIVERIES, "deliveries", "alarmDeliveries"),
    "webhooks list": _listed(documents.WEBHOOKS, "webhooks"),
    "webhooks redeliver": done(
        webhook=answered(documents.REDELIVER_WEBHOOK, "redeliverWebhook.webhook"), count=INTEGER
    ),
    "jobs list": _listed(documents.JOBS, "jobs"),
    "jobs rate": done(job=answered(documents.UPDATE_JOB, "updateJob.job")),
    # What the archive does not know of an execution is null there.
    "log": either(_listed(documents.EXECUTIONS, "executions"), done(executions=many(ANY), archive=TEXT)),
    **dict.fromkeys(("login", "whoami"), _VIEWER),
    "logout": done(url=TEXT, ended=FLAG),
    **dict.fromkeys(("nodes drain", "nodes resume"), _NODE),
    "nodes wait-idle": done(node=answered(documents.NODES, "nodes.nodes")),
    "nodes list": _listed(documents.NODES, "nodes"),
    "plan": done(differs=FLAG, tasks=_PLANNED, groups=_LIMITED, definitions=_DEFINED),
    **dict.fromkeys(("runs cancel", "runs priority"), done(count=INTEGER)),
    "runs explain": done(explain=_EXPLAINED),
    "runs list": _listed(documents.RUNS, "runs"),
    "runs retry": either(
        done(count=INTEGER),
        done(run=answered(documents.RETRY_RUN, "retryRun.run")),
        _WAITED,
        done(count=INTEGER, preview=_PREVIEW),
    ),
    "runs show": done(run=_RUN),
    "signal": done(run=_SENT),
    "stats": done(overview=answered(documents.STATS, "overview")),
    **dict.fromkeys(("tasks pause", "tasks resume"), _TASK),
    **dict.fromkeys(
        ("tasks create", "tasks update"),
        either(_TASK, done(task=answered(documents.TRY_CREATE_TASK, "createTask.task"), preview=_PREVIEW)),
    ),
    "tasks delete": done(deletedName=maybe(TEXT), cancelledCount=INTEGER),
    "tasks explain": done(explain=_EXPLAINED),
    "tasks list": _listed(documents.TASKS, "tasks"),
    "tasks next": done(nextExecutions=many(TIME)),
    "tasks show": done(task=answered(documents.ONE_TASK, "task")),
    "top": done(
        overview=answered(documents.TOP, "overview"),
        running=answered(documents.TOP, "running.nodes"),
        groups=answered(documents.TOP, "groups.nodes"),
        nodes=answered(documents.TOP, "nodes.nodes"),
        failures=answered(documents.TOP, "failures.nodes"),
    ),
    "trigger": either(
        done(run=maybe(_MADE)), done(success=FLAG, message=TEXT, jobName=TEXT, run=maybe(_MADE)), _WAITED, _TRIED
    ),
}
"""Of those that speak to a running server."""

_SPREAD = thing({"p50": NUMBER, "p99": NUMBER, "longest": NUMBER})
_STATEMENT = thing(
    {
        "name": TEXT,
        "form": maybe(TEXT),
        "heading": TEXT,
        "parameters": many(TEXT),
        "statement": TEXT,
        "plan": many(TEXT),
    },
    "Statement",
)
_TOKEN = {"id": INTEGER, "user": TEXT, "name": TEXT, "role": _ROLE, "shown": TEXT}
_SECRET = {"name": TEXT, "keyId": TEXT, "updatedAt": TIME, "updatedBy": TEXT, "usedBy": many(TEXT)}
_FINDING = thing({"check": TEXT, "level": one_of(*(one.value for one in Level)), "says": TEXT, "advice": TEXT})

LOCAL: Final[dict[str, Shape]] = {
    "audit verify": done(entries=INTEGER, newest=maybe(TEXT)),
    "backup": done(file=TEXT, bytes=INTEGER, line=maybe(TEXT), secretKey=TEXT),
    "bench": done(enqueued=NUMBER, drained=NUMBER, processor=NUMBER, start=_SPREAD, late=_SPREAD),
    "check": done(
        errors=many(TEXT),
        warnings=many(TEXT),
        jobs=many(TEXT),
        database=thing({"exists": FLAG, "pending": many(TEXT), "usedBy": maybe(TEXT), "tasks": INTEGER}),
    ),
    "doctor": thing({"ok": FLAG, "database": one_of("sqlite", "postgresql"), "findings": many(_FINDING)}),
    "executors": thing(
        {
            "ok": FLAG,
            "executors": many(thing({"name": TEXT, "kind": TEXT, "missing": many(TEXT)})),
            "kinds": many(TEXT),
        }
    ),
    "migrate": done(applied=many(TEXT)),
    "import": done(
        text=TEXT, carried=many(_CARRIED), leftOut=many(_LEFT_OUT), notes=many(TEXT), startModule=maybe(TEXT)
    ),
    "schedule": done(humanized=TEXT, nextExecutions=many(TIME)),
    "schema": either(done(schema=TEXT), done()),
    "secret delete": done(name=TEXT),
    "secret list": done(secrets=many(thing(_SECRET))),
    "secret new-key": done(key=TEXT, keyId=TEXT),
    "secret rotate-key": done(keyId=TEXT, secrets=INTEGER),
    "secret set": done(name=TEXT, keyId=TEXT),
    "sql": done(database=one_of("sqlite", "postgres"), statements=many(_STATEMENT)),
    "token create": done(token=TEXT, id=INTEGER, role=_ROLE, expiresAt=maybe(TIME)),
    "token list": done(tokens=many(thing({**_TOKEN, "expiresAt": maybe(TIME), "lastUsedAt": maybe(TIME)}))),
    "token revoke": done(id=INTEGER),
    **dict.fromkeys(("user add", "user disable", "user enable", "user password", "user role"), _ONE_ACCOUNT),
    "user link": done(link=TEXT, until=TIME),
    "user list": done(accounts=many(_ACCOUNT)),
    "version": done(cronograph=TEXT, commit=maybe(TEXT), schema=TEXT, python=TEXT),
}
"""Of those that need no server."""

_EVENT = {field: shape for kind in EVENTS for field, shape in scalars_of(kind.__name__, frozenset()).items()}

LINES: Final[dict[str, Shape]] = {
    "audit export": either(
        thing(
            {
                "id": INTEGER,
                "at": TIME,
                "actor": TEXT,
                "actorId": maybe(INTEGER),
                "address": maybe(TEXT),
                "action": TEXT,
                "subject": maybe(TEXT),
                "before": ANY,
                "after": ANY,
                "revised": maybe(TEXT),
                "jobName": maybe(TEXT),
                "hash": TEXT,
            }
        ),
        thing({"id": INTEGER, "unreadable": TEXT, "hash": TEXT}),
    ),
    "demo": _READY,
    "events": thing(_EVENT, "Event", optional=frozenset(_EVENT) - {"cursor", "at", "kind"}),
    "logs": either(
        thing(
            {"executionId": TEXT, "line": INTEGER, "at": TIME, "level": TEXT, "message": TEXT, "fields": ANY},
            "LogLine",
            optional=frozenset({"executionId"}),
        ),
        # What a search says behind the lines that it found.
        thing({"executions": INTEGER, "lines": INTEGER, "hasMore": FLAG, "sentence": TEXT}, "LogMatchConnection"),
    ),
    "serve": _READY,
    "worker": _READY,
}
"""Of those that answer line by line: the shape of a line. Servers go on with lines of their log."""


def published() -> Shape:
    """All of it: a definition for each command, and those that several share."""
    shared: dict[str, Shape] = {}
    commands = {name: _sharing(shape, shared) for name, shape in sorted({**LOCAL, **REMOTE, **LINES}.items())}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What the commands of cronograph answer with --json",
        "description": (
            "One JSON object, for `$defs.COMMAND`; an error is `$defs.Error`. "
            f"JSON lines, each of this form: {', '.join(sorted(LINES))}."
        ),
        "$defs": {"Error": FAILED, **shared, **commands},
    }


def _sharing(shape: Any, shared: dict[str, Shape]) -> Any:
    """A shape in which things that have a name are references to one definition each."""
    if isinstance(shape, list):
        return [_sharing(one, shared) for one in shape]
    if not isinstance(shape, dict):
        return shape
    own: Shape = {name: _sharing(part, shared) for name, part in shape.items()}
    # An object may have a field of that name, too.
    if not isinstance(own.get("title"), str):
        return own
    name, number = own["title"], 1
    while shared.setdefault(name, own) != own:
        number += 1
        name = f"{own['title']}{number}"
    return {"$ref": f"#/$defs/{name}"}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(published(), indent=1) + "\n")
