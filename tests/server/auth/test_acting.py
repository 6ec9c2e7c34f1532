"""What is done in somebody's name: written down, and no more than he may do himself at that time."""

import json
from dataclasses import replace
from typing import Any, cast

import pytest
from sqlalchemy import Connection, delete, select, update

from cronograph.graphql.base.errors import UserFacingError
from cronograph.graphql.execution.schema_factory import GuardedSchema
from cronograph.graphql.resolving.context import Context, Person
from cronograph.jobs.accounts.actions import accounts
from cronograph.jobs.accounts.statements.audit import verify
from cronograph.jobs.core.actor import Role, Submitter
from cronograph.jobs.queue.occurrences import dispatch_due
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import audit_log, periodic_task, run, user_account
from cronograph.server.auth.forms import Refusals
from cronograph.server.auth.sign_in import person_behind
from cronograph.server.installation import OwnApi
from tests.server.auth.serving import Protected, protected
from tests.support.storage import Stored

CREATE = """mutation { createTask(input: {
  name: "nightly", jobName: "graphql_request", args: {query: "{ viewer { name } }"},
  schedule: {syntax: CRON, value: "0 0 3 * * *"}
}) { task { submitter } errors { code message } } }"""
UPDATE = 'mutation { updateTask(input: {name: "nightly", %s}) { task { submitter } errors { code message } } }'


@pytest.fixture
def knows_the_job(server: Protected, database_url: str) -> None:
    """A node that knows the job `graphql_request`."""
    stored = Stored(database_url)
    stored.node(jobs=("graphql_request", "work"))
    stored.close()


def entries(conn: Connection) -> list[tuple[str, str, str | None, Any, Any]]:
    rows = conn.execute(select(audit_log).order_by(audit_log.c.id))
    return [(one.actor, one.action, one.subject, read(one.before), read(one.after)) for one in rows]


def read(text: str | None) -> Any:
    return None if text is None else json.loads(text)


@pytest.mark.usefixtures("knows_the_job")
async def test_anyone_who_changes_what_a_task_runs_becomes_its_submitter(server: Protected) -> None:
    for name in ("ada", "eve"):
        await server.account(name, Role.OPERATOR)
    ada, eve = await server.token("ada"), await server.token("eve")
    assert (await server.ask(CREATE, ada)).json()["data"]["createTask"]["task"] == {"submitter": "ada"}
    for change, submitter in (
        ('description: "x"', "ada"),
        ('schedule: {syntax: CRON, value: "0 0 4 * * *"}', "ada"),
        ('args: {query: "mutation { drainNode(input: {name: \\"x\\"}) { __typename } }"}', "eve"),
    ):
        answer = (await server.ask(UPDATE % change, eve)).json()["data"]["updateTask"]
        assert (answer["task"], answer["errors"]) == ({"submitter": submitter}, [])


@pytest.mark.costly
@pytest.mark.usefixtures("knows_the_job")
async def test_a_token_of_a_lower_role_cannot_borrow_the_rights_of_its_account(server: Protected) -> None:
    await server.account("boss", Role.ADMIN)
    weak, full = await server.token("boss", Role.OPERATOR), await server.token("boss")
    run = 'mutation { enqueueRuns(input: {runs: [{jobName: "graphql_request", args: {query: "{ viewer { name } }"}}]})'
    for text, field in ((CREATE, "createTask"), (f"{run} {{ errors {{ code }} }} }}", "enqueueRuns")):
        answer = (await server.ask(text, weak)).json()["data"][field]
        assert [error["code"] for error in answer["errors"]] == ["FORBIDDEN"]
    assert (await server.ask(CREATE, full)).json()["data"]["createTask"]["errors"] == []
    refused = (await server.ask(UPDATE % 'args: {query: "{ asOf }"}', weak)).json()["data"]["updateTask"]
    assert [error["code"] for error in refused["errors"]] == ["FORBIDDEN"]
    waits = (await server.ask(f"{run} {{ runs {{ id }} }} }}", full)).json()["data"]["enqueueRuns"]["runs"][0]["id"]
    change = f'updateRun(input: {{id: "{waits}", args: {{query: "{{ asOf }}"}}}})'
    refused = (await server.ask(f"mutation {{ {change} {{ errors {{ code }} }} }}", weak)).json()["data"]["updateRun"]
    assert [error["code"] for error in refused["errors"]] == ["FORBIDDEN"]


