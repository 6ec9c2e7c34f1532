"""Passkeys: made by who has signed in, signed in with by anyone who has the device, and every wrong one refused."""

from functools import partial
from typing import Any

import httpx
from sqlalchemy import Connection, select

from cronograph.jobs.accounts.actions import accounts, passkeys
from cronograph.jobs.accounts.rules.credentials import MAX_PASSKEYS, DeviceKey
from cronograph.jobs.accounts.statements import accounts as account_statements
from cronograph.jobs.core.actor import Role
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import audit_log, passkey, session, user_account, webauthn_challenge
from cronograph.server.auth.passkeys import RelyingParty
from tests.server.auth.devices import PRESENT, Device
from tests.server.auth.serving import Protected
from tests.server.auth.test_account_api import asked
from tests.server.auth.test_signing_in import WHO, rows

NAMES = "{ viewer { passkeys { id name createdAt lastUsedAt } } }"
DELETE = "mutation { deletePasskey(input: {id: %s}) { passkey { name } errors { code } } }"
RENAME = "mutation { renamePasskey(input: {id: %s, name: %s}) { passkey { name } errors { code } } }"


async def registration(server: Protected) -> Any:
    answer = await server.browser.post("/auth/passkey/registration/challenge")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def challenge(server: Protected) -> Any:
    answer = await server.browser.post("/auth/passkey/challenge")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def register(server: Protected, credential: object, name: str = "phone") -> httpx.Response:
    return await server.browser.post("/auth/passkey/registration", json={"credential": credential, "name": name})


async def sign_in(server: Protected, credential: object) -> httpx.Response:
    return await server.browser.post("/auth/passkey", json={"credential": credential})


async def registered(server: Protected, name: str = "ada", role: Role = Role.VIEWER) -> Device:
    """The device of an account, which is signed out."""
    await server.account(name, role)
    await server.sign_in_as(name)
    device = Device(server.url)
    answer = await register(server, device.made(await registration(server)))
    assert answer.status_code == 200, answer.text
    server.browser.cookies.clear()
    return device


def refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["errors"][0]["extensions"]["code"]


async def test_who_has_signed_in_makes_a_passkey_and_signs_in_by_it_without_a_name(server: Protected) -> None:
    device = await registered(server, "Ada", Role.OPERATOR)
    options = await challenge(server)
    assert (options["rpId"], options["userVerification"]) == ("localhost", "required")
    assert options.get("allowCredentials", []) == []
    answer = await sign_in(server, device.signed(options))
    assert (answer.status_code, answer.json()) == (200, {"name": "Ada", "role": "OPERATOR"})
    assert (await asked(server, WHO)) == {"name": "Ada", "role": "OPERATOR"}
    (listed,) = (await asked(server, NAMES))["passkeys"]
    assert listed["name"] == "phone"
    assert listed["lastUsedAt"] is not None
    again = await registration(server)
    assert [one["id"] for one in again["excludeCredentials"]] == [device.signed(options)["id"]]
    logged = await server.database.read(entries)
    assert ("passkey.created", "Ada", '{"id": 1, "name": "phone"}') in logged
    assert ("sign_in.succeeded", "Ada", '{"by": "passkey"}') in logged


def entries(conn: Connection) -> list[tuple[str, str, str]]:
    return [(row.action, row.subject, row.after) for row in conn.execute(select(audit_log).order_by(audit_log.c.id))]


async def test_a_challenge_is_good_once_for_five_minutes_and_for_the_browser_that_asked(server: Protected) -> None:
    device = await registered(server)
    signed = device.signed(await challenge(server))
    assert (await sign_in(server, signed)).status_code == 200
    replayed = await sign_in(server, signed)
    assert refusal(replayed) == (401, "WRONG_CREDENTIALS")
    late = device.signed(await challenge(server))
    server.clock.pass_time(minutes=5)
    assert refusal(await sign_in(server, late)) == (401, "WRONG_CREDENTIALS")
    stolen = device.signed(await challenge(server))
    server.browser.cookies.clear()
    assert refusal(await sign_in(server, stolen)) == (401, "WRONG_CREDENTIALS")
    await challenge(server)
    assert refusal(await sign_in(server, stolen)) == (401, "WRONG_CREDENTIALS")
    replaced = await challenge(server)
    await challenge(server)
    assert refusal(await sign_in(server, device.signed(replaced))) == (401, "WRONG_CREDENTIALS")
    assert await server.database.read(rows, session) == 2


