"""Accounts, tokens, sessions and the audit log through the API, and the chain of the audit log."""

import json
from typing import Any

import pytest
from sqlalchemy import Connection, delete, update
from typer.testing import CliRunner

from cronograph.jobs.accounts.rules.credentials import Prefix, prefix_of
from cronograph.jobs.accounts.statements.audit import verify
from cronograph.jobs.core.actor import Role
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import audit_head, audit_log
from cronograph.server.cli import application
from tests.server.auth.serving import PASSWORD, Protected

WHO = "{ viewer { name role } }"


async def asked(server: Protected, text: str, token: str | None = None) -> Any:
    """The data of the only root field."""
    answer = (await server.ask(text, token)).json()
    assert "errors" not in answer, answer
    (data,) = answer["data"].values()
    return data


async def test_an_administrator_makes_an_account_whose_owner_sets_the_password(server: Protected) -> None:
    await server.account("boss", Role.ADMIN)
    token = await server.token("boss")
    create = 'mutation { createAccount(input: {name: "Zoë", role: OPERATOR}) { %s } }'
    made = await asked(server, create % "account { name role hasPassword } recoveryPath errors { code }", token)
    assert made["account"] == {"name": "Zoë", "role": "OPERATOR", "hasPassword": False}
    fields = {"token": made["recoveryPath"].partition("token=")[2], "password": PASSWORD}
    assert (await server.browser.post("/recover", data=fields)).status_code == 303
    assert (await server.sign_in_as("ZOË")).status_code == 200
    again = await asked(server, create % "account { name } recoveryPath errors { code path }", token)
    assert again == {"account": None, "recoveryPath": None, "errors": [{"code": "ALREADY_EXISTS", "path": ["name"]}]}
    listed = await asked(server, "{ accounts { nodes { name role disabledAt } } }", token)
    assert [one["name"] for one in listed["nodes"]] == ["boss", "Zoë"]


async def test_an_account_is_changed_and_the_last_administrator_stays(server: Protected) -> None:
    await server.account("boss", Role.ADMIN)
    await server.account("ada")
    token = await server.token("boss")
    change = "mutation { updateAccount(input: {%s}) { account { role disabledAt } recoveryPath errors { code } } }"
    done = await asked(server, change % 'name: "ada", role: OPERATOR, disabled: true', token)
    assert (done["account"]["role"], done["account"]["disabledAt"] is not None) == ("OPERATOR", True)
    assert (await server.sign_in_as("ada")).status_code == 401
    for what in ("disabled: true", "role: VIEWER"):
        refused = await asked(server, change % f'name: "boss", {what}', token)
        assert refused["errors"] == [{"code": "LAST_ADMINISTRATOR"}]
    refused = await asked(server, change % 'name: "nobody", disabled: true', token)
    assert refused["errors"] == [{"code": "NOT_FOUND"}]
    assert (await server.ask(WHO, token)).status_code == 200


async def test_who_has_signed_in_makes_and_revokes_tokens_of_his_own(server: Protected) -> None:
    await server.account("ada", Role.OPERATOR)
    await server.account("eve", Role.OPERATOR)
    await server.sign_in_as("ada")
    create = (
        'mutation { createApiToken(input: {name: "ci", role: %s}) { token { id shown role } secret errors { code } } }'
    )
    made = await asked(server, create % "VIEWER")
    secret = made["secret"]
    assert prefix_of(secret) is Prefix.API_TOKEN
    assert made["token"]["role"] == "VIEWER"
    assert secret.startswith(made["token"]["shown"])
    assert (await asked(server, WHO, secret)) == {"name": "ada", "role": "VIEWER"}
    # A role above one's own, and a token that wants to beget tokens.
    assert (await asked(server, create % "ADMIN"))["errors"] == [{"code": "INVALID_INPUT"}]
    full = await server.token("ada")
    assert (await asked(server, create % "VIEWER", full))["errors"] == [{"code": "SIGN_IN_NEEDED"}]
    listed = (await asked(server, "{ viewer { tokens { id name lastUsedAt } } }"))["tokens"]
    assert [one["name"] for one in listed] == ["test", "ci"]
    revoke = f'mutation {{ revokeApiToken(input: {{id: "{made["token"]["id"]}"}}) {{ errors {{ code }} }} }}'
    assert (await asked(server, revoke, await server.token("eve")))["errors"] == [{"code": "NOT_FOUND"}]
    assert (await asked(server, revoke))["errors"] == []
    server.sign_in.authenticator.forget_all()
    assert await server.code(WHO, secret) == (401, "UNAUTHENTICATED")