@pytest.mark.usefixtures("knows_the_job")
async def test_anyone_who_changes_the_arguments_of_a_run_becomes_its_submitter(server: Protected) -> None:
    tokens: dict[str, str] = {}
    for name in ("ada", "eve"):
        await server.account(name, Role.OPERATOR)
        tokens[name] = await server.token(name)
    enqueued = await server.ask(
        'mutation { enqueueRuns(input: {runs: [{jobName: "work"}]}) { runs { id } } }', tokens["ada"]
    )
    waits = enqueued.json()["data"]["enqueueRuns"]["runs"][0]["id"]
    for change, submitter in (('runAt: "2100-01-01T00:00:00Z"', "ada"), ("args: {n: 1}", "eve")):
        text = (
            f'mutation {{ updateRun(input: {{id: "{waits}", {change}}}) {{ run {{ submitter }} errors {{ code }} }} }}'
        )
        answer = (await server.ask(text, tokens["eve"])).json()["data"]["updateRun"]
        assert answer == {"run": {"submitter": submitter}, "errors": []}
    found = [(action, before) for _, action, _, before, _ in await server.database.read(entries)]
    assert found[-1] == ("updateRun", {"args": [], "runAt": "2100-01-01T00:00:00Z"})


async def test_a_job_has_the_rights_that_its_submitter_has_by_then(server: Protected) -> None:
    await server.account("boss", Role.ADMIN)
    ada = Submitter("ada", (await server.account("ada", Role.OPERATOR)).id)
    assert (await person_behind(server.database, ada)).role is Role.OPERATOR
    await server.database.write(accounts.set_role, "ada", Role.VIEWER)
    assert (await person_behind(server.database, ada)).role is Role.VIEWER
    await server.database.write(accounts.disable, "ada")
    for submitter, why in (
        (ada, "is disabled"),
        (Submitter("gone", 7_777), "has no account"),
        # A name alone is nobody: an account that is called so now has submitted nothing.
        (Submitter("boss", None), "has no account"),
        (Submitter("local administrator", None), "acts only where there is no sign-in"),
    ):
        with pytest.raises(UserFacingError, match=f"submitted by '{submitter.name}', who {why}") as refusal:
            await person_behind(server.database, submitter)
        assert refusal.value.code == "FORBIDDEN"
    assert (await person_behind(server.database, None)).name == "job code"


async def test_a_job_of_somebody_without_rights_is_answered_by_that_refusal(
    light: Protected, schema: GuardedSchema
) -> None:
    async def context_for(submitter: Submitter | None, _place: str | None) -> Context:
        raise AssertionError(await person_behind(light.database, submitter))

    answer = await OwnApi(schema, context_for).call("{ viewer { name } }", submitter=Submitter("gone", 7_777))
    (error,) = answer["errors"]
    assert error["extensions"]["code"] == "FORBIDDEN"
    assert "submitted by 'gone', who has no account now" in error["message"]


@pytest.mark.usefixtures("knows_the_job")
async def test_anyone_who_is_called_like_a_submitter_later_has_none_of_his_rights(server: Protected) -> None:
    ada = await server.account("ada", Role.ADMIN)
    token = await server.token("ada")
    assert (await server.ask(CREATE, token)).json()["data"]["createTask"]["errors"] == []
    retry = 'mutation { retryRun(input: {id: "%s"}) { run { id } errors { message } } }'
    made = [
        (await server.ask(text, token)).json()["data"][field]["run"]["id"]
        for text, field in (
            ('mutation { triggerTask(input: {name: "nightly"}) { run { id } } }', "triggerTask"),
            ('mutation { triggerJob(jobName: "work") { run { id } } }', "triggerJob"),
        )
    ]
    await server.ask(f'mutation {{ cancelRun(input: {{id: "{made[0]}"}}) {{ errors {{ code }} }} }}', token)
    made.append((await server.ask(retry % made[0], token)).json()["data"]["retryRun"]["run"]["id"])
    await server.ask(f'mutation {{ cancelRun(input: {{id: "{made[2]}"}}) {{ errors {{ code }} }} }}', token)

    def renamed(tx: Tx) -> None:
        """What only somebody with the database in his hands can do: the name goes to somebody else."""
        tx.conn.execute(update(user_account).where(user_account.c.id == ada.id).values(name="ann", name_key="ann"))

    await server.database.write(renamed)
    await server.account("ada", Role.OPERATOR)
    # The occurrence of the task, too, is the account's.
    planned = await server.database.read(lambda conn: conn.execute(select(periodic_task.c.next_execution)).scalar_one())
    server.clock.now = planned
    await server.database.write(dispatch_due, None)
    stored = await server.database.read(lambda conn: conn.execute(select(run.c.id, run.c.submitter_id)).all())
    assert len(stored) > len(made)
    assert {submitter_id for _, submitter_id in stored} == {ada.id}
    behind = await person_behind(server.database, Submitter("ada", ada.id))
    assert (behind.name, behind.role) == ("ann", Role.ADMIN)

    def deleted(tx: Tx) -> None:
        tx.conn.execute(delete(user_account).where(user_account.c.id == ada.id))

    await server.database.write(deleted)
    with pytest.raises(UserFacingError, match="submitted by 'ada', who has no account now"):
        await person_behind(server.database, Submitter("ada", ada.id))


