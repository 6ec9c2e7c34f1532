"""The command line signs in by a device code: asked for, approved in a browser, exchanged, renewed, and taken away."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from cronograph.jobs.accounts.rules.credentials import Prefix, prefix_of
from cronograph.jobs.accounts.rules.sessions import Followers, RefreshToken, Use, judge_use, user_code_of
from cronograph.jobs.core.actor import Role
from cronograph.jobs.store.schema.tables import refresh_token
from tests.server.auth.serving import Clock, Protected
from tests.support.web import open_async_client

CLIENT = {"client_id": "cronograph-cli"}
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
WHO = "{ viewer { name role sessions { id kind } } }"
CHANGE = 'mutation { updateAccount(input: {name: "ada", %s}) { errors { code } } }'


class Device:
    """A device that signs in."""

    def __init__(self, server: Protected) -> None:
        self.server = server
        self.code: dict[str, Any] = {}

    async def post(self, path: str, **fields: str) -> httpx.Response:
        # The device has no cookies of the browser.
        async with open_async_client(self.server.url) as device:
            return await device.post(path, data={**CLIENT, **fields}, headers={"user-agent": "tests/1"})

    async def begin(self) -> None:
        answer = await self.post("/oauth/device_authorization")
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
        self.code = answer.json()

    async def ask(self) -> httpx.Response:
        return await self.post("/oauth/token", grant_type=DEVICE_GRANT, device_code=self.code["device_code"])

    async def refused(self) -> str:
        answer = await self.ask()
        assert answer.status_code == 400, answer.text
        return str(answer.json()["error"])

    async def refresh(self, token: str) -> httpx.Response:
        return await self.post("/oauth/token", grant_type="refresh_token", refresh_token=token)

    async def decide(self, decision: str = "approve") -> httpx.Response:
        fields = {"user_code": self.code["user_code"], "decision": decision}
        return await self.server.browser.post("/device/decision", data=fields)

    async def sign_in(self) -> dict[str, Any]:
        await self.begin()
        assert (await self.decide()).status_code == 200
        answer = await self.ask()
        assert answer.status_code == 200, answer.text
        tokens: dict[str, Any] = answer.json()
        return tokens


@pytest.fixture
async def device(server: Protected) -> Device:
    await server.account("ada", Role.OPERATOR)
    await server.sign_in_as("ada")
    return Device(server)


async def viewer(server: Protected, token: str) -> Any:
    return (await server.ask(WHO, token)).json()["data"]["viewer"]


async def test_a_device_is_signed_in_once_somebody_has_let_it_in(server: Protected, device: Device) -> None:
    await device.begin()
    assert device.code["verification_uri"] == f"{server.url}/device"
    assert (device.code["expires_in"], device.code["interval"]) == (600, 1)
    assert await device.refused() == "authorization_pending"
    page = await server.browser.get(device.code["verification_uri_complete"])
    assert f'value="{device.code["user_code"]}"' in page.text
    typed = device.code["user_code"].lower().replace("-", " ")
    page = await server.browser.post("/device", data={"user_code": typed})
    assert "act as <strong>ada</strong> (operator)" in page.text
    assert "tests/1" in page.text
    assert "The device is signed in" in (await device.decide()).text
    server.clock.pass_time(seconds=6)
    tokens = (await device.ask()).json()
    assert (tokens["token_type"], tokens["expires_in"]) == ("Bearer", 900)
    kinds = prefix_of(tokens["access_token"]), prefix_of(tokens["refresh_token"])
    assert kinds == (Prefix.ACCESS_TOKEN, Prefix.REFRESH_TOKEN)
    known = await viewer(server, tokens["access_token"])
    assert (known["name"], known["role"]) == ("ada", "OPERATOR")
    assert {one["kind"] for one in known["sessions"]} == {"BROWSER", "CLI"}
    assert await device.refused() == "invalid_grant", "a code is good once"


async def test_a_device_that_asks_too_soon_is_slowed_down_for_good(server: Protected, device: Device) -> None:
    await device.begin()
    assert await device.refused() == "authorization_pending"
    server.clock.pass_time(seconds=0.9)
    assert await device.refused() == "slow_down"
    server.clock.pass_time(seconds=5.9)
    assert await device.refused() == "slow_down"
    server.clock.pass_time(seconds=11)
    assert await device.refused() == "authorization_pending"


async def test_a_device_is_refused_or_comes_too_late(server: Protected, device: Device) -> None:
    await device.begin()
    assert "was refused" in (await device.decide("deny")).text
    assert await device.refused() == "access_denied"
    assert await device.refused() == "invalid_grant"
    await device.begin()
    server.clock.pass_time(minutes=10)
    assert (await device.decide()).status_code == 400
    assert await device.refused() == "expired_token"
    await device.begin()
    await device.decide()
    assert (await device.decide("deny")).status_code == 400, "what is decided stays"
    await server.browser.post("/auth/sign-out")
    assert (await device.decide()).headers["location"].startswith("/login?next=/device")


async def test_an_access_token_lasts_a_quarter_of_an_hour_and_is_renewed(server: Protected, device: Device) -> None:
    first = await device.sign_in()
    session = [one["id"] for one in (await viewer(server, first["access_token"]))["sessions"] if one["kind"] == "CLI"]
    server.clock.pass_time(minutes=15)
    server.sign_in.authenticator.forget_all()
    assert await server.code(WHO, first["access_token"]) == (401, "UNAUTHENTICATED")
    second = (await device.refresh(first["refresh_token"])).json()
    known = await viewer(server, second["access_token"])
    assert [one["id"] for one in known["sessions"] if one["kind"] == "CLI"] == session, "it is the same sign-in"
    server.clock.pass_time(days=30)
    assert (await device.refresh(second["refresh_token"])).json()["error"] == "invalid_grant"


async def test_a_refresh_token_that_is_used_twice_ends_the_sign_in(server: Protected, device: Device) -> None:
    stolen = await device.sign_in()
    mine = (await device.refresh(stolen["refresh_token"])).json()
    server.clock.pass_time(seconds=11)
    assert (await device.refresh(stolen["refresh_token"])).json()["error"] == "invalid_grant"
    server.sign_in.authenticator.forget_all()
    assert (await device.refresh(mine["refresh_token"])).json()["error"] == "invalid_grant"
    assert await server.code(WHO, mine["access_token"]) == (401, "UNAUTHENTICATED")


async def test_a_lost_answer_is_given_again_and_only_the_last_one_counts(server: Protected, device: Device) -> None:
    first = await device.sign_in()
    lost = (await device.refresh(first["refresh_token"])).json()
    server.clock.pass_time(seconds=9)
    again = (await device.refresh(first["refresh_token"])).json()
    assert await viewer(server, again["access_token"])
    # Anyone who has the answer that was lost is found out.
    assert (await device.refresh(lost["refresh_token"])).json()["error"] == "invalid_grant"
    assert (await device.refresh(again["refresh_token"])).json()["error"] == "invalid_grant"


async def test_of_six_exchanges_at_once_one_pair_lives(server: Protected, device: Device) -> None:
    first = await device.sign_in()
    answers = await asyncio.gather(*(device.refresh(first["refresh_token"]) for _ in range(6)))
    pairs = [answer.json() for answer in answers if answer.status_code == 200]
    assert pairs
    alive = [pair for pair in pairs if (await server.code(WHO, pair["access_token"]))[0] == 200]
    assert len(alive) == 1
    assert await server.code(WHO, first["access_token"]) == (401, "UNAUTHENTICATED")
    stored = await server.database.read(
        lambda conn: conn.execute(
            select(func.count()).where(refresh_token.c.used_at.is_(None), refresh_token.c.revoked_at.is_(None))
        ).scalar_one()
    )
    assert stored == 1
    assert (await device.refresh(alive[0]["refresh_token"])).status_code == 200


@pytest.mark.costly
@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
async def test_signing_out_makes_both_tokens_worthless(server: Protected, device: Device, kind: str) -> None:
    tokens = await device.sign_in()
    assert (await device.post("/oauth/revoke", token=tokens[kind])).status_code == 200
    server.sign_in.authenticator.forget_all()
    assert await server.code(WHO, tokens["access_token"]) == (401, "UNAUTHENTICATED")
    assert (await device.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"
    # Again, something that is none, and what is revoked elsewhere.
    for token in (tokens[kind], "nonsense", await server.token("ada")):
        assert (await device.post("/oauth/revoke", token=token)).status_code == 200


@pytest.mark.costly
@pytest.mark.parametrize("how", ["role", "disabled", "one session", "everywhere"])
async def test_what_ends_sessions_ends_those_of_devices_too(server: Protected, device: Device, how: str) -> None:
    tokens = await device.sign_in()
    await server.account("boss", Role.ADMIN)
    boss = await server.token("boss")
    match how:
        case "role":
            await server.ask(CHANGE % "role: VIEWER", boss)
        case "disabled":
            await server.ask(CHANGE % "disabled: true", boss)
        case "one session":
            known = await viewer(server, tokens["access_token"])
            (key,) = [one["id"] for one in known["sessions"] if one["kind"] == "CLI"]
            await server.ask(f'mutation {{ endSessions(input: {{sessions: {{id: "{key}"}}}}) {{ ended }} }}')
        case _:
            await server.browser.post("/auth/sign-out-everywhere")
    server.sign_in.authenticator.forget_all()
    assert await server.code(WHO, tokens["access_token"]) == (401, "UNAUTHENTICATED")
    assert (await device.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"


async def test_an_account_that_is_disabled_meanwhile_lets_no_device_in(server: Protected, device: Device) -> None:
    await server.account("boss", Role.ADMIN)
    await device.begin()
    await device.decide()
    await server.ask(CHANGE % "disabled: true", await server.token("boss"))
    assert await device.refused() == "access_denied"


async def test_user_codes_cannot_be_guessed(server: Protected, device: Device) -> None:
    await device.begin()
    wrong = [await server.browser.post("/device", data={"user_code": f"BBBB-BBB{letter}"}) for letter in "BCDFGH"]
    assert [answer.status_code for answer in wrong] == [400] * 6
    slowed = await server.browser.post("/device", data={"user_code": device.code["user_code"]})
    assert (slowed.status_code, int(slowed.headers["retry-after"]) > 0) == (429, True)
    server.clock.pass_time(minutes=2)
    assert (await server.browser.post("/device", data={"user_code": device.code["user_code"]})).status_code == 200


async def test_an_address_has_only_so_many_devices_waiting(light: Protected) -> None:
    device = Device(light)
    for _ in range(20):
        await device.begin()
    answer = await device.post("/oauth/device_authorization")
    assert (answer.status_code, answer.json()["error"]) == (429, "invalid_request")
    light.clock.pass_time(minutes=10)
    await device.begin()


async def test_requests_that_do_not_fit_the_standard_are_refused_in_its_words(light: Protected) -> None:
    device = Device(light)
    for fields, error in (
        ({"client_id": "other"}, "invalid_client"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": DEVICE_GRANT}, "invalid_request"),
        ({"grant_type": DEVICE_GRANT, "device_code": "none"}, "invalid_grant"),
        ({"grant_type": "refresh_token", "refresh_token": "x" * 5000}, "invalid_grant"),
    ):
        assert (await device.post("/oauth/token", **fields)).json()["error"] == error
    answer = await light.browser.post("/oauth/token", json={})
    assert (answer.status_code, answer.json()["error"]) == (415, "invalid_request")
    answer = await light.browser.post("/device/decision", data={}, headers={"origin": "https://evil.example"})
    assert answer.status_code == 403
    known = (await light.browser.get("/.well-known/oauth-authorization-server")).json()
    assert known["token_endpoint"] == f"{light.url}/oauth/token"


async def test_a_token_cannot_let_a_device_in(light: Protected) -> None:
    await light.account("ada")
    device = Device(light)
    await device.begin()
    fields = {"user_code": device.code["user_code"], "decision": "approve"}
    token = await light.token("ada")
    answer = await light.browser.post("/device/decision", data=fields, headers={"authorization": f"Bearer {token}"})
    assert answer.status_code == 303
    assert await device.refused() == "authorization_pending"


def test_a_typed_code_is_read_however_it_is_written() -> None:
    assert user_code_of(" wdjb-mjht ") == "WDJBMJHT"
    assert [user_code_of(text) for text in ("", "WDJB-MJH", "WDJB-MJHA", "WDJB-MJHT-B", "x" * 10_000)] == [None] * 5


def test_the_use_of_a_refresh_token_is_judged_by_what_became_of_it() -> None:
    now = Clock().now
    fresh = RefreshToken(1, "f", 1, now + timedelta(days=1), None, None)
    used = RefreshToken(1, "f", 1, now + timedelta(days=1), now - timedelta(seconds=10), None)
    assert judge_use(fresh, Followers(), now) is Use.GOOD
    assert judge_use(used, Followers(), now) is Use.AGAIN
    assert judge_use(used, Followers(next_was_used=True), now) is Use.REUSED
    assert judge_use(used, Followers(is_replaced=True), now) is Use.REUSED
    assert judge_use(used, Followers(), now + timedelta(microseconds=1)) is Use.REUSED
    assert judge_use(fresh, Followers(), now + timedelta(days=1)) is Use.WORTHLESS