async def test_one_sees_and_ends_ones_sessions(server: Protected) -> None:
    await server.account("ada")
    await server.sign_in_as("ada")
    server.browser.cookies.clear()
    await server.sign_in_as("ada")
    found = (await asked(server, "{ viewer { sessions { id kind isCurrent address } } }"))["sessions"]
    assert sorted(one["isCurrent"] for one in found) == [False, True]
    assert {(one["kind"], one["address"]) for one in found} <= {("BROWSER", "127.0.0.1"), ("BROWSER", "::1")}
    end = "mutation { endSessions(input: {sessions: {%s}}) { ended errors { code } } }"
    assert await asked(server, end % "others: false") == {"ended": 0, "errors": [{"code": "INVALID_INPUT"}]}
    assert await asked(server, end % "others: true") == {"ended": 1, "errors": []}
    assert await asked(server, end % 'id: "999"') == {"ended": 0, "errors": [{"code": "NOT_FOUND"}]}
    (mine,) = (await asked(server, "{ viewer { sessions { id } } }"))["sessions"]
    assert await asked(server, end % f'id: "{mine["id"]}"') == {"ended": 1, "errors": []}
    server.sign_in.authenticator.forget_all()
    assert await server.code(WHO) == (401, "UNAUTHENTICATED")


async def test_the_audit_log_is_listed_and_filtered_for_administrators(server: Protected) -> None:
    await server.account("boss", Role.ADMIN)
    await server.sign_in_as("boss")
    await server.sign_in_as("boss", "a wrong password")
    text = (
        '{ auditLog(filter: {action: {startsWith: "sign_in"}}) { nodes { actor action subject address } totalCount } }'
    )
    found = await asked(server, text)
    assert [(one["actor"], one["action"], one["subject"]) for one in found["nodes"]] == [
        ("(nobody)", "sign_in.failed", "boss"),
        ("boss", "sign_in.succeeded", "boss"),
    ]
    assert found["totalCount"] == 2


def change_one(conn: Connection) -> None:
    conn.execute(update(audit_log).where(audit_log.c.id == 2).values(actor="somebody else"))


def remove_one(conn: Connection) -> None:
    conn.execute(delete(audit_log).where(audit_log.c.id == 2))


def remove_the_newest(conn: Connection) -> None:
    conn.execute(delete(audit_log).where(audit_log.c.id == 3))


def remove_the_head(conn: Connection) -> None:
    conn.execute(delete(audit_head))


@pytest.mark.costly
@pytest.mark.parametrize(
    ("tampering", "fault"),
    [
        (change_one, "entry 2 is not what was written, or the one before it is not"),
        (remove_one, "entry 2 is missing"),
        (remove_the_newest, "the newest entries are missing: 3 were written, 2 are there"),
        (remove_the_head, "the head of the chain is missing"),
    ],
)
async def test_anyone_who_tampers_with_the_log_is_noticed(server: Protected, tampering: Any, fault: str) -> None:
    await server.account("ada")
    for _ in range(3):
        await server.sign_in_as("ada", "a wrong password")
    whole = await server.database.read(verify)
    assert (whole.entries, whole.fault) == (3, None)

    def tamper(tx: Tx) -> None:
        tampering(tx.conn)

    await server.database.write(tamper)
    assert (await server.database.read(verify)).fault == fault


def test_the_commands_judge_and_export_the_log(sqlite_url: str) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(application((arguments[0],)), [*arguments, "--database-url", sqlite_url])
        return done.exit_code, done.output

    assert run("user", "add", "ada")[0] == 0
    status, output = run("audit", "verify", "--json")
    newest = json.loads(output)["newest"]
    assert (status, json.loads(output)["entries"]) == (0, 1)
    assert run("user", "add", "eve")[0] == 0
    assert run("audit", "verify", "--expect", newest)[0] == 0
    status, output = run("audit", "verify", "--expect", "0" * 64)
    assert (status, "no entry has the hash 000" in output) == (1, True)
    status, output = run("audit", "export")
    lines = [json.loads(line) for line in output.splitlines()]
    assert [(one["id"], one["actor"], one["action"], one["subject"]) for one in lines] == [
        (1, "(command line)", "account.created", "ada"),
        (2, "(command line)", "account.created", "eve"),
    ]
    assert all(one["at"].endswith("Z") for one in lines)
