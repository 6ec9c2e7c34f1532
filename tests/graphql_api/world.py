"""A database with one of everything, and for each mutation a request that does something there."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sqlalchemy import func, select

from cronograph.graphql.resolving.context import Context, Person
from cronograph.jobs.accounts.actions.accounts import add_account
from cronograph.jobs.accounts.actions.sessions import ClientInfo, start
from cronograph.jobs.accounts.rules.accounts import Profile
from cronograph.jobs.accounts.rules.credentials import DeviceKey
from cronograph.jobs.accounts.rules.secrets import KeyRing, SecretKey
from cronograph.jobs.accounts.rules.sessions import CredentialKind, Identity
from cronograph.jobs.accounts.statements.identities import insert_identity, insert_passkey
from cronograph.jobs.actions.task_sets import declare_tasks
from cronograph.jobs.core.actor import Role
from cronograph.jobs.core.admission.caps import Rate
from cronograph.jobs.core.limits import Limits
from cronograph.jobs.core.model import ScheduleSpec, TaskSpec
from cronograph.jobs.core.outcome import Failed, Suspended
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.core.steps import StepKind
from cronograph.jobs.core.waits import AwaitedKind, Awaits, Wait
from cronograph.jobs.delivery import webhooks, write
from cronograph.jobs.delivery.rules import DeliveryEvent, DeliveryState
from cronograph.jobs.delivery.webhooks import StopReason
from cronograph.jobs.queue.waits import wait
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema import tables
from cronograph.jobs.store.statements.figures.failures import fingerprint
from tests.generation.cli_answers import committed_schema
from tests.graphql_api.api import Api
from tests.graphql_api.odd_values import declared_type

DAILY: Final = {"syntax": "CRON", "value": "@daily"}
KEYS: Final = KeyRing((SecretKey.of(b"k" * 32),))
PAUSED: Final = ("paused", "to-resume", "to-resume-too")
TASKS: Final = ("changed", "to-pause", "to-pause-too", *PAUSED, "to-delete", "to-delete-too", "triggered")


@dataclass(frozen=True)
class Request:
    """A request of a mutation.

    Attributes:
        input: Its input, or its arguments if it has no input.
        fields: The fields of the answer that are the same on a dry run.
        real: A field that only the change itself answers, such as a new run.
        tried: A field that only a dry run answers, such as a preview.
    """

    input: Mapping[str, Any]
    fields: str
    real: str = ""
    tried: str = ""


def document_of(mutation: str, fields: str) -> str:
    """Return the document of a mutation; its variables have the names of its arguments."""
    root = committed_schema().mutation_type
    assert root is not None
    arguments = root.fields[mutation].args
    declared = ", ".join(f"${name}: {declared_type(one)}" for name, one in arguments.items())
    passed = ", ".join(f"{name}: ${name}" for name in arguments)
    return f"mutation({declared}) {{ {mutation}({passed}) {{ {fields} }} }}"


def variables_of(mutation: str, input: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables of ``document_of`` for an input."""
    return dict(input) if mutation == "triggerJob" else {"input": dict(input)}


