"""One run by the API is one statement on PostgreSQL, and what that stores is what the whole transaction stores."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import delete, select, update

from cronograph.graphql.execution.schema_factory import GuardedSchema
from cronograph.graphql.resolving.context import LOCAL_ADMINISTRATOR, Context, Person
from cronograph.jobs.accounts.rules.sessions import CredentialKind, Identity
from cronograph.jobs.accounts.statements.audit import verify
from cronograph.jobs.core.actor import Role
from cronograph.jobs.runtime.live.bus import EventBus
from cronograph.jobs.runtime.live.feeds import LogFeed
from cronograph.jobs.store.db.database import Connection, Database
from cronograph.jobs.store.db.transaction import Wake
from cronograph.jobs.store.schema.tables import audit_log, event, job, run
from tests.graphql_api.api import Api, counted_statements
from tests.support.storage import Stored

pytestmark = pytest.mark.postgres

ENQUEUE = """
mutation($runs: [EnqueueRunInput!]!, $key: String) {
  enqueueRuns(input: { runs: $runs, idempotencyKey: $key }) {
    runs {
      id jobName args state group priority retries retryDelay timeout uniqueKey isDeduplicated trigger submitter
      submittedAt availableAt attempt failures task { id } node startedAt finishedAt
    }
    errors { code message path }
  }
}
"""
TRIGGER = """
mutation($job: String!, $args: JSON, $key: String) {
  triggerJob(jobName: $job, args: $args, idempotencyKey: $key) {
    success message run { id args state group trigger submitter retries } errors { code message path }
  }
}
"""
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}
DEFAULTS: dict[str, Any] = {"group": "reports", "priority": "high", "retries": 7, "timeout": 1.5}
RUNS: list[dict[str, Any]] = [
    {"jobName": "work"},
    {"jobName": "work", "args": {"n": 1, "text": '"at": \\ \' % :x Zoë 🙂', "deep": [{"a": [None, 1.5, True]}]}},
    {"jobName": "work", "group": "a'b", "priority": "LOW", "retries": 0, "retryDelay": 0.25, "timeout": 3},
    {"jobName": "work", "runAt": "2031-01-02T03:04:05.000678+02:00", "retryDelay": 5},
]
GENERAL = "an idempotency key takes the whole transaction "


def _without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


class Real(Api):
    """The API at the database's own time."""

    asked = 0
    person = LOCAL_ADMINISTRATOR

    def context(self) -> Context:
        """A fresh context of anyone who asks."""
        return Context(self.database, self.bus, self.log_feed, self.person)

    async def all_of(self, table: Any) -> list[dict[str, Any]]:
        """The rows of a table, without what differs between two that were made alike."""

        def rows(conn: Connection) -> list[dict[str, Any]]:
            return [dict(row) for row in conn.execute(select(table).order_by(table.c.id)).mappings()]

        return await self.database.read(rows)

    async def both(self, document: str, **variables: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The answers of one statement and of the whole transaction."""
        self.asked += 1
        with counted_statements() as sent:
            short = await self.ask(document, **variables)
        assert not [one for one in sent if "INSERT" in one]
        with counted_statements() as sent:
            whole = await self.ask(document, **variables, key=f"{GENERAL}{self.asked}")
        assert [one for one in sent if "INSERT INTO run" in one]
        return short, whole


@pytest.fixture
async def real(schema: GuardedSchema, postgres_url: str) -> AsyncIterator[Real]:
    """The API over a fresh database, which the first entry of the audit log is in."""
    stored = Stored(postgres_url)
    stored.node()
    stored.do(lambda tx: tx.conn.execute(update(job).values(args_schema=SCHEMA, defaults=DEFAULTS)))
    database = Database(postgres_url)
    api = Real(schema, stored, database, EventBus(database), LogFeed(database))
    await api.ask(ENQUEUE, runs=RUNS[:2])
    yield api
    await database.close()
    stored.close()


async def test_one_statement_stores_what_the_whole_transaction_stores(real: Real) -> None:
    before = {table: len(await real.all_of(table)) for table in (run, event, audit_log)}
    heard: list[Wake] = []
    real.database.on_commit(heard.append)
    for one in RUNS:
        short, whole = await real.both(ENQUEUE, runs=[one])
        found = [answer["enqueueRuns"]["runs"][0] for answer in (short, whole)]
        left = ("id", "submittedAt", *([] if "runAt" in one else ["availableAt"]))
        assert _without(found[0], *left) == _without(found[1], *left)
        assert found[0]["group"] == one.get("group", "reports")
    short, whole = await real.both(TRIGGER, job="work", args={"n": 2})
    assert _without(short["triggerJob"]["run"], "id") == _without(whole["triggerJob"]["run"], "id")
    assert heard == [Wake.RUNS | Wake.EVENTS] * 2 * (len(RUNS) + 1)

    runs = (await real.all_of(run))[before[run] :]
    for place, (one, other) in enumerate(zip(runs[::2], runs[1::2], strict=True)):
        apart = ("id", "submitted_at", *([] if place == 3 else ["available_at"]))
        assert _without(one, *apart) == _without(other, *apart)
        if place != 3:
            assert one["available_at"] == one["submitted_at"]
    events = (await real.all_of(event))[before[event] :]
    assert [one["changes"] for one in events] == [
        [{"created": [[made["id"], "work", made["group_name"]]]}] for made in runs
    ]
    entries = (await real.all_of(audit_log))[before[audit_log] :]
    assert len(entries) == len(runs)
    for one, other in zip(entries[::2], entries[1::2], strict=True):
        assert _without(one, "id", "at", "hash") == _without(other, "id", "at", "hash")
    assert [one["at"] for one in entries] == [one["submitted_at"] for one in runs]
    assert (await real.database.read(verify)).fault is None


async def test_many_at_once_continue_one_chain(real: Real) -> None:
    await asyncio.gather(*(real.ask(ENQUEUE, runs=[RUNS[place % 2]]) for place in range(40)))
    verdict = await real.database.read(verify)
    assert (verdict.fault, verdict.entries) == (None, 41)
    assert len(await real.all_of(run)) == 42


async def test_what_a_job_has_become_meanwhile_holds(real: Real) -> None:
    async def errors(**args: Any) -> list[str]:
        answer = await real.ask(ENQUEUE, runs=[{"jobName": "work", "args": args}])
        return [error["code"] for error in answer["enqueueRuns"]["errors"]]

    assert await errors(n=1) == []
    assert await errors(n="x") == ["INVALID_ARGS"]
    other = {"type": "object", "properties": {"n": {"type": "string"}}}
    real.stored.do(lambda tx: tx.conn.execute(update(job).values(args_schema=other, signature="another")))
    assert await errors(n=1) == ["INVALID_ARGS"]
    assert await errors(n="x") == []
    real.stored.do(lambda tx: tx.conn.execute(update(job).values(defaults={"group": "moved"})))
    assert await errors(n="y") == []
    assert [(one["signature"], one["group_name"]) for one in (await real.all_of(run))[-2:]] == [
        ("another", "reports"),
        ("another", "moved"),
    ]
    real.stored.do(lambda tx: tx.conn.execute(delete(job)))
    assert await errors(n="x") == ["UNKNOWN_JOB"]
    assert len(await real.all_of(run)) == 5


async def test_nobody_gets_more_rights_by_a_job_than_his_token_has(real: Real) -> None:
    real.stored.node("other", jobs=("graphql_request",))
    enqueue = {"runs": [{"jobName": "graphql_request", "args": {"query": "{ viewer { name } }"}}]}
    for role, code in ((Role.OPERATOR, ["FORBIDDEN"]), (Role.ADMIN, [])):
        shown = Identity(3, "ada", role, Role.ADMIN, CredentialKind.TOKEN, 1)
        real.person = Person.of(shown, "192.0.2.1")
        answer = await real.ask(ENQUEUE, **enqueue)
        assert [error["code"] for error in answer["enqueueRuns"]["errors"]] == code
    (last,) = (await real.all_of(run))[2:]
    assert (last["submitter"], last["submitter_id"]) == ("ada", 3)
    entry = (await real.all_of(audit_log))[-1]
    assert (entry["actor"], entry["actor_id"], entry["address"]) == ("ada", 3, "192.0.2.1")