@pytest.mark.usefixtures("knows_the_job")
async def test_every_mutation_is_in_the_audit_log_without_secrets(server: Protected) -> None:
    await server.account("ada", Role.ADMIN)
    token = await server.token("ada")
    for text in (
        CREATE,
        UPDATE % 'description: "new", args: {query: "{ asOf }", variables: {secret: "hunter2"}}',
        'mutation { pauseGroup(input: {name: "g", reason: "r"}) { __typename } }',
        'mutation { deleteTask(input: {name: "nightly", dryRun: true}) { __typename } }',
        'mutation { deleteTask(input: {name: "nope"}) { __typename } }',
    ):
        assert "errors" not in (await server.ask(text, token)).json()
    found = await server.database.read(entries)
    assert "hunter2" not in str(found)
    assert [(actor, action, subject) for actor, action, subject, _, _ in found] == [
        ("ada", "createTask", "nightly"),
        ("ada", "updateTask", "nightly"),
        ("ada", "pauseGroup", "g"),
    ]
    _, _, _, before, after = found[1]
    assert (before, after) == (
        {"description": "", "args": {"query": "{ viewer { name } }"}},
        {"description": "new", "args": {"query": "{ asOf }", "variables": {"secret": {"$hidden": True}}}},
    )
    assert found[2][4] == {"enabled": False, "paused_by": "ada", "pause_reason": "r"}


@pytest.mark.usefixtures("knows_the_job")
async def test_an_idempotency_key_belongs_to_its_account(server: Protected) -> None:
    for name in ("ada", "eve"):
        await server.account(name, Role.OPERATOR)
    text = 'mutation { triggerJob(jobName: "work", idempotencyKey: "k") { run { submitter } errors { code } } }'
    mine = [(await server.ask(text, await server.token("ada"))).json()["data"]["triggerJob"] for _ in range(2)]
    assert mine == [{"run": {"submitter": "ada"}, "errors": []}] * 2, "with every token"
    theirs = (await server.ask(text, await server.token("eve"))).json()["data"]["triggerJob"]
    assert theirs == {"run": {"submitter": "eve"}, "errors": []}


@pytest.mark.costly
@pytest.mark.usefixtures("knows_the_job")
async def test_the_audit_log_says_what_things_were_before_they_were_changed(server: Protected) -> None:
    await server.account("ada", Role.ADMIN)
    token = await server.token("ada")
    new = '{jobName: "graphql_request", args: {query: "{ asOf }"}, runAt: "2099-01-01T00:00:00Z"}'
    run = f"mutation {{ enqueueRuns(input: {{runs: [{new}]}}) {{ runs {{ id }} }} }}"
    assert "errors" not in (await server.ask(CREATE, token)).json()
    made = (await server.ask(run, token)).json()["data"]["enqueueRuns"]["runs"][0]["id"]
    one = f'{{ids: ["{made}"]}}'
    for text in (
        'mutation { pauseTask(input: {name: "nightly", reason: "r"}) { errors { message } } }',
        'mutation { resumeTask(input: {name: "nightly"}) { errors { message } } }',
        'mutation { updateGroup(input: {name: "g", maxRunning: 3}) { errors { message } } }',
        'mutation { updateGroup(input: {name: "g", maxRunning: 5}) { errors { message } } }',
        f"mutation {{ setRunPriorities(input: {{runs: {one}, priority: HIGH}}) {{ errors {{ message }} }} }}",
        f"mutation {{ retryRunsNow(input: {{runs: {one}}}) {{ errors {{ message }} }} }}",
        f'mutation {{ cancelRun(input: {{id: "{made}"}}) {{ errors {{ message }} }} }}',
        f"mutation {{ retryRuns(input: {{runs: {one}}}) {{ errors {{ message }} }} }}",
        'mutation { deleteTask(input: {name: "nightly"}) { errors { message } } }',
    ):
        answer = (await server.ask(text, token)).json()
        assert "errors" not in answer, answer
        assert next(iter(answer["data"].values()))["errors"] == []
    found = {
        (action, place): before for place, (_, action, _, before, _) in enumerate(await server.database.read(entries))
    }
    was = [(action, before) for (action, _), before in found.items()][2:]
    assert was[:8] == [
        ("pauseTask", {"enabled": True, "paused_by": None, "pause_reason": None}),
        ("resumeTask", {"enabled": False, "paused_by": "ada", "pause_reason": "r"}),
        ("updateGroup", {"max_running": None}),
        ("updateGroup", {"max_running": 3}),
        ("setRunPriorities", {"priority": "low"}),
        ("retryRunsNow", {"state": "waiting", "availableAt": "2099-01-01T00:00:00Z"}),
        ("cancelRun", {"state": "waiting"}),
        ("retryRuns", {"state": "cancelled"}),
    ]
    action, deleted = was[8]
    assert (action, deleted["job_name"]) == ("deleteTask", "graphql_request")
    assert deleted["args"] == {"query": "{ viewer { name } }"}


