"""Doors that take a form or a JSON object: what they do not know is refused, not passed over."""

from typing import Any

import httpx
import pytest

from tests.server.auth.serving import PASSWORD, Protected
from tests.server.auth.test_devices import Device

FORM = {"content-type": "application/x-www-form-urlencoded"}
JSON = {"content-type": "application/json"}
FORMS = {
    "/login": {"next": "/", "name": "ada", "password": PASSWORD},
    "/setup": {"token": "x", "name": "ada", "password": PASSWORD},
    "/recover": {"token": "x", "password": PASSWORD},
    "/device": {"user_code": "BCDF-GHJK"},
    "/device/decision": {"user_code": "BCDF-GHJK", "decision": "deny"},
}
OBJECTS: dict[str, dict[str, Any]] = {
    "/auth/password": {"name": "ada", "password": PASSWORD},
    "/auth/change-password": {"current": PASSWORD, "password": PASSWORD + "!"},
    "/auth/passkey": {"credential": {}},
}
OAUTH = ("/oauth/device_authorization", "/oauth/token", "/oauth/revoke")


def said(answer: httpx.Response) -> tuple[int, str]:
    """Status and sentence of a refusal."""
    content = answer.json()
    return answer.status_code, content.get("error_description") or content["errors"][0]["message"]


@pytest.mark.parametrize("path", FORMS)
async def test_a_form_takes_its_own_fields_once(light: Protected, path: str) -> None:
    known = ", ".join(FORMS[path])
    odd = await light.browser.post(path, data={**FORMS[path], "nmae": "ada"})
    assert said(odd) == (400, f"The form may have the fields {known}; got 'nmae'.")
    name = next(iter(FORMS[path]))
    twice = await light.browser.post(path, content=f"{name}=a&{name}=b".encode(), headers=FORM)
    assert said(twice) == (400, f"The form must have each field once, got '{name}' twice.")
    many = await light.browser.post(path, content="&".join(f"f{i}=1" for i in range(21)).encode(), headers=FORM)
    assert said(many)[0] == 400


@pytest.mark.parametrize("path", [*FORMS, *OAUTH])
async def test_json_is_no_form(light: Protected, path: str) -> None:
    status, sentence = said(await light.browser.post(path, json={"decision": "deny"}))
    assert (status, sentence[:25]) == (415, "The Content-Type must be ")
    if path in FORMS:
        status, sentence = said(await light.browser.post(path, content=b'{"decision": "deny"}', headers=FORM))
        assert status == 415
        assert sentence.endswith("send it with 'Content-Type: application/json'.")


@pytest.mark.parametrize("path", OBJECTS)
async def test_an_object_has_its_own_members(light: Protected, path: str) -> None:
    status, sentence = said(await light.browser.post(path, json={**OBJECTS[path], "remember": True}))
    assert (status, sentence) == (400, f"The body may have the members {', '.join(OBJECTS[path])}; got 'remember'.")
    assert said(await light.browser.post(path, content=b"name=ada", headers=FORM))[0] == 415


async def test_a_device_sends_more_than_is_known_but_nothing_twice(light: Protected) -> None:
    """RFC 6749, 3.2."""
    code = await light.browser.post("/oauth/device_authorization", data={"client_id": "cronograph-cli", "scope": "x"})
    assert code.status_code == 200
    twice = b"client_id=cronograph-cli&client_id=other"
    assert said(await light.browser.post("/oauth/device_authorization", content=twice, headers=FORM))[0] == 400


async def test_a_device_is_decided_about_in_words(light: Protected) -> None:
    await light.account("ada")
    await light.sign_in_as("ada")
    device = Device(light)
    await device.begin()
    fields = {"user_code": device.code["user_code"]}
    for wrong in ({}, {"decision": "yes"}):
        assert said(await light.browser.post("/device/decision", data={**fields, **wrong}))[0] == 400
    assert (await light.browser.post("/device/decision", data={**fields, "decision": "deny"})).status_code == 200


@pytest.mark.parametrize("path", ["/login", "/setup", "/recover", "/device"])
async def test_a_page_with_a_form_names_both_its_methods(light: Protected, path: str) -> None:
    answer = await light.browser.put(path)
    assert (answer.status_code, set(answer.headers["allow"].split(", "))) == (405, {"GET", "HEAD", "POST"})