async def test_wrong_proofs_are_refused_and_logged_and_begin_no_session(light: Protected) -> None:
    device = await registered(light)
    before = await light.database.read(rows, session)
    device.origin = "https://evil.example"
    assert refusal(await sign_in(light, device.signed(await challenge(light)))) == (401, "WRONG_CREDENTIALS")
    device.origin = light.url
    options = await challenge(light)
    assert refusal(await sign_in(light, device.signed(options, party="evil.example"))) == (401, "WRONG_CREDENTIALS")
    device.flags = PRESENT
    assert refusal(await sign_in(light, device.signed(await challenge(light)))) == (401, "WRONG_CREDENTIALS")
    stranger = Device(light.url, credential_id=device.credential_id, signatures=50)
    assert refusal(await sign_in(light, stranger.signed(await challenge(light)))) == (401, "WRONG_CREDENTIALS")
    unknown = Device(light.url)
    assert refusal(await sign_in(light, unknown.signed(await challenge(light)))) == (401, "WRONG_CREDENTIALS")
    assert await light.database.read(rows, session) == before
    logged = await light.database.read(entries)
    failed = [(subject, after) for action, subject, after in logged if action == "sign_in.failed"]
    assert failed == [("ada", '{"by": "passkey"}')] * 4 + [("(unknown passkey)", '{"by": "passkey"}')]


async def test_a_copied_device_is_noticed_by_its_count(light: Protected) -> None:
    device = await registered(light)
    copy = Device(light.url, credential_id=device.credential_id, key=device.key, signatures=device.signatures)
    for _ in range(2):
        assert (await sign_in(light, device.signed(await challenge(light)))).status_code == 200
    assert refusal(await sign_in(light, copy.signed(await challenge(light)))) == (401, "WRONG_CREDENTIALS")


async def test_a_disabled_account_has_no_way_in_by_passkey(light: Protected) -> None:
    device = await registered(light)
    await light.database.write(accounts.disable, "ada")
    assert refusal(await sign_in(light, device.signed(await challenge(light)))) == (401, "WRONG_CREDENTIALS")


async def test_a_registration_is_bound_to_the_session_and_its_proof_to_this_site(server: Protected) -> None:
    await server.account("ada")
    assert refusal(await server.browser.post("/auth/passkey/registration/challenge")) == (401, "UNAUTHENTICATED")
    bearer = {"authorization": f"Bearer {await server.token('ada')}"}
    by_token = await server.browser.post("/auth/passkey/registration/challenge", headers=bearer)
    assert refusal(by_token) == (401, "UNAUTHENTICATED")
    await server.sign_in_as("ada")
    device = Device(server.url)
    stolen = device.made(await registration(server))
    await server.sign_in_as("ada")
    assert refusal(await register(server, stolen)) == (400, "INVALID_PASSKEY")
    elsewhere = Device("https://evil.example").made(await registration(server))
    assert refusal(await register(server, elsewhere)) == (400, "INVALID_PASSKEY")
    for_sign_in = device.made({**await challenge(server), "rp": {"id": "localhost"}})
    assert refusal(await register(server, for_sign_in)) == (400, "INVALID_PASSKEY")
    good = device.made(await registration(server))
    assert refusal(await register(server, good, "a\u202eb")) == (400, "INVALID_INPUT")
    assert refusal(await register(server, good)) == (400, "INVALID_PASSKEY")
    assert (await register(server, device.made(await registration(server)))).status_code == 200
    assert refusal(await register(server, device.made(await registration(server)))) == (400, "ALREADY_EXISTS")
    assert await server.database.read(rows, passkey) == 1


async def test_nonsense_in_the_place_of_a_passkey_is_refused(light: Protected) -> None:
    device = await registered(light)
    await light.sign_in_as("ada")
    signed = device.signed(await challenge(light))
    made = device.made(await registration(light))
    wrong: tuple[object, ...] = (None, 1, "", "ü", [], {"clientDataJSON": "e30"})
    for member in ("id", "rawId", "type", "response"):
        for value in wrong:
            for credential, post in ((signed, sign_in), (made, register)):
                answer = await post(light, {**credential, member: value})
                assert answer.status_code in {400, 401}, (member, value, answer.text)
    for spoilt in ({"attestationObject": "e30"}, {"attestationObject": "oA"}, {"clientDataJSON": "e30"}):
        fresh = device.made(await registration(light))
        answer = await register(light, {**fresh, "response": {**fresh["response"], **spoilt}})
        assert answer.status_code == 400, answer.text
    for spoilt in ({"authenticatorData": "AA"}, {"signature": "AA"}):
        fresh = device.signed(await challenge(light))
        answer = await sign_in(light, {**fresh, "response": {**fresh["response"], **spoilt}})
        assert refusal(answer) == (401, "WRONG_CREDENTIALS")
    none: tuple[object, ...] = (None, 1, "x", [], {})
    for nothing in none:
        assert refusal(await sign_in(light, nothing)) == (400, "INVALID_REQUEST")
    assert await light.database.read(rows, passkey) == 1