async def test_what_a_job_does_in_somebodys_name_is_written_down_with_its_run(
    server: Protected, schema: GuardedSchema
) -> None:
    ada = await server.account("ada", Role.OPERATOR)
    nothing: Any = None

    async def context_for(submitter: Submitter | None, place: str | None) -> Context:
        person = await person_behind(server.database, submitter)
        return Context(server.database, nothing, nothing, replace(person, address=place))

    text = 'mutation { pauseGroup(input: { name: "default" }) { errors { code } } }'
    answer = await OwnApi(schema, context_for).call(text, submitter=Submitter("ada", ada.id), run_id=17)
    assert answer["data"]["pauseGroup"]["errors"] == []
    told = select(audit_log.c.actor, audit_log.c.action, audit_log.c.address).order_by(audit_log.c.id.desc()).limit(1)
    found = await server.database.read(lambda conn: conn.execute(told).one())
    assert tuple(found) == ("ada", "pauseGroup", "run 17")


async def test_refused_attempts_are_written_down_once_a_minute_each(schema: GuardedSchema, database_url: str) -> None:
    now = [0.0]
    async with protected(database_url, schema, refused=Refusals(lambda: now[0])) as server:
        await server.account("ada", Role.VIEWER)
        token = await server.token("ada")
        pause = 'mutation { pauseGroup(input: { name: "default" }) { errors { code } } }'
        for _ in range(3):
            assert await server.code(pause, token) == (403, "FORBIDDEN")
        assert await server.code("{ accounts { nodes { name } } }", token) == (403, "FORBIDDEN")
        async with server.socket({"authorization": f"Bearer {token}"}) as socket:
            assert await socket.receive() == {"type": "connection_ack"}
            assert (await socket.first_of("{ secrets { nodes { name } } }"))["type"] == "error"
        now[0] = 60.0
        assert await server.code(pause, token) == (403, "FORBIDDEN")
        found = [one for one in await server.database.read(entries) if one[1] == "request.refused"]
        verdict = await server.database.read(verify)
    assert [(actor, subject, after["attempts"]) for actor, _, subject, _, after in found] == [
        ("ada", "pauseGroup", 1),
        ("ada", "accounts", 1),
        ("ada", "secrets", 1),
        ("ada", "pauseGroup", 3),
    ]
    assert found[0][4] == {"requiredRole": "OPERATOR", "role": "VIEWER", "attempts": 1}
    assert verdict.fault is None


async def test_a_refusal_is_answered_though_it_cannot_be_written_down(
    empty_database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    refusals, nothing = Refusals(), cast("Any", None)
    database = Database(empty_database_url)
    about = {"field": "accounts", "requiredRole": "ADMIN", "role": "VIEWER"}
    refusal = UserFacingError("no", code="FORBIDDEN", http_status=403, extensions=about)
    try:
        await refusals(Context(database, nothing, nothing, Person("ada", Role.VIEWER)), refusal)
    finally:
        await database.close()
    assert "a refusal of 'accounts' could not be written down" in caplog.text
    # Of another kind, and of nobody that is known.
    await refusals(object(), refusal)
    await refusals(Context(database, nothing, nothing), UserFacingError("no", code="FORBIDDEN"))
