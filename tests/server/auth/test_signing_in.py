"""Signing in with a password: what it gives, what it refuses, and how guessing is slowed down."""

import os
import re
import sys
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Connection, Table, func, select
from starlette.requests import HTTPConnection

from cronograph.jobs.accounts.actions import accounts
from cronograph.jobs.accounts.rules.credentials import Prefix, new_secret
from cronograph.jobs.core.actor import Role
from cronograph.jobs.store.schema.tables import audit_log, login_throttle, session
from cronograph.server.auth.authenticator import AttemptCookie, SessionCookie
from cronograph.server.auth.passwords import DUMMY, NICENESS, Passwords, hasher
from tests.server.auth.serving import PASSWORD, Protected, hashed

WHO = "{ viewer { name role } }"
WAYS_OFF_THE_SITE = (
    "https://evil.example",
    "//evil.example",
    "/\\evil.example",
    "\\\\evil",
    "javascript:alert(1)",
    "/ok\r\nX: y",
    "",
)


def rows(conn: Connection, table: Table) -> int:
    return conn.execute(select(func.count()).select_from(table)).scalar_one()


def actions_logged(conn: Connection) -> list[tuple[str, str]]:
    return [(row.action, row.subject) for row in conn.execute(select(audit_log).order_by(audit_log.c.id))]


async def test_a_password_opens_a_session_and_its_cookie_the_api(server: Protected) -> None:
    await server.account("Ada", Role.OPERATOR)
    answer = await server.sign_in_as("ada")
    assert (answer.status_code, answer.json()) == (200, {"name": "Ada", "role": "OPERATOR"})
    cookie = answer.headers["set-cookie"]
    assert re.fullmatch(rf"cronograph-{server.port}=cgs_\w{{38}}; HttpOnly; Path=/; SameSite=lax", cookie)
    assert (await server.ask(WHO)).json()["data"] == {"viewer": {"name": "Ada", "role": "OPERATOR"}}
    assert (await server.browser.get("/tasks")).status_code != 303


async def test_wrong_names_and_passwords_get_one_and_the_same_refusal(server: Protected) -> None:
    await server.account("ada")
    for name, password in [("ada", "wrong password here"), ("nobody", PASSWORD), ("ada", "")]:
        answer = await server.sign_in_as(name, password)
        error = answer.json()["errors"][0]
        got = (answer.status_code, error["message"], error["extensions"]["code"])
        assert got == (401, "The name or the password is wrong.", "WRONG_CREDENTIALS")
        assert "set-cookie" not in answer.headers
    assert await server.code(WHO) == (401, "UNAUTHENTICATED")


async def test_a_page_sends_strangers_to_sign_in_and_back(light: Protected) -> None:
    await light.account("ada")
    answer = await light.browser.get("/tasks?filter=x")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=/tasks%3Ffilter%3Dx")
    form = await light.browser.get(answer.headers["location"])
    assert 'name="next" value="/tasks?filter=x"' in form.text
    assert form.text.count("<script") == form.text.count('<script type="module" src="sign-in.js"></script>') == 1
    fields = {"name": "ada", "password": PASSWORD, "next": "/tasks?filter=x"}
    signed_in = await light.browser.post("/login", data=fields)
    assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/tasks?filter=x")


async def test_next_never_leaves_the_site(light: Protected) -> None:
    await light.account("ada")
    for next_path in WAYS_OFF_THE_SITE:
        fields = {"name": "ada", "password": PASSWORD, "next": next_path}
        assert (await light.browser.post("/login", data=fields)).headers["location"] == "/", next_path
        # Who has signed in already is sent on without being asked, and no further.
        known = await light.browser.get("/login", params={"next": next_path})
        assert (known.status_code, known.headers["location"]) == (303, "/"), next_path
    known = await light.browser.get("/login", params={"next": "/account?x=1"})
    assert (known.status_code, known.headers["location"]) == (303, "/account?x=1")
    # But for a token, which is no sign-in of this browser.
    light.browser.cookies.clear()
    token = await light.token("ada")
    asked = await light.browser.get("/login?next=/account", headers={"authorization": f"Bearer {token}"})
    assert (asked.status_code, 'name="password"' in asked.text) == (200, True)


async def test_what_a_stranger_writes_is_escaped_in_the_page(light: Protected) -> None:
    answer = await light.browser.post("/login", data={"name": '"><script>x</script>', "password": "x", "next": "/"})
    assert answer.status_code == 401
    assert "<script>x" not in answer.text
    assert answer.headers["content-security-policy"].startswith(
        "default-src 'none'; script-src 'self'; style-src 'self'"
    )


