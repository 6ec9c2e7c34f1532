"""What must not work gets a clear refusal, and leaves everything as it was; and the database gives nothing away."""

import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Table, select

from cronograph.jobs.accounts.actions.accounts import fresh_secret, prepare_setup
from cronograph.jobs.accounts.rules.credentials import Prefix, stored_form
from cronograph.jobs.core.actor import Role
from cronograph.server.process.logs import QUIET
from tests.server.auth.serving import PASSWORD, Protected
from tests.server.auth.test_devices import Device
from tests.support.dumping import dump
from tests.support.schema import tables_of

NOTED = frozenset({"audit_log", "audit_head", "login_throttle"})
"""What a refusal may leave: that it was tried."""
WHO = "{ viewer { name } }"
Try = Callable[[Protected], Awaitable[str | None]]


def untouchable(conn: Connection) -> list[Table]:
    """The tables that a refusal must not touch: all that there are but those that note it."""
    return [table for table in tables_of(conn) if table.name not in NOTED]


def state(conn: Connection, tables: list[Table]) -> list[tuple[str, Any]]:
    """All rows of these tables."""
    reads = [(table.name, select(table).order_by(*table.primary_key)) for table in tables]
    return [(name, tuple(row)) for name, read in reads for row in conn.execute(read)]


async def code_of(server: Protected, document: str, token: str | None = None) -> str | None:
    """The code of the first refusal in an answer, of GraphQL or of a payload."""
    answer: Any = (await server.ask(document, token)).json()
    if "errors" in answer:
        return str(answer["errors"][0]["extensions"]["code"])
    (payload,) = answer["data"].values()
    return str(payload["errors"][0]["code"]) if payload["errors"] else None


async def long_cookie(server: Protected) -> str | None:
    name = next(iter(server.browser.cookies))
    answer = await server.browser.post(
        "/graphql", json={"query": WHO}, headers={"cookie": f"{name}={'x' * 9_000}; {name}=y"}
    )
    return str(answer.json()["errors"][0]["extensions"]["code"])


async def long_password(server: Protected) -> str | None:
    answer = await server.sign_in_as("ada", "x" * 1_000_000)
    return str(answer.json()["errors"][0]["extensions"]["code"])


async def own_role(server: Protected) -> str | None:
    raised = 'mutation { updateAccount(input: {name: "ada", role: ADMIN}) { errors { code } } }'
    return await code_of(server, raised)


async def higher_token(server: Protected) -> str | None:
    return await code_of(server, 'mutation { createApiToken(input: {name: "x", role: ADMIN}) { errors { code } } }')


async def own_end(server: Protected) -> str | None:
    disable = 'mutation { updateAccount(input: {name: "boss", disabled: true}) { errors { code } } }'
    return await code_of(server, disable, server.notes["boss"])


def name(text: str) -> Try:
    async def attempt(server: Protected) -> str | None:
        made = f'mutation {{ createAccount(input: {{name: "{text}", role: VIEWER}}) {{ errors {{ code }} }} }}'
        return await code_of(server, made, server.notes["boss"])

    return attempt


def shown(which: str) -> Try:
    async def attempt(server: Protected) -> str | None:
        return await code_of(server, WHO, server.notes[which])

    return attempt


def cross_site(path: str) -> Try:
    async def attempt(server: Protected) -> str | None:
        answer = await server.browser.post(path, headers={"origin": "https://evil.example"})
        return str(answer.json()["errors"][0]["extensions"]["code"])

    return attempt


async def spent_link(server: Protected) -> str | None:
    fields = {"token": server.notes["link"], "name": "mallory", "password": PASSWORD}
    answer = await server.browser.post("/setup", data=fields)
    return str(answer.status_code)


