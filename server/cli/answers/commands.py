"""The answer of each command; those about a running server follow the documents that they send."""

from typing import Final

from ....graphql.client import command_line as documents
from ....jobs.core.actor import Role
from ...database.findings import Level
from ...process.ending import ExitCode
from .documents import answered, scalars_of
from .shapes import ANY, FLAG, INTEGER, NUMBER, TEXT, TIME, Shape, done, either, many, maybe, one_of, thing

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
_LIMITED = many(answered(documents.APPLY_TASKS, "applyTasks.groups")["items"])
_SENT = thing({"id": INTEGER, "state": TEXT})
_MADE = thing({"id": INTEGER, "state": TEXT, "jobName": TEXT})
_VIEWER = done(url=TEXT, name=TEXT, role=one_of("VIEWER", "OPERATOR", "ADMIN"))
_ROLE = one_of(*(role.value for role in Role))
_ACCOUNT = thing({"name": TEXT, "role": _ROLE, "hasPassword": FLAG, "disabledAt": maybe(TIME), "createdAt": TIME})
_ONE_ACCOUNT = done(account=_ACCOUNT)
_EXPORTED = many(answered(documents.EXPORTED_TASKS, "tasks.nodes")["items"])
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
    "apply": done(tasks=_PLANNED, groups=_LIMITED),
    "enqueue": either(done(run=answered(documents.ENQUEUE, "enqueueRuns.runs")["items"]), _WAITED, _TRIED),
    "export": thing(
        {"ok": {"const": True}, "tasks": _EXPORTED, "groups": _EXPORTED_GROUPS, "file": TEXT},
        optional=frozenset({"file"}),
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
    **dict.fromkeys(
        ("groups ageing", "groups cap", "groups keep", "groups limit", "groups pause", "groups rate", "groups resume"),
        _GROUP,
    ),
    "groups list": _listed(documents.GROUPS, "groups"),
    "jobs list": _listed(documents.JOBS, "jobs"),
    "jobs rate": done(job=answered(documents.UPDATE_JOB, "updateJob.job")),
    "log": _listed(documents.EXECUTIONS, "executions"),
    **dict.fromkeys(("login", "whoami"), _VIEWER),
    "logout": done(url=TEXT, ended=FLAG),
    **dict.fromkeys(("nodes drain", "nodes resume"), _NODE),
    "nodes list": _listed(documents.NODES, "nodes"),
    "plan": done(differs=FLAG, tasks=_PLANNED, groups=_LIMITED),
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
    {"name": TEXT, "heading": TEXT, "parameters": many(TEXT), "statement": TEXT, "plan": many(TEXT)}, "Statement"
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

_EVENT = scalars_of("Event", frozenset())

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
        thing({"executions": INTEGER, "lines": INTEGER, "bounded": FLAG, "sentence": TEXT}, "LogSearch"),
    ),
    "serve": _READY,
    "worker": _READY,
}
"""Of those that answer line by line: the shape of a line. Servers go on with lines of their log."""