async def test_signing_in_again_ends_the_session_before_and_gives_a_new_id(server: Protected) -> None:
    await server.account("ada")
    first = (await server.sign_in_as("ada")).cookies
    second = (await server.sign_in_as("ada")).cookies
    assert set(first.values()) != set(second.values())
    assert await server.database.read(rows, session) == 1


async def test_an_id_that_somebody_else_chose_is_never_taken(light: Protected) -> None:
    await light.account("ada")
    light.browser.cookies.set(f"cronograph-{light.port}", "cgs_chosen", domain="localhost.local")
    answer = await light.sign_in_as("ada")
    assert "chosen" not in answer.headers["set-cookie"]


async def test_a_tampered_cookie_is_nobody(light: Protected) -> None:
    for spoilt in ["x", "cgs_" + "a" * 38, "cgs_" + "a" * 9000, "", '"', "a=b"]:
        answer = await light.ask(WHO, cookie=f"cronograph-{light.port}={spoilt}")
        assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (401, "UNAUTHENTICATED")


async def test_two_cookies_of_the_name_are_none(light: Protected) -> None:
    await light.account("ada")
    name = f"cronograph-{light.port}"
    good = (await light.sign_in_as("ada")).cookies[name]
    light.browser.cookies.clear()
    assert (await light.ask(WHO, cookie=f"{name}={good}")).status_code == 200
    assert (await light.ask(WHO, cookie=f"{name}=cgs_x; {name}={good}")).status_code == 401


async def test_a_session_lasts_eight_hours_without_use_and_a_day_with_it(light: Protected) -> None:
    await light.account("ada")
    await light.sign_in_as("ada")
    for _ in range(3):
        light.clock.pass_time(hours=7, minutes=59)
        light.sign_in.authenticator.forget_all()
        assert (await light.ask(WHO)).status_code == 200
    light.clock.pass_time(minutes=4)
    light.sign_in.authenticator.forget_all()
    assert (await light.ask(WHO)).status_code == 401
    await light.sign_in_as("ada")
    light.clock.pass_time(hours=8, seconds=1)
    light.sign_in.authenticator.forget_all()
    assert (await light.ask(WHO)).status_code == 401


async def test_signing_out_ends_the_session_at_once(light: Protected) -> None:
    await light.account("ada")
    name = f"cronograph-{light.port}"
    secret = (await light.sign_in_as("ada")).cookies[name]
    assert (await light.ask(WHO)).status_code == 200
    answer = await light.browser.post("/auth/sign-out")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert (await light.ask(WHO, cookie=f"{name}={secret}")).status_code == 401


async def test_a_session_that_has_ended_meanwhile_keeps_nobody_from_signing_in_or_out(light: Protected) -> None:
    await light.account("boss", Role.ADMIN)
    await light.account("ada")
    await light.sign_in_as("ada")
    assert (await light.ask(WHO)).status_code == 200
    await light.database.write(accounts.set_role, "ada", Role.OPERATOR)
    # The server remembers the session for some seconds.
    assert (await light.sign_in_as("ada")).status_code == 200
    assert (await light.ask(WHO)).json()["data"] == {"viewer": {"name": "ada", "role": "OPERATOR"}}
    await light.database.write(accounts.set_role, "ada", Role.VIEWER)
    assert (await light.browser.post("/auth/sign-out")).headers["location"] == "/login"


async def test_forms_of_our_pages_are_sent_with_their_origin(light: Protected) -> None:
    # With "no-referrer" browsers would send "Origin: null" along.
    assert (await light.browser.get("/login")).headers["referrer-policy"] == "same-origin"


async def test_signing_out_everywhere_ends_the_sessions_of_other_browsers(server: Protected) -> None:
    await server.account("ada")
    name = f"cronograph-{server.port}"
    elsewhere = (await server.sign_in_as("ada")).cookies[name]
    server.browser.cookies.clear()
    await server.sign_in_as("ada")
    await server.browser.post("/auth/sign-out-everywhere")
    assert (await server.ask(WHO, cookie=f"{name}={elsewhere}")).status_code == 401


