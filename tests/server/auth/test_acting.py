"""What is done in somebody's name: written down, and no more than he may do himself at that time."""

import json
from typing import Any

import pytest
from sqlalchemy import Connection, select

from cronograph.graphql.errors import UserFacingError
from cronograph.jobs.actions import accounts
from cronograph.jobs.core.roles import Role
from cronograph.jobs.store.schema.tables import audit_log
from cronograph.server.auth.sign_in import person_behind
from tests.server.auth.serving import Protected
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
async def test_whoever_changes_what_a_task_runs_becomes_its_submitter(server: Protected) -> None:
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


async def test_a_job_has_the_rights_that_its_submitter_has_by_then(server: Protected) -> None:
    await server.account("boss", Role.ADMIN)
    await server.account("ada", Role.OPERATOR)
    assert (await person_behind(server.database, "ada")).role is Role.OPERATOR
    await server.database.write(accounts.set_role, "ada", Role.VIEWER)
    assert (await person_behind(server.database, "ada")).role is Role.VIEWER
    await server.database.write(accounts.disable, "ada")
    for submitter, why in (
        ("ada", "is disabled"),
        ("nobody", "does not exist"),
        ("local administrator", "acts only where there is no sign-in"),
    ):
        with pytest.raises(UserFacingError, match=f"submitted by '{submitter}', who {why}") as refusal:
            await person_behind(server.database, submitter)
        assert refusal.value.code == "FORBIDDEN"
    assert (await person_behind(server.database, None)).name == "job code"


@pytest.mark.usefixtures("knows_the_job")
async def test_every_mutation_is_in_the_audit_log_without_the_values_of_arguments(server: Protected) -> None:
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
        {"description": "", "args": ["query"]},
        {"description": "new", "args": ["query", "variables"]},
    )
    assert found[2][4] == {"name": "g", "reason": "r"}


@pytest.mark.usefixtures("knows_the_job")
async def test_the_audit_log_says_what_things_were_before_they_were_changed(server: Protected) -> None:
    await server.account("ada", Role.ADMIN)
    token = await server.token("ada")
    new = '{jobName: "graphql_request", args: {query: "{ asOf }"}}'
    run = f"mutation {{ enqueueRuns(input: {{runs: [{new}]}}) {{ runs {{ id }} }} }}"
    assert "errors" not in (await server.ask(CREATE, token)).json()
    made = (await server.ask(run, token)).json()["data"]["enqueueRuns"]["runs"][0]["id"]
    for text in (
        'mutation { pauseTask(input: {name: "nightly", reason: "r"}) { errors { message } } }',
        'mutation { resumeTask(input: {name: "nightly"}) { errors { message } } }',
        'mutation { updateGroup(input: {name: "g", maxRunning: 3}) { errors { message } } }',
        'mutation { updateGroup(input: {name: "g", maxRunning: 5}) { errors { message } } }',
        f'mutation {{ setRunPriority(input: {{ids: ["{made}"], priority: HIGH}}) {{ errors {{ message }} }} }}',
        f'mutation {{ cancelRun(input: {{id: "{made}"}}) {{ errors {{ message }} }} }}',
        'mutation { deleteTask(input: {name: "nightly"}) { errors { message } } }',
    ):
        answer = (await server.ask(text, token)).json()
        assert "errors" not in answer, answer
        assert next(iter(answer["data"].values()))["errors"] == []
    found = {
        (action, place): before for place, (_, action, _, before, _) in enumerate(await server.database.read(entries))
    }
    was = [(action, before) for (action, _), before in found.items()][2:]
    nothing = {"paused": False, "pausedBy": None, "pauseReason": None}
    assert was[:6] == [
        ("pauseTask", nothing),
        ("resumeTask", {"paused": True, "pausedBy": "ada", "pauseReason": "r"}),
        ("updateGroup", {**nothing, "maxRunning": None}),
        ("updateGroup", {**nothing, "maxRunning": 3}),
        ("setRunPriority", {"priority": "low"}),
        ("cancelRun", {"state": "waiting"}),
    ]
    action, deleted = was[6]
    assert (action, deleted["job_name"], deleted["args"]) == ("deleteTask", "graphql_request", ["query"])
