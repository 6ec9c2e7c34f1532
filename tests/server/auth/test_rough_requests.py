"""Requests to the plain pages and routes of sign-in that are not what they should be, or meet a fault of the server."""

import pytest

from cronograph.graphql.execution.schema_factory import GuardedSchema
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.types import SchemaText
from cronograph.server.configuration.settings import ProviderSettings
from tests.server.auth.serving import PASSWORD, Protected, protected

FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize("body", [b"client_id=%ff", b"&".join([b"a=b"] * 21)], ids=["no UTF-8", "too many fields"])
async def test_a_form_that_is_none_is_refused(light: Protected, body: bytes) -> None:
    answer = await light.browser.post("/oauth/token", content=body, headers=FORM)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    assert answer.json()["error_description"] == "The form must have at most 20 fields, in UTF-8."


@pytest.mark.parametrize("name", ["a\0", 7], ids=["a NUL", "a number"])
async def test_a_name_that_no_database_can_look_for_is_refused(server: Protected, name: object) -> None:
    answer = await server.browser.post("/auth/password", json={"name": name, "password": PASSWORD})
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["message"]) == (400, "'name' must be a string without U+0000.")


async def test_a_page_asked_for_with_a_wrong_token_is_that_for_nobody(light: Protected) -> None:
    answer = await light.browser.get("/device", headers={"authorization": "Bearer cg_wrong"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=/device")


def forget_devices(tx: Tx) -> None:
    """As if somebody had laid hands on the database."""
    tx.conn.execute(SchemaText("ALTER TABLE cronograph.device_code RENAME TO gone"))


async def test_a_fault_of_the_server_while_a_device_signs_in_is_masked(
    light: Protected, caplog: pytest.LogCaptureFixture
) -> None:
    await light.database.write(forget_devices)
    answer = await light.browser.post("/oauth/device_authorization", data={"client_id": "cronograph-cli"})
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["extensions"]["code"]) == (500, "INTERNAL_ERROR")
    assert "no such table" not in answer.text
    assert error["extensions"]["id"] in caplog.text


async def test_a_provider_that_is_not_there_is_a_page_that_says_so(schema: GuardedSchema, sqlite_url: str) -> None:
    known = ProviderSettings.model_validate(
        {"name": "Company", "issuer": "https://id.invalid", "client_id": "x", "client_secret": "y"}
    )
    async with protected(sqlite_url, schema, {"company": known}) as server:
        for path in ("/auth/oidc/another", "/auth/oidc/another/callback?state=x&code=y"):
            answer = await server.browser.get(path)
            assert (answer.status_code, "There is no such provider here." in answer.text) == (404, True)