BAD: dict[str, tuple[Try, str]] = {
    "a token of nobody": (shown("nobody's"), "UNAUTHENTICATED"),
    "an expired token": (shown("expired"), "UNAUTHENTICATED"),
    "a revoked token": (shown("revoked"), "UNAUTHENTICATED"),
    "a refresh token in the place of an access token": (shown("refresh"), "UNAUTHENTICATED"),
    "the token of a disabled account": (shown("disabled"), "UNAUTHENTICATED"),
    "a cookie that is too long": (long_cookie, "UNAUTHENTICATED"),
    "a password of a megabyte": (long_password, "LIMIT_BODY_BYTES"),
    "a role raised by its owner": (own_role, "FORBIDDEN"),
    "a token with a higher role than its owner": (higher_token, "INVALID_INPUT"),
    "the last administrator who disables himself": (own_end, "LAST_ADMINISTRATOR"),
    "a control character in a name": (name("a\\u0007b"), "INVALID_INPUT"),
    "a bidi mark in a name": (name("a\\u202eb"), "INVALID_INPUT"),
    "a name that cannot be told from another": (name("\\uff21\\uff24\\uff21"), "ALREADY_EXISTS"),
    "a sign-out by another site": (cross_site("/auth/sign-out"), "CROSS_SITE"),
    "a sign-out everywhere by another site": (cross_site("/auth/sign-out-everywhere"), "CROSS_SITE"),
    "a new password by another site": (cross_site("/auth/change-password"), "CROSS_SITE"),
    "a set-up link once more": (spent_link, "410"),
}


@pytest.fixture
async def prepared(server: Protected) -> Protected:
    """A server on which somebody has signed in, with good and bad credentials in `notes`."""
    link = fresh_secret(Prefix.LINK)
    await server.database.write(prepare_setup, stored_form(link))
    await server.browser.post("/setup", data={"token": link, "name": "boss", "password": PASSWORD})
    await server.account("ada", Role.OPERATOR)
    await server.account("gone")
    boss, revoked, gone = await server.token("boss"), await server.token("ada"), await server.token("gone")
    await server.sign_in_as("ada")
    device = Device(server)
    tokens = await device.sign_in()
    await server.ask('mutation { updateAccount(input: {name: "gone", disabled: true}) { errors { code } } }', boss)
    await server.ask('mutation { revokeApiToken(input: {id: "2"}) { errors { code } } }', boss)
    await server.ask('mutation { setSecret(input: {name: "s", value: "a-secret-value"}) { errors { code } } }', boss)
    recovery = 'mutation { updateAccount(input: {name: "ada", recovery: true}) { recoveryPath } }'
    path = (await server.ask(recovery, boss)).json()["data"]["updateAccount"]["recoveryPath"]
    server.notes |= {
        "boss": boss,
        "link": link,
        "recovery": path.partition("token=")[2],
        "nobody's": fresh_secret(Prefix.API_TOKEN),
        "revoked": revoked,
        "disabled": gone,
        "access": tokens["access_token"],
        "refresh": tokens["refresh_token"],
        "device code": device.code["device_code"],
        "user code": device.code["user_code"].replace("-", ""),
        "session": next(iter(server.browser.cookies.values())),
        "password": PASSWORD,
        "secret": "a-secret-value",
        "key": server.keys.newest.text,
    }
    return server


@pytest.mark.costly
async def test_bad_input_is_refused_by_name_and_changes_nothing(prepared: Protected) -> None:
    server = prepared
    server.notes["expired"] = await server.token("ada", lasts=timedelta(seconds=1))
    server.clock.pass_time(seconds=2)
    # Their use is noted once a minute: what follows is to change nothing.
    for good in (None, server.notes["boss"]):
        assert (await server.ask(WHO, good)).status_code == 200
    tables = await server.database.read(untouchable)
    before = await server.database.read(state, tables)
    assert {"api_token", "secret"} <= {name for name, _ in before}
    for what, (attempt, code) in BAD.items():
        assert await attempt(server) == code, what
        assert await server.database.read(state, tables) == before, what


@pytest.fixture
def _wordy(caplog: pytest.LogCaptureFixture) -> None:
    """All that is logged, as with `log_level = "debug"`, before a database is opened."""
    caplog.set_level(logging.DEBUG)


@pytest.mark.costly
@pytest.mark.usefixtures("_wordy")
async def test_a_dump_of_the_database_and_the_log_give_nothing_away(
    prepared: Protected, caplog: pytest.LogCaptureFixture
) -> None:
    for what in ("boss", "access", "session", "expired", "recovery", "link"):
        await prepared.ask(WHO, prepared.notes.get(what, "cg_wrong"))
        await prepared.browser.get("/recover", params={"token": prepared.notes.get(what, "")})
    kept = [one for one in caplog.records if one.levelno >= QUIET.get(one.name.partition(".")[0], 0)]
    logged = "\n".join(one.getMessage() for one in kept)
    everything = dump(prepared.database)
    assert stored_form(prepared.notes["access"]) in everything, "the dump shows what is stored"
    assert [what for what, value in prepared.notes.items() if value in everything or value in logged] == []
