"""Secrets by the API and the command line: who may do what, and that no way leads to a value."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cronograph.jobs.accounts.actions.secrets import fresh_key
from cronograph.jobs.accounts.rules.secrets import KeyRing
from cronograph.jobs.core.actor import Role
from cronograph.jobs.core.base.errors import StorageError
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.opening import connected
from cronograph.server.cli import application
from cronograph.server.configuration.reading import InvalidSettingsError, load
from cronograph.server.configuration.secret_keys import key_file, key_source, read_keys
from cronograph.server.database.schema import migrate
from tests.server.auth.serving import Protected
from tests.support.dumping import dump

VALUE = "correct-horse-battery"
SHOWN = "secret { name keyId updatedBy usedBy } errors { code path }"
SET = 'mutation { setSecret(input: {name: "db", value: "%s"}) { ' + SHOWN + " } }"
DELETE = 'mutation { deleteSecret(input: {name: "db", force: %s}) { deletedName errors { code message } } }'
TASK = (
    'mutation { createTask(input: {name: "t", jobName: "j", args: {key: {_secret: "db"}}, '
    'schedule: {syntax: CRON, value: "@daily"}}) { task { args } errors { code message } } }'
)


async def asked(server: Protected, text: str, token: str) -> Any:
    answer = (await server.ask(text, token)).json()
    assert "errors" not in answer, answer
    (data,) = answer["data"].values()
    return data


@pytest.mark.parametrize(
    "given", ['name: "db", value: "%s", note: 1', 'name: "db" value "%s"', 'name: "db", value: "\\u0000%s"']
)
async def test_no_refusal_shows_the_value(server: Protected, given: str) -> None:
    await server.account("root", Role.ADMIN)
    document = f"mutation {{ setSecret(input: {{{given % VALUE}}}) {{ errors {{ message }} }} }}"
    answer = await server.ask(document, await server.token("root"))
    assert '"message"' in answer.text
    assert VALUE not in answer.text


async def test_an_administrator_sets_a_secret_that_others_use_and_nobody_reads(server: Protected) -> None:
    tokens: dict[Role, str] = {}
    for role in Role:
        await server.account(role.value, role)
        tokens[role] = await server.token(role.value)
    made = await asked(server, SET % VALUE, tokens[Role.ADMIN])
    key = server.keys.newest
    assert made["secret"] == {"name": "db", "keyId": key.id, "updatedBy": "admin", "usedBy": []}
    assert await server.code(SET % VALUE, tokens[Role.OPERATOR]) == (403, "FORBIDDEN")
    assert await server.code("{ secrets { nodes { name } } }", tokens[Role.VIEWER]) == (403, "FORBIDDEN")
    assert await asked(server, "{ secrets { nodes { name createdBy } } }", tokens[Role.OPERATOR]) == {
        "nodes": [{"name": "db", "createdBy": "admin"}]
    }
    refused = await asked(server, SET % "abc", tokens[Role.ADMIN])
    assert refused == {"secret": None, "errors": [{"code": "INVALID_INPUT", "path": ["value"]}]}
    entries = await asked(server, "{ auditLog(first: 1) { nodes { action subject after } } }", tokens[Role.ADMIN])
    assert entries["nodes"][0]["action"] == "secret.set"
    everything = dump(server.database)
    assert VALUE not in everything
    assert key.text not in everything


async def test_secrets_and_accounts_come_in_pages_by_name(server: Protected) -> None:
    for name in ("boss", "ada", "Bob"):
        await server.account(name, Role.ADMIN)
    token = await server.token("boss")
    for name in ("b", "c", "a"):
        await asked(server, SET.replace('"db"', f'"{name}"') % VALUE, token)
    for listed, names in (("secrets", ["a", "b", "c"]), ("accounts", ["ada", "Bob", "boss"])):
        page = "{ %s(first: 2%s) { nodes { name } pageInfo { hasNextPage endCursor } totalCount isTotalCountExact } }"
        first = await asked(server, page % (listed, ""), token)
        assert [one["name"] for one in first["nodes"]] == names[:2]
        assert (first["totalCount"], first["isTotalCountExact"], first["pageInfo"]["hasNextPage"]) == (3, True, True)
        rest = await asked(server, page % (listed, f', after: "{first["pageInfo"]["endCursor"]}"'), token)
        assert ([one["name"] for one in rest["nodes"]], rest["pageInfo"]["hasNextPage"]) == (names[2:], False)
        found = await asked(server, f'{{ {listed}(filter: {{ name: {{ eq: "b" }} }}) {{ totalCount }} }}', token)
        assert found["totalCount"] == (1 if listed == "secrets" else 0)


async def test_a_secret_in_use_is_deleted_only_when_that_is_meant(server: Protected) -> None:
    await server.account("boss", Role.ADMIN)
    token = await server.token("boss")
    await asked(server, SET % VALUE, token)
    await server.publish_job("j", {"type": "object", "properties": {"key": {"type": "string"}}})
    variables = {"args": {"key": {"$secret": "db"}}}
    text = TASK.replace("mutation {", "mutation($args: JSON) {").replace('{key: {_secret: "db"}}', "$args")
    answer = await server.browser.post(
        "/graphql", json={"query": text, "variables": variables}, headers={"authorization": f"Bearer {token}"}
    )
    assert answer.json()["data"]["createTask"] == {"task": {"args": {"key": {"$secret": "db"}}}, "errors": []}
    assert await asked(server, "{ secrets { nodes { usedBy } } }", token) == {"nodes": [{"usedBy": ["t"]}]}
    (error,) = (await asked(server, DELETE % "false", token))["errors"]
    assert (error["code"], "is used by the task 't'" in error["message"]) == ("IN_USE", True)
    assert await asked(server, DELETE % "true", token) == {"deletedName": "db", "errors": []}
    (error,) = (await asked(server, DELETE % "true", token))["errors"]
    assert error["code"] == "NOT_FOUND"


async def test_without_a_key_a_secret_is_refused_with_advice(server: Protected) -> None:
    await server.account("boss", Role.ADMIN)
    server.keys = KeyRing()
    answer = await asked(server, SET % VALUE, await server.token("boss"))
    assert answer["errors"] == [{"code": "NO_ENCRYPTION_KEY", "path": []}]


def run(url: str, *arguments: str, said: str | None = None) -> tuple[int, str]:
    done = CliRunner().invoke(
        application(("secret",)), ["secret", *arguments, "--database-url", url, "--create"], input=said
    )
    return done.exit_code, done.output


def test_the_command_line_keeps_lists_rotates_and_deletes(empty_sqlite_url: str) -> None:
    url = empty_sqlite_url
    settings = load({"database_url": url}).settings
    path = key_file(settings)
    assert path is not None
    assert not path.exists()
    assert run(url, "set", "db", said=f"{VALUE}\n") == (0, "Secret db set\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first = read_keys(path).newest
    status, output = run(url, "list", "--json")
    assert (status, json.loads(output)["secrets"][0]["keyId"]) == (0, first.id)
    status, output = run(url, "rotate-key")
    second = read_keys(path)
    assert (status, output) == (0, f"Encrypted 1 secret with the key {second.newest.id}\n")
    assert [key.id for key in second.keys] == [second.newest.id] != [first.id]
    assert run(url, "delete", "db") == (0, "Secret db deleted\n")
    status, output = run(url, "delete", "db")
    assert (status, "secret 'db' does not exist" in output) == (1, True)
    status, output = run(url, "set", "db", said="x" * 70_000)
    assert (status, "value: must have 4 to 65,536 characters" in output) == (1, True)
    database = Database(url)
    assert VALUE not in dump(database)
    database.close_sync()


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    return monkeypatch


def test_keys_of_a_setting_are_rotated_by_putting_the_new_one_first(
    empty_database_url: str, variables: pytest.MonkeyPatch
) -> None:
    old, new = fresh_key(), fresh_key()
    variables.setenv("CRONOGRAPH_SECRET_KEY", old.text)
    assert run(empty_database_url, "set", "db", said=VALUE)[0] == 0
    variables.setenv("CRONOGRAPH_SECRET_KEY", new.text)
    status, output = run(empty_database_url, "rotate-key")
    assert (status, f"encrypted with the key {old.id}" in output) == (1, True)
    variables.setenv("CRONOGRAPH_SECRET_KEY", f"{new.text},{old.text}")
    assert run(empty_database_url, "rotate-key")[0] == 0
    secrets = json.loads(run(empty_database_url, "list", "--json")[1])["secrets"]
    assert [one["keyId"] for one in secrets] == [new.id]


def test_wrong_keys_are_refused_without_being_shown(
    tmp_path: Path, sqlite_url: str, variables: pytest.MonkeyPatch
) -> None:
    variables.setenv("CRONOGRAPH_SECRET_KEY", "hunter2hunter2")
    with pytest.raises(InvalidSettingsError) as caught:
        load({"database_url": sqlite_url})
    assert "CRONOGRAPH_SECRET_KEY: must be one or more keys" in caught.value.faults[0]
    assert "got 14 characters" in caught.value.faults[0]
    assert "hunter2" not in str(caught.value)
    variables.delenv("CRONOGRAPH_SECRET_KEY")
    file = tmp_path / "keys"
    for content, words in (
        (None, "No such file"),
        (b"\xff", "it is no text"),
        (b"hunter2", "must be 32 bytes in base64"),
    ):
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(InvalidSettingsError, match=words) as caught:
            load({"database_url": sqlite_url, "secret_key_file": str(file)})
        assert "hunter2" not in str(caught.value)
    with pytest.raises(InvalidSettingsError, match="must not be given together with secret_key"):
        load({"database_url": sqlite_url, "secret_key_file": str(file), "secret_key": fresh_key().text})


def test_a_process_that_finds_the_file_made_meanwhile_takes_that_key(sqlite_url: str) -> None:
    settings = load({"database_url": sqlite_url}).settings
    one, other = key_source(settings), key_source(settings)
    assert one().newest == other().newest
    path = key_file(settings)
    assert path is not None
    assert list(path.parent.glob("*secret-key*")) == [path]


def test_the_file_of_a_database_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    url = f"sqlite:///{path}"
    assert migrate(url) != []
    with connected(url) as connection:
        # A transaction is open: SQLite's further files are there, too.
        connection.exec_driver_sql("UPDATE audit_head SET last_id = last_id")
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert (modes["new.db"], set(modes.values())) == (0o600, {0o600})
    # What the owner has decided since then stays.
    path.chmod(0o640)
    assert migrate(url) == []
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with pytest.raises(StorageError, match="cannot be used"):
        migrate(f"sqlite:///{tmp_path / 'nowhere' / 'x.db'}")