@dataclass
class World:
    """One of everything.

    Attributes:
        api: Over its database.
        person: Who asks: an administrator who has signed in.
        ids: The ids of its objects, by what is done to them.
    """

    api: Api
    person: Person = field(default_factory=lambda: Person("ada", Role.ADMIN))
    ids: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    async def of(cls, api: Api) -> "World":
        """Fill a database; events get no numbers from then on."""
        world = cls(api)
        world._sign_in()
        await world._tasks()
        await world._runs()
        await world._flows()
        await world._others()
        await world._alarms()
        await api.bus.stop()
        return world

    def context(self) -> Context:
        """Return the context of somebody who has signed in as an administrator."""
        return replace(self.api.context(), person=self.person, keys=lambda: KEYS)

    async def answer(self, mutation: str, input: Mapping[str, Any], fields: str) -> dict[str, Any]:
        """Return the payload of a mutation that is not refused."""
        document, variables = (
            document_of(mutation, f"{fields} errors {{ code message }}"),
            variables_of(mutation, input),
        )
        result: Any = await self.api.schema.execute(document, variable_values=variables, context_value=self.context())
        assert not result.errors, (mutation, result.errors)
        found: dict[str, Any] = result.data[mutation]
        assert found.pop("errors") == [], (mutation, found)
        return found

    def rows(self) -> dict[str, list[str]]:
        """Return every row of every table."""

        def read(tx: Tx) -> dict[str, list[str]]:
            tables_of_all = tables.run.metadata.sorted_tables
            return {one.name: sorted(map(str, tx.conn.execute(select(one)))) for one in tables_of_all}

        return self.api.stored.do(read)

    def _sign_in(self) -> None:
        def act(tx: Tx) -> None:
            account = add_account(tx, "ada", Role.ADMIN, "hash")
            sessions = [start(tx, account, name, ClientInfo("::1"), by="password") for name in ("first", "second")]
            keys = [
                insert_passkey(tx.conn, account.id, DeviceKey(name, name, 0), name, tx.now)
                for name in ("laptop", "phone")
            ]
            profile = Profile("idp", "https://idp.example", "42", "ada", None, may_sign_up=False)
            identity = insert_identity(tx.conn, account.id, profile, tx.now)
            made = {"session": sessions[1], "passkey": keys[0], "other passkey": keys[1], "identity": identity}
            self.ids |= {name: str(one.id) for name, one in made.items() if one is not None}
            seen = Identity(account.id, "ada", Role.ADMIN, Role.ADMIN, CredentialKind.BROWSER, sessions[0].id)
            self.person = Person("ada", Role.ADMIN, account.id, seen)

        self.api.stored.do(act)

    async def _tasks(self) -> None:
        stored = self.api.stored
        stored.node("node-rated", jobs=["rated"], limits=Limits(rate=Rate(6, 60.0, 1)))
        stored.node("node-pruning", jobs=["prune_history"])
        stored.node("node-coding", jobs=["coded"], schedule="0 * * * * *")
        stored.do(declare_tasks, [TaskSpec("coded", "coded", ScheduleSpec(Syntax.CRON, "0 * * * * *"))], ["coded"])
        await self.answer("updateTask", {"name": "coded", "schedule": DAILY}, "task { name }")
        for name in TASKS:
            stored.task("0 0 0 1 1 *", name=name)
        for name in ("owned", "owned-too"):
            stored.task("0 0 0 1 1 *", name=name, owner="channel:42")
        stored.task("0 0 0 1 1 *", name="changed-back")
        for text in ("one", "another"):
            await self.answer("updateTask", {"name": "changed-back", "description": text}, "task { name }")
        before = select(func.max(tables.audit_log.c.id) - 1)
        self.ids["revision"] = str(stored.do(lambda tx: tx.conn.execute(before).scalar_one()))
        for name in PAUSED:
            await self.answer("pauseTask", {"name": name}, "task { name }")

    async def _runs(self) -> None:
        stored = self.api.stored
        worker = stored.node("node-b")
        for name, retries in (("failed", 0), ("failed too", 0), ("stuck", 1), ("stuck too", 1)):
            self.ids[name] = str(stored.enqueue(retries=retries).id)
            worker.end(worker.start(), Failed("ValueError", "no"))
        for name in ("silenced", "solved", "reopened"):
            stored.enqueue(retries=0)
            worker.end(worker.start(), Failed("KeyError", name))
            self.ids[name] = fingerprint("work", "KeyError", name)
        await self.answer("solveFailures", {"fingerprint": self.ids["reopened"]}, "mark { jobName }")
        self.ids["signalled"] = str(stored.enqueue().id)
        started = worker.start()
        stored.do(wait, started.run, Wait("approved", StepKind.SIGNAL, form=None, role=Role.OPERATOR))
        worker.end(started, Suspended(Awaits(AwaitedKind.SIGNAL, "approved")))
        for name in ("cancelled", "cancelled too", "changed", "raised"):
            self.ids[name] = str(stored.enqueue().id)

    async def _flows(self) -> None:
        for name in ("adds", "closes", "cancels", "retries"):
            made = {"name": name, "open": name != "retries", "runs": [{"key": "a", "jobName": "work"}]}
            self.ids[name] = (await self.answer("enqueueFlow", made, "flow { id }"))["flow"]["id"]
        await self.answer("cancelFlow", {"id": self.ids["retries"]}, "flow { id }")

    async def _others(self) -> None:
        for name in ("view", "other view"):
            made = {"page": "/runs", "name": name, "search": ""}
            self.ids[name] = (await self.answer("saveView", made, "view { id }"))["view"]["id"]
        token = await self.answer("createApiToken", {"name": "old", "role": "VIEWER"}, "token { id }")
        self.ids["token"] = token["token"]["id"]
        await self.answer("setSecret", {"name": "old", "value": "value"}, "secret { name }")
        await self.answer("createAccount", {"name": "eve", "role": "VIEWER"}, "account { name }")
        await self.answer("pauseGroup", {"name": "held"}, "group { name }")
        await self.answer("drainNode", {"name": "node-pruning"}, "node { name }")

    async def _alarms(self) -> None:
        await self.answer("setSecret", {"name": "hook", "value": f"whsec_{'A' * 32}"}, "secret { name }")
        for name in ("ops", "old"):
            settings = {"alertmanager": {"url": "https://alerts.example.com"}}
            await self.answer("setChannel", {"name": name, "settings": settings}, "channel { name }")
        failing = {"subject": {"job": "work"}, "condition": {"failing": {"failedRuns": 1}}, "channels": ["ops"]}
        for name in ("changed", "to-delete", "noisy", "firing"):
            await self.answer("createAlarm", {"name": name, **failing}, "alarm { name }")

        for name in ("changed", "to-delete"):
            made = {"name": name, "jobName": "work", "kind": "GITHUB", "secrets": ["hook"]}
            await self.answer("createHook", made, "hook { name }")

        document = {"url": "https://example.com/hook", "document": "subscription { executions { id } }"}
        for name in ("changed", "to-delete", "stopped"):
            made = {"name": f"webhook-{name}", "secrets": ["hook"], **document}
            await self.answer("createWebhook", made, "webhook { name }")

        calendar = await self.answer("createAddress", {"kind": "CALENDAR"}, "address { id }")
        self.ids["address"] = calendar["address"]["id"]

        def fire(tx: Tx) -> tuple[int, int]:
            alarm = write.ALARMS.find(tx.conn, "firing")
            assert alarm is not None
            row = {
                "alarm_id": alarm.id, "alarm_name": alarm.name, "condition": "failing", "severity": "warning",
                "subject_kind": "job", "subject": "work", "sentence": "It failed", "policy": {}, "channels": ["ops"],
                "fired_at": tx.now,
                "notified": True,
            }  # fmt: skip
            (firing,) = write.insert_firings(tx.conn, [row])
            made = write.insert_delivery(tx.conn, "ops", DeliveryEvent.TEST, {"data": {"alarms": []}}, tx.now)
            write.end_delivery(
                tx.conn, made, DeliveryState.FAILED, next_at=None, status=410, answer=None, error="gone", now=tx.now
            )
            webhook = webhooks.locked(tx, "webhook-stopped")
            webhooks.stop(tx, webhook, StopReason.GONE, "it wants nothing more")
            return firing.id, made.id

        self.ids["firing"], self.ids["delivery"] = map(str, self.api.stored.do(fire))

    def requests(self) -> dict[str, Request]:
        """Return a request of each mutation; none changes what another one is about."""
        return {**self._of_runs(), **self._of_tasks(), **self._of_flows(), **self._of_alarms(), **self._of_the_rest()}

    def _of_runs(self) -> dict[str, Request]:
        ids, run, runs = self.ids, "run { state priority args }", "count runs { state priority }"
        new, preview = "run { jobName state }", "preview { sentence runs { outcome } }"
        return {
            "triggerJob": Request({"jobName": "work", "args": {"a": 1}}, "success", new, preview),
            "enqueueRuns": Request({"runs": [{"jobName": "work"}]}, "", "runs { state }", preview),
            "triggerTask": Request({"name": "triggered"}, "", new, preview),
            "retryRun": Request({"id": ids["failed"]}, "", new, preview),
            "retryRuns": Request({"runs": {"ids": [ids["failed too"]]}}, "count", "", preview),
            "cancelRun": Request({"id": ids["cancelled"], "reason": "enough"}, run),
            "cancelRuns": Request({"runs": {"ids": [ids["cancelled too"]]}}, runs),
            "updateRun": Request({"id": ids["changed"], "args": {"a": 2}}, run),
            "setRunPriorities": Request({"runs": {"ids": [ids["raised"]]}, "priority": "HIGH"}, runs),
            "retryRunNow": Request({"id": ids["stuck"]}, f"{run} run {{ availableAt }}"),
            "retryRunsNow": Request({"runs": {"ids": [ids["stuck too"]]}}, f"{runs} runs {{ availableAt }}"),
            "signalRun": Request({"run": {"id": ids["signalled"]}, "name": "approved", "payload": 1}, run),
            "pruneHistory": Request({"maxAgeDays": 1}, "", "run { jobName }", "count hasMore"),
        }

    def _of_tasks(self) -> dict[str, Request]:
        task, preview = "task { name version priority pauseReason }", "preview { sentence runs { outcome } }"
        return {
            "createTask": Request({"name": "new", "jobName": "work", "schedule": DAILY}, task, "", preview),
            "updateTask": Request({"name": "changed", "priority": "HIGH"}, task, "", preview),
            "pauseTask": Request({"name": "to-pause", "reason": "quota"}, task),
            "pauseTasks": Request({"tasks": {"names": ["to-pause-too"]}}, "count tasks { name version }"),
            "resumeTask": Request({"name": "to-resume"}, task),
            "resumeTasks": Request({"tasks": {"names": ["to-resume-too"]}}, "count tasks { name version }"),
            "resetTask": Request({"name": "coded"}, f"{task} task {{ schedule {{ value }} }}"),
            "deleteTask": Request({"name": "to-delete"}, "deletedName cancelledCount"),
            "deleteTasks": Request({"tasks": {"names": ["to-delete-too"]}}, "deletedNames count"),
            "deleteTasksOfOwner": Request({"owner": "channel:42"}, "deletedNames count"),
            "applyTasks": Request(
                {"sets": [{"name": "s", "tasks": [{"name": "made", "jobName": "work", "schedule": DAILY}]}]},
                "planned { name action version changes { field before after } }",
            ),
        }

    def _of_flows(self) -> dict[str, Request]:
        ids, flow, member = self.ids, "flow { name state }", [{"key": "b", "jobName": "work"}]
        return {
            "enqueueFlow": Request({"name": "new", "runs": [{"key": "a", "jobName": "work"}]}, flow),
            "addFlowRuns": Request({"id": ids["adds"], "runs": member}, flow),
            "closeFlow": Request({"id": ids["closes"]}, f"{flow} flow {{ isOpen }}"),
            "cancelFlow": Request({"id": ids["cancels"], "reason": "enough"}, flow),
            "retryFlow": Request({"id": ids["retries"]}, flow),
        }

    def _of_alarms(self) -> dict[str, Request]:
        alarm, channel = "alarm { name severity sentence version channels }", "channel { name kind address }"
        late = {"subject": {"task": "changed"}, "condition": {"late": {"grace": 5}}}
        mark = "mark { jobName } mark"
        chat = {"chat": {"urlSecret": "hook", "form": "TEAMS"}}
        return {
            "createAlarm": Request({"name": "new", **late, "severity": "CRITICAL"}, alarm),
            "updateAlarm": Request({"name": "changed", **late}, alarm),
            "deleteAlarm": Request({"name": "to-delete"}, alarm),
            "silenceAlarm": Request(
                {"name": "noisy", "endsAt": "2031-01-01T00:00:00Z"}, f"{alarm} alarm {{ silenceEndsAt }}"
            ),
            "acknowledgeAlarms": Request(
                {"firings": {"ids": [self.ids["firing"]]}, "note": "seen"}, "count firings { note acknowledgedBy }"
            ),
            "silenceFailures": Request(
                {"fingerprint": self.ids["silenced"], "endsAt": "2031-01-01T00:00:00Z"}, f"{mark} {{ silenceEndsAt }}"
            ),
            "solveFailures": Request({"fingerprint": self.ids["solved"]}, f"{mark} {{ solvedBy solvedIn }}"),
            "reopenFailures": Request({"fingerprint": self.ids["reopened"]}, f"{mark} {{ solvedAt }}"),
            "createAddress": Request({"kind": "BADGE", "taskName": "changed"}, "address { kind taskName }", "path"),
            "deleteAddress": Request({"id": self.ids["address"]}, "address { id kind }"),
            "createHook": Request(
                {"name": "new", "jobName": "work", "kind": "STANDARD", "secrets": ["hook"]}, "hook { name kind path }"
            ),
            "updateHook": Request({"name": "changed", "enabled": False}, "hook { name isEnabled version }"),
            "deleteHook": Request({"name": "to-delete"}, "hook { name jobName }"),
            "createWebhook": Request(
                {"name": "new-webhook", "url": "https://example.com", "document": "subscription { events { cursor } }"},
                "webhook { name url state version owner }",
                "",
                "preview { eventCount hasMore messages }",
            ),
            "updateWebhook": Request(
                {"name": "webhook-changed", "enabled": False},
                "webhook { name isEnabled version state }",
                "",
                "preview { eventCount }",
            ),
            "deleteWebhook": Request({"name": "webhook-to-delete"}, "webhook { name url }"),
            "resumeWebhook": Request({"name": "webhook-stopped"}, "webhook { name state stopReason version }"),
            "redeliverWebhook": Request({"name": "webhook-changed", "after": "1.0"}, "count webhook { name }"),
            "setChannel": Request({"name": "new", "settings": chat}, channel),
            "deleteChannel": Request({"name": "old"}, channel),
            "testChannel": Request({"name": "ops"}, "delivery { channel event state }"),
            "redeliverAlarm": Request({"id": self.ids["delivery"]}, "delivery { messageId state attempts }"),
        }

    def _of_the_rest(self) -> dict[str, Request]:
        ids, view = self.ids, "view { id name search }"
        return {
            "pauseGroup": Request({"name": "new", "reason": "quota"}, "group { name pauseReason }"),
            "resumeGroup": Request({"name": "held"}, "group { name pausedAt }"),
            "updateGroup": Request({"name": "limited", "maxRunning": 3}, "group { name maxRunning }"),
            "revertToRevision": Request({"id": ids["revision"]}, "task { name description }"),
            "updateJob": Request({"name": "rated", "rate": {"limit": 2}}, "job { name limits { rate { limit } } }"),
            "drainNode": Request({"name": "node-coding"}, "node { name state }"),
            "resumeNode": Request({"name": "node-pruning"}, "node { name state }"),
            "createAccount": Request({"name": "bob", "role": "VIEWER"}, "account { name role }", "recoveryPath"),
            "updateAccount": Request(
                {"name": "eve", "role": "OPERATOR", "recovery": True}, "account { name role }", "recoveryPath"
            ),
            "createApiToken": Request({"name": "new", "role": "VIEWER"}, "token { name role }", "secret"),
            "revokeApiToken": Request({"id": ids["token"]}, "token { id name }"),
            "endSessions": Request({"sessions": {"id": ids["session"]}}, "ended"),
            "renamePasskey": Request({"id": ids["passkey"], "name": "desk"}, "passkey { id name }"),
            "deletePasskey": Request({"id": ids["other passkey"]}, "passkey { id name }"),
            "deleteIdentity": Request({"id": ids["identity"]}, "identity { id provider }"),
            "setSecret": Request({"name": "new", "value": "value"}, "secret { name }"),
            "deleteSecret": Request({"name": "old"}, "deletedName"),
            "saveView": Request({"page": "/runs", "name": "new", "search": ""}, "view { name search }"),
            "updateView": Request({"id": ids["view"], "name": "renamed"}, view),
            "deleteView": Request({"id": ids["other view"]}, view),
        }