async def test_other_sites_cannot_post(light: Protected) -> None:
    await light.account("ada")
    await light.sign_in_as("ada")
    for path in ["/login", "/auth/password", "/auth/sign-out", "/auth/sign-out-everywhere", "/setup"]:
        for headers in [{"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}, {"origin": "null"}]:
            answer = await light.browser.post(path, headers=headers, data={"name": "ada", "password": PASSWORD})
            assert answer.status_code == 403, (path, headers)
            assert answer.json()["errors"][0]["extensions"]["code"] == "CROSS_SITE"
    assert (await light.ask(WHO)).status_code == 200


NONSENSE = (
    (b"null", "application/json", 400),
    (b'{"name": 1, "password": "x"}', "application/json", 400),
    (b'{"name": "ada", "password": "' + b"x" * 1_000_000 + b'"}', "application/json", 413),
    (b'{"name": "ada", "password": "x"}', "text/plain", 415),
    (b"[" * 5000, "application/json", 400),
    (b"\xff", "application/json", 400),
    (b'{"name": "\\u0000", "password": "x"}', "application/json", 400),
)


async def test_nonsense_is_refused_by_name(light: Protected) -> None:
    for body, content_type, status in NONSENSE:
        answer = await light.browser.post("/auth/password", content=body, headers={"content-type": content_type})
        assert answer.status_code == status, body[:40]
        assert answer.json()["errors"][0]["extensions"]["code"]
    assert await light.database.read(rows, login_throttle) == 0


async def test_guessing_is_slowed_down_for_the_account_and_a_right_password_has_to_wait_too(server: Protected) -> None:
    await server.account("ada")
    statuses = [(await server.sign_in_as("ada", "a wrong password")).status_code for _ in range(7)]
    assert statuses == [401] * 6 + [429]
    refused = await server.sign_in_as("ada")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    server.clock.pass_time(seconds=1)
    assert (await server.sign_in_as("ada")).status_code == 200
    assert (await server.sign_in_as("ada", "a wrong password")).status_code == 401


async def test_the_pause_grows_and_is_kept_in_the_database(light: Protected) -> None:
    await light.account("ada")
    pauses: list[int] = []
    for _ in range(14):
        answer = await light.sign_in_as("ada", "a wrong password")
        if answer.status_code == 429:
            pauses.append(int(answer.headers["retry-after"]))
            light.clock.pass_time(seconds=pauses[-1])
    assert pauses == [1, 2, 4, 8]
    light.clock.pass_time(hours=25)
    statuses = [(await light.sign_in_as("ada", "a wrong password")).status_code for _ in range(6)]
    assert statuses == [401] * 6


@pytest.mark.costly
async def test_guessing_many_names_from_one_address_is_slowed_down(light: Protected) -> None:
    statuses = [(await light.sign_in_as(f"name {number}")).status_code for number in range(22)]
    assert statuses == [401] * 21 + [429]


async def test_tries_side_by_side_get_no_more_than_tries_in_a_row(light: Protected) -> None:
    await light.account("ada")
    answers = [await light.sign_in_as("ada", "a wrong password") for _ in range(6)]
    assert {answer.status_code for answer in answers} == {401}
    assert (await light.sign_in_as("ADA", "a wrong password")).status_code == 429


async def test_the_log_names_who_failed_but_never_a_name_that_does_not_exist(server: Protected) -> None:
    await server.account("ada")
    await server.sign_in_as("ada", "a wrong password")
    await server.sign_in_as("my secret password", "x")
    await server.sign_in_as("ada")
    assert await server.database.read(actions_logged) == [
        ("sign_in.failed", "ada"),
        ("sign_in.failed", "(unknown name)"),
        ("sign_in.succeeded", "ada"),
    ]


async def test_a_disabled_account_cannot_sign_in_and_what_it_had_is_worth_nothing(server: Protected) -> None:
    await server.account("boss", Role.ADMIN)
    await server.account("ada", Role.ADMIN)
    token = await server.token("ada")
    await server.sign_in_as("ada")
    await server.database.write(accounts.disable, "ada")
    server.sign_in.authenticator.forget_all()
    assert await server.code(WHO) == (401, "UNAUTHENTICATED")
    assert await server.code(WHO, token) == (401, "UNAUTHENTICATED")
    assert (await server.sign_in_as("ada")).status_code == 401
    await server.database.write(accounts.enable, "ada")
    assert await server.code(WHO, token) == (200, None)


async def test_a_new_password_or_role_ends_the_sessions(server: Protected) -> None:
    await server.account("boss", Role.ADMIN)
    await server.account("ada")
    changes = (
        partial(accounts.set_role, name="ada", role=Role.OPERATOR),
        partial(accounts.set_password, name="ada", password_hash=hashed("another good password")),
    )
    for change in changes:
        await server.sign_in_as("ada", PASSWORD)
        await server.database.write(change)
        server.sign_in.authenticator.forget_all()
        assert await server.code(WHO) == (401, "UNAUTHENTICATED")


async def test_a_token_of_nobody_is_refused_and_the_cookie_does_not_help_it(light: Protected) -> None:
    await light.account("ada")
    await light.sign_in_as("ada")
    unknown = new_secret(Prefix.API_TOKEN, bytes(40))
    for token in ("x", "cg_" + "a" * 38, "cga_" + "a" * 38, "cg_" + "a" * 199, unknown, "two words", "Bearer"):
        assert await light.code(WHO, token) == (401, "UNAUTHENTICATED"), token


async def test_a_token_ends_with_its_time(server: Protected) -> None:
    await server.account("ada")
    token = await server.token("ada", lasts=timedelta(hours=1))
    assert await server.code(WHO, token) == (200, None)
    server.clock.pass_time(hours=1)
    server.sign_in.authenticator.forget_all()
    assert await server.code(WHO, token) == (401, "UNAUTHENTICATED")


async def test_who_has_signed_in_changes_the_password_and_gets_a_new_session(server: Protected) -> None:
    await server.account("ada")
    token = await server.token("ada")
    await server.sign_in_as("ada")
    before = dict(server.browser.cookies)
    new = "another horse altogether"
    for current, password, code in (
        ("wrong", new, "WRONG_CREDENTIALS"),
        (PASSWORD, "short", "INVALID_INPUT"),
        (PASSWORD, "x" * 5_000, "INVALID_INPUT"),
    ):
        answer = await change_password(server, current, password)
        assert answer.json()["errors"][0]["extensions"]["code"] == code
    assert dict(server.browser.cookies) == before
    by_token = await server.browser.post(
        "/auth/change-password",
        json={"current": PASSWORD, "password": new},
        headers={"authorization": f"Bearer {token}", "cookie": ""},
    )
    assert by_token.status_code == 401
    changed = await change_password(server, PASSWORD, new)
    assert (changed.status_code, changed.json()) == (200, {"name": "ada", "role": "VIEWER"})
    assert dict(server.browser.cookies) != before
    viewer = (await server.ask("{ viewer { name hasPassword } }")).json()["data"]["viewer"]
    assert viewer == {"name": "ada", "hasPassword": True}
    name, value = next(iter(before.items()))
    headers = {"cookie": f"{name}={value}"}
    answer = await server.browser.post("/graphql", json={"query": "{ viewer { name } }"}, headers=headers)
    assert answer.status_code == 401
    assert (await server.sign_in_as("ada")).status_code == 401
    assert (await server.sign_in_as("ada", new)).status_code == 200


async def change_password(server: Protected, current: str, password: str) -> httpx.Response:
    return await server.browser.post("/auth/change-password", json={"current": current, "password": password})


async def test_wrong_current_passwords_are_slowed_down_as_any_others_are(light: Protected) -> None:
    await light.account("ada")
    await light.sign_in_as("ada")
    answers = [await change_password(light, "wrong", "another horse altogether") for _ in range(7)]
    assert [answer.status_code for answer in answers] == [401] * 6 + [429]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a niceness for each thread")
async def test_hashing_steps_back_behind_whatever_else_runs() -> None:
    def niceness() -> set[int]:
        found: set[int] = set()
        for task in Path("/proc/self/task").iterdir():
            # Another thread may have ended meanwhile.
            with suppress(ProcessLookupError):
                found.add(os.getpriority(os.PRIO_PROCESS, int(task.name)))
        return found

    usual = os.getpriority(os.PRIO_PROCESS, 0)
    passwords = Passwords()
    try:
        assert await passwords.verify(hashed(), PASSWORD)
        assert min(usual + NICENESS, 19) in niceness()
        assert os.getpriority(os.PRIO_PROCESS, 0) == usual
    finally:
        passwords.close()


@pytest.mark.parametrize(
    ("address", "root", "names"),
    [
        ("https://cron.example.com", "", ("__Host-cronograph", "__Host-cronograph-attempt")),
        ("https://cron.example.com:443/", "", ("__Host-cronograph", "__Host-cronograph-attempt")),
        ("https://cron.example.com:8443", "", ("__Host-cronograph-8443", "__Host-cronograph-8443-attempt")),
        ("https://x.example/a", "/a", ("__Host-cronograph.a", "__Host-cronograph-attempt.a")),
        ("http://localhost:8000", "", ("cronograph-8000", "cronograph-8000-attempt")),
        ("http://localhost", "/a b/c", ("cronograph-9000.a%20b%2Fc", "cronograph-9000-attempt.a%20b%2Fc")),
    ],
)
def test_servers_of_one_host_differ_in_the_names_of_their_cookies(
    address: str, root: str, names: tuple[str, str]
) -> None:
    scope = {"type": "http", "headers": [(b"host", b"localhost:9000")], "root_path": root, "path": f"{root}/"}
    connection = HTTPConnection(scope)
    kinds = (SessionCookie, AttemptCookie)
    assert tuple(kind.for_address(address).name(connection) for kind in kinds) == names


def test_the_hash_for_unknown_names_takes_as_long_as_any() -> None:
    assert not hasher().check_needs_rehash(DUMMY)
