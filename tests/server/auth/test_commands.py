"""`cronograph user` and `cronograph token` work on the database alone; the set-up link is for the first who sees it."""

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cronograph.jobs.accounts.rules.credentials import Prefix, prefix_of
from cronograph.server.auth.signing import link_file, offer_setup
from cronograph.server.cli import application
from tests.server.auth.serving import PASSWORD, Protected

WHO = "{ viewer { name role } }"


def run(url: str, *arguments: str, said: str | None = None) -> tuple[int, str]:
    """Status and output of a command on a database."""
    command = application((arguments[0],))
    done = CliRunner().invoke(command, [*arguments, "--database-url", url], input=said)
    return done.exit_code, done.output


def test_accounts_are_made_listed_changed_and_locked_out(empty_database_url: str) -> None:
    url = empty_database_url
    assert run(url, "user", "list", "--create") == (0, "No accounts yet\n")
    made = run(url, "user", "add", "Ada", "--role", "admin", "--password-stdin", said=f"{PASSWORD}\n")
    assert made == (0, "Account Ada made, role admin\n")
    assert run(url, "user", "add", "bob") == (0, "Account bob made, role viewer\n")
    assert run(url, "user", "role", "BOB", "operator") == (0, "Account bob has role operator\n")
    assert run(url, "user", "password", "bob", "--password-stdin", said=PASSWORD)[0] == 0
    assert run(url, "user", "disable", "bob") == (0, "Account bob is disabled\n")
    status, output = run(url, "user", "list", "--json")
    states = [
        (one["name"], one["role"], one["hasPassword"], bool(one["disabledAt"]))
        for one in json.loads(output)["accounts"]
    ]
    assert (status, states) == (0, [("Ada", "admin", True, False), ("bob", "operator", True, True)])
    assert run(url, "user", "enable", "bob") == (0, "Account bob is enabled\n")


def test_what_cannot_be_is_refused_and_changes_nothing(sqlite_url: str) -> None:
    run(sqlite_url, "user", "add", "ada", "--role", "admin")
    for words, arguments, said in (
        ("an account 'ADA' exists already", ["add", "ADA"], None),
        ("looks like the account 'ada', and people would take one for the other", ["add", "\u0430da"], None),
        ("must not contain control characters", ["add", "eve\u202e"], None),
        ("password: must have 12 to 1024 characters, got 5", ["password", "ada", "--password-stdin"], "short\n"),
        ("must find the password on standard input, got nothing", ["password", "ada", "--password-stdin"], ""),
        ("there is no terminal to ask at", ["password", "ada"], None),
        ("'ada' is the last administrator", ["disable", "ada"], None),
        ("'ada' is the last administrator", ["role", "ada", "viewer"], None),
        ("account 'adda' does not exist; did you mean 'ada'?", ["disable", "adda"], None),
        ("password: must have 12 to 1024 characters", ["add", "zoe", "--password-stdin"], "x" * 1_000_000),
    ):
        status, output = run(sqlite_url, "user", *arguments, said=said)
        assert status in (1, 2), arguments
        assert words in output.replace("\n", " "), output
    accounts = json.loads(run(sqlite_url, "user", "list", "--json")[1])["accounts"]
    assert [(one["name"], one["role"], one["disabledAt"]) for one in accounts] == [("ada", "admin", None)]


async def test_a_token_is_printed_alone_and_works(server: Protected) -> None:
    await server.account("ada")
    url = server.database.url.render_as_string(hide_password=False).replace("+psycopg", "")
    status, output = run_in_thread(url, "token", "create", "--user", "ada", "--name", "ci")
    assert (status, prefix_of(output.strip())) == (0, Prefix.API_TOKEN)
    assert (await server.ask(WHO, output.strip())).json()["data"]["viewer"] == {"name": "ada", "role": "VIEWER"}
    status, output = run_in_thread(url, "token", "create", "--user", "ada", "--role", "admin")
    assert status == 1
    assert "role: must be at most 'viewer'" in output


def run_in_thread(url: str, *arguments: str) -> tuple[int, str]:
    """A command that runs an event loop of its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run, url, *arguments).result()


async def test_the_set_up_link_makes_one_administrator_and_then_none(
    server: Protected, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    older = await offer_setup(server.database, server.url)
    link = await offer_setup(server.database, server.url)
    assert older is not None
    assert link is not None
    assert link in capsys.readouterr().err
    file = link_file(server.database)
    assert file.read_text() == f"{link}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    # Renewed at each start: the older one is refused.
    assert (await server.browser.get(older)).status_code == 410
    assert "Set up Cronograph" in (await server.browser.get(link)).text
    fields = {"token": link.partition("token=")[2], "name": "Ada", "password": "short"}
    refused = await server.browser.post("/setup", data=fields)
    assert (refused.status_code, "must have 12 to 1024 characters" in refused.text) == (400, True)
    fields["password"] = PASSWORD
    done = await server.browser.post("/setup", data=fields)
    assert (done.status_code, done.headers["location"]) == (303, "/")
    assert (await server.ask(WHO)).json()["data"]["viewer"] == {"name": "Ada", "role": "ADMIN"}
    again = await server.browser.post("/setup", data={**fields, "name": "eve"})
    assert again.status_code == 410
    assert await offer_setup(server.database, server.url) is None
    assert not file.exists()


async def test_a_recovery_link_sets_a_new_password_once(server: Protected) -> None:
    await server.account("ada")
    await server.sign_in_as("ada")
    url = server.database.url.render_as_string(hide_password=False).replace("+psycopg", "")
    status, output = run_in_thread(url, "user", "link", "ada", "--url", server.url)
    link = output.strip()
    assert status == 0
    assert "New password" in (await server.browser.get(link)).text
    fields = {"token": link.partition("token=")[2], "password": "another good password"}
    server.sign_in.authenticator.forget_all()
    assert (await server.browser.post("/recover", data=fields)).status_code == 303
    assert (await server.ask(WHO)).status_code == 200
    assert (await server.browser.post("/recover", data=fields)).status_code == 410
    assert (await server.sign_in_as("ada")).status_code == 401
    assert (await server.sign_in_as("ada", "another good password")).status_code == 200


async def test_tokens_are_listed_and_revoked(server: Protected) -> None:
    await server.account("ada")
    await server.account("eve")
    url = server.database.url.render_as_string(hide_password=False).replace("+psycopg", "")
    token = await server.token("ada")
    status, output = run_in_thread(url, "token", "list", "--json")
    (listed,) = json.loads(output)["tokens"]
    assert (status, listed["user"], token.startswith(listed["shown"])) == (0, "ada", True)
    assert run_in_thread(url, "token", "list", "--user", "eve") == (0, "No tokens yet\n")
    assert run_in_thread(url, "token", "revoke", str(listed["id"])) == (0, f"Token {listed['id']} (test) is revoked\n")
    assert await server.code(WHO, token) == (401, "UNAUTHENTICATED")
    assert run_in_thread(url, "token", "revoke", str(listed["id"]))[0] == 1