async def test_other_sites_cannot_ask_for_passkeys(light: Protected) -> None:
    for path in ("challenge", "registration/challenge", "registration"):
        answer = await light.browser.post(f"/auth/passkey/{path}", headers={"origin": "https://evil.example"})
        assert refusal(answer) == (403, "CROSS_SITE")


async def test_asking_for_challenges_is_slowed_down_but_not_for_who_signs_in(light: Protected) -> None:
    device = await registered(light)
    assert (await sign_in(light, device.signed(await challenge(light)))).status_code == 200
    light.browser.cookies.clear()
    for _ in range(101):
        light.browser.cookies.clear()
        await challenge(light)
    answer = await light.browser.post("/auth/passkey/challenge")
    assert (refusal(answer), answer.headers["retry-after"]) == ((429, "TOO_MANY_ATTEMPTS"), "1")
    assert await light.database.read(rows, webauthn_challenge) == 103


async def test_passkeys_are_renamed_and_deleted_by_their_owner_who_signed_in(server: Protected) -> None:
    await registered(server)
    await server.account("eve")
    assert (await asked(server, RENAME % (1, '"x"'), await server.token("ada")))["errors"] == [
        {"code": "SIGN_IN_NEEDED"}
    ]
    await server.sign_in_as("eve")
    for document in (RENAME % (1, '"x"'), DELETE % 1):
        assert (await asked(server, document))["errors"] == [{"code": "NOT_FOUND"}]
    await server.sign_in_as("ada")
    assert (await asked(server, RENAME % (1, '" x"')))["errors"] == [{"code": "INVALID_INPUT"}]
    assert (await asked(server, RENAME % (1, '"laptop"'))) == {"passkey": {"name": "laptop"}, "errors": []}
    assert (await asked(server, DELETE % 1)) == {"passkey": {"name": "laptop"}, "errors": []}
    assert (await asked(server, NAMES))["passkeys"] == []


def take_the_password(tx: Tx) -> None:
    account_statements.change(tx.conn, 1, password_hash=None)


async def test_the_last_way_in_is_not_deleted(server: Protected) -> None:
    await registered(server)
    await server.sign_in_as("ada")
    await server.database.write(take_the_password)
    assert (await asked(server, DELETE % 1))["errors"] == [{"code": "LAST_WAY_IN"}]
    assert (await register(server, Device(server.url).made(await registration(server)), "key ring")).status_code == 200
    assert (await asked(server, DELETE % 1))["errors"] == []
    assert (await asked(server, DELETE % 2))["errors"] == [{"code": "LAST_WAY_IN"}]
    assert await server.database.read(rows, passkey) == 1


async def test_an_account_has_no_more_passkeys_than_may_be(light: Protected) -> None:
    await light.account("ada")
    await light.sign_in_as("ada")
    options = await registration(light)
    for number in range(MAX_PASSKEYS):
        key = DeviceKey(f"id{number}", "key", 0)
        await light.database.write(partial(passkeys.register, account_id=1, new=key, name=f"key {number}"))
    assert refusal(await register(light, Device(light.url).made(options))) == (400, "INVALID_STATE")
    assert refusal(await light.browser.post("/auth/passkey/registration/challenge")) == (400, "INVALID_STATE")


async def test_a_passkey_goes_with_its_account(light: Protected) -> None:
    await registered(light)
    await light.database.write(lambda tx: tx.conn.execute(user_account.delete()).rowcount)
    assert await light.database.read(rows, passkey) == 0


async def test_under_an_address_there_are_no_passkeys() -> None:
    for url in ("http://127.0.0.1:8000", "https://[::1]:8000"):
        assert RelyingParty(url).name is None
    assert RelyingParty("https://cron.example.com:8443").name == "cron.example.com"
